"""Work of a story's proof that an earlier self-test left: all of it under the same conditions, or none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import paths
from harness.machine import command
from harness.play import sources
from harness.repo import programs
from harness.repo.clone import Clone
from harness.selftest import bounds, cheats, job_checks, suite, text_checks, work_cache
from harness.selftest.proof import ScenarioProof
from harness.selftest.suite import SelfTest
from harness.selftest.work_cache import StoryWork, WorkCache, make_key
from tests.support.deep_house import DRY_RUN, HIDDEN, LIBRARY, STORY, TEST, DeepHouse
from tests.unit.conftest import Series

# --- keys -------------------------------------------------------------------------------------------------------------


def _edit_text(house: DeepHouse, _: Series) -> None:
    house.story = STORY.replace("larkspur is the plan", "larkspur is our plan").replace('title = "', 'title = "So: ')


def _edit_transcript(house: DeepHouse, _: Series) -> None:
    file = house.beside / "friday.toml"
    file.write_text(file.read_text().replace("go on", "go ahead"))


def _edit_hidden_test(house: DeepHouse, _: Series) -> None:
    (house.beside / "hidden" / "charge.py").write_text(f"# read once more\n{HIDDEN}")


def _edit_fixture(house: DeepHouse, series: Series) -> None:
    library = LIBRARY.replace("def price", "# in cents\ndef price")
    series(
        house.fixtures / "till",
        [{"shop.py": library, "test_shop.py": TEST, "dry.py": DRY_RUN.format(rule="0")}],
    )


@pytest.mark.parametrize("edit", [_edit_text, _edit_transcript, _edit_hidden_test, _edit_fixture])
def test_the_key_tells_an_edit_of_what_a_story_is_made_of(
    edit: Callable[[DeepHouse, Series], None], tmp_path: Path, series: Series
) -> None:
    house, same = DeepHouse(tmp_path / "one", series), DeepHouse(tmp_path / "other", series)
    before = make_key(house.tell())
    assert before is not None and before == make_key(same.tell())
    edit(house, series)
    assert make_key(house.tell()) not in (None, before)


@pytest.fixture
def proof(tmp_path: Path, series: Series) -> ScenarioProof:
    return DeepHouse(tmp_path, series).tell()


@pytest.mark.slow
def test_the_key_tells_an_edit_of_what_does_the_work_and_not_of_what_judges_it(
    proof: ScenarioProof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in sources.OURS:
        shutil.copytree(paths.ROOT / name, tmp_path / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(paths, "ROOT", tmp_path / "tree")
    works = ["harness/repo/checks.py", "harness/repo/series.py", "harness/machine/command.py", "harness/log/parts.py"]
    judges = ["harness/selftest/job_checks.py", "harness/play/engine.py", "harness/metrics/recall.py"]
    changed, before = list[str](), make_key(proof)
    for file in works + judges:
        with (paths.ROOT / file).open("a") as text:
            text.write("\n# edited\n")
        changed += [file] * (make_key(proof) != before)
        before = make_key(proof)
    assert changed == works


def test_the_key_tells_another_program_and_another_machine(
    proof: ScenarioProof, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [make_key(proof)]
    for module, name, found in (
        (work_cache, "_digest_program", "another"),
        (programs, "find_programs", {"python3": None}),
        (sources, "digest_conditions", "another"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, lambda _, found=found: found)
            keys.append(make_key(proof))
    assert None not in keys and len({*keys}) == len(keys)


def test_what_something_else_decides_has_no_key(
    proof: ScenarioProof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(proof.repo, "origin", Clone("till", "0" * 40))
        assert make_key(proof) is None
    (tmp_path / "own" / "bin").mkdir(parents=True)
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "own"))
    assert make_key(proof) is None


# --- what is kept -----------------------------------------------------------------------------------------------------


class SelfTests:
    """Self-tests of one story, which share a cache; it counts the commands that they run."""

    def __init__(self, house: DeepHouse, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house, self.ran = house, 0
        self.cache = WorkCache(house.cache / "proofs" / "stories")
        run = command.run

        def count(*args: object, **more: object) -> command.Finished:
            self.ran += 1
            return run(*args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(command, "run", count)
        monkeypatch.setattr(job_checks, "TIMES", 2)
        monkeypatch.setattr(job_checks, "TIMES_WRONG", 1)
        monkeypatch.delenv("COLDWARM_PROOFS")
        # what does no work takes most of the time
        monkeypatch.setattr(text_checks, "NOISE", 1)
        monkeypatch.setattr(bounds, "score_bounds", lambda _: [])
        monkeypatch.setattr(cheats, "score_cheats", lambda _: {})

    def prove(self, *, fresh: bool = False) -> SelfTest:
        self.ran = 0
        file = self.house.write(self.house.story)
        return suite.prove([file], self.house.fixtures, self.house.cache, 1, fresh=fresh)

    @property
    def entry(self) -> Path:
        ((path, *_),) = self.cache.list_entries()
        return path


@pytest.fixture
def tests(tmp_path: Path, series: Series, monkeypatch: pytest.MonkeyPatch) -> SelfTests:
    return SelfTests(DeepHouse(tmp_path, series), monkeypatch)


def judged(found: SelfTest) -> list[object]:
    """What a story's work decides."""
    (row,) = found.rows
    return [row.checks, row.oracle, row.stale, row.none, row.cold, row.tried, row.unaided]


@pytest.mark.slow
def test_work_is_done_once_and_judged_each_time(tests: SelfTests, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tests.prove()
    assert first.breaches == () and tests.ran and first.describe_reused() == ""
    again = tests.prove()
    assert tests.ran == 0 and again.describe_reused().startswith("1 of 1 stories reused from ")
    assert judged(again) == judged(first) and (again.breaches, again.notes) == ((), first.notes)
    assert tests.prove(fresh=True).describe_reused() == "" and tests.ran
    monkeypatch.setattr(job_checks, "TIMES", 3)
    assert tests.prove().describe_reused() == "" and tests.ran == 3, "another number of repeats is other work"
    monkeypatch.setattr(job_checks, "_prints_wanted", lambda *_: False)
    assert tests.prove().rows[0].checks.hits == 0 and tests.ran == 0


def _cut(entry: Path) -> None:
    entry.write_bytes(entry.read_bytes()[:-20])


def _forge(entry: Path) -> None:
    entry.write_bytes(entry.read_bytes().replace(b'"value":"larkspur"', b'"value":"dockleaf"', 1))


def _exchange(entry: Path) -> None:
    row = StoryWork(key="0" * 64, story="migration/fees", done={})
    entry.write_text(row.model_copy(update={"sum": row.digest}).model_dump_json())


def _leave_out(entry: Path) -> None:
    row = StoryWork.model_validate_json(entry.read_bytes())
    row = row.model_copy(update={"done": dict(list(row.done.items())[1:])})
    entry.write_text(row.model_copy(update={"sum": row.digest}).model_dump_json())


def list_ends(data: bytes) -> dict[str, list[tuple[str, int, str | None]]]:
    """How each command of an entry ended; what tests print tells the time that they took."""
    done = StoryWork.model_validate_json(data).done
    return {
        key: [(each.decision, each.exit, each.value) for each in (*work.ran, *work.checks, *work.visible)]
        for key, work in done.items()
    }


@pytest.mark.slow
def test_an_entry_that_is_not_whole_or_another_s_is_played_again(tests: SelfTests) -> None:
    first, data = tests.prove(), tests.entry.read_bytes()
    for harm in (_cut, _forge, _exchange, _leave_out):
        harm(tests.entry)
        assert tests.entry.read_bytes() != data
        again = tests.prove()
        assert tests.ran and again.describe_reused() == "" and judged(again) == judged(first), harm
        assert list_ends(tests.entry.read_bytes()) == list_ends(data), harm


@pytest.mark.slow
def test_neither_half_a_proof_is_kept_nor_one_with_a_breach(tests: SelfTests, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(text_checks, "check_texts", _raise)
        with pytest.raises(KeyboardInterrupt):
            tests.prove()
    assert tests.ran and not tests.cache.list_entries()
    tests.prove()
    assert tests.entry
    monkeypatch.setattr(text_checks, "check_texts", lambda proof: proof.breach("texts", "are wrong"))
    assert [breach.key for breach in tests.prove().breaches] == ["texts"]
    assert not tests.cache.list_entries(), "what led to a breach is done again"


def _raise(_: ScenarioProof) -> None:
    raise KeyboardInterrupt


def test_nothing_is_kept_once_what_does_the_work_was_edited(
    proof: ScenarioProof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, key = WorkCache(tmp_path / "stories"), make_key(proof)
    monkeypatch.setattr(sources, "digest_module", lambda _: "edited")
    cache.keep(key, proof, {})
    assert not cache.list_entries()
