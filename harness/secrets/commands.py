"""The secrets that programs get in their command line or on their input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.patterns import Pattern, pattern

_WORD = r"[\"']?(?![-<]|\d{1,5}(?:[:\s]|$))([^\s\"'\\|]{4,2000})"
"""A value in a command: no option, no port, nothing from a file."""
_REST = r"([^\s\"']{4,200})"
"""A value behind a name and a colon."""
_LOGIN = r"([^\s@/\"']{4,100})[\"']?@"
"""One between a name and a host."""

_OPTIONS = (
    ("mysql|mariadb", "-p[\"']?", ""),
    ("sshpass|7z", "-p", "-p"),
    ("zip|unzip|rar|unrar", "-P|-h?p", "-P"),
    ("mongo|twine|influx|cqlsh|snowsql|nats|vsql|trino|hydra|rabbitmqadmin|rdesktop|ncftp|useradd|usermod", "", "-p"),
    ("steghide|supabase|crackmapexec|netexec|impacket-|unlock-keychain", "", "-p"),
    ("sqlcmd|bcp|isql|tsql|mosquitto_|ipmitool|vncviewer", "", "-P"),
    ("ldapsearch|ldapmodify|ldapadd|ldapdelete|ldapwhoami|ldappasswd|add-generic-password", "", "-w|-s"),
    ("redis-cli|valkey-cli", "", "-a|--pass"),
    ("ssh-keygen", "", "-N|-P"),
    ("snmpwalk|snmpget|snmpset", "", "-A"),
    ("snmpwalk|snmpget|snmpset", "", "-X"),
    ("openssl enc", "", "-k|-K"),
    ("caddy", "", "--plaintext"),
    ("swaks", "", "-ap"),
    ("pdfto", "", "-upw|-opw"),
    ("curl", "", "--oauth2-bearer|--tlspassword"),
    ("ffmpeg|ffprobe|ffplay", "", "-(?:de|en)cryption_key"),
    ("gh secret set", "-b", "-b|--body"),
    ("xfreerdp|cmdkey|psexec", "/p(?:ass)?:", ""),
)  # fmt: skip
"""How programs' names begin, their options that have a password right behind them, and those behind a space."""

_ARGUMENTS = (
    ("rabbitmqctl", r" (?:add_user|change_password) \S{1,60}"),
    ("htpasswd", r" -\w{0,5}b\w{0,5} (?:-\w{1,3} |\d{1,2} ){0,3}\S{1,60}(?: [\w.-]{1,40})?"),
    ("net use", r" (?:\w: )?\\{2,4}\S{1,80}(?: /user:\S{1,60})?"),
    ("net user", r" \w{1,60}"),
    ("mc alias set", r" \S{1,60} \S{1,200} \S{1,100}"),
    ("bw login", r" \S{1,80}@\S{1,80}"),
    ("bw unlock", r"(?: --raw)?"),
    ("rclone obscure", ""),
    ("encrypt_string", ""),
    ("openssl passwd", r"(?: -salt \S{1,40}| -\w{1,8}){0,4}"),
    ("mkpasswd", r"(?: -\w \S{1,20}){0,3}"),
    ("vault login", ""),
    ("vault operator unseal", ""),
    ("ngrok ", r"(?:authtoken|config add-authtoken)"),
    ("http-basic.", r"\S{1,60} \S{1,60}"),
    ("pulumi config set", r"(?: --secret)? \S{0,60}(?:[Pp]assword|[Ss]ecret|[Tt]oken|[Kk]ey)\S{0,20}"),
    ("qpdf --encrypt", ""),
    ("qpdf --encrypt", r" \S{1,100}"),
    ("mysqladmin", r" [^\n|;]{0,200}?password"),
    ("nmcli", r" [^\n|;]{0,200}?password"),
    ("\\password", r" \w{1,60}"),
    ("snmp-server community", ""),
    ("crypto isakmp key", ""),
    ("username", r" \S{1,60} (?:password|secret)(?: \d)?(?=[ \t]+\S{0,100}\d)"),
    ("pre-shared-key", ""),
    ("plain-text-password-value", ""),
    ("requirepass", r"(?=[ \t]+[\"']?\S{0,100}[\d-])"),
    ("masterauth", r"(?=[ \t]+[\"']?\S{0,100}[\d-])"),
)  # fmt: skip
"""How commands begin, and what else stands before their secret, when no option names it."""

_READERS = "|".join(
    (
        "--password-stdin", "--token-stdin", "--passphrase-fd", "sudo -S", "login --with-token", "kv put", "env add",
        "secrets? (?:set|put|create|versions add)", "op signin", "passwd", "chpasswd", "cryptsetup", "kinit",
        "smbpasswd",
    )
)  # fmt: skip
"""Programs that read a secret from their input."""


def _list_options() -> Iterator[Pattern]:
    """A pattern for each row of _OPTIONS, with its programs as signs."""
    for programs, glued, spaced in _OPTIONS:
        ways = "|".join([*filter(None, [glued]), *([f"(?:{spaced})[ =]"] if spaced else [])])
        begin = rf"\b(?:{programs})[\w.-]{{0,20}}"
        yield pattern(programs, begin, rf" (?:[^\n|;]{{0,300}}? )?(?:{ways})", _WORD)


def _list_arguments() -> Iterator[Pattern]:
    """A pattern for each row of _ARGUMENTS."""
    for begin, rest in _ARGUMENTS:
        yield pattern(begin, rf"(?i:(?<!\w){re.escape(begin)})", rest, r"[ \t]+", _WORD)


PATTERNS = (
    *_list_options(),
    *_list_arguments(),
    pattern(
        " login",
        r"\b(?:docker|podman|buildah|skopeo|nerdctl|oras|registry|az|oc|acr)\b[^\n|;]{0,40}? login\b[^\n|;]{0,200}?",
        r" (?:-p|-P)[ =]?",
        _WORD,
    ),
    pattern(
        " -p",
        r"(?m)^(?![^\n]{0,100}(?:mysql|mariadb))[^\n|;]{0,300}? -u(?:ser(?:name)?)?[ =]?\S{1,80} -p[ =]?",
        _WORD,
    ),
    # a name and a secret in one
    pattern(
        "-u|--user|--proxy-user|--creds|http|-e|--cert",
        r"(?<![\w-])(?:-[uU]|--user|--proxy-user|--username|--creds|--auth|(?<=https )-a|(?<=http )-a|-E|--cert|-u\w)",
        r"[ =]?[\"']?(?!root:)[^\s:\"'%/=-]{1,100}[:%]((?!//|\d{1,5}(?:\s|$))[^\s\"']{3,200})",
    ),
    pattern("lftp", r"\blftp [^\n]{0,60}?-u [\w.@-]{1,60},", _REST),
    pattern("sqlplus|dp |thin:|rman", r"(?:sqlplus|impdp|expdp|rman|thin:)[^\n]{0,40}?\b\w{1,40}/", _LOGIN),
    pattern("@", r"(?<![\w/.-])[A-Za-z]\w{1,30}/([^\s@/\"']{4,100})@[\w.-]{1,100}:\d{4,5}/\w"),
    pattern("exec|secretsdump", r"\b(?:psexec|wmiexec|smbexec|secretsdump)\S{0,4} [^\s:]{1,80}:[\"']?", _LOGIN),
    pattern("on >|on '>|on \">|setuser", r"(?i)(?:\buser|setuser) \S{1,60} (?:[~&+@*\w-]{1,40} ){0,6}[\"']?>", _REST),
    pattern("auth ", r"(?m)(?:^[ \t]{0,20}|redis-cli |> )AUTH (?:\w{1,40} )?", _WORD),
    pattern("pass:", r"\bpass(?:in|out)?[ =]pass:([^\s\"'\\]{3,200})"),
    pattern("stats auth", r"\bstats auth \w{1,60}:", _REST),
    pattern("static:", r"\bstatic:[\w.@-]{1,60}:", _REST),
    pattern("]:", r"(?m)^[ \t]{0,20}\[[\w.-]{1,100}\]:\d{2,5}[ \t]{1,8}[\w.@+-]{1,100}:", _REST, "$"),
    pattern(":::", r"(?m)^[ \t]{0,20}[\w.$\\-]{1,60}:\d{1,8}:[0-9a-f]{32}:([0-9a-f]{32}):::"),
    pattern(":::", r"(?m)^[ \t]{0,20}[\w.$\\-]{1,60}:\d{1,8}:([0-9a-f]{32}):[0-9a-f]{32}:::"),
    pattern("eap|psk", r"(?m)^[ \t]{0,8}[\w.@%-]{0,60} ?: (?:EAP|PSK|XAUTH|RSA) \"([^\"\n]{4,200})\""),
    pattern("unseal", r"\bUnseal Key \d{1,2}: ([\w+/]{20,100}={0,2})"),
    # on the input
    pattern(
        "echo|printf|yes ",
        r"\b(?:echo|printf|yes)\b[^\n|]{0,20}? [\"']?([^\s\"'\\|$%](?:[^\s\"'\\|]|\\n){3,2000})",
        rf"[\"']?(?:; ?echo [^\n|]{{0,60}})? ?\| ?[^\n|;]{{0,80}}(?:{_READERS})(?![\w-])",
    ),
    pattern("chpasswd", r"[\"' ]\w{1,40}:", _REST, r"[\"']?[^\n|]{0,20}\| *(?:sudo )?chpasswd"),
    pattern(
        "<<<", r"(?i)(?:password|passwd|secret|token|sudo -S|login|kinit)[^\n<]{0,80}<<< ?[\"']?([^\s\"'\\$<]{4,2000})"
    ),
    # of services that keep secrets
    pattern("--value", r"(?:SecureString|keyvault secret|\bsecrets?\b)[^\n]{0,200}? --value[ =]", _WORD),
    pattern("securestring", r"--value[ =]", _WORD, r"[\"']?[^\n]{0,100}? --type SecureString"),
    pattern("securestring", r"\"SecureString\",\s{0,20}\"Value\":\s{0,4}\"([^\"\n]{4,4000})\""),
    pattern(
        "password|passwd|secret|auth_token|authtoken|api_key|apikey|session_token|_auth",
        r"(?i)\b(?:set|add|put|create|store|write|update)\b",
        r"[^\n|;]{0,60}?[ \"'/:._-](?<!the )(?<!your )(?:\w{0,30}[_-])?",
        r"(?:password|passwd|secret|auth_?token|api_?key|secret_access_key|session_token|_auth)[\"']?[ \t]+[\"']?",
        r"((?=[^\s\"'\\]{0,100}\d)(?!polic|rule|hash)[^\s\"'\\=]{6,2000})",
    ),
    # SQL
    pattern(
        "identified|password",
        r"(?i)\b(?:identified (?:with \S+ )?by|(?:encrypted |with |alter |set |login |user \w{1,40} |', )password",
        r"(?: for \S{1,80})?(?: =| to)?(?: password\()?|password\()\s*[\"'](.{3,200}?)[\"']",
    ),
    pattern("identified", r"(?i)\bidentified by ((?=\w{0,60}\d)\w{6,100})"),
    pattern("password(", r"(?i)\bpassword\s*=\s*password\([\"'](.{3,200}?)[\"']"),
    pattern("crypt(", r"(?i)\b(?:crypt|pgp_sym_(?:en|de)crypt)\((?:[\w.]{1,60}, ?)?'([^'\n]{4,200})'"),
)
