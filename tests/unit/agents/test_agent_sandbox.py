"""The sandbox of an agent program: what it leaves behind, and what it neither reaches nor sees."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from harness.agents import program
from harness.log.blobs import Ref
from harness.machine import bubblewrap, command
from harness.play.readers import ReaderError
from tasks import loader
from tests.support.agent_player import EDIT, RECALL, make, play
from tests.support.worked_job import CHECK, QUIET, Story, calls, load, verdict, worked
from tests.unit.conftest import House

pytestmark = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    return load(lasting, lasting.story.replace(CHECK, QUIET))


@pytest.mark.slow
def test_what_it_leaves_running_ends_with_it(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, what=f"fork+{tmp_path.name}-{os.getpid()}")
    assert calls(log)[-1].outcome == "finished"
    running = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if os.access(each, os.R_OK)]
    assert running and not any(f"fork+{tmp_path.name}-{os.getpid()}".encode() in each for each in running)


@pytest.mark.slow
def test_what_it_keeps_of_its_own_is_told_and_seen_by_no_other_job(story: Story, tmp_path: Path) -> None:
    keep = (
        "bash",
        {"command": "cat ~/.digest /tmp/digest ../digest 2>&1; for at in ~/.digest /tmp/digest; do date > $at; done"},
    )
    for name in ("warm", "cold"):
        log = play(story, tmp_path / name, keep, EDIT, cold=name == "cold")
        assert calls(log)[0].uses[0].result.count("No such file") == 3
        printed = worked(log).printed
        assert isinstance(printed, Ref)
        assert "left in its home, which no other job sees: .digest" in log.blobs.text(printed)


ESCAPES = {
    "a file beside the tree": "touch ../planted",
    "a system file": "touch /etc/planted",
    "its sockets": "touch /srv/agent/run/planted",
    "the stories": f"ls {Path(loader.__file__).parent}/*/*.toml",
    "the environment of the run": "env; cat /proc/*/environ",
    "another network": "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)'",
    "a name": "python3 -c 'import socket; print(socket.getaddrinfo(\"example.com\", 80))'",
    "borrowed objects": "cat .git/objects/info/alternates",
}


@pytest.mark.slow
def test_it_gets_out_by_no_command(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leaked")
    steps = [("bash", {"command": f"({each}) 2>&1; echo exit $?"}) for each in ESCAPES.values()]
    log = play(story, tmp_path, *steps)
    said = {name: call.uses[0].result for name, call in zip(ESCAPES, calls(log), strict=False)}
    assert "sk-leaked" not in json.dumps(said) and "COLDWARM" not in said["the environment of the run"]
    for name in {*ESCAPES} - {"the environment of the run", "a file beside the tree"}:
        assert "exit 0" not in said[name], (name, said[name])
    assert not (Path("/srv/agent") / "planted").exists() and not Path("/etc/planted").exists()
    diff = worked(log).diff
    assert isinstance(diff, Ref) and diff.bytes == 0


@pytest.mark.slow
def test_it_finds_no_later_commit(lasting: House, tmp_path: Path) -> None:
    text = lasting.story.replace(CHECK, QUIET).replace('commit = "0003"', 'commit = "0002"')
    ((scenario, repo),) = loader.load([lasting.write(text)], lasting.fixtures, lasting.cache)
    count = "git cat-file --batch-all-objects --batch-check='%(objecttype)' | grep -c commit"
    log = play((scenario, repo), tmp_path, ("bash", {"command": f"{count}; git log --oneline | wc -l; git status"}))
    said = calls(log)[0].uses[0].result
    assert len(repo.commits) == 3 and said.split()[:2] == ["2", "2"] and "nothing to commit" in said


@pytest.mark.slow
def test_without_bubblewrap_it_plays_only_where_somebody_says_so(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "is_available", lambda: False)
    with pytest.raises(ReaderError, match="bubblewrap is not here"):
        make(tmp_path)
    monkeypatch.setenv("COLDWARM_UNCONTAINED", "1")
    log = play(story, tmp_path, RECALL, EDIT, form="mcp")
    assert calls(log)[-1].outcome == "finished" and verdict(log) == "right"


def test_a_transcript_is_a_plain_file_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    assert [program.read_plain(tmp_path, name) for name in ("link", "pipe", "none", ".")] == [None] * 4


def test_what_is_hidden_is_empty_though_it_lies_in_what_is_lent(tmp_path: Path) -> None:
    lent, tree, home, shown = (tmp_path / name for name in ("lent", "tree", "home", "shown"))
    for folder in (lent / "stories", tree, home, shown):
        folder.mkdir(parents=True)
        (folder / "told").write_text("gold")
    seen = {home: Path("/srv/agent/home")}
    words = bubblewrap.wrap(
        tree, [lent], Path("/srv/agent/checkout"), seen, {shown: Path("/srv/agent/run")}, [lent / "stories", home]
    )
    script = (
        f"pwd; cat told; ls {lent}/stories | wc -l; cat ../home/told ../run/told; touch ../home/new; touch ../run/new"
    )
    done = command.run([*words, "sh", "-c", script], tree, {"PATH": "/usr/bin:/bin"}, 60)
    assert done.out.split() == [b"/srv/agent/checkout", b"gold0", b"goldgold"], done
    assert (home / "new").exists() and not (shown / "new").exists() and b"Read-only" in done.err
