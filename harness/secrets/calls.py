"""The secrets that stand as arguments of calls in code."""

from __future__ import annotations

from harness.secrets.patterns import pattern

_TEXT = r"b?[\"']([^\"'\n]{4,4000})[\"']"
_USER = r"[\"'][^\"'\n]{1,80}[\"']\s?,\s{0,20}"
"""A quoted argument before the secret: who logs in, or where."""

PATTERNS = (
    # who logs in, and a password
    pattern(
        "auth|login|credential",
        r"\b\w{0,30}(?:[Aa]uth|login|authenticate|[Cc]redentials?(?:\.\w{1,20})?)\w{0,20}\s?=?\s?\(\s{0,20}",
        rf"{_USER}(?:Some\()?{_TEXT}",
    ),
    pattern("cred|auth|login", rf"(?i)\b(?:creds|credentials|auth|login)[\"']?\s?[=:]\s?[\[(]\s?{_USER}{_TEXT}"),
    pattern(
        "connect|pdo|ftp|sequelize",
        r"(?:\b\w{0,20}[cC]onnect(?:ion)?|\bPDO|\bSequelize|\bS?FTP(?:_TLS)?)\(\s{0,20}",
        rf"(?:[\w.]{{1,40}}|[\"'][^\"'\n]{{1,200}}[\"']),\s{{0,20}}(?:\d{{2,5}},\s?)?{_USER}{_TEXT}",
    ),
    pattern("create_superuser|create_user", rf"\bcreate_(?:super)?user\({_USER}(?:{_USER})?{_TEXT}\)"),
    pattern("set_password(", rf"\bset_password\({_USER}{_USER}{_TEXT}"),
    pattern("sp_", rf"\bsp_(?:addlogin|password) {_USER}{_TEXT}"),
    # a password or a key alone
    pattern(
        "password(|passphrase(|secret(|apikey(|token(",
        r"\.(?:set_?|with_?)?(?i:(?:api|auth|access|client|secret)?_?(?:password|passphrase|secret|key|token))",
        r"\([\"']((?=[^\"'\n]{0,200}\d)(?=[^\"'\n]{0,200}[A-Za-z])[^\s\"']{8,400})[\"']\)",
    ),
    pattern(
        "password|passwd|pw(",
        r"\b\w{0,20}(?:set|make|hash|check|verify|generate|derive|encrypt)_?\w{0,20}(?i:password|passwd|pw)\w{0,10}",
        r"\(\s?b?[\"']((?=[^\"'\n]{0,200}[\d\W_])[^\"'\n]{4,200})[\"']",
    ),
    pattern("bcrypt|argon2|scrypt", rf"(?:bcrypt|argon2|scrypt)\.\w{{1,20}}\({_TEXT}"),
    pattern("jwt", rf"\bjwt\.(?:sign|verify|encode|decode)\([^\n\"']{{1,80}}, ?{_TEXT}"),
    pattern("hmac", rf"\bhmac\.(?:new|digest)\({_TEXT}"),
    pattern("createhmac", rf"\bcreateHmac\([\"']\w{{1,20}}[\"'], ?{_TEXT}"),
    pattern("wallet(|privatekeytoaccount(|from_key(", r"\b\w{6,20}\([\"']((?:0x)?[0-9a-f]{64})[\"']"),
    pattern("fernet(", rf"\bFernet\({_TEXT}"),
    pattern("cookieparser(", rf"\bcookieParser\({_TEXT}"),
    pattern("securestring", r"(?i)\bConvertTo-SecureString (?:-String )?[\"']([^\"'\n]{4,400})[\"']"),
    pattern(".run(|.login(", r"\b(?:bot|client)\.(?:run|login)\([\"']([\w.-]{16,200})[\"']"),
    pattern("credentials(", rf"\b\w{{0,20}}Credentials\({_USER}{_TEXT}"),
    # what a browser is told to type
    pattern(
        "password|passwd|token|secret|otp",
        r"(?i)(?:password|passwd|token|secret|otp)[^\n\w][^\n]{0,60}?\.(?:fill|type|send_?keys|press_?sequentially|setValue)",
        r"\(\s?[\"']([^\"'\n]{4,400})[\"']",
    ),
    pattern(
        "password",
        r"(?i)\"(?:selector|element|field|ref|label)\":\s?\"[^\"\n]{0,60}passw(?:or)?d[^\"\n]{0,40}\"[^{}\n]{0,120}?",
        r"\"(?:text|value)\":\s?\"([^\"\n]{4,400})\"",
    ),
    pattern("password", r"[\"']((?=[^\"'\n]{0,60}\d)[^\s\"'\n]{6,200})[\"'] [!=]==? [\w.]{0,30}password\b"),
    pattern("password", r"(?i)passw(?:or)?d\.equals\(\"([^\"\n]{4,200})\"\)"),
)
