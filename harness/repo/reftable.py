"""References that a repository keeps in reftables: asked of git, in a directory of ours that holds a copy of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.machine import files
from harness.repo.clone import MOST, configure
from harness.repo.series import FixtureError, describe_cause, reason, run_git

STACK = "reftable"


@dataclass(frozen=True)
class Stacks:
    """Those of a work tree.

    Attributes:
        own: The folder of its HEAD.
        common: The folder of all branches and tags; the same one, unless there are several work trees.
        commit: Any hash of the repository, or as many digits.
    """

    own: Path
    common: Path
    commit: str

    def find_head(self) -> str:
        """The commit that is checked out. As `find`."""
        branch = self._ask(self.own, "symbolic-ref", "--quiet", "HEAD")
        return self.find(branch) if branch else self._look_up(self.own, "HEAD")

    def find(self, ref: str) -> str:
        """What a reference says; empty: there is none. Raises FixtureError where git reads none of them."""
        return self._look_up(self.common, ref)

    def _look_up(self, folder: Path, ref: str) -> str:
        return self._ask(folder, "rev-parse", "--verify", "--quiet", ref)

    def _ask(self, folder: Path, *words: str) -> str:
        with tempfile.TemporaryDirectory() as made:
            ours = Path(made)
            # git takes a folder without these for no repository
            for below in ("objects", "refs", STACK):
                (ours / below).mkdir()
            # what git writes there itself: with reftables, HEAD is in the stack
            (ours / "HEAD").write_text("ref: refs/heads/.invalid\n")
            (ours / "config").write_text(configure(self.commit, bare=True, more=f"\trefstorage = {STACK}\n"))
            try:
                for file in (folder / STACK).iterdir():
                    (ours / STACK / file.name).write_bytes(files.read(file, MOST))
            except OSError as error:
                raise FixtureError(f"{folder / STACK}: cannot be read: {describe_cause(error)}") from None
            done = run_git(*words, at=ours)
        # 1: there is no such reference
        if done.returncode not in (0, 1):
            raise FixtureError(
                f"{self.common}: its branches are in a reftable, which the git here does not read ({reason(done)}); "
                "take git 2.45 or newer, or name all digits of a commit"
            )
        return done.stdout.decode("utf-8", "replace").strip()
