"""The secrets of requests: headers, cookies, bodies, and logins in addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.patterns import pattern
from harness.secrets.values import is_plain

_SCHEMES = "basic|bearer|token|digest|apikey|aws4-[^ ]{1,40}|negotiate|bot|ssws|geniekey"
PATTERNS = (
    pattern(
        "authorization",
        rf"(?i)\bauthorization[\"']?\s{{0,3}}[:=,]\s{{0,3}}[\"']?(?:(?:{_SCHEMES}) )?([^\s\"'\\]{{6,4000}})",
    ),
    pattern("authorization", r"(?i)\bauthorization: (?:[\w-]{2,30} )((?=[^\s\"'\\]{0,300}\d)[^\s\"'\\]{16,4000})"),
    pattern("basic |bearer ", r"(?i)\b(?:basic|bearer) ((?=[\w+/~.-]{0,200}[\dA-Z+/=])[\w.~+/-]{16,4000}={0,2})"),
    pattern("bearer.auth", r"bearer\.authorization\.k8s\.io\.([\w-]{16,4000})"),
    pattern("digest ", r"(?i)\bdigest [^\n]{0,600}?\bresponse=\"([0-9a-f]{32,64})\""),
    pattern("set-cookie", r"(?i)set-cookie2?[\"']?\s{0,3}[:,=]\s{0,3}[\"']?[^\s=;\"']{1,100}=([^\s;\"'\\]{4,4000})"),
    pattern(
        "sess|connect.sid",
        r"(?i)(?<![\w.-])(?:[a-z]{2,4}sessid|jsessionid|asp\.net_sessionid|connect\.sid|_?\w{2,20}_sess(?:ion)?)",
        r"[\"']?[=:]\s?[\"']?((?=[^\s;\"'\\]{0,100}\d)[\w%.+/-]{20,4000})",
    ),
    pattern("signature=", r"(?i)signature=([\w+/=%-]{16,2000})"),
    # a field of a form
    pattern(
        "form-data",
        r"(?i)name=\"?[\w.\[\]-]{0,40}(?:password|passwd|pwd|secret|token|api_?key)",
        r"[\w\]-]{0,10}\"?[\r\n]{1,2}[ \t]{0,20}[\r\n]{1,2}[ \t]{0,20}([^\s]{3,500})",
    ),
    pattern('"kty', r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,5}:\s{0,5}\"([\w-]{20,2000})\""),
    pattern("key", r"(?i)key[\"']?\s?[:=]\s?[\"']?([A-Za-z0-9+/]{86}==)"),
    # logins in addresses
    pattern("://", r"[a-z]://[^\s/:@\"'<>]{0,100}:((?!\d{1,5}/)[^\s/@\"'<>]{3,500})@"),
    pattern(
        "://",
        r"[a-z]://[^\s/:@\"'<>]{0,100}:(?!\d{2,5}/)((?=[/@\d]{0,100}[^\s/@\"'<>\d])[^\s\"'<>]{1,200})@[\w.-]+(?:[:/\s\"'?]|\Z)",
    ),
    pattern("@", r"(?<![\w/:.@-])[\w.-]{1,40}:([^\s\"'/:@]{4,100})@[a-z][\w-]{1,60}(?:\.[\w-]{2,60}){1,5}:\d{2,5}\b"),
    pattern("@tcp(|@unix(", r"[\w.-]{1,60}:([^\s\"'/]{3,200})@(?:tcp|unix)\("),
    pattern("trojan:|ss:|vless:|vmess:|hysteria", r"\b(?:trojan|ss|vless|vmess|hysteria2?)://([^\s@#\"']{8,2000})"),
    pattern("pwd={|password={", r"(?i);p(?:wd|assword)=\{([^{}\n]{4,100})\}"),
    pattern("auth-migration", r"otpauth-migration://offline\?data=([^\s\"'&]{16,4000})"),
    pattern("wifi:", r"WIFI:[^\n]{0,100}?P:((?:\\.|[^;\\\n]){4,100});"),
    pattern(
        "login",
        r"\b(?:machine\s+\S{1,200}|default)\s+login\s+\S{1,100}\s+(?:account\s+\S+\s+)?password\s+([^\s\"']{3,500})",
    ),
    pattern("password", r"\b(?:login|user)\s+\S{1,100}\s+password\s+((?=\S{0,200}[\d!@#%^*_+-])[^\s\"']{4,500})"),
    pattern("password", r"(?m)^\s{0,20}password[ \t]+((?=\S{0,200}[\d!@#%^*_+-])[^\s\"']{4,500})[ \t]*$"),
    pattern(":", r"(?m)^[ \t]{0,20}[\w.*-]{1,100}:(?:\d{1,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?!\d{1,6}:)(\S{3,200})$"),
    # a mail server's or a file server's dialogue
    pattern("user ", r"(?m)^[> ]{0,4}USER \S{1,60}\r?\n(?:[< ]{0,3}\d{3}[^\n]{0,80}\n)?[> ]{0,4}PASS (\S{4,200})$"),
    pattern("pass ", r"(?m)^[ \t]{0,20}> PASS ((?![\w.-]{0,60}/)\S{4,200})$"),
    pattern("user ", r"(?m)^[ \t]{0,20}ftp> user \S{1,60} (\S{4,200})$"),
    pattern(" login ", r"(?m)^[ \t]{0,20}[\w.]{1,8} LOGIN \"?[\w.@+-]{1,80}\"? \"?([^\s\"]{4,200})\"?$"),
    pattern("auth plain ", r"(?i)\bauth plain ([\w+/]{8,2000}={0,2})"),
    pattern("ugfzc3dvcmq6", r"(?i)UGFzc3dvcmQ6\s{1,4}(?:[<>] )?([\w+/]{4,400}={0,2})"),
    # what stays behind a program that asks
    pattern(
        "pass",
        r"(?im)\b(?:password|passphrase) for (?:key |user )?[\"']?[\w@./~-]{1,80}[\"']?: ",
        r"((?=\S{0,100}[\d!#%^*_+])[^\s\"']{4,200})$",
    ),
    pattern("assword", r"(?i)assword[^\n]{0,60}\n[^\n]{0,20}\bsend(?:line)?[ (]{1,2}(?:-- )?[\"']([^\"'\n\\$]{4,200})"),
)
# `+` behind a bound gives nothing back: a text of many cookies would be divided in every way
_COOKIE = re.compile(
    r"(?i)(?:\bcookie[\"']?\s{0,3}[:,=]\s{0,3}[\"']?|\b(?:curl|wget|https?)\b[^\n]{0,400}? (?:-b|--cookie)[ =][\"']?)"
    r"((?:[^\s=;\"']{1,100}=[^;\"'\n]{0,4000}+;?[ ]?)+)"
)
_COOKIES = re.compile(r"(?<!theme)(?<!path)(?<!lang)=([^;\s\"'`]{4,4000})")


def find_cookies(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Where each value of a header of cookies stands."""
    for header in _COOKIE.finditer(text) if "cookie" in lower or "-b" in lower else ():
        for found in _COOKIES.finditer(text, *header.span(1)):
            if not is_plain(found[1]):
                yield found.span(1)
