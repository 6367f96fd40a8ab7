"""The auto memory of a program: what it writes there is there in its next job, and all that has bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from harness.agents import auto_memory, own_file, program
from harness.log.blobs import Ref
from harness.log.calls import ModelCall
from harness.log.events import Worked
from harness.log.reader import Log
from harness.machine import bubblewrap
from harness.play.readers import ReaderError
from tasks import loader
from tests.support.agent_player import EDIT, make, play
from tests.support.fake_model import FakeModel
from tests.support.worked_job import CHECK, QUIET, Story
from tests.unit.conftest import House

contained = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")
FILE = "auto/MEMORY.md"
AUTO = f'''
[auto_memory]
file = "{FILE}"
environment = {{ AUTO = "on" }}
'''
LOOK = "bash", {"command": "cd ~/auto && head *; echo is $AUTO"}
WRITE = "bash", {"command": "cd ~/auto; echo '- [Crews](crews.md)' >> MEMORY.md; echo 'Night crew.' >> crews.md"}


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    """Three jobs; the second is on another branch, the third another user's."""
    text = lasting.story.replace(CHECK, QUIET)
    job = text[text.rindex("[[sessions]]\nid") :]
    for day, place in (("06", '{repo = "shop", branch = "side"}'), ("07", '{repo = "shop", user = "bob"}')):
        changed = job.replace("friday", f"day-{day}").replace("2024-01-05", f"2024-01-{day}")
        text += "\n" + changed.replace("ship", f"ship-{day}").replace('by = "ada"', f'by = "ada"\nscope = {place}')
    ((scenario, repo),) = loader.load([lasting.write(text)], lasting.fixtures, lasting.cache)
    return scenario, repo


def list_calls(log: Log) -> list[tuple[ModelCall, ...]]:
    return [log.calls(each) for each in log.list_events(Worked)]


def list_said(log: Log) -> list[str]:
    return [log.blobs.text(each.printed) for each in log.list_events(Worked) if isinstance(each.printed, Ref)]


@pytest.mark.slow
@contained
def test_what_it_writes_is_there_in_the_next_job_of_its_user(story: Story, tmp_path: Path) -> None:
    model = FakeModel(LOOK, WRITE, EDIT)
    log = play(story, tmp_path, model=model, form="mcp", first=AUTO, way="+auto")
    first, second, third = (each[0].uses[0].result for each in list_calls(log))
    assert own_file.HEAD in first and "kestrelway" in first and "is on" in first
    assert "Crews" not in first + third and "Night crew." not in first + third
    assert second.index("Night crew.") > second.index(own_file.FOOT) > second.index(own_file.HEAD)
    assert second.count("- [Crews](crews.md)") == 1
    assert [each["function"]["name"] for each in model.heard[0]["tools"]] == ["bash"]
    said = list_said(log)
    assert all("written in its auto memory, and kept for later jobs: auto/MEMORY.md, auto/crews.md" in x for x in said)
    assert not any("left in its home" in each or "not kept" in each for each in said)
    assert [each[-1].outcome for each in list_calls(log)] == ["finished"] * 3


@pytest.mark.slow
@contained
def test_cold_has_none(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, LOOK, WRITE, EDIT, cold=True, form="mcp", first=AUTO, way="+auto")
    assert all("is on" not in each[0].uses[0].result for each in list_calls(log))
    assert all("kept" not in each for each in list_said(log))


@pytest.mark.slow
@contained
@pytest.mark.parametrize("way", ["+auto+tools", "+file+auto", "+auto+both"])
def test_where_the_memory_comes_by_other_ways_it_begins_empty(story: Story, tmp_path: Path, way: str) -> None:
    model = FakeModel(LOOK, WRITE, EDIT)
    log = play(story, tmp_path, model=model, form="mcp", first=f'own_file = "NOTES.md"{AUTO}', way=way)
    first, second, third = (each[0].uses[0].result for each in list_calls(log))
    assert all("is on" in each and "kestrelway" not in each for each in (first, second, third))
    assert "Crews" not in first + third and second.count("- [Crews](crews.md)") == second.count("Night crew.") == 1
    assert ("memory_recall" in [each["function"]["name"] for each in model.heard[0]["tools"]]) == (way != "+file+auto")
    assert model.heard[0]["messages"][0]["content"].startswith(own_file.HEAD) == (way != "+auto+tools")
    said = list_said(log)
    assert all("written in its auto memory, and kept for later jobs: auto/MEMORY.md, auto/crews.md" in x for x in said)
    assert not any("left in its home" in each for each in said)
    assert [each[-1].outcome for each in list_calls(log)] == ["finished"] * 3


@pytest.mark.slow
@contained
def test_what_it_writes_into_either_is_kept_where_it_belongs(story: Story, tmp_path: Path) -> None:
    both = "bash", {"command": f"{WRITE[1]['command']}; echo '- Pim keeps the keys.' >> ~/NOTES.md"}
    log = play(story, tmp_path, both, EDIT, form="mcp", first=f'own_file = "NOTES.md"{AUTO}', way="+file+auto")
    said = list_said(log)
    assert all("written in its auto memory, and kept for later jobs: " in each for each in said)
    assert all("added to its memory file, and kept for later jobs: 1 line" in each for each in said)


@pytest.mark.slow
@contained
def test_a_job_goes_on_after_one_that_spoiled_its_home(story: Story, tmp_path: Path) -> None:
    spoil = r"""cd ~/auto && ln -s ~ home && ln -s loop loop && touch "$(printf 'a\nb')" "$(printf '\377')"
    python3 -c 'import os
for _ in range(1500): os.mkdir("d"); os.chdir("d")'
    cd; mv auto away; ln -s away auto; cd away; ls -d home loop"""
    log = play(story, tmp_path, ("bash", {"command": spoil}), EDIT, form="mcp", first=AUTO, way="+auto")
    assert [each[-1].outcome for each in list_calls(log)] == ["finished"] * 3
    assert all("left in its home, which no other job sees: away/" in each for each in list_said(log))
    assert not any("kept for later jobs" in each or "a\nb" in each for each in list_said(log))
    assert all("home\nloop" in each[0].uses[0].result for each in list_calls(log))


@pytest.mark.parametrize("way", ["+auto", "+auto+file", "+tools+auto"])
def test_a_program_without_auto_memory_cannot_be_given_one(tmp_path: Path, way: str) -> None:
    with pytest.raises(ReaderError, match="fake has no auto memory: its profile names no `auto_memory`"):
        make(tmp_path, way=way)


@pytest.mark.parametrize("linked", ["auto", "above"])
def test_a_folder_behind_a_link_brings_nothing(tmp_path: Path, linked: str) -> None:
    for outside in (tmp_path / "else", tmp_path / "else" / "auto"):
        outside.mkdir()
        (outside / "MEMORY.md").write_text("secret")
    home = tmp_path / "home"
    home.mkdir()
    (home / linked).symlink_to(tmp_path / "else")
    file = FILE if linked == "auto" else f"above/{FILE}"
    assert auto_memory.collect(home, file, "") == ({}, 0)
    (home / linked).unlink()
    (home / linked).symlink_to(home / linked)
    assert auto_memory.collect(home, file, "") == ({}, 0)


def test_nothing_that_it_puts_there_is_followed_or_without_bounds(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    folder = home / "auto"
    (folder / "deep").mkdir(parents=True)
    outside.write_text("secret")
    (folder / "link.md").symlink_to(outside)
    (folder / "loop").symlink_to(home)
    (folder / "hard.md").hardlink_to(outside)
    os.mkfifo(folder / "pipe")
    with (folder / "huge.md").open("wb") as huge:
        huge.truncate(2**40)
    (folder / "deep" / "topic.md").write_bytes(b"\xff\xfe")
    Path(os.fsdecode(bytes(folder) + b"/\xff.md")).write_text("odd")
    below = folder
    for _ in range(40):
        below = below / "d"
        below.mkdir()
        (below / "x").touch()
    (folder / "MEMORY.md").write_text("given\nown\n")
    files, others = auto_memory.collect(home, FILE, "given\n")
    plain = {name: data for name, data in files.items() if not name.endswith("/x")}
    assert plain == {FILE: b"own\n", "auto/deep/topic.md": b"\xff\xfe", "auto/\udcff.md": b"odd"}
    assert len(files) - len(plain) == program.DEEP
    assert others == 4, "two links, a pipe, and what is too large"
    said = list(auto_memory.tell_written({FILE: b"own\n"}, plain, others))
    assert said == [
        "written in its auto memory, and kept for later jobs: auto/deep/topic.md, auto/?.md",
        "not kept of its auto memory: 4 files",
    ]


@pytest.mark.slow
def test_of_many_files_the_one_that_is_read_comes_first_and_the_rest_has_an_end(tmp_path: Path) -> None:
    folder = tmp_path / "auto"
    folder.mkdir()
    for number in range(10_000):
        (folder / f"{number:05}.md").write_bytes(b"x" * 100)
    (folder / "MEMORY.md").write_text("own\n")
    files, others = auto_memory.collect(tmp_path, FILE, "")
    assert len(files) == auto_memory.FILES and others == program.VISITED - auto_memory.FILES
    assert sum(map(len, files.values())) <= auto_memory.BYTES


def test_a_folder_in_the_place_of_its_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir(parents=True)
    (tmp_path / FILE / "topic.md").write_text("no file could be beside it")
    assert auto_memory.collect(tmp_path, FILE, "") == ({}, 1)
