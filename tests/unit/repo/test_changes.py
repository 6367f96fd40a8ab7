"""What git's diff of a file says, as far as a story can write it down."""

from __future__ import annotations

import pytest

from harness.repo.changes import FileChange, _read_file


@pytest.mark.parametrize(
    "rows",
    [
        [b'rename from "a\\tb"', b"rename to c"],
        [b"rename from c", b'rename to "a\\tb"'],
        [b'--- "a/a\\tb"', b'+++ "b/a\\tb"'],
    ],
    ids=["old", "new", "both"],
)
def test_a_file_whose_name_git_quotes_is_left_out(rows: list[bytes]) -> None:
    assert _read_file([b"diff --git", *rows]) is None


def test_a_quote_elsewhere_in_a_row_is_none() -> None:
    rows = [b"diff --git a/x b/x", b"--- a/x", b"+++ b/x", b"@@ -1 +1 @@", b'-"a"', b'+"b"']
    found = _read_file(rows)
    assert isinstance(found, FileChange) and (found.old, found.new, len(found.hunks)) == ("x", "x", 1)
