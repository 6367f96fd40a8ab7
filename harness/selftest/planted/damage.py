"""Faults of texts and sources that come back nearly whole: a zero, a flag, a sign, a sentence, an address is gone."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

ALTERED = ("odd_texts_exact", "texts_whole", "writes_kept", "writes_listed")


class _Damaging(ReferenceMemory):
    """Stores another text than it is told, when it is written and when it is updated."""

    lost: ClassVar[str] = ""
    """A pattern: what matches it is replaced by `by`."""
    by: ClassVar[str] = ""

    def damage(self, text: str) -> str:
        return re.sub(self.lost, self.by, text, flags=re.MULTILINE)

    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        return super().columns(replace(item, text=self.damage(item.text)), vector)


class _Damaged(Planted):
    must: ClassVar[tuple[str, ...]] = ALTERED


class RoundsDecimals(_Damaged):
    """Numbers pass through a float: 3.10 is 3.1."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # not within 1.2.3 or v1.2, which are no floats
            return re.sub(r"(?<![\w.])\d+\.\d+(?![\w.])", lambda m: str(float(m[0])), text)


class DropsLeadingZeros(_Damaged):
    """Numbers pass through an integer: the mode 0644 is 644."""

    class Memory(_Damaging):
        # not a lone 0: a digit has to follow
        lost = r"\b0+(?=\d)"


class DropsFlags(_Damaged):
    """What begins with a dash is taken for an option of its own, and dropped."""

    class Memory(_Damaging):
        # behind white space alone, as hyphens stand inside of words, too
        lost = r"(?<=\s)--?[A-Za-z][\w-]*(=\S+)?\s?"


class DropsNegations(_Damaged):
    """Words of a list of stop words are left out, "not" among them."""

    class Memory(_Damaging):
        lost = r"\b(?:not|never|no) "


class DropsSigns(_Damaged):
    """A sign before a number is taken for a dash."""

    class Memory(_Damaging):
        # at the beginning of a word alone: between two numbers it makes a range
        lost = r"(?<!\S)[-+\N{MINUS SIGN}](?=\d)"


class RewritesUnits(_Damaged):
    """KiB and MiB are written as KB and MB."""

    class Memory(_Damaging):
        lost = r"\b([KMG])iB\b"
        by = r"\1B"


class KeepsTheFirstSentence(_Damaged):
    """A memory is one sentence: what follows is not stored."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # a capital has to follow: versions, file names and abbreviations hold full stops, too
            return re.split(r"(?<=\w[.!?])\s+(?=[A-Z])", text, maxsplit=1)[0]


class TrimsPunctuation(_Damaged):
    """Punctuation at the end is trimmed."""

    class Memory(_Damaging):
        lost = r"[.,:!?]+\Z"


class MasksAddresses(_Damaged):
    """E-mail addresses are masked, and nothing says so."""

    class Memory(_Damaging):
        lost = r"[\w.+-]+@[\w-]+\.[\w.]+"
        by = "[email]"


class MasksCredentials(_Damaged):
    """What looks like a credential is masked, and nothing says so."""

    class Memory(_Damaging):
        lost = r"\b(?:AKIA[A-Z0-9]{16}|ghp_\w{20,}|sk-[\w-]{16,})"
        by = "***"


class MasksHosts(_Damaged):
    """Addresses of machines are masked, and nothing says so."""

    class Memory(_Damaging):
        lost = r"\b\d{1,3}(?:\.\d{1,3}){3}\b"
        by = "[ip]"


class StraightensQuotes(_Damaged):
    """Typographic quotes and dashes are written in ASCII."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            return text.translate(dict(zip(map(ord, "“”‘’–—"), "\"\"''--", strict=True)))


class DropsCodeBlocks(_Damaged):
    """What stands between fences is no prose, and left out."""

    class Memory(_Damaging):
        lost = r"```[^`]*```"


class DropsTables(_Damaged):
    """Rows of a table are left out."""

    class Memory(_Damaging):
        lost = r"^\|.*\n?"


class DropsMarkdown(_Damaged):
    """Headings and emphasis are taken away."""

    class Memory(_Damaging):
        lost = r"^#+ |\*\*(?=\w)|(?<=\w)\*\*"


class DropsRepeatedLines(_Damaged):
    """A line that stands there already is left out."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            return "\n".join(dict.fromkeys(text.split("\n")))


class DropsParentheses(_Damaged):
    """What stands in parentheses is left out."""

    class Memory(_Damaging):
        lost = r" \(\w[^()\d]*\)"


class DropsQueries(_Damaged):
    """Links are cut at their question mark."""

    class Memory(_Damaging):
        lost = r"(?<=\w)\?[\w.-]+=[^\s)]*"


class TidiesPaths(_Damaged):
    """Paths are made short: ./build/../dist is dist."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # relative paths alone: `normpath` would make one slash of the two in a URL
            return re.sub(r"(?<!\S)\.{1,2}/\S+", lambda m: posixpath.normpath(m[0]), text)


class ShortensDigests(_Damaged):
    """Digests are written with seven digits."""

    class Memory(_Damaging):
        # of 32 to 64 digits, which are MD5 to SHA-256
        lost = r"\b([0-9a-f]{7})[0-9a-f]{25,57}\b"
        by = r"\1"


class WritesNumbersAsFloats(_Damaged):
    """Large integers lose their last digits."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            # from 16 digits on a float is not exact
            return re.sub(r"\b\d{16,}\b", lambda m: f"{float(m[0]):.0f}", text)


class RewritesWithRoundedNumbers(Planted):
    """A model inside writes texts anew, which it says, and numbers as it reads them: 3.10 as 3.1."""

    native = (*Planted.native, "extracts")
    must = ("numbers_as_told",)
    Memory = RoundsDecimals.Memory


class UpdatesTheFirstSentence(Planted):
    """An update stores the first sentence of its text."""

    must = ("texts_whole",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            first = re.split(r"(?<=\w[.!?])\s+(?=[A-Z])", item.text, maxsplit=1)[0]
            return super().update(scope, memory_id, replace(item, text=first))


class RecallsOneLine(Planted):
    """A question brings texts without their line ends and indentation; a listing shows them as they are."""

    must = ("odd_texts_exact",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return [replace(hit, text=" ".join(hit.text.split())) for hit in super().recall(query, scope, k, at)]


class RestoresWithoutZeros(Planted):
    """A mark is written as JSON with its numbers read: 3.10 comes back as 3.1."""

    must = ("restored_exactly",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            for row in self.db.execute("SELECT seq, text FROM memories WHERE mark = 0").fetchall():
                text = re.sub(r"(\d\.\d)0\b", r"\1", row["text"])
                self.db.execute("UPDATE memories SET text = ? WHERE seq = ?", [text, row["seq"]])


class CutsSources(Planted):
    """Columns for 48 characters: a path or a session that is longer is cut."""

    must = ("source_survives_writing",)

    class Memory(ReferenceMemory):
        def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
            source = item.source
            if source is not None:
                path, session = (part and part[:48] for part in (source.path, source.session))
                item = replace(item, source=replace(source, path=path, session=session))
            return super().columns(item, vector)


class PrefersHttps(_Damaged):
    """A link is made safe: http:// is https://."""

    class Memory(_Damaging):
        lost, by = r"\bhttp://", "https://"


class RenumbersLists(_Damaged):
    """A numbered list is rendered: its numbers begin at 1, whatever was said."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            turns = count(1)
            return re.sub(r"^(\s*)\d+([.)]) ", lambda m: f"{m[1]}{next(turns)}{m[2]} ", text, flags=re.MULTILINE)


class ReserialisesJson(_Damaged):
    """A text that is JSON is parsed, and written as its parser writes it."""

    class Memory(_Damaging):
        def damage(self, text: str) -> str:
            try:
                return json.dumps(json.loads(text), ensure_ascii=False)
            except ValueError:
                return text
