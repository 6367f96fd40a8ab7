"""The values behind a secret's name: in code, in settings of every notation, and in lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.names import Name, tell_kind
from harness.secrets.values import is_mixed, is_odd, is_plain, is_random, is_word, names_itself

_SIGN = re.compile(
    r"""(?x)
    ["'`]?\]?\*{0,2}                                                            # closes the name
    (?:[ \t][(\[][^()\[\]\n]{1,40}[)\]]|[ \t](?:for|of)[ \t]\S{1,40}?|\[\d{0,4}\])?
    [ \t]{0,20}
    (?::[ \t]{0,3}[&'A-Za-z_][\w.\[\]|<>&' ]{0,30}?[ \t]{0,3}(?==[^=]))?        # a type
    (:=|=>|->|<-|[?+|]{0,2}=(?!=)|::?(?=[ \t])|:(?!:)\*{0,2}
        |\|\||\|(?![^\n|]{0,60}\}\})|[!=]==?|\?\?|\?:|or(?=[ ]["'])|\{(?=["'])
        |(?<=["'`]),|(?<=["'`])[ \t]{0,3}\),?|[ \t](?=["'])
    )\s{0,20}
    """
)
"""What stands between a name and its value."""
_COMPARED = ("==", "!=", "===", "!==")
_ONLY_QUOTED = (*_COMPARED, "||", "??", "?:", "or", "{", " ", "\t")
_WRAPPED = re.compile(
    r"""(?x)
    (?:\[?(?:[\w.:]{0,20}(?:Secret|Secure|Password)\w{0,10}|Some|[Ss]tring|str|[Bb]ytes|atob
        |[\w.]{0,20}(?:b64|base64_?)_?decode|Buffer\.from|sensitive)\()?
    (?:string\(\d+\)[ ]|\(string\)[ ](?:\(len=\d+\)[ ])?)?(?:[@\#]|[bBrRuUL]{1,2})?(?=["'`])
    """
)
"""What may stand before a quoted value: a call that takes it as it is, a prefix of a string."""
# a text that was cut may end before its quote is closed
_QUOTED = re.compile(r"([\"'`]{3}|[\"'`])\s{0,5}((?:(?!\1)(?:[^\\\n]|\\.)){3,500}?)\s{0,5}(?:\1|\\?\Z)")
_KEY_SIGN = re.compile(r"\s{0,3}(?::|=>)")
"""What stands behind the name of the next value, in an object."""
_BLOCK = re.compile(r"[|>][+-]?[ \t]*\n\s+([^\s\"'`]{4,500})")
_BARE = re.compile(r"([^\s\"'`,;<>]{4,2000})")
_REST = re.compile(r"[ \t]*(?:[,;)}\]\"'`#&|<\\]|HTTP/|\n|\Z)")
_GUTTER = r"(?:(?:[\w./-]{1,60}[:-])?L?\d{1,6}(?:[\t→:-]|[ ]?[|│]) ?|[\w./-]{1,60}:)?[ \t]*"
"""What a search or a listing puts before a line."""
_LINE = re.compile(
    rf"(?:^|\n|[;&?{{,]|(?<=[\s(])(?=[\"'`]))[ \t]*{_GUTTER}(?:[-+>*~|│$#%]{{1,3}}[ \t]*)?"
    r"(?:(?:export|set|setenv|setx|ENV|ARG|local|const|let|var|declare)[ \t]+)?(?:[\"'`]|(?:env)?\[[\"']?)?[\w.-]*\Z"
)
_DIRECTIVE = re.compile(
    rf"(?:^|\n|(?<=[\s(])[\"'`])[ \t]*{_GUTTER}(?:[-+>$][ \t]*)?(?:enable[ \t]+)?"
    r"((?:setx|setenv|ENV|set -\w+|(?:\w+ )?config set|CONFIG SET|npm set|#define|RequestHeader set|proxy_set_header"
    r"|SetEnv|fastcgi_param|\w+ env:set)"
    r"[ \t]+)?[\w.:/-]*\Z"
)
"""What stands before the name that begins a line of settings, or of a command that sets one."""
_DIRECTIVES = ("requirepass", "masterauth", "bindpw", "rootpw")
"""Names that are settings of one program only."""
_SETTING = re.compile(r"[ \t]+([^\s\"'`,;<>]{4,500})(?:[ \t]*(?:\n|\Z|;)|[ \t]+/M\b)")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WORD_BEFORE = re.compile(r"(?:[^\s,(] [\"']?|[?&=]|=[^\s,(]{1,20},|[\w-]=?[ =][\"'])\Z")
"""What stands before a word of a command, or of a text that says how to connect: no argument of a call."""
_OPTION = re.compile(r"(?:(?<![\w-])--?|(?<=[ \t])/)[\w-]{0,40}\Z")
_ADDRESS = re.compile(r"\barn:[\w:/-]*\Z")
"""What a cloud calls a secret by."""
_ARGUMENT = re.compile(
    r"(?:[ \t]+|=|:(?=\S)|[\"'][ \t]*,\s*(?=[\"'])|[\"'][ \t]*)[\"']?([^\s\"'`,;<>-][^\s\"'`,;<>]{3,500})"
)
_SEVERAL = re.compile(
    r"""(?x)
    ["']?\s{0,3}(?::|=>?)\s{0,5}
    (?:([\[{])[^\[\]{}]{3,2000}[\]}]
    |(?<=\n)(?:(?:[ \t]*-[ \t]|[ \t]{1,40}[\w.-]{1,60}:[ \t])[^\n]{3,200}(?:\n|\Z)){1,100})
    """
)
_ITEMS = {
    ("[", True): re.compile(r"[\"']([A-Za-z0-9][^\s\"']{3,500})[\"']"),
    ("{", True): re.compile(r"[:=>]\s{0,5}[\"']([A-Za-z0-9][^\s\"']{3,500})[\"']"),
    ("{", False): re.compile(r"\bvalue[\"']?\s{0,5}[:=]\s{0,5}[\"']([A-Za-z0-9][^\s\"']{3,500})[\"']"),
    ("-", True): re.compile(r"[-:][ \t]+[\"']?([A-Za-z0-9][^\s\"']{3,500})[\"']?(?=[ \t]*(?:\n|\Z))"),
}
"""How several values are written, and whether their name says that they are several -> how each is."""


def find(text: str, name: Name) -> Iterator[tuple[int, int]]:
    """Where the values behind a name stand."""
    if name.kind and (found := _find_value(text, name)):
        yield found
    else:
        yield from _find_listed(text, name)


def _find_listed(text: str, name: Name) -> Iterator[tuple[int, int]]:
    """Values behind a name of several, in a list or by further names; one of its own may be called `value`."""
    kind = tell_kind(name.text.removesuffix("s"))
    listed = _SEVERAL.match(text, name.end) if kind else None
    if not listed:
        return
    several = name.text.endswith("s")
    item = _ITEMS.get((listed[1] or "-", several))
    for found in item.finditer(text, *listed.span()) if item else ():
        value = found[1]
        named = found[0][0] == ":" and not listed[1]
        looks_secret = is_mixed(value) if named else not several or re.search(r"[\d\W_]", value)
        if (looks_secret if kind == "password" else is_odd(value)) and not is_plain(value) and "://" not in value:
            yield found.span(1)


def _find_value(text: str, name: Name) -> tuple[int, int] | None:
    begin, end, kind, _ = name
    # windows before the name: from the begin of a long text, patterns that end in \Z would take quadratic time
    if _ADDRESS.search(text[max(0, begin - 90) : begin]):
        return None
    if _OPTION.search(text[max(0, begin - 30) : end]) and (argument := _ARGUMENT.match(text, end)):
        return None if is_plain(argument[1]) or (kind == "short" and is_word(argument[1])) else argument.span(1)
    directive = _DIRECTIVE.search(text[max(0, begin - 120) : begin])
    sign = _SIGN.match(text, end)
    if not sign:
        return _find_setting(text, name, directive) if directive else None
    wrapped = _WRAPPED.match(text, sign.end())
    if quoted := _QUOTED.match(text, wrapped.end() if wrapped else sign.end()):
        if sign[1] == "," and _KEY_SIGN.match(text, quoted.end()):
            return None
        return quoted.span(2) if _is_quoted_secret(quoted[2], sign[1], kind, directive=bool(directive)) else None
    if sign[1] in _ONLY_QUOTED or not sign[1].strip(" \t),"):
        return None
    if block := _BLOCK.match(text, sign.end()):
        return None if is_plain(block[1]) else block.span(1)
    return _find_bare(text, name, sign)


def _find_setting(text: str, name: Name, directive: re.Match[str]) -> tuple[int, int] | None:
    """A value without a sign before it, as `requirepass X` has it."""
    word = _SETTING.match(text, name.end)
    if not word or is_plain(word[1]) or names_itself(word[1]) or _CONSTANT.fullmatch(word[1]):
        return None
    told = (directive[1] and name.kind != "short") or name.text.lower() in _DIRECTIVES
    return word.span(1) if told or _is_setting(word[1], name.kind) else None


def _is_setting(value: str, kind: str) -> bool:
    if "/" in value or "(" in value:
        return is_random(value)
    return is_mixed(value) if kind == "password" else is_odd(value)


def _is_quoted_secret(inner: str, sign: str, kind: str, *, directive: bool) -> bool:
    if is_plain(inner) or names_itself(inner):
        return False
    worded = " " in inner or is_word(inner)
    if kind == "short" and worded:
        return False
    if sign in _COMPARED:
        return kind == "password" or is_odd(inner)
    if sign == "or":
        return is_mixed(inner)
    if sign.isspace():
        return is_odd(inner) or (kind == "password" and (directive or not worded)) or (directive and is_mixed(inner))
    return True


def _find_bare(text: str, name: Name, sign: re.Match[str]) -> tuple[int, int] | None:
    bare = _BARE.match(text, sign.end())
    if not bare or "\n" in text[sign.start() : bare.start()]:
        return None
    # behind a colon a sentence may end with the value
    value = bare[1].rstrip(".)]}:!?" if sign[1] == ":" else ")]}")
    place = bare.start(), bare.start() + len(value)
    if len(value) < 4 or is_plain(value) or names_itself(value):
        return None
    tight = sign[1].endswith("=") and sign.end() == sign.end(1)
    # as a shell or an env file sets a variable
    if name.text.isupper() and tight and name.kind != "short":
        return None if value.isdecimal() and name.kind != "password" else place
    ended = bool(_REST.match(text, place[1])) or place[1] < bare.end()
    set_ = _is_set(text, name, bare.end(), tight=tight)
    return place if _is_value(value, name.kind, set_=set_, ended=ended) else None


def _is_set(text: str, name: Name, end: int, *, tight: bool) -> bool:
    """Whether the name begins its line or its part of one, and the text ends it."""
    if _LINE.search(text[max(0, name.begin - 90) : name.begin]) and _REST.match(text, end):
        return True
    ahead = text[max(0, name.begin - 30) : name.begin]
    return name.kind == "password" and tight and bool(_WORD_BEFORE.search(ahead))


def _is_value(value: str, kind: str, *, set_: bool, ended: bool) -> bool:
    """Whether a bare text behind a name can be a secret.

    Args:
        set_: See _is_set.
        ended: No further words follow.
    """
    digit, letter = bool(re.search(r"\d", value)), bool(re.search("[A-Za-z]", value))
    if digit and letter:
        return len(value) >= (6 if kind != "short" else 10) or set_
    if digit:
        return kind == "password" and set_
    if kind == "short":
        return set_ and len(value) >= 8 and not is_word(value)
    if re.search(r"[^A-Za-z]", value):
        hyphens = value.count("-") + value.count("_") + value.count(".")
        return set_ or (len(value) >= 8 and (ended or (kind == "password" and hyphens > 1)))
    return kind == "password" and set_
