"""A fixture's folder of patches -> commits: one series for main, and one for each branch that leaves it.

A sub-folder `<branch>@<NNNN>` holds the series of a branch that starts at main's commit of patch NNNN.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from harness.machine import shortage
from harness.machine.processes import Killed

MAIN = "main"
# Nothing of the user's, the system's or the file system's choosing may reach a hash or a work tree.
_CONFIG = {
    "core.attributesFile": os.devnull,
    "core.fileMode": "true",
    "core.fsync": "none",
    "core.hooksPath": os.devnull,
    "core.ignoreCase": "false",
    "core.logAllRefUpdates": "false",
    "core.precomposeUnicode": "false",
    "core.symlinks": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.directory": "*",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_COMMITTER_EMAIL": "fixtures@example.com",
    "GIT_COMMITTER_NAME": "coldwarm fixtures",
    "GIT_CONFIG_COUNT": str(len(_CONFIG)),
    **{f"GIT_CONFIG_KEY_{at}": key for at, key in enumerate(_CONFIG)},
    **{f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(_CONFIG.values())},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "TZ": "UTC",
}
_AM = (
    "am", "--quiet", "--committer-date-is-author-date", "--patch-format=mbox", "--keep-cr", "--keep-non-patch",
    "--no-3way", "--no-gpg-sign", "--no-message-id", "--no-scissors", "--whitespace=nowarn",
)  # fmt: skip
_BRANCH = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)@(\d{4})")
_PATCH = re.compile(r"(\d{4})-[A-Za-z0-9._-]+\.patch")
_MAIL = re.compile(rb"^From [0-9a-f]{40,64} ", re.MULTILINE)
_SERIES = "series"  # in a built repository: its commits, one a line, branch by branch, each oldest first


class FixtureError(Exception):
    """A fixture that cannot be built or asked. One line: which fixture, what, git's reason, what to do."""


@dataclass(frozen=True)
class Series:
    """The patches of one branch as (file, bytes), in order. `start` is the number of main's patch that it leaves
    from, None for main itself."""

    branch: str
    start: str | None
    patches: tuple[tuple[str, bytes], ...]

    @property
    def folder(self) -> str:
        """Where the patches lie, within the fixture."""
        return "" if self.start is None else f"{self.branch}@{self.start}/"

    @property
    def numbers(self) -> list[str]:
        """How scenarios name the commits: "0007", on a branch "release-2.x/0003"."""
        return [("" if self.start is None else f"{self.branch}/") + file[:4] for file, _ in self.patches]


def read(folder: Path) -> list[Series]:
    """The series of a fixture: main's first, then the branches by name."""
    name = folder.name
    try:
        found = [Series(MAIN, None, _read_patches(name, folder))]
        for path in sorted(path for path in folder.iterdir() if path.is_dir() and path.suffix != ".patch"):
            parts = _BRANCH.fullmatch(path.name)
            if parts is None:
                raise FixtureError(f"fixture {name}: folder {path.name!r} is not named <branch>@<NNNN>; rename it")
            found.append(Series(parts[1], parts[2], _read_patches(name, path)))
    except OSError as error:
        raise FixtureError(
            f"fixture {name}: cannot be read: {describe_cause(error)}; it is the folder {folder}"
        ) from None
    first, last = found[0].numbers[0], found[0].numbers[-1]
    for at, one in enumerate(found[1:], 1):
        if one.branch in {other.branch for other in found[:at]}:
            raise FixtureError(f"fixture {name}: branch {one.branch!r} is there twice; rename {one.folder}")
        if one.start not in found[0].numbers:
            raise FixtureError(f"fixture {name}: {one.folder} starts at no patch of main, {first} to {last}; rename it")
    return found


def _read_patches(name: str, folder: Path) -> tuple[tuple[str, bytes], ...]:
    files = sorted(path for path in folder.iterdir() if path.suffix == ".patch")
    patches = tuple((path.name, path.read_bytes()) for path in files)
    if not patches:
        raise FixtureError(f"fixture {name}: no patches in {folder}; put NNNN-slug.patch files there")
    seen: dict[str, str] = {}
    for file, data in patches:
        if not _PATCH.fullmatch(file):
            raise FixtureError(f"fixture {name}: {file!r} is not named NNNN-slug.patch; rename it")
        if file[:4] in seen:
            raise FixtureError(f"fixture {name}: {seen[file[:4]]} and {file} have the same number; renumber one")
        seen[file[:4]] = file
        mails = [mail.start() for mail in _MAIL.finditer(data)]
        if mails != [0]:
            raise FixtureError(f"fixture {name}: {file} is not one mail of git format-patch; write it again with that")
    return patches


def make(name: str, folder: Path, series: Sequence[Series], target: Path) -> list[list[str]]:
    """Applies the series beside the target and renames the result into place; the commits of each, oldest first."""
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        where, tree = draft / "git", draft / "tree"
        tree.mkdir()

        def run(*words: str, tree: Path | None = None) -> bytes:
            done = run_git(*words, at=where, tree=tree)
            if done.returncode:
                check_room(where.parent)
                raise FixtureError(f"fixture {name}: git {words[0]} failed: {reason(done)}")
            return done.stdout

        # the form of hashes is named, as git's default may be another one
        run("init", "--quiet", "--bare", "--template=", f"--initial-branch={MAIN}", "--object-format=sha1")
        made: list[list[str]] = []
        for one in series:
            if one.start is not None:
                run("update-ref", f"refs/heads/{one.branch}", made[0][series[0].numbers.index(one.start)])
                run("symbolic-ref", "HEAD", f"refs/heads/{one.branch}")
                run("read-tree", "--reset", "-u", "HEAD", tree=tree)
            _apply(name, folder, one, where, tree)
            commits = run(*_list_words(one)).decode("ascii").split()
            if len(commits) != len(one.patches):
                raise FixtureError(
                    f"fixture {name}: {len(one.patches)} patches made {len(commits)} commits; each must hold one mail"
                )
            made.append(commits)
        run("symbolic-ref", "HEAD", f"refs/heads/{MAIN}")
        run("repack", "-a", "-d", "--quiet")
        (where / _SERIES).write_text("".join(f"{commit}\n" for commits in made for commit in commits))
        # a folder that holds something cannot be replaced by a rename
        if target.exists():  # damaged
            target.rename(draft / "damaged")
        where.replace(target)
        return made
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _apply(name: str, folder: Path, one: Series, where: Path, tree: Path) -> None:
    files = [f"{one.folder}{file}" for file, _ in one.patches]
    done = run_git(*_AM, "--", *(str(folder.absolute() / file) for file in files), at=where, tree=tree)
    if done.returncode:
        check_room(tree)
        # where `git am` keeps the number of the patch that it is at
        at = where / "rebase-apply" / "next"
        file = files[int(at.read_text()) - 1] if at.exists() else files[0]
        raise FixtureError(
            f"fixture {name}: {file} does not apply: {reason(done)}; write the series again from a working history"
        )


def _list_words(one: Series) -> tuple[str, ...]:
    """The git words that list what a branch has of its own, oldest first."""
    own = MAIN if one.start is None else f"{MAIN}..{one.branch}"
    return "rev-list", "--reverse", own, "--"


def find_standing(target: Path, series: Sequence[Series]) -> list[list[str]] | None:
    """The commits of each series in an intact repository in the cache, else None."""
    try:
        written = (target / _SERIES).read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    listed = [run_git(*_list_words(one), at=target) for one in series]
    found = [done.stdout.decode("ascii").split() for done in listed]
    if any(done.returncode for done in listed) or "".join(done.stdout.decode("ascii") for done in listed) != written:
        return None
    if [len(commits) for commits in found] != [len(one.patches) for one in series]:
        return None
    checked = run_git("fsck", "--full", "--no-dangling", "--no-progress", at=target)
    return found if checked.returncode == 0 else None


def run_git(
    *words: str, at: Path, tree: Path | None = None, stdin: bytes = b"", more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """git in the repository `at`, free of anybody's configuration. Raises Lacking without git, and Killed.

    Args:
        more: Variables that it needs for a server.
    """
    where = {"GIT_DIR": str(at), **({"GIT_WORK_TREE": str(tree)} if tree else {}), **(more or {})}
    environment = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **where}
    here = tree or at.anchor or None  # the folder that we were called in may be gone, which git does not bear
    try:
        done = subprocess.run(["git", *words], cwd=here, env=environment, input=stdin, capture_output=True)
    except FileNotFoundError as error:
        if error.filename != "git":  # the work tree is gone
            raise
        raise shortage.Lacking("git was not found on the PATH; install git 2.31 or newer") from None
    if -done.returncode in shortage.KILLS:
        raise Killed(f"git was {shortage.tell_kill(-done.returncode)}")
    return done


def reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git complained of, in one line, without its advice."""
    return explain(done.stderr or done.stdout, done.returncode)


def explain(output: bytes, code: int) -> str:
    """As `reason`, of what was said."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    complaints = [line for line in lines if line and not line.startswith(("hint:", "When you", "If you"))]
    return "; ".join(complaints[:3]) or f"exit status {code}"


def check_room(folder: Path) -> None:
    """Raises OSError if the disk is full, whatever git said when it could not write there: its words differ."""
    if shortage.is_short_of_room(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def refuse(name: str, cache: Path, error: OSError) -> NoReturn:
    """Says why nothing can be kept there: what the machine lacks as OSError, the rest as FixtureError."""
    if shortage.explain_error(error, cache):
        raise OSError(error.errno, error.strerror, str(cache)) from None
    raise FixtureError(f"fixture {name}: cannot be kept in {cache}: {describe_cause(error)}; name a writable folder")


def describe_cause(error: OSError) -> str:
    return error.strerror or str(error)
