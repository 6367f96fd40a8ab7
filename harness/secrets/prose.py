"""The secrets that a sentence tells, in several languages, and the codes and words that are lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.names import Name
from harness.secrets.patterns import Patterns, pattern
from harness.secrets.values import is_mixed, is_name, is_plain, is_random, names_itself

_SAID = re.compile(
    r"""(?x)
    ["'`*)\]]{0,3}
    (?:[ ](?:provided|given|below|is[ ]generated))?
    (?:[ ](?:admin|root|you[ ](?:need|want)|to[ ]use))?
    (?:[ ](?:for|of|on|für|von|pour|para|per|от|для|voor|de|di)[ ][^\s:：]{1,60}(?:[ ](?!is\b|are\b)[\w-]{1,20})?)?
    (?:
        (?P<verb>[ ](?:is|was|are|to|from|ist|lautet|est|es|è|é|är|er|je)(?:[ ](?:now|still|set[ ]to))?:?[ ])
        |(?P<sign>[ ]?(?:は|是|为|為|는|은|[:：=→–—])[ ]{0,3}|[ ]-[ ])
        |(?P<break>:?[ \t]{0,3}\r?\n(?:[ \t]{0,8}\r?\n)?[ \t]{0,8})
        |[ ]\(?
    )
    (?:["'`「„«“](?P<quoted>[^"'`」“»”\n]{4,200})["'`」“»”]|(?P<bare>[!#-&(-;=?-_a-~]{4,400}))
    """
)
"""How a value follows the word for it."""
_WITH = re.compile(
    r"(?i)\b(?:(?:with|and|using|use|mit|und|avec|con|com|met)(?: (?:the|a|as))?"
    r"|(?:user|username|login|benutzer|usuario|usuário|gebruiker|utilisateur) [\w.@-]{1,60},?) \Z"
)
_OWN = re.compile(r"(?i)\b(?:the|your|my|this|new) \Z")
_KIND_OF = re.compile(
    r"(?i)(?:^|\n)[ \t>*#-]{0,8}"
    r"(?:(?:the|das|le|la|new|current|old|admin|root|default|initial|temporary|generated|database|db|wifi|my) ){1,3}\Z"
)
"""What stands before a password when it is alone in its line."""
_CHARACTERS = re.compile(r"(?:0x)?[0-9a-f]{32,}|(?=[A-Z]*[2-7])[A-Z2-7]{16,}")
"""A key in hex or base32."""
_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_PATTERNS = Patterns(
    pattern(
        "mnemonic|seed|phrase",
        r"(?i)(?:\b|_)(?:mnemonic|seed(?:[ _-]?phrase)?|phrase)[\"']?(?: is)?\s{0,3}[=:]\s{0,3}[\"']?",
        r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b",
    ),
    pattern("mnemonic|seed|phrase|wallet", r"((?:\b\d{1,2}[.):] ?[a-z]{3,8}\s{1,4}){11,23}\d{1,2}[.):] ?[a-z]{3,8})\b"),
    pattern(
        " code|passcode|otp|one-time",
        r"(?i)\b(?:(?:verification|login|security|confirmation|2fa|mfa|sms) code|passcode|one-time password|otp)",
        r"(?: is|:)? (\d{6,8}|(?<=[:s] )\d{4,5})\b(?![.-]\d)",
    ),
    pattern("your code", r"(?i)\byour code(?: is|:) (\d{6})\b"),
    pattern(
        "secret|2fa|setup key",
        r"(?i:secret|2fa|setup key)[^\n]{0,40}?: ((?=[A-Z ]{0,40}[2-7])(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4})\b",
    ),
    pattern(
        "backup code|recovery code", r"(?i)(?:backup|recovery) code(?: is|:) ([a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,3})\b"
    ),
    pattern("password|passwort", r"(?im)passwor[dt]\b(?: is|:) ([a-z]{4}(?: [a-z]{4}){3})$"),
    pattern(
        "pin |pin:|door code|gate code|alarm code",
        r"\b(?:PIN|[Pp]in code|(?:[Dd]oor|[Gg]ate|[Aa]larm) code)(?: is|:)? (\d{4,8})\b",
    ),
    pattern("password", r"(?i)password [^\n:]{0,60}:\s{1,6}([0-9a-f]{32})\b"),
    pattern("password", r"(?i)password from \S{4,100} to [\"'`]?((?=\S{0,40}\d)[^\s\"'`]{6,100})"),
    # who logs in, and a password
    pattern(
        "login|log in|ing in|ged in|log-in|sign in|sign-in|creds|credentials|zugang|account",
        r"(?i)\b(?:log(?:ging|ged)?[ -]?in|sign(?:ing)?[ -]?in|credentials|creds|zugang(?:sdaten)?|account)\b",
        r"[^\n:/]{0,12}?[: ] ?(?!https?:)[a-z][\w.@-]{1,40}(?: / |:|/)",
        r"((?=[^\s/]{0,60}\d)(?=[^\s/]{0,60}[A-Za-z])[^\s\"'`/,;<>()]{8,100})",
    ),
)
_CODES = re.compile(
    r"""(?xi)
    \b(?:backup|recovery|scratch|rescue)[ _-]?codes["'*]{0,3}:?["'*]{0,3}[\s\["'`]{1,12}
    ((?:
        [-*\d.)]{0,3}[ \t]{0,4}["'`]?                            # of a list
        [a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){0,3}(?![\w-])
        ["'`]?[ \t,;]{0,3}\n?[ \t]{0,8}
    ){2,20})
    """
)
_CODE = re.compile(r"(?i)(?<![\w-])(?=[a-z-]{0,30}\d)[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){0,3}(?![\w-])")


def find(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Where codes, words of a wallet and logins stand."""
    for found in _PATTERNS.find(text, lower):
        if not is_plain(found[1]):
            yield found.span(1)
    for codes in _CODES.finditer(text) if "codes" in lower else ():
        yield from (code.span() for code in _CODE.finditer(text, *codes.span(1)))


def find_behind(text: str, name: Name) -> Iterator[tuple[int, int]]:
    """Where the value stands that a sentence tells behind its name."""
    # \Z is the end of what is searched: right before the name
    key = name.text.lower() == "key" and _OWN.search(text, max(0, name.begin - 10), name.begin)
    said = _SAID.match(text, name.end) if name.kind or key else None
    if not said:
        return
    form = "quoted" if said["quoted"] else "bare"
    value = said[form] if form == "quoted" else said[form].rstrip(".,;:!?)]}")
    if len(value) > 3 and not is_plain(value) and not names_itself(value) and _is_told(text, name, said, value):
        yield said.start(form), said.start(form) + len(value)


def _is_told(text: str, name: Name, said: re.Match[str], value: str) -> bool:
    if _CHARACTERS.fullmatch(value) or (is_random(value) and len(value) >= 8 and "(" not in value):
        return True
    if name.kind != "password":
        return False
    if said["verb"]:
        told = said["quoted"] and said["verb"].strip(" :") not in ("to", "from")
        return bool(told or is_mixed(value) or re.fullmatch(r"\w+-\w+-[\w-]+", value))
    before = text[max(0, name.begin - 40) : name.begin]
    if said["sign"]:
        return _is_behind_sign(name, before, value, ends=bool(_END.match(text, said.end())))
    if said["break"]:
        return bool(
            is_mixed(value, 12) and not is_name(value) and re.fullmatch(r"\w+", value) and _END.match(text, said.end())
        )
    told = not name.is_ascii or _WITH.search(before)
    return bool(told and (said["quoted"] or is_mixed(value)))


def _is_behind_sign(name: Name, before: str, value: str, *, ends: bool) -> bool:
    if is_mixed(value):
        return True
    alone = not name.is_ascii or _KIND_OF.search(before)
    return bool(alone and ends and len(value) > 5 and value.isascii())
