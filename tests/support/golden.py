"""Everything committed that the code makes, written anew by one command: `make golden`.

It stops at a formula or a value that changed under the version of its measure; what was written until then it names.
What adapters declare opens every SDK, and what planted faults move takes plays of all of them: these are written with
`--declared` and `--faults` alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from harness import paths
from harness.cli import commands
from harness.report import measures
from harness.selftest import allowed
from tests.support import formulas, golden_damaged, golden_drills, golden_sample, golden_shown, golden_verdicts

DOCUMENT = paths.ROOT / "docs" / "measures.md"
DECLARED = golden_drills.GOLDEN / "declared.md"
PAGE = paths.ROOT / "reports" / "sample" / "report.html"
TOLD = re.compile(r"(?P<head><!-- coldwarm list (?P<words>(?:-b \S+ ?)+)-->\n).*?(?P<end><!-- end -->)", re.DOTALL)
"""The table of what adapters declare, below the words of the command that prints it."""


def _write_document() -> int:
    DOCUMENT.write_text(measures.write_page(), "utf-8")
    return 0


def _write_page() -> int:
    code, _ = _call("report", "-q", str(golden_sample.SAMPLE))
    return code


def _write_declared() -> int:
    def tell(found: re.Match[str]) -> str:
        return f"{found['head']}\n{_call('list', *found['words'].split())[1].strip()}\n\n{found['end']}"

    DECLARED.write_text(TOLD.sub(tell, DECLARED.read_text("utf-8")), "utf-8")
    return 0


def _write_allowed() -> int:
    code, _ = _call("selftest", "measures", "--renew")
    return code


def _call(*words: str) -> tuple[int, str]:
    said = CliRunner().invoke(commands, words)
    code: int = said.exit_code
    if code:
        sys.stderr.write(said.output)
    return code, said.output


Step = tuple[Path, Callable[[], int]]
STEPS: tuple[Step, ...] = (
    (formulas.TABLE, formulas.write),
    (golden_drills.TABLE, golden_drills.write),
    (golden_sample.TABLE, golden_sample.write),
    (golden_damaged.TABLE, golden_damaged.write),
    (golden_shown.TABLE, golden_shown.write),
    (DOCUMENT, _write_document),
    (PAGE, _write_page),
    (golden_verdicts.TABLE, golden_verdicts.write),
)
ASKED: Mapping[str, Step] = {"--declared": (DECLARED, _write_declared), "--faults": (allowed.FILE, _write_allowed)}


def differ(old: Any, new: Any, where: str = "") -> list[str]:
    """The places at which two tables differ, as paths of keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*new, *(each for each in old if each not in new)]
        return [
            line for key in keys for line in differ(old.get(key), new.get(key), f"{where}{' > ' * bool(where)}{key}")
        ]
    return [] if old == new else [where]


def tell(file: Path, before: bytes) -> str:
    """One line: a file, and what in it changed."""
    after, name = file.read_bytes(), file.relative_to(paths.ROOT)
    if before == after:
        return f"{name}: unchanged"
    if file.suffix != ".json" or not before:
        return f"{name}: written anew"
    places = differ(json.loads(before), json.loads(after))
    few = "; ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
    return f"{name}: {len(places)} changed: {few}"


def main(words: list[str]) -> int:
    for file, write in (*STEPS, *(step for word, step in ASKED.items() if word in words)):
        before = file.read_bytes() if file.exists() else b""
        if code := write():
            return code
        sys.stdout.write(tell(file, before) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
