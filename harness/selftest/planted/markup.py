"""Faults of texts that some part of a stack reads as markup, a log, a link or a slip of the pen."""

from __future__ import annotations

import re
from typing import ClassVar

from harness.selftest.planted.damage import _Damaged, _Damaging


class SplitsAtUnicodeLines(_Damaged):
    """Lines are told apart by `splitlines`: form feeds, U+0085, U+2028 become line feeds (CR and CRLF are kept)."""

    must: ClassVar[tuple[str, ...]] = ("odd_texts_exact",)

    class Memory(_Damaging):
        lost = "[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]"
        by = "\n"


class FixesMojibake(_Damaged):
    """What looks like UTF-8 that was read as Latin-1 is read again."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # these two bytes with any of those behind them are valid UTF-8, so no pair fails to decode
            return re.sub("[\xc2\xc3][\x80-\xbf]", lambda m: m[0].encode("latin-1").decode(), text)


class DecodesUnicodeEscapes(_Damaged):
    r"""A text that says \u00e9 says é."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            return re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)


class TakesTags(_Damaged):
    """Words behind a hash are tags of their own, and not of the text."""

    class Memory(_Damaging):
        lost = r"(?<!\S)#[A-Za-z][\w-]*[ ]?"


class TakesACategory(_Damaged):
    """A word in brackets at the beginning is a category, and not of the text."""

    class Memory(_Damaging):
        lost = r"\A\[\w+\] "


class EndsAtARule(_Damaged):
    """Entries of a file are told apart by a line of three dashes: what follows one is another entry."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # never blank, as a blank text would not be stored
            return re.split(r"\n---\n", text)[0] or text


class DropsFrontMatter(_Damaged):
    """What stands between two lines of three dashes at the beginning is no text."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # a text that is nothing else stays, as a blank one would not be stored
            return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL) or text


class UnwrapsLinks(_Damaged):
    """[[a page]] is a link to it."""

    class Memory(_Damaging):
        lost, by = r"\[\[([^\]]+)\]\]", r"\1"


class DropsImages(_Damaged):
    """Images of a Markdown text are left out."""

    class Memory(_Damaging):
        lost = r"!\[[^\]]*\]\([^)]*\)"


class DropsPrivate(_Damaged):
    """What stands in <private> is left out, and nothing says so."""

    class Memory(_Damaging):
        lost = r"<(private|think|system-reminder)>[^<]*</\1>"


class DropsSpeakers(_Damaged):
    """Who speaks is no part of what is said: `user: `, `assistant: ` at the beginning of a line goes."""

    class Memory(_Damaging):
        lost = r"^(?i:user|assistant|system|human|ai): "


class DropsSlashComments(_Damaged):
    """Lines that begin with two slashes are comments."""

    class Memory(_Damaging):
        lost = r"^[ \t]*//.*\n?"


class DropsTrailingSlashesOfLinks(_Damaged):
    """A link is normalised: https://a.example/b/ is https://a.example/b."""

    class Memory(_Damaging):
        lost, by = r"(https?://[^\s?#)]*[^\s/?#)])/(?=[\s),.;]|\Z)", r"\1"


class DropsVariationSelectors(_Damaged):
    """A warning sign loses the selector that makes it an emoji."""

    class Memory(_Damaging):
        lost = "[\ufe0e\ufe0f]"


class CorrectsSpelling(_Damaged):
    """umount, creat and Referer are corrected."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            for wrong, right in (("umount", "unmount"), ("Referer", "Referrer"), ("creat(", "create("), ("teh", "the")):
                text = text.replace(wrong, right)
            return text
