"""AGENTS.md (or CLAUDE.md) in git: a file of rules that is loaded whole, and committed whenever it changes.

Rolling back is a new commit with the file as it was; a memory's commit is what `git blame` names.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from adapters._capture import LOG
from adapters.notes import Notes, NotesMemory, line, split
from harness.adapter import Ack, Item, Layer, Memory, Scope, Space

FILE = "AGENTS.md"
COMMIT = re.compile(r"[0-9a-f]{40,64}")
FORGET = "forget"
"""First word of the message of a commit that deletes; the ids of what it deletes follow."""
# what is configured on this machine must not decide what git does here
QUIET = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
# no gc, which would run on in the background after its commit
AS = ("-c", "user.name=agent", "-c", "user.email=agent@example.com", "-c", "gc.auto=0", "-c", "core.autocrlf=false",
      "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")  # fmt: skip


class AgentsMdMemory(NotesMemory):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if not (path.parent / ".git").exists():
            self.git("init", "-q")
        for left in path.parent.glob(".git/**/*.lock"):  # by a kill in the middle of a commit
            left.unlink()
        # a kill may have come between the file and its commit
        self.commit("keep what an earlier session left")

    def git(self, *words: str) -> str:
        """What git prints. RuntimeError, one line, if it fails."""
        try:
            done = subprocess.run(
                ["git", *AS, *words],
                cwd=self.path.parent,
                env={**os.environ, **QUIET},
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise RuntimeError("git is not installed") from None
        if done.returncode:
            raise RuntimeError(f"git {words[0]}: {' '.join(done.stderr.decode('utf-8', 'replace').split())[:300]}")
        # as bytes: decoded by `text=True`, half a pair of surrogates would fail
        return done.stdout.decode("utf-8", "surrogatepass")

    def commit(self, message: str) -> None:
        """The file as it stands. Without a change there is no commit, but for the first one, which marks lead to."""
        self.git("add", FILE)
        if self.git("status", "--porcelain", "--", FILE):
            self.git("commit", "-q", "-m", message)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = super().remember(items)
        self.commit("remember")
        return acks

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        gone = super().forget(scope, memory_ids)
        deleted = (name for name, done in zip(memory_ids, gone, strict=True) if done)
        self.commit(" ".join((FORGET, *deleted)))
        return gone

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """One change of the file, so one commit."""
        notes, fresh = split(self.text()), line(item)
        if not fresh:
            return Ack(())
        for name in memory_ids:
            notes.pop(name, None)
        self.rewrite("".join(notes.values()) + fresh)
        self.commit("supersede")
        return Ack(tuple(split(fresh)))

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        marked = super().deprecate(scope, memory_ids, at)
        self.commit("deprecate")
        return marked

    def snapshot(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def restore(self, mark: str) -> None:
        # a mark becomes a word of a git command: an option must not pass for one
        if not COMMIT.fullmatch(mark):
            raise ValueError(f"{mark!r} is no commit")
        messages = self.git("log", "--format=%s", f"{mark}..HEAD").splitlines()
        forgotten = {name for words in map(str.split, messages) if words[:1] == [FORGET] for name in words[1:]}
        then = split(self.git("show", f"{mark}:{FILE}"))
        self.rewrite("".join(note for name, note in then.items() if name not in forgotten))
        self.commit(f"restore {mark}")


class AgentsMd(Notes):
    name = "agents_md"
    clients = ("any",)
    file = FILE
    emulated: ClassVar = {
        "observe": f"{LOG}, in one commit",
        "supersede": "the line is deleted and a new one appended, in one commit",
        "deprecate": f"{Notes.emulated['deprecate']}; in one commit",
        "verdict": Notes.emulated["verdict"],
        "snapshot": "the commit",
        "restore": "the file of that commit, less what was forgotten since, as a new commit",
    }
    unsupported: ClassVar = {
        **Notes.unsupported,
        "compact": "git keeps what was deleted: only a rewritten history would not",
        "multi_process": "one checkout, one index",
    }

    def open(self, space: Space) -> Memory:
        return AgentsMdMemory(self.path(space))

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("file", FILE, "file"), Layer("git", ".git", "file")]
