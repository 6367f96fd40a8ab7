"""Outcomes of checks that need not be made again: of our own adapters, as long as nothing that decides them changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import conformance, paths
from harness.adapter import Server
from harness.backend import registry
from harness.cli import commands
from harness.conformance import CHECKS, CheckOutcome, ContractCheck, Setting, open_setting, outcomes
from harness.conformance.outcomes import OutcomeCache, make_key
from harness.model.trial import Spec
from harness.play import sources
from tests.unit.adapters.conftest import Words

HELD = [CheckOutcome(each, "kept") for each in CHECKS[1:]]
BROKEN = CheckOutcome(CHECKS[0], "broken", "it does not hold")


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    with open_setting(registry.parse("none"), Words()) as place:
        yield place


@pytest.fixture
def cache(tmp_path: Path) -> OutcomeCache:
    return OutcomeCache(tmp_path / "checks")


@pytest.fixture
def entry(cache: OutcomeCache, setting: Setting) -> Path:
    """Of a row that broke one check."""
    cache.keep(setting, cache.find(setting), [BROKEN, *HELD])
    ((path, *_),) = cache.list_entries()
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("entry")
def test_what_held_is_reused_and_what_broke_is_checked_again(cache: OutcomeCache, setting: Setting) -> None:
    found = cache.find(setting)
    assert {*found.outcomes} == {each.check.name for each in HELD}
    assert [*found.outcomes.values()] == HELD and found.describe().startswith(f"{len(HELD)} of {len(CHECKS)} checks")
    assert cache.find(setting, fresh=True).outcomes == {}
    cache.keep(setting, found, [CheckOutcome(CHECKS[0], "kept")])
    assert len(cache.find(setting).outcomes) == len(CHECKS)


FORGERIES: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-20],
    "one byte": lambda data: data.replace(b"reopens", b"reopenz", 1),
    "another day": lambda data: data.replace(b'"made":"2', b'"made":"1', 1),
    "a check more": lambda data: data.replace(
        b'"checks":{', b'"checks":{"%s":["kept",""],' % CHECKS[0].name.encode(), 1
    ),
    "a broken check": lambda data: data.replace(b'["kept",""]', b'["broken",""]', 1),
    "another key": lambda data: data.replace(b'"key":"', b'"key":"0', 1),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_an_entry_that_is_damaged_or_forged_is_removed(
    forge: Callable[[bytes], bytes], entry: Path, cache: OutcomeCache, setting: Setting
) -> None:
    data = entry.read_bytes()
    entry.write_bytes(forge(data))
    assert entry.read_bytes() != data
    assert cache.find(setting).outcomes == {} and not entry.exists()


@pytest.mark.slow
def test_the_entry_of_another_row_is_none(entry: Path, cache: OutcomeCache) -> None:
    with open_setting(registry.parse("refusal"), Words()) as other:
        path = cache.find_path(str(make_key(other)))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(entry.read_bytes())
        assert cache.find(other).outcomes == {} and not path.exists()


@pytest.mark.slow
def test_writers_at_the_same_time_leave_one_whole_entry(cache: OutcomeCache, setting: Setting) -> None:
    before = cache.find(setting)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: cache.keep(setting, before, HELD), range(16)))
    assert [each.suffix for each in cache.root.glob("??/*")] == [".checks"]
    assert len(cache.find(setting).outcomes) == len(HELD)


def test_what_a_kill_left_is_no_entry(entry: Path, cache: OutcomeCache, setting: Setting) -> None:
    half = entry.with_name(f"{entry.stem}.1.1.part")
    half.write_bytes(entry.read_bytes()[:200])
    entry.unlink()
    assert cache.find(setting).outcomes == {}
    os.utime(half, (0, 0))
    cache.prune()
    assert not half.exists()


# --- keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digest_code", "digest_installed", "digest_module", "digest_files"])
def test_another_source_or_package_is_another_key(setting: Setting, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = make_key(setting)
    monkeypatch.setattr(sources, name, lambda *_: "edited")
    assert None not in (own, make_key(setting)) and own != make_key(setting)


@pytest.mark.slow
def test_another_setting_of_a_check_is_another_key(setting: Setting) -> None:
    playable = setting.playable
    served = Server((), "http://here", "NO_SUCH_SERVER", "key", "make it")
    others = [
        replace(setting, embedder="another"),
        replace(setting, chat="another"),
        replace(setting, playable=replace(playable, source="edited")),
        replace(setting, playable=replace(playable, spec=Spec(adapter="none", settings={"a": "b"}))),
        replace(setting, playable=replace(playable, server=served)),
        replace(setting, children=replace(setting.children, deadlines=replace(setting.children.deadlines, call=1.0))),
    ]
    keys = [make_key(each) for each in (setting, *others)]
    assert None not in keys and len({*keys}) == len(keys)


@pytest.mark.slow
def test_what_something_else_decides_has_no_key(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    playable = setting.playable
    monkeypatch.setenv("SOME_SERVER", "http://127.0.0.1:1")
    for changed in (
        replace(playable, withheld=("a secret",)),
        replace(playable, spec=Spec(adapter="none", python="python3")),
        replace(playable, server=Server((), "http://here", "SOME_SERVER", "key", "make it")),
        replace(playable, entry=replace(playable.entry, reference="own_store:Own")),
        replace(playable, entry=replace(playable.entry, reference="tests.support.fakes:Own")),
    ):
        assert make_key(replace(setting, playable=changed)) is None
    with monkeypatch.context() as patched:
        patched.setattr(sources, "digest_installed", lambda *_: None)
        assert make_key(setting) is None
    monkeypatch.setenv(paths.PLACES, "somewhere")
    assert make_key(setting) is None


def test_nothing_is_kept_once_a_source_was_edited(
    cache: OutcomeCache, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cache.find(setting)
    monkeypatch.setattr(sources, "digest_code", lambda: "edited")
    cache.keep(setting, before, HELD)
    assert not cache.list_entries()


# --- the command ---------------------------------------------------------------------------------------------------


def conform(*words: str, folder: Path) -> str:
    env = {"COLDWARM_PROOFS": str(folder), "COLDWARM_FRESH": "0"}
    done = CliRunner().invoke(commands, ["conform", *words], env=env)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_the_command_says_what_it_reuses_and_makes_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "CHECKS", CHECKS[:3])
    monkeypatch.setattr(outcomes, "CHECKS", CHECKS[:3])
    made = list[str]()

    def judge(self: Setting, check: ContractCheck) -> CheckOutcome:
        made.append(check.name)
        return CheckOutcome(check, "kept")

    monkeypatch.setattr(Setting, "judge", judge)
    assert "reused" not in conform("none", folder=tmp_path) and len(made) == 3
    said = conform("none", folder=tmp_path)
    assert "none: 3 of 3 checks reused from " in said and "none: 3 kept, 0 broken" in said and len(made) == 3
    assert "reused" not in conform("--fresh", "none", folder=tmp_path) and len(made) == 6


@pytest.mark.slow
def test_an_adapter_of_somebodys_own_is_always_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_none.py").write_text(
        "from adapters.none import Nothing\n\n\nclass Own(Nothing):\n    name = 'own'\n"
    )
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert "reused" not in conform("own_none:Own", folder=tmp_path / "proofs")
    assert not (tmp_path / "proofs").exists()


@pytest.mark.slow
def test_an_adapter_that_cannot_be_opened_does_not_end_the_check_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_shut.py").write_text(
        "from adapters.none import Nothing\n\n\nclass Shut(Nothing):\n    name = 'shut'\n\n"
        "    def open(self, space):\n        raise RuntimeError('its server is away')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(conformance, "CHECKS", CHECKS[:3])
    monkeypatch.setattr(outcomes, "CHECKS", CHECKS[:3])
    done = CliRunner().invoke(commands, ["conform", "own_shut:Shut", "none"], env={"COLDWARM_PROOFS": str(tmp_path)})
    assert done.exit_code == 3 and "none: 0 kept, 0 broken, 3 unsupported" in done.stdout
    (told,) = done.stderr.splitlines()
    assert "its server is away" in told and told.endswith("; no check was made")
