"""Profiles: what is read, and one line for what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.agents import profile, selection
from harness.agents.selection import ProfileError
from harness.play import readers
from harness.play.readers import ReaderError

GOOD = """
about = "A program"
command = ["agent", "--url", "${url}"]
stdin = "${goal}"
[memory]
form = "mcp"
words = "There is a memory."
files = { "mcp.json" = "${memory}" }
"""


def write(folder: Path, text: str | bytes) -> str:
    file = folder / "mine.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


def test_a_profile_of_ones_own_is_read(tmp_path: Path) -> None:
    found = profile.read(write(tmp_path, GOOD))
    assert (found.name, found.command[0], found.memory.form, found.packages) == ("mine", "agent", "mcp", ())


def test_what_it_may_read_counts_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "me" / "bin").mkdir(parents=True)
    (tmp_path / "agent.py").touch()
    found = profile.read(write(tmp_path, GOOD.replace("[memory]", 'reads = ["agent.py", "~/bin"]\n[memory]')))
    assert found.list_reads() == [tmp_path / "agent.py", tmp_path / "me" / "bin"]


@pytest.mark.parametrize("name", sorted(each.stem for each in selection.SHIPPED.glob("*.toml")))
def test_every_shipped_profile_is_sound(name: str) -> None:
    found = profile.read(name)
    assert found.name == name and (found.packages or "not run here" in found.about)
    assert bool(found.packages) == bool(found.tried) and not found.warn(), "the pinned release lies in its range"
    assert "${" not in found.label and found.label.startswith(name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[memory]", "[memory", "not TOML"),
        ("[memory]", 'reads = ["agent.py"]\n[memory]', "reads: agent.py is not there"),
        ("[memory]", 'own_file = "../NOTES.md"\n[memory]', "files.../NOTES.md: is not below the home"),
        (
            "[memory]",
            '[auto_memory]\nfile = "../x/M.md"\n[memory]',
            "files.../x/M.md: is not below the home of the program",
        ),
        ("[memory]", '[auto_memory]\nfile = "M.md"\n[memory]', "auto_memory.file: M.md lies in no folder of its own"),
        (
            "[memory]",
            '[auto_memory]\nfile = "x/M.md"\nfiles = { "x/set.json" = "on" }\n[memory]',
            "auto_memory.file: x/M.md lies in no folder of its own",
        ),
        (
            "[memory]",
            '[auto_memory]\nfile = "x/M.md"\nenvironment = { A = "${memory}" }\n[memory]',
            "auto_memory.environment.A: ${memory} stands in [memory] alone",
        ),
        ('about = "A program"', "", "about: Field required"),
        ('about = "A program"', 'about = ""', "about: String should have at least 1 character"),
        ('about = "A program"', 'about = "A"\nabove = "B"', "above: Extra inputs are not permitted"),
        (
            'about = "A program"',
            'about = "A"\nname = "mini-swe-agent"',
            "name: leave it out, the file's own name is taken",
        ),
        ('about = "A program"', 'about = "A"\nfolder = "/"', "folder: leave it out, the file's own folder is taken"),
        ('command = ["agent", "--url", "${url}"]', "command = []", "command: Tuple should have at least 1 item"),
        ('"${url}"]', '"x"]', "${url} stands nowhere: the program would not know its model"),
        ('stdin = "${goal}"', "", "${goal} stands nowhere: the program would not know its task"),
        ('"${memory}"', '"x"', "${memory} stands nowhere: the program would not know its memory"),
        ('"${url}"]', '"${url}", "${gaol}"]', "command[3]: ${gaol} is not known; known are goal, url"),
        ('"${url}"]', '"${url}", "${"]', "command[3]: ${} is not known"),
        ('"${url}"]', '"${url}", "${goal/x"]', "command[3]: ${goal has no closing brace"),
        ('"${url}"]', '"${url}", "${memory}"]', "command[3]: ${memory} stands in [memory] alone, as cold has none"),
        ('"${url}"]', '"${url}", "${packages}/x"]', "command[3]: ${packages} stands for no folder"),
        ('form = "mcp"', 'form = "rest"', "memory.form: Input should be 'mcp' or 'command'"),
        ('"mcp.json"', '"../mcp.json"', "files.../mcp.json: is not below the home of the program"),
        ('"mcp.json"', '"/etc/mcp.json"', "files./etc/mcp.json: is not below the home of the program"),
        ("[memory]", '[environment]\nPATH = "x"\n[memory]', "environment.PATH: is no name of a variable"),
        ("[memory]", '[environment]\n"A B" = "x"\n[memory]', "environment.A B: is no name of a variable"),
        ('stdin = "${goal}"', 'stdin = "${goal}"\nseconds = 0', "seconds: Input should be greater than or equal to 1"),
        ('stdin = "${goal}"', 'stdin = "${goal}"\npackages = ["agent"]', "packages: agent: name one release, with =="),
        (
            "[memory]",
            'packages = ["npm:agent==latest"]\n[memory]',
            "packages: npm:agent==latest: name one release, with ==",
        ),
        ("[memory]", 'packages = ["agent==2.x"]\n[memory]', "packages: agent==2.x: name one release, with =="),
        (
            'stdin = "${goal}"',
            'stdin = "${goal}"\npackages = ["npm:agent==1", "mcp==2"]',
            "packages: Node packages stand beside no others",
        ),
        ('stdin = "${goal}"', 'stdin = "${goal}"\ntried = ["2.0", "1.9"]', "tried: the lowest release stands first"),
        ('stdin = "${goal}"', 'stdin = "${goal}"\ntried = ["1.0", "old"]', "tried: Invalid version: 'old'"),
        ('stdin = "${goal}"', 'stdin = "${goal}"\nvaries = ["("]', "varies: '(' is no regular expression: missing )"),
        (
            'stdin = "${goal}"',
            'stdin = "${goal}"\npackages = ["agent-${model}==1"]',
            "packages[0]: ${model} is not known before they are installed",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    file = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ProfileError) as told:
        profile.read(file)
    assert str(told.value).startswith(f"{file}: {said}") and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\xff\xfe", "not UTF-8 text"), (b"#" * 200_000, "larger than 100,000 bytes"), (b"", "command: Field")],
)
def test_bytes_that_are_none_are_said_in_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(ProfileError, match=said):
        profile.read(write(tmp_path, data))


def test_who_is_not_there_is_named_with_what_was_probably_meant(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="there is no profile 'opencod'; did you mean opencode"):
        profile.read("opencod")
    for word in ("codex+files", "./mine.toml+files"):
        with pytest.raises(ProfileError, match=r"by '\+files'; it does by \+tools, \+file, \+both, \+auto$"):
            profile.read(word)
    with pytest.raises(ProfileError, match=r"the release stands before '\+file', as in codex@1\.2\.3\+file$"):
        profile.read(*selection.parse("codex+file@0.165.0")[:2])
    with pytest.raises(ProfileError, match="shipped are claude-code, codex, "):
        profile.read("xyz")
    with pytest.raises(ProfileError, match="cannot be read: No such file"):
        profile.read(str(tmp_path / "none.toml"))


def test_a_reader_of_a_bad_profile_is_one_line_and_another_text_is_another_reader(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"^reader 'agent:xyz@m' cannot be made: there is no profile 'xyz'"):
        readers.find("agent:xyz@m")
    with pytest.raises(ReaderError, match=r"^reader 'agent' cannot be made: it needs a profile"):
        readers.find("agent")
    with pytest.raises(ReaderError, match=r"^reader 'chat:x@m' takes no word: 'x' means nothing to it"):
        readers.digest("chat:x@m")
    with pytest.raises(ReaderError, match=r"cannot be made: /nowhere/none\.toml: cannot be read: No such file"):
        readers.digest("agent:/nowhere/none.toml@m")
    with pytest.raises(ReaderError, match="it needs a profile and a chat model"):
        readers.find(f"agent:{write(tmp_path, GOOD)}")
    before = readers.digest(f"agent:{write(tmp_path, GOOD)}@m")
    readers.digest.cache_clear()
    assert readers.digest(f"agent:{write(tmp_path, GOOD + '#')}@m") != before
    assert readers.uses_salt("agent:xyz@m")


@pytest.mark.parametrize(
    ("first", "release", "packages"),
    [
        ("npm:agent-${cpu}==2.0.0", "1.9.3", ("npm:agent-${cpu}==1.9.3", "npm:node==1")),
        ("npm:agent==2.0.0", "2.1.0-rc.1", ("npm:agent==2.1.0-rc.1", "npm:node==1")),
        ("agent==2.0", "1.9", ("agent==1.9", "npm:node==1")),
    ],
)
def test_another_release_is_played_with_all_else_as_it_was(
    tmp_path: Path, first: str, release: str, packages: tuple[str, ...]
) -> None:
    beside = packages[1].removeprefix("" if first.startswith("npm:") else "npm:")
    text = GOOD.replace("[memory]", f'packages = ["{first}", "{beside}"]\n[memory]')
    pinned, found = (profile.read(write(tmp_path, text), each) for each in ("", release))
    assert found == pinned.model_copy(update={"packages": (packages[0], beside)})
    assert (found.release, found.label) == (release, f"mine {release}")


@pytest.mark.parametrize("release", ["0.165", "1.0.0-nightly"])
def test_a_release_is_a_whole_version_as_npm_would_take_any_of_a_series(release: str) -> None:
    with pytest.raises(ProfileError, match=f"^'{release}' is no whole version, as 2.0.4 is$"):
        profile.read("codex", release)


def test_a_log_says_which_release_did_the_jobs() -> None:
    assert readers.name_program("agent:codex@0.165.0+file@m") == "codex 0.165.0"
    assert readers.name_program("agent:codex@m") == profile.read("codex").label
    assert not readers.name_program("scripted") and not readers.name_program("chat@m")


def test_a_program_that_is_not_installed_here_has_no_releases() -> None:
    with pytest.raises(ProfileError, match=r"^goose has no packages, so it has no releases: leave out '@1\.2\.3'$"):
        profile.read("goose", "1.2.3")
    assert profile.read("goose").label == "goose"


@pytest.mark.parametrize(
    ("release", "how"),
    [
        ("0.9.9", "older"),
        ("1.0.0-rc.1", "older"),
        ("1.0.0", ""),
        ("1.10.0", ""),
        ("1.10.1", "newer"),
        ("2.0.0", "newer"),
    ],
)
def test_a_release_that_was_not_tried_is_played_with_a_warning(tmp_path: Path, release: str, how: str) -> None:
    text = GOOD.replace("[memory]", 'packages = ["npm:agent==1.2.0"]\n[memory]')
    file = write(tmp_path, text.replace("[memory]", 'tried = ["1.0.0", "1.10.0"]\n[memory]'))
    said = f"mine {release} is {how} than any release tried with this profile (1.0.0 to 1.10.0): its options may differ"
    assert readers.warn(f"agent:{file}@{release}+file@model") == (said if how else "")
    assert not profile.read(write(tmp_path, text), release).warn(), "nobody said what was tried"


def test_names_are_filled_in(tmp_path: Path) -> None:
    assert profile.fill("a ${url} ${url}b", {"url": "U"}) == "a U Ub"
