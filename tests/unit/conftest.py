"""What several unit tests share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from harness.log.folder import Folder
from tasks.loader import ScenarioError, load, validate

Tree = Mapping[str, str]
Series = Callable[[Path, Sequence[Tree]], Path]


def _change(path: str, old: str | None, new: str | None) -> str:
    head = f"diff --git a/{path} b/{path}\n"
    head += "new file mode 100644\n" if old is None else "deleted file mode 100644\n" if new is None else ""
    before, after = (re.findall(r".*\n", text or "") for text in (old, new))
    names = "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}"
    return head + "".join(difflib.unified_diff(before, after, *names))


def _series(folder: Path, trees: Sequence[Tree]) -> Path:
    """Writes the patches that lead from each tree to the next: 0001-step.patch and so on, with fixed dates."""
    folder.mkdir(parents=True, exist_ok=True)
    last: Tree = {}
    for at, tree in enumerate(trees, 1):
        diffs = "".join(
            _change(path, last.get(path), tree.get(path))
            for path in sorted({*last, *tree})
            if last.get(path) != tree.get(path)
        )
        mail = (
            f"From {at:040x} Mon Sep 17 00:00:00 2001\nFrom: Ada Example <ada@example.com>\n"
            f"Date: Mon, {at} Jan 2024 10:00:00 +0100\nSubject: [PATCH] Step {at}\n\n---\n\n{diffs}-- \n2.39.5\n\n"
        )
        (folder / f"{at:04}-step.patch").write_text(mail, newline="")
        last = tree
    return folder


@pytest.fixture
def series() -> Series:
    """Writes a patch series from a sequence of trees (path -> text ending in a line feed)."""
    return _series


class House:
    """Fixtures, a cache, and one scenario file that a test writes and writes again."""

    story = (Path(__file__).parent / "story.toml").read_text()

    def __init__(self, root: Path) -> None:
        self.fixtures, self.cache = root / "fixtures", root / "cache"
        deploy, order = "# Deploy\n\nThe platform is {}.\n", {"ops/order.toml": 'target = ""\n'}
        trees = [
            {**order, "docs/deploy.md": deploy.format("harborline")},
            {**order, "docs/deploy.md": deploy.format("kestrelway")},
            {**order, "docs/deploy.md": "# Deploy\n"},
        ]
        _series(self.fixtures / "shop", trees)
        self.file = root / "tasks" / "stale-deploy-rule" / "move.toml"
        self.file.parent.mkdir(parents=True)

    def write(self, text: str | bytes) -> Path:
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)
        return self.file

    def changed(self, old: str, new: str) -> str:
        """The story with one text in place of another."""
        assert old in self.story
        return self.story.replace(old, new, 1)

    def problems(self, text: str | bytes) -> list[str]:
        """What `validate` says of a text, without the file."""
        return [line.removeprefix(f"{self.file}: ") for line in validate(self.write(text), self.fixtures, self.cache)]

    def fails(self, text: str | bytes) -> str:
        """What `load` says of a text that it refuses: one line, and the first that `validate` says."""
        with pytest.raises(ScenarioError) as caught:
            load([self.write(text)], self.fixtures, self.cache)
        said = str(caught.value)
        assert said.startswith(f"{self.file}: ") and len(said.splitlines()) == 1
        assert said.removeprefix(f"{self.file}: ") == self.problems(text)[0]
        return said.removeprefix(f"{self.file}: ")


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A house that all examples of a property share."""
    return House(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run of two stories, made by hand."""
    from tests.support.runs import run

    return run(tmp_path_factory.mktemp("run"))
