"""What signs a link, or opens it to whoever knows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.patterns import Patterns, pattern

_PARTS = Patterns(
    pattern("hooks.slack", r"hooks\.slack(?:-gov)?\.com/((?:services|workflows|triggers)/[\w/-]{8,200})"),
    pattern("api.telegram", r"api\.telegram\.org/(?:file/)?bot([\w:-]{10,200})"),
    pattern("maker.ifttt", r"maker\.ifttt\.com/[^\s\"'<>\\]{0,100}/key/([\w-]{10,100})"),
    pattern(
        "infura|alchemy|quiknode|ankr",
        r"(?:infura|alchemy|quiknode|ankr)[\w.-]{0,60}/(?:\w{1,20}/){0,3}([\w-]{24,100})",
    ),
    # for one person
    pattern("/private-", r"/private-([0-9a-f]{16,64})/"),
    pattern(
        "reset|magic|invite|verify|confirm|activate|signin|unsubscribe",
        r"/(?:[a-z]{0,12}[-_]?)(?:reset|magic|invite|verify|confirm|activate|signin|unsubscribe)(?:[-_][a-z]{1,12})?/",
        r"(?:\w{1,8}/)?((?=[\w-]{0,100}\d)[\w-]{20,200})",
    ),
    # what signs or opens a link
    pattern(
        "?|&|;",
        r"(?i)[?&;](?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|sig|signature|sign",
        r"|s|key|code|auth|pass|pwd|pw|jwt|sid|session|state|nonce|assertion|hmac|otp|magic|ticket|invite|t|k|api[_-]?key",
        r"|[\w-]{0,30}(?:token|secret|password)[\w-]{0,10})",
        r"=((?=[^\s\"'<>&#]{0,300}\d)[^\s\"'<>&#\\]{10,2000})",
    ),
    # a name that stands alone in the place of a login
    pattern("://", r"://((?=[\w-]{0,200}\d)[\w-]{16,200})@"),
)
_LINK = re.compile(r"https?://[^\s\"'<>\\]{8,2000}")
_TO_READ = re.compile(r"/(?:blob|tree|raw|commit|docs?|wiki|guides?)/|://(?:docs?|developers?)\.")
"""What a link has that leads to a document."""
_LONG_NAME = re.compile(r"/((?=\w{0,200}\d)\w{16,}|[0-9a-f]{8}-[0-9a-f]{4}-)[^\s]*")


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where what signs or opens a link stands."""
    yield from (found.span(1) for found in _PARTS.find(text, text))
    for link in _LINK.finditer(text) if "://" in text else ():
        # A webhook of anybody lets in whoever knows the long name in its path.
        hook = link[0].lower().find("hook", 7)
        if hook > 0 and not _TO_READ.search(link[0]) and (long := _LONG_NAME.search(link[0], hook)):
            yield link.start() + long.start() + 1, link.end()
