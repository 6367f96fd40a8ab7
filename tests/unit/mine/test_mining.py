"""A history becomes a suite that holds, or one clear line; never half a suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.log.parts import Check
from harness.mine import mining, review_page, stories, tested
from harness.mine.mining import MineError
from harness.repo.names import find_head
from harness.repo.series import FixtureError
from harness.selftest import suite
from tasks import loader
from tests.support.foreign import Foreign, live
from tests.support.recorded_sessions import KEY


def run(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(mine, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
def test_what_changed_becomes_a_story_that_keeps_every_promise(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--stories", "1")
    assert code == 0, said
    files = loader.find(tmp_path / "suite")
    ((story, _),) = loader.load(files, tmp_path, tmp_path / "cache")
    said_values = {form for fact in story.facts for form in fact.forms[-1]}
    assert {"harborline", "kestrelway", "finchgate", "3", "7", "0.5", "2.5", "40", "65"} <= said_values
    assert story.kind == "mined" and story.id.startswith("mined/")
    assert all(fact.source and fact.source.commit and fact.source.line for fact in story.facts)
    probes = [(step.id, step.gold) for session in story.sessions for step in session.steps if step.do == "probe"]
    before = {name.removesuffix("-before"): gold for name, gold in probes if name.endswith("-before")}
    assert before and all(name in dict(probes) and gold != dict(probes)[name] for name, gold in before.items())
    proven = suite.prove(files, tmp_path, tmp_path / "cache")
    assert not proven.breaches
    (row,) = proven.rows
    assert row.oracle.hits == row.oracle.of > 0 and row.stale.hits == row.stale.of > 0 and row.none.hits == row.none.of


@pytest.mark.slow
def test_the_same_seed_writes_the_same_bytes(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    for name in ("one", "two"):
        assert run(foreign.path, "--to", tmp_path / name)[0] == 0
    texts = [[file.read_bytes() for file in sorted((tmp_path / name).rglob("*.*"))] for name in ("one", "two")]
    assert texts[0] == texts[1] and texts[0]


@pytest.mark.slow
def test_the_check_of_a_decision_reads_the_real_file(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    assert run(foreign.path, "--to", tmp_path / "suite")[0] == 0
    (file,) = loader.find(tmp_path / "suite")
    text = file.read_text()
    assert 'line = "lane = \\"{value}\\""' in text
    file.write_text(text.replace('line = "lane = \\"{value}\\""', 'line = "road = \\"{value}\\""'))
    (problem, *_) = suite.validate([file], tmp_path, tmp_path / "cache")
    assert "prints nothing" in problem


@pytest.mark.slow
def test_a_page_shows_both_lines_and_remembers_what_was_dropped(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    page, kept = tmp_path / "page.html", tmp_path / "decisions.json"
    assert run(foreign.path, "--review", page)[0] == 0
    shown = page.read_text()
    assert "harborline" in shown and "kestrelway" in shown and "http://" not in shown
    found = mining.search(str(foreign.path), None, 3000, {}, tmp_path / "cache")
    (lane,) = [each for each in found.candidates if "lane" in each.what]
    kept.write_text(json.dumps({"candidates": {lane.id: "drop"}}))
    again = mining.search(str(foreign.path), None, 3000, review_page.read(kept), tmp_path / "cache")
    assert lane.id not in {each.id for each in again.candidates} and again.reasons["dropped by hand"] == 1
    assert run(foreign.path, "--review", page, "--decisions", kept)[0] == 0
    assert f'data-id="{lane.id}" data-judged="drop"' in page.read_text(), "it can be taken back"


def test_the_page_shows_no_secret_beside_a_value(foreign: Foreign, tmp_path: Path) -> None:
    for lane in ("harborline", "kestrelway"):
        foreign.commit(
            {"a.toml": f'[shop]\nkey = "{KEY}"\nlane = "{lane}"\npassword = "harb0ur-master"\n'}, subject=f"Not {KEY}"
        )
    assert run(foreign.path, "--review", tmp_path / "page.html")[0] == 0
    shown = (tmp_path / "page.html").read_text()
    assert "kestrelway" in shown and "password = " in shown
    assert KEY not in shown and "harb0ur-master" not in shown


@pytest.mark.parametrize("text", ["", "[]", "{", '{"candidates": 3}', '{"candidates": {"a": "perhaps"}}', "\x00"])
def test_a_file_that_is_no_decisions_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "decisions.json").write_text(text)
    with pytest.raises(MineError, match="is no file that a page"):
        review_page.read(tmp_path / "decisions.json")


def test_no_repository_is_one_line_and_writes_nothing(tmp_path: Path) -> None:
    for named in (tmp_path / "nowhere", tmp_path):
        code, said = run(named, "--to", tmp_path / "suite")
        assert code == 2 and len(said.splitlines()) == 1 and "coldwarm:" in said
    assert not (tmp_path / "suite").exists()


def test_one_commit_or_nothing_to_mine_is_one_line(foreign: Foreign, tmp_path: Path) -> None:
    foreign.commit({"README.md": "# Shop\n"})
    assert "has one commit" in run(foreign.path, "--to", tmp_path / "suite")[1]
    foreign.commit({"README.md": "# Shop\n\nMore.\n", "data.bin": b"\x00\xff" * 99})
    code, said = run(foreign.path, "--to", tmp_path / "suite")
    assert code == 2 and "nothing to mine" in said and not (tmp_path / "suite").exists()
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".suite")]


@pytest.mark.parametrize(
    ("file", "words", "says"),
    [
        ("lane.toml", ["--commits", "1"], "read more of the history with --commits"),
        ("lane.toml", [], "name a repository with more history"),
        (".github/workflows/ci.yml", [], "take those, too, with --min-worth 1"),
    ],
)
def test_what_may_bring_more_is_advised(
    foreign: Foreign, tmp_path: Path, file: str, words: list[str], says: str
) -> None:
    for lane in ("harborline", "kestrelway", "finchgate"):
        foreign.commit({"lane.toml": 'lane = "quay"\n', file: f'lane: "{lane}"\n'})
    code, said = run(foreign.path, "--to", tmp_path / "suite", *words)
    assert code == 2 and said.endswith(f"); {says}\n")


def test_an_empty_repository_has_no_commit(foreign: Foreign) -> None:
    with pytest.raises(FixtureError, match="names no commit"):
        find_head(str(foreign.path))


@pytest.mark.parametrize("how", ["loose", "packed", "detached", "bare"])
def test_head_is_found_without_asking_git(how: str, foreign: Foreign, tmp_path: Path) -> None:
    commit, path = foreign.commit({"a.txt": "a\n"}), foreign.path
    if how == "packed":
        foreign.git("pack-refs", "--all")
    elif how == "detached":
        foreign.git("checkout", "--quiet", "--detach")
    elif how == "bare":
        foreign.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
        path = tmp_path / "bare"
    assert find_head(str(path)) == commit


def test_a_folder_with_something_in_it_is_left_alone(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "mine.txt").write_text("mine")
    code, said = run(foreign.path, "--to", tmp_path / "suite")
    assert code == 2 and "not empty" in said and [each.name for each in (tmp_path / "suite").iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_odd_files_are_counted_and_passed_by(foreign: Foreign, tmp_path: Path) -> None:
    def odd(value: str) -> dict[str, str | bytes]:
        return {
            "latin.toml": f'name = "caf\u00e9"\nlane = "{value}"\n'.encode("latin-1"),
            "not-toml.toml": f"<xml lane='{value}'>\n",
            "crlf.ini": f"[a]\r\nlane = {value}-crlf\r\n",
            "big.json": "x" * 1_100_000 + value,
            'a "quoted" name.toml': f'lane = "{value}"\n',
            "caf\u00e9.toml": f'lane = "{value}-accent"\n',
            "broken.py": f"RETRIES = = {value}\n",
        }

    live(foreign)
    foreign.commit(odd("wagtail"))
    foreign.commit(odd("redstart"))
    foreign.git("mv", "crlf.ini", "moved.ini")
    foreign.commit({})
    foreign.commit({"moved.ini": "[a]\r\nlane = plover-crlf\r\n"})
    code, said = run(foreign.path, "--to", tmp_path / "suite")
    assert code == 0, said
    found = mining.search(str(foreign.path), None, 3000, {}, tmp_path / "cache")
    assert found.reasons["binary, very large, or no UTF-8 text"] >= 2
    values = {stand.value for each in found.candidates for stand in each.stands}
    assert {"redstart-accent", "plover-crlf"} <= values and "wagtail" not in values


@pytest.mark.slow
def test_mined_stories_are_never_mixed_with_others(foreign: Foreign, tmp_path: Path) -> None:
    from harness import paths

    live(foreign)
    assert run(foreign.path, "--to", tmp_path / "suite")[0] == 0
    own = loader.find(paths.TASKS, ["forgotten-runbook"])
    with pytest.raises(loader.ScenarioError, match="no one suite"):
        loader.load([*own, *loader.find(tmp_path / "suite")], paths.FIXTURES, tmp_path / "cache")


@pytest.mark.slow
def test_what_goes_before_the_others_change_is_told_in_another_story(foreign: Foreign, tmp_path: Path) -> None:
    """Values that never stood side by side are no reason to tell nothing."""
    for turn in ("early", "late"):
        names = [f"{name}_{turn}" for name in ("lane", "quay", "berth")]
        for value in ("harborline", "kestrelway"):
            foreign.commit({f"{name}.toml": f'{name} = "{value}-{name}"\n' for name in names})
        if turn == "early":
            foreign.git("rm", "--quiet", *(f"{name}.toml" for name in names))
            foreign.commit({})
    assert run(foreign.path, "--to", tmp_path / "suite")[0] == 0
    told = [file.read_text() for file in loader.find(tmp_path / "suite")]
    assert len(told) == 2 and ["kestrelway-lane_early" in each for each in told].count(True) == 1


@pytest.mark.slow
def test_what_never_holds_makes_room_for_what_does(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for turn in range(2):
        for at in range(5):
            foreign.commit({f"{at}.toml": f'lane{at} = "{["harborline", "kestrelway"][turn]}{at}"\n'})
    found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache")
    bad = found.candidates[0].what

    def find_wrong(_repo: object, _scenario: object, chains: Sequence[stories.Chained]) -> set[str]:
        return {each.name for each in chains if each.candidate.what == bad}

    monkeypatch.setattr(stories, "find_wrong", find_wrong)
    (story,) = mining.list_stories(found, 9, 1, Counter())
    assert found.candidates[0].id not in story.used and len(story.used) == 3


@pytest.mark.slow
def test_two_things_of_one_name_are_never_in_one_story(foreign: Foreign, tmp_path: Path) -> None:
    """A question for one would be a question for the other."""
    live(foreign)
    for value in ("wagtail", "redstart"):
        foreign.commit({f"{name}.env": f"HARBOUR={value}-{name}\n" for name in ("one", "two")})
    found = {each.what for each in mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache").candidates}
    assert run(foreign.path, "--to", tmp_path / "suite", "--stories", "1")[0] == 0
    told = "".join(file.read_text() for file in loader.find(tmp_path / "suite"))
    assert "HARBOUR" in found and ("redstart-one" in told) + ("redstart-two" in told) <= 1


@pytest.mark.slow
def test_tests_of_the_repository_judge_what_they_tell_apart(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    (lane,) = [
        each for each in mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
        if "lane" in each.what
    ]  # fmt: skip
    command = f"grep -q {lane.stands[-1].value} {lane.file}"
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--tests", command)
    assert code == 0 and "The tests judge 2 of 5 decisions that were tried" in said, said
    (file,) = loader.find(tmp_path / "suite")
    assert file.read_text().count("tests = [") == 2, "in the middle and at the end"
    assert suite.validate([file], tmp_path, tmp_path / "cache") == []
    proven = suite.prove([file], tmp_path, tmp_path / "cache")
    assert not proven.breaches, "one wrong decision of a job spoils no other's"
    file.write_text(file.read_text().replace('"grep"', '"no-such-program"'))
    (problem, *_) = suite.validate([file], tmp_path, tmp_path / "cache")
    assert "prints nothing" in problem


@pytest.mark.slow
def test_tests_that_fail_now_and_then_judge_nothing(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(foreign)
    (lane,) = [
        each for each in mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
        if "lane" in each.what
    ]  # fmt: skip
    monkeypatch.setattr(tested, "repeat", lambda *_: [Check(decision="", command=(), exit=1, value=None, output="")])
    command = f"grep -q {lane.stands[-1].value} {lane.file}"
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--tests", command)
    assert code == 0 and "The tests judge 0 of 5 decisions that were tried" in said, said
    assert "Of 2 decisions they judged otherwise when run again, and judge nothing." in said, said
    (file,) = loader.find(tmp_path / "suite")
    assert "tests = [" not in file.read_text()


@pytest.mark.slow
def test_tests_that_fail_as_they_are_judge_nothing_and_it_is_said(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--tests", "false")
    assert code == 0 and "The tests judge 0 of 2 decisions" in said, said
    assert "At 2 commits they fail without any change, and judge nothing: with " in said
    command = "sh -c 'echo no such module; exit 1'"
    code, said = run(foreign.path, "--to", tmp_path / "third", "--tests", command)
    assert code == 0 and "fail without any change, and judge nothing: no such module\n" in said, said
    code, said = run(foreign.path, "--to", tmp_path / "other", "--tests", "pytest 'half")
    assert code == 2 and said == "coldwarm: --tests: No closing quotation\n"
