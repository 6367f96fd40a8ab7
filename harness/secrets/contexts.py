"""What is a secret where it stands: behind a name, an option or a header, or in a login, in each common notation."""

# ruff: noqa: SIM905  lists of words, as a person reads them

from __future__ import annotations

import re
from collections.abc import Iterator

from ahocorasick_rs import AhoCorasick, MatchKind

_ENDS = tuple(
    "password passwd passwort passphrase passcode pwd secret token credential credentials apikey accesskey secretkey "
    "privatekey accountkey authkey".split()
)
"""How a word of a secret's name ends."""
_SHORT = ("pass", "pat", "pw", "psk", "jwt", "auth", "cookie", "cred", "creds", "sig", "signature", "otp", "pin", "dsn")
"""A whole word of a name; what follows it has to look like no word."""
_PASSWORDS = ("password", "passwd", "passwort", "passphrase", "passcode", "pwd", "pass", "pw", "pin", "psk")
_PASSWORD = re.compile(
    rf"\w*(?:{'|'.join(_PASSWORDS[:6])})|{'|'.join(_PASSWORDS[6:])}"
    r"|(?:db|my|user|root|smtp|ftp|sql|admin|login|pg|mysql|require|store|key|ssh|vnc|ldap|rsync|sasl)pass"
)
_PASS = re.compile(r"(?<!BY)(?<!COM)(?<!TRES)(?<!SUR)PASS\Z")
_SEED = re.compile(r"(?:totp|otp|mfa|fa)seed|(?:backup|recovery)codes?|\w*privkey")
"""Other words that name a secret, or two of them."""
_KEYS = frozenset(
    "api access private secret auth signing signature encryption account service master license licence ssh "
    "deploy session "
    "shared client subscription storage admin hmac webhook app application consumer rest write server bot "
    "project preshared".split()
)
"""What stands before the word key in the name of a secret."""
_NO_KEYS = frozenset("primary foreign public sort partition cache routing idempotency object dedup map host".split())
_PLAIN_ENDS = frozenset(
    "name names file files path paths dir folder ref id ids type types url uri endpoint length len size count "
    "limit ttl "
    "expires expiry expiration policy policies rule rules field fields header headers prefix suffix format hint "
    "min max "
    "reset store provider manager required enabled disabled regex pattern label title text message error errors "
    "status "
    "version algorithm alg method usage scope scopes audience issuer env var rotation age strength validator "
    "budget timeout timeouts lifetime days hours minutes seconds rate hasher hashers mode backend backends cache "
    "encryption service host".split()
)
"""The last word of a name that tells of a secret and is none."""
_PLAIN_STARTS = frozenset(
    "pad eos bos unk stop sep cls mask special num max min total prompt completion next page".split()
)
_NO_SECRET = re.compile(
    r"(?i)null|none|nil|true|false|undefined|string|str|text|varchar.*|bytes|int|integer|boolean|object|required"
    r"|optional|"
    r"\W?redacted\W?|hidden|unknown|missing|invalid|expired|incorrect|wrong|empty|disabled|enabled|encrypted|mas"
    r"ked|changed|"
    r"password|passwd|secret|token|key|value|prompt|stdin|file|input|env|vault|basic|bearer|digest|plain|default"
    r"|inherit|"
    r"token\d|id=.*|same-origin|oauth[12]?|oidc|saml2?|argon2\w{0,2}|scram-sha-\d+|[hrep]s(?:256|384|512)|sha\d+\w{0,8}|"
    r"v?\d+(?:\.\d+)+|[a-z][\w.-]*[=<>~!]=[\d.]+|\[?canary.*|[x*._#-]+|"
    r"(?:your|my|the|some|example|dummy|insert|replace)[-_ ].*|change[-_]?me|placeholder|"
    r"\w*(?:getenv|environ|process\.env)\b.*"
)
_FUNCTION_WORDS = frozenset(
    "with from that this then when must should which instead option options flag flags argument value values "
    "into your "
    "have here there what only also each before after because without need needs takes asks uses sets gives "
    "again".split()
)
_CODE = re.compile(r"[$<{%(\[&*]|[\w.]+[(\[]|(?:[A-Za-z_]\w*(?:\.|->|::))+[A-Za-z_]+\Z|/(?:[\w.-]+/)+|\.{1,2}/|~/")
"""How a value begins that stands for another one: a variable, a call, an attribute, a path."""
_WORDS = AhoCorasick(
    [*sorted({"key", "seed", "backup", "recovery", *_SHORT, *_ENDS}, key=len)], matchkind=MatchKind.LeftmostLongest
)  # fmt: skip
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_BEFORE, _AFTER = re.compile(r"[\w.-]{0,60}\Z"), re.compile(r"[\w-]{0,40}")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SIGN = re.compile(
    # what closes the name, and an annotation of its type
    r"[\"'`]?\]?\*{0,2}(?:[ \t]\([^()\n]{1,40}\)|[ \t](?:for|of)[ \t]\S{1,40}?)?[ \t]{0,5}(?::[ \t]{0,3}[A-Za-z_"
    r"][\w.\[\]| ]{0,30}?[ \t]{0,3}(?==))?"
    r"(:=|=>|->|[?+|]{0,2}=(?!=)|:(?!:)\*{0,2}|\||(?<=[\"'`]),|(?<=[\"'`])[ \t]{0,3}\),?|[ \t](?=[\"']))\s{0,20}"
)
_QUOTED = re.compile(r"([\"'`]{3}|[\"'`])\s{0,5}((?:(?!\1)(?:[^\\\n]|\\.)){3,500}?)\s{0,5}(?:\1|\\?\Z)")
_BLOCK = re.compile(r"[|>][+-]?[ \t]*\n\s+([^\s\"'`]{4,500})")
_BARE = re.compile(r"([^\s\"'`,;<>]{4,2000})")
_REST = re.compile(r"[ \t]*(?:[,;)}\]\"'`#&|<\\]|\n|\Z)")
_LINE = re.compile(
    r"(?:^|\n|[;&?{,])[ \t]*(?:\d{1,6}[\t→|:] ?)?(?:[-+>*][ \t]*)?(?:(?:export|set|setenv|ENV|ARG|local|const|le"
    r"t|var|declare)[ \t]+)?[\"'`]?[\w.-]*\Z"
)
_WORD_BEFORE = re.compile(r"[^\s,(] \Z")
"""What stands before a word of a command, or of a text that says how to connect: no argument of a call."""
_OPTION = re.compile(r"(?<![\w-])--?[\w-]{0,40}\Z")
_ARGUMENT = re.compile(r"(?:[ \t]+|=|[\"'][ \t]*,?\s*)[\"']?([^\s\"'`,;<>-][^\s\"'`,;<>]{3,500})")
_SEVERAL = re.compile(
    r"[\"']?\s{0,3}(?::|=>?)\s{0,5}(?:([\[{])[^\[\]{}]{3,2000}[\]}]"
    r"|(?<=\n)(?:[ \t]*-[ \t]+[^\n]{3,200}(?:\n|\Z)){1,100})"
)
_ITEMS = {
    ("[", True): re.compile(r"[\"']([A-Za-z0-9][^\s\"']{3,500})[\"']"),
    ("{", True): re.compile(r"[:=>]\s{0,5}[\"']([A-Za-z0-9][^\s\"']{3,500})[\"']"),
    ("{", False): re.compile(r"\bvalue[\"']?\s{0,5}[:=]\s{0,5}[\"']([A-Za-z0-9][^\s\"']{3,500})[\"']"),
    ("-", True): re.compile(r"-[ \t]+[\"']?([A-Za-z0-9][^\s\"']{3,500})[\"']?(?=[ \t]*(?:\n|\Z))"),
}
"""How several values are written, and whether their name says that they are several -> how each is."""
_NAME = re.compile(r"[A-Za-z]+(?:[-_.:/][A-Za-z]+){0,2}[-_.]?v?\d{0,4}[a-z]{0,2}|v?\d*(?:\.\d+)+")
"""A plain name with a number perhaps, or a version."""
_VALUE = r"[^\s\"'`\\,;<>(){}\[\]|&]"
_PLACED = tuple(
    (signs.split("|"), re.compile(each))
    for signs, each in (
        # headers; a cookie is each of its values
        ("authorization", (r"(?i)\bauthorization[\"']?\s{0,3}[:=,]\s{0,3}[\"']?(?:(?:basic|bearer|token|digest|ap"
            r"ikey|aws4-\S{1,40}|negotiate) )?([^\s\"'\\]{6,4000})")),
        ("basic |bearer ", r"(?i)\b(?:basic|bearer) ((?=[\w+/~.-]{0,200}[\dA-Z+/=])[\w.~+/-]{16,4000}={0,2})"),
        ("set-cookie", r"(?i)set-cookie2?[\"']?\s{0,3}[:,=]\s{0,3}[\"']?[^\s=;\"']{1,100}=([^\s;\"'\\]{4,4000})"),
        ("signature=", r"(?i)signature=([\w+/=%-]{16,2000})"),
        # logins
        ("://", r"[a-z]://[^\s/:@\"'<>]{0,100}:((?!\d{1,5}/)[^\s/@\"'<>]{3,500})@"),
        ("://", r"[a-z]://[^\s/:@\"'<>]{0,100}:(?!\d{2,5}/)([^\s\"'<>]{0,100}[^\s/@\"'<>\d][^\s\"'<>]{0,100})@[\w.-]+(?:[:/\s\"'?]|\Z)"),
        ("@tcp(|@unix(", r"[\w.-]{1,60}:([^\s\"'/]{3,200})@(?:tcp|unix)\("),
        # words that are a key, and the numbers of one
        ("mnemonic|seed|phrase", (r"(?i)(?:\b|_)(?:mnemonic|seed(?:[ _-]?phrase)?|phrase)[\"']?\s{0,3}[=:]\s{0,3}[\"']?"
            r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b")),
        ("\"kty", r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,5}:\s{0,5}\"([\w-]{20,2000})\""),
        ("-u|--user|--proxy-user|--creds", (r"(?<![\w-])(?:-u|-U|--user|--proxy-user|--username|--creds)[ =]?[\"'"
            r"]?[^\s:\"'%/=-]{1,100}[:%]((?!//)[^\s\"']{3,200})")),
        ("login", (r"\b(?:machine\s+\S{1,200}|default)\s+login\s+\S{1,100}\s+(?:account\s+\S+\s+)?password\s+([^"
            r"\s\"']{3,500})")),
        ("password", r"\b(?:login|user)\s+\S{1,100}\s+password\s+((?=\S{0,200}[\d!@#%^*_+-])[^\s\"']{4,500})"),
        # a word of prose that is none
        ("pass", (r"(?i)\b(?:password|passphrase|passwd|passcode)(?: (?:for|of) \S{1,80})? (?:is|was|to|are)[: ]{"
            r"1,2}[\"'`]?"
            r"((?=[^\s\"'`]{0,100}\d)(?=[^\s\"'`]{0,100}[A-Za-z])[^\s\"'`,;<>]{6,200}|\w+-\w+-[\w-]+)")),
        # calls
        ("auth|login|connect|credential", (r"\b\w{0,30}(?:[Aa]uth|login|connect|authenticate|[Cc]redentials?)\w{0"
            r",20}\s?=?\s?\(\s{0,20}[\"'][^\"'\n]{1,80}[\"']"
            r"\s?,\s{0,20}[\"']([^\"'\n]{4,200})[\"']")),
        ("cookie", (r"(?i)\bcookies?[\"']?\s?[=:]\s?(?:dict\(|\{)\s{0,20}[\"']?[\w.-]{1,60}[\"']?\s?[:=]\s?[\"']("
            r"[^\"'\n]{4,2000})[\"']")),
        ("password", r"(?m)^\s{0,20}password[ \t]+((?=\S{0,200}[\d!@#%^*_+-])[^\s\"']{4,500})[ \t]*$"),
        (":", r"(?m)^[\w.*-]{1,100}:(?:\d{1,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(\S{3,200})$"),
        ("chpasswd", (r"(?m)(?:chpasswd|\becho|printf)[^\n]{0,40}?[\"' ]\w{1,40}:([^\s\"']{4,200})[\"']?[^\n]{0,2"
            r"0}\| *(?:sudo )?chpasswd")),
        # programs whose short option takes a password
        ("mysql|mariadb", (r"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb(?:-\w+)?)\b[^\n|;]{0,300}? -p[\""
            r"']?([^\s\"'\\]{3,200})")),
        ("sshpass|7z", r"\b(?:sshpass|7za?|7zz)\b[^\n|;]{0,100}? -p ?[\"']?([^\s\"'\\]{3,200})"),
        ("zip|rar", r"\b(?:zip|unzip|rar|unrar)\b[^\n|;]{0,100}? (?:-P ?|-h?p)[\"']?([^\s\"'\\]{4,200})"),
        ("-p|-w", (r"\b(?:docker|podman|buildah|skopeo|helm|oras|nerdctl|az|oc|mongo\w*|twine|influx|cqlsh|sqlcmd"
            r"|bcp|impacket-\w+|lftp|"
            r"ldapsearch|ldapmodify|ldapadd|hydra|rabbitmqadmin|snowsql|nats|vsql|trino)\b[^\n|;]{0,300}? (?:-p|"
            r"-P|-w)[= ]?[\"']?(?!\d{1,5}(?::|\s|$))([^\s\"'\\:/=-][^\s\"'\\:]{3,200})(?=[\s\"']|$)")),
        ("-cli", r"\b(?:redis-cli|valkey-cli)\b[^\n|;]{0,200}? (?:-a|--pass)[ =][\"']?([^\s\"'\\]{3,200})"),
        ("htpasswd", r"\bhtpasswd -\w{0,5}b\w{0,5} [^\n]{1,200}? \S{1,60} [\"']?([^\s\"'\\]{3,200})"),
        (" -s|-stdin|with-token|secret|op signin", (r"\b(?:echo|printf|<<<)\b[^\n|]{0,10}? [\"']?([^\s\"'\\|$]{4,"
            r"2000})[\"']? ?\| ?[^\n|]{0,80}(?:--password-stdin|sudo -S|--token-stdin|login --with-token|secret "
            r"(?:set|put|create)|op signin)")),
        ("pass:", r"\bpass(?:in|out)?[ =]pass:([^\s\"'\\]{3,200})"),
        ("requirepass|masterauth|auth", (r"\b(?:requirepass|masterauth|AUTH)[ \t]+[\"']?((?=\S{0,100}[\d-])[^\s\""
            r"'\\]{4,200})")),
        ("set|add|put|create|store|write|update", (r"(?i)\b(?:set|add|put|create|store|write|update)\b[^\n|;]{0,6"
            r"0}?[ \"'/:._-](?:\w{0,30}[_-])?(?:password|passwd|secret|auth_?token|api_?key|secret_access_key|se"
            r"ssion_token)[\"']?[ \t]+[\"']?((?=[^\s\"'\\]{0,100}\d)[^\s\"'\\=]{6,2000})")),
        ("gh secret", r"\bgh secret set [^\n|;]{1,100}?(?:-b|--body)[ =][\"']?([^\s\"'\\]{4,2000})"),
        # SQL
        ("identified|password", (r"(?i)\b(?:identified (?:with \S+ )?by|(?:encrypted |with |alter |set )password("
            r"?: for \S{1,80})?(?: =| to)?|password\()\s*[\"'](.{3,200}?)[\"']")),
        ("password(", r"(?i)\bpassword\s*=\s*password\([\"'](.{3,200}?)[\"']"),
    )
)  # fmt: skip
"""Each with what such a text holds, one of them, in small letters."""
_COOKIE = re.compile(
    r"(?i)(?:\bcookie[\"']?\s{0,3}[:,=]\s{0,3}[\"']?|\b(?:curl|wget|https?)\b[^\n]{0,400}? (?:-b|--cookie)[ =]["
    r"\"']?)((?:[^\s=;\"']{1,100}=[^;\"'\n]{0,4000}(?:;[ ]?|(?=[\"'\n]|\Z)))+)"
)
_COOKIES = re.compile(r"=([^;\s\"'`]{4,4000})")
_TAGS = re.compile(
    r"<([\w:.-]{2,80})(?:\s[^<>]{0,200})?>\s{0,80}(?:<!\[CDATA\[)?([^<>\]]{3,2000}?)(?:\]\]>)?\s{0,80}</\1"
)
_PAIRS = re.compile(
    r"(?i)[\"']?\b(?:name|key|id|property|variable)[\"']?\s{0,3}[:=]\s{0,3}[\"']?([\w.:-]{2,80})[\"']?\s{0,3}[,;"
    r"]?\s{0,40}(?:type\s?=\s?\S{1,40}\s{1,9})?"
    r"(?:-\s)?[\"']?value[\"']?\s{0,3}[:=]\s{0,3}[\"']?([^\s\"'<>]{3,2000})"
)
_ENV_PAIR = re.compile(r"<\w*[^<>]{0,80}\b(?:name|key|id)=[\"']([\w.-]{2,80})[\"'][^<>]{0,80}>([^<>]{3,500})</")


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where a value stands that is a secret by what is before it."""
    lower = text.translate(_LOWER)
    for signs, pattern in _PLACED:
        for found in pattern.finditer(text) if any(sign in lower for sign in signs) else ():
            if not _is_plain(found[1]):
                yield found.span(1)
    for header in _COOKIE.finditer(text) if "cookie" in lower or "-b" in lower else ():
        for found in _COOKIES.finditer(text, *header.span(1)):
            yield found.span(1)
    for sign, pattern in (("</", _TAGS), ("value", _PAIRS), ("</", _ENV_PAIR)):
        for found in pattern.finditer(text) if sign in lower else ():
            kind = _tell_kind(found[1])
            if kind and not _is_plain(found[2]) and (kind != "short" or not found[2].isalpha()):
                yield found.span(2)
    yield from _find_named(text, lower)


def is_name(value: str) -> bool:
    """Whether it may stand in any other text and be no secret there."""
    return _NAME.fullmatch(value) is not None


def _is_plain(value: str) -> bool:
    return bool(_NO_SECRET.fullmatch(value) or _CODE.match(value) or value.lower() in _FUNCTION_WORDS)


def _tell_kind(name: str) -> str:
    """Whose name it is: of a `password`, of another `secret`, of one by its `short` name; empty: of none."""
    pieces = [piece.lower() for piece in _PIECES.findall(name)]
    if (
        not pieces
        or pieces[-1] in _PLAIN_ENDS
        or "existing" in pieces
        or (pieces[0] in _PLAIN_STARTS and len(pieces) > 1)
    ):
        return ""
    if any(_PASSWORD.fullmatch(piece) for piece in pieces) or (name.isupper() and _PASS.search(name)):
        return "password"
    for at, piece in enumerate(pieces):
        if piece.endswith(_ENDS) or _SEED.fullmatch("".join(pieces[max(0, at - 1) : at + 1])):
            return "secret"
        if piece == "key" and at and pieces[at - 1] not in _NO_KEYS and (name.isupper() or pieces[at - 1] in _KEYS):
            return "secret"
    return "short" if not set(pieces).isdisjoint(_SHORT) else ""


def _find_named(text: str, lower: str) -> Iterator[tuple[int, int]]:
    until = 0
    for _, start, end in _WORDS.find_matches_as_indexes(lower):
        if start < until:
            continue
        before = _BEFORE.search(text, max(0, start - 60), start)
        begin = before.start() if before else start
        after = _AFTER.match(text, end)
        until = after.end() if after else end
        name = text[begin:until]
        kind = _tell_kind(name.lstrip("-"))
        if kind and (found := _find_value(text, begin, until, kind, name)):
            yield found
        else:
            yield from _find_listed(text, until, name)


def _find_listed(text: str, end: int, name: str) -> Iterator[tuple[int, int]]:
    """Values behind a name of several, in a list or by further names; one of its own may be called `value`."""
    kind = _tell_kind(name.removesuffix("s"))
    listed = _SEVERAL.match(text, end) if kind else None
    if not listed or not (item := _ITEMS.get((listed[1] or "-", name.endswith("s")))):
        return
    for found in item.finditer(text, *listed.span()):
        value = found[1]
        odd = len(value) >= 8 and len(re.findall(r"\d", value)) > 2 and re.search("[A-Za-z]", value)
        looks_secret = re.search(r"[\d\W_]", value) if kind == "password" else odd and not is_name(value)
        if looks_secret and not _is_plain(value):
            yield found.span(1)


def _find_value(text: str, begin: int, end: int, kind: str, name: str) -> tuple[int, int] | None:
    ahead = text[max(0, begin - 30) : begin]
    if _OPTION.search(text[max(0, begin - 30) : end]) and (argument := _ARGUMENT.match(text, end)):
        return None if _is_plain(argument[1]) or (kind == "short" and _is_word(argument[1])) else argument.span(1)
    sign = _SIGN.match(text, end)
    if not sign:
        word = re.compile(r"[ \t]+([^\s\"'`,;<>]{4,500})[ \t]*(?:\n|\Z)").match(text, end)
        if (
            word
            and re.search(r"(?:^|\n)[ \t]*(?:setenv|ENV|set -\w+|config set)[ \t]+[\w.:/-]*\Z", ahead)
            and not _is_plain(word[1])
        ):
            return word.span(1)
        return None
    if quoted := _QUOTED.match(text, sign.end()):
        inner = quoted[2]
        worded = kind == "short" and (" " in inner or _is_word(inner))
        spaced = sign[1].isspace() and (kind != "password" or " " in inner or _is_word(inner))
        return None if _is_plain(inner) or worded or spaced or _names_itself(inner) else quoted.span(2)
    if not sign[1].strip(" \t),"):
        return None
    if block := _BLOCK.match(text, sign.end()):
        return None if _is_plain(block[1]) else block.span(1)
    bare = _BARE.match(text, sign.end())
    if not bare or "\n" in text[sign.start() : bare.start()]:
        return None
    value = bare[1].rstrip(".)]}:!?" if sign[1] == ":" else ")]}")
    place = bare.start(), bare.start() + len(value)
    if len(value) < 4 or _is_plain(value) or _names_itself(value):
        return None
    tight = sign[1].endswith("=") and sign.end() == sign.end(1)
    if name.isupper() and tight and kind != "short":
        return None if value.isdecimal() and kind != "password" else place
    set_ = bool(_LINE.search(text[max(0, begin - 60) : begin])) and bool(_REST.match(text, bare.end()))
    set_ = set_ or (kind == "password" and tight and bool(_WORD_BEFORE.search(ahead)))
    ended = bool(_REST.match(text, place[1])) or place[1] < bare.end()
    return place if _is_value(value, kind, set_=set_, ended=ended) else None


def _is_value(value: str, kind: str, *, set_: bool, ended: bool) -> bool:
    """Whether a bare text behind a name can be a secret.

    Args:
        set_: The name begins its line or its part of one, and the text ends it.
        ended: No further words follow.
    """
    digit, letter = bool(re.search(r"\d", value)), bool(re.search("[A-Za-z]", value))
    if digit and letter:
        return len(value) >= (6 if kind != "short" else 10) or set_
    if digit:
        return kind == "password" and set_
    if kind == "short":
        return set_ and len(value) >= 8 and not _is_word(value)
    if re.search(r"[^A-Za-z]", value):
        hyphens = value.count("-") + value.count("_") + value.count(".")
        return set_ or (len(value) >= 8 and (ended or (kind == "password" and hyphens > 1)))
    return kind == "password" and set_


def _is_word(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Z]?[a-z]*|[A-Z]+", text))


def _names_itself(value: str) -> bool:
    """`token = auth_token`: a name that says what it holds."""
    return bool(re.fullmatch(r"[A-Za-z_][A-Za-z_.-]*", value)) and bool(_tell_kind(value))
