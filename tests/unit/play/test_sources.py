"""What decides a play, by content: an edit changes the digest of all that it may decide, and of nothing else."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from harness import paths
from harness.play import drills, sources

DRILLS = "harness.play.drills"
PLAYER = "harness.selftest.fault_player"
PLANTED = "harness.selftest.planted"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of our packages, which a test may edit."""
    folder = tmp_path_factory.mktemp("tree")
    for name in sources.OURS:
        shutil.copytree(paths.ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def tree(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", copy)
    return copy


def digests() -> dict[str, str]:
    """Of what each play of the self-test, or each check of an adapter, depends on."""
    modules = [PLAYER, *(f"{PLANTED}.{name}" for name in ("keeping", "prying", "cheating", "alike")), "adapters.chroma"]
    return {
        "plays": sources.digest_code(), "trials": sources.digest_common_code(),
        **{name: sources.digest_module(name) for name in modules},
        **{f"{DRILLS}.{name}": sources.digest_drill(f"{DRILLS}.{name}") for name in drills.ALL},
    }  # fmt: skip


def edit(tree: Path, file: str) -> set[str]:
    """What has another digest after an edit of this file."""
    before, path = digests(), tree / file
    text = path.read_text()
    path.write_text(f"{text}\n# edited\n")
    try:
        return {name for name, found in digests().items() if found != before[name]}
    finally:
        path.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("harness/selftest/planted/alike.py", {f"{PLANTED}.alike"}),
        ("harness/selftest/planted/cheating.py", {f"{PLANTED}.cheating", f"{PLANTED}.prying"}),
        ("adapters/reference.py", {f"{PLANTED}.{name}" for name in ("keeping", "prying", "cheating", "alike")}),
        ("adapters/chroma.py", {"adapters.chroma"}),
        ("harness/play/drills/isolation.py", {"plays", f"{DRILLS}.isolation"}),
        ("harness/play/drills/replacing.py", {"plays", f"{DRILLS}.keeping", f"{DRILLS}.rollback"}),
        ("harness/play/drills/stage.py", {"plays", "trials", PLAYER, *(f"{DRILLS}.{name}" for name in drills.ALL)}),
        ("harness/play/story.py", {"plays", "trials", PLAYER}),
        ("harness/backend/worker.py", {"plays", "trials", PLAYER}),
        ("harness/selftest/fault_player.py", {PLAYER}),
        ("harness/selftest/local.py", {PLAYER}),
        ("harness/metrics/trust/isolation.py", set()),
        ("harness/selftest/measures.py", set()),
        ("harness/selftest/faults.py", set()),
        ("harness/report/outputs/terminal.py", set()),
        ("harness/cli/suite.py", set()),
    ],
)
def test_an_edit_changes_the_digest_of_what_it_may_decide(tree: Path, file: str, changed: set[str]) -> None:
    assert edit(tree, file) == changed


@pytest.mark.slow
def test_what_plays_every_trial_imports_no_drill_but_the_stage() -> None:
    common = [file for name in sources.PLAYS for _, file in sources.list_sources(name)]
    common = [file for file in common if paths.ROOT / sources.DRILLS not in file.parents]
    stage = {paths.ROOT / name for name in sources.STAGE}
    modules = [".".join(each.relative_to(paths.ROOT).with_suffix("").parts) for each in (*common, *stage)]
    reached = {file for module in modules for file in sources.find_imported(module)}
    assert {file for file in reached if paths.ROOT / sources.DRILLS in file.parents} == stage


def test_the_module_that_plays_a_drill_also_declares_it() -> None:
    assert all(sys.modules[each.play.__module__].DRILL is each for each in drills.ALL.values())


@pytest.mark.parametrize(
    "line",
    ["import adapters.own", "from adapters import own", "from adapters.own import x", "from . import own",
     "from .own import x", "def late():\n    from adapters.own import x"],
)  # fmt: skip
def test_a_module_is_found_however_it_is_imported(tree: Path, line: str) -> None:
    own, store = tree / "adapters" / "own.py", tree / "adapters" / "store.py"
    own.write_text("x = 1\n")
    store.write_text(f"{line}\n")
    assert own in sources.find_imported("adapters.store")


@pytest.mark.slow
def test_a_package_with_another_version_or_file_is_another_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "sdk-1.0.dist-info"
    info.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    found = set[str | None]()
    for version, record in (("1.0", "sdk.py,sha256=a,1"), ("1.1", "sdk.py,sha256=a,1"), ("1.1", "sdk.py,sha256=b,1")):
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sdk\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{record}\n")
        sources.digest_installed.cache_clear()
        found.add(sources.digest_conditions())
    (info / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
    sources.digest_installed.cache_clear()
    assert sources.digest_conditions() is None
    sources.digest_installed.cache_clear()
    assert len(found) == 3 and None not in found
