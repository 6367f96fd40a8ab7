"""The check of backends that look into the repository."""

from __future__ import annotations

from pathlib import Path

from harness.adapter import Source
from harness.backend.client import RemoteMemory
from harness.conformance.bench import SHOP, Bench, Broken, check, expect, find, holds, make_item, remember_ids
from harness.repo.series import reason, run_git

GUIDE = "docs/deploy.md"
LINES = ("# How the shop is run", "Deploys go to the platform harborline.", "The queue is served by rabbit alone.")
MOVED = LINES[1].replace("harborline", "kestrelway")
AUTHOR = {"GIT_AUTHOR_NAME": "Ada Example", "GIT_AUTHOR_EMAIL": "ada@example.com"}


def _commit(tree: Path, *lines: str) -> str:
    """The hash of a commit whose guide says this."""
    (tree / "docs").mkdir(exist_ok=True)
    (tree / GUIDE).write_text("".join(f"{line}\n" for line in lines))
    # the second commit finds the repository there, which `git init` leaves as it is
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "The guide"], ["rev-parse", "HEAD"]):
        done = run_git(*words, at=tree / ".git", tree=tree, more=AUTHOR)
        if done.returncode:
            raise Broken(f"its work tree could not be made: {reason(done)}")
    return done.stdout.decode().strip()


@check("persistent", "work_tree", verbatim=True)
def sees_what_became_of_a_line(bench: Bench) -> None:
    """doubts a memory once the line that it cites says something else, or no longer brings it, and not its neighbour"""
    tree = bench.site.lend_work_tree(SHOP.repo or "")
    commit = _commit(tree, *LINES)
    with bench.open() as memory:
        cited = [make_item(text, source=Source(commit, GUIDE, at)) for at, text in enumerate(LINES[1:], 2)]
        remember_ids(memory, *cited)
        expect(not _list_warned(memory), "it doubts what the lines say")
        expect(all(holds(find(memory, text), text) for text in LINES[1:]), "it does not bring what the lines say")
        _commit(tree, LINES[0], MOVED, LINES[2])
        expect(not _list_warned(memory) - {LINES[1]}, "it doubts a line that says what it said")
        expect(holds(find(memory, LINES[2]), LINES[2]), "it no longer brings a line that says what it said")
        brought = holds(find(memory, LINES[1]), LINES[1])
        expect(not brought or LINES[1] in _list_warned(memory), "it does not doubt what no line says any more")


def _list_warned(memory: RemoteMemory) -> set[str]:
    return {hit.text for text in LINES[1:] for hit in find(memory, text) if hit.warned}
