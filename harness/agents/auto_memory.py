"""The auto memory of an agent program: a folder below its home that it fills by itself, carried from job to job.

Each job gets a new home, so what the program wrote there is put into the next one. Nothing in it is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from harness.agents.own_file import list_added
from harness.agents.program import list_files, name_files, read_plain

FILES, BYTES = 100, 1_000_000
"""What is carried of one job, in all."""


def collect(home: Path, file: str, notes: str) -> tuple[Mapping[str, bytes], int]:
    """What a program left in the folder of `file`: path below its home -> content, and how many others there were: too
    many, too large, or no plain files. Of `file` itself, which holds `notes`, it is what the program added.

    Links are not followed. The file that is read into each session comes first, the others by name.
    """
    names = sorted(list_files(home, str(PurePosixPath(file).parent)), key=lambda each: (each != file, each))
    kept: dict[str, bytes] = {}
    room = BYTES
    for name in names[:FILES]:
        # one byte more than there is room for, so that a larger file shows
        data = read_plain(home, name, room + 1)
        if data is not None and name == file:
            data = "".join(f"{line}\n" for line in list_added(notes, data.decode("utf-8", "replace"))).encode()
        # `file` is a file again in the next job, so nothing can be put below it
        if data is not None and len(data) <= room and PurePosixPath(file) not in PurePosixPath(name).parents:
            kept[name] = data
            room -= len(data)
    return kept, len(names) - len(kept)


def tell_written(before: Mapping[str, bytes], kept: Mapping[str, bytes], others: int) -> Iterator[str]:
    """What of it is new, a line each."""
    if written := [name for name, data in kept.items() if data != before.get(name, b"")]:
        yield f"written in its auto memory, and kept for later jobs: {name_files(written)}"
    if others:
        yield f"not kept of its auto memory: {others:,} files"
