"""Somebody else's repository, made with plain git, and a history to mine."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

CODE = "import time\n\nRETRIES = {retries}\n\n\ndef wait(pause={pause}):\n    time.sleep(RETRIES * pause)\n"
CONFIG = '[tool.shop]\nlane = "{lane}"\nbudget = {budget}\n'
DOCS = "# Shop\n\n## Running the tests\n\n```\n$ {command}\n```\n"


class Foreign:
    """Somebody else's repository, made with plain git.

    Args:
        form: Options of `git init`.

    Attributes:
        at: When what follows is committed; empty: now.
    """

    def __init__(self, path: Path, *form: str) -> None:
        self.path, self.at = path, ""
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=trunk", *form)

    def git(self, *words: str) -> str:
        who = {
            f"GIT_{one}_{what}": value
            for one in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ada Example"), ("EMAIL", "ada@example.com"))
        }
        if self.at:
            who |= {"GIT_AUTHOR_DATE": self.at, "GIT_COMMITTER_DATE": self.at}
        there = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.path), **who}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env={"PATH": os.environ["PATH"], **there}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: dict[str, str | bytes], author: str = "Ada Example", subject: str = "A step") -> str:
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject, f"--author={author} <ada@example.com>")
        return self.git("rev-parse", "HEAD")


Make = Callable[[Foreign], Path | None]
"""Makes a repository odd; where it lies then, unless it is still there."""


def live(foreign: Foreign) -> None:
    """A history in which four values change, one of them twice."""

    def files(retries: int, pause: str, lane: str, budget: int, command: str) -> dict[str, str | bytes]:
        return {
            "shop/waits.py": CODE.format(retries=retries, pause=pause),
            "shop/orders.py": "from shop.waits import RETRIES, wait\n",
            "pyproject.toml": CONFIG.format(lane=lane, budget=budget),
            "README.md": DOCS.format(command=command),
        }

    foreign.commit(files(3, "0.5", "harborline", 40, "make check"))
    foreign.commit(files(3, "0.5", "kestrelway", 40, "make check"))
    foreign.commit(files(7, "0.5", "kestrelway", 40, "make check"))
    foreign.commit(files(7, "0.5", "finchgate", 40, "make check"))
    foreign.commit(files(7, "2.5", "finchgate", 65, "make check"))
    foreign.commit(files(7, "2.5", "finchgate", 65, "make lanes"))


HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc",
    "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive",
    "push-to-checkout", "reference-transaction", "update",
)  # fmt: skip


def set_traps(path: Path, git: Callable[..., object], marker: Path) -> None:
    """Everything by which a repository can make git run a command, each of which leaves a marker."""
    trap = path.parent / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\ncat\n")
    trap.chmod(0o755)
    theirs = path / ".git"
    for folder in (theirs / "traps", theirs / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).unlink(missing_ok=True)
            (folder / hook).symlink_to(trap)
    more = f'[core]\n\teditor = {trap}\n[diff]\n\texternal = {trap}\n[filter "evil"]\n\tsmudge = {trap}\n'
    (theirs / "more").write_text(more)
    (theirs / "config.worktree").write_text(more)
    (theirs / "info").mkdir(exist_ok=True)
    (theirs / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil ident\n")
    for key, value in {
        "alias.cat-file": f"!{trap}", "alias.diff-tree": f"!{trap}", "alias.log": f"!{trap}",
        "alias.ls-tree": f"!{trap}", "alias.read-tree": f"!{trap}", "alias.rev-list": f"!{trap}",
        "alias.rev-parse": f"!{trap}",
        "core.alternateRefsCommand": str(trap), "core.askPass": str(trap), "core.editor": str(trap),
        "core.fsmonitor": str(trap), "core.gitProxy": str(trap), "core.hooksPath": str(theirs / "traps"),
        "core.pager": str(trap), "core.sshCommand": str(trap),
        "credential.helper": f"!{trap}", "diff.evil.command": str(trap), "diff.evil.textconv": str(trap),
        "diff.external": str(trap), "filter.evil.clean": str(trap), "filter.evil.process": str(trap),
        "filter.evil.required": "true", "filter.lfs.process": str(trap), "filter.lfs.required": "true",
        "filter.lfs.smudge": str(trap), "gpg.program": str(trap), "gpg.ssh.program": str(trap),
        "include.path": str(theirs / "more"), "includeIf.gitdir:**.path": str(theirs / "more"),
        "log.showSignature": "true",
        "merge.evil.driver": str(trap), "pager.diff-tree": str(trap), "pager.log": str(trap),
        "protocol.ext.allow": "always", "remote.origin.uploadpack": str(trap), "remote.origin.url": f"ext::{trap}",
        "remote.origin.promisor": "true", "sequence.editor": str(trap), "submodule.recurse": "true",
        "submodule.sub.update": f"!{trap}", "trailer.evil.command": str(trap),
        "uploadpack.packObjectsHook": str(trap), "url.ext::x.insteadOf": "file://",
        "core.worktree": "/", "core.autocrlf": "true", "core.bare": "true",
    }.items():  # fmt: skip
        git("config", key, value)


def digest(path: Path) -> str:
    """Over names, bytes and times of everything in a folder."""
    total = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        about = file.lstat()
        total.update(f"{file} {about.st_mode} {about.st_mtime_ns}\n".encode())
        total.update(file.read_bytes() if file.is_file() else b"")
    return total.hexdigest()
