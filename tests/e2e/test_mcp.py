"""`coldwarm mcp`: the official client talks to the real program, in a real repository, session after session."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
from mcp.client.stdio import stdio_client  # noqa: E402

from harness import paths  # noqa: E402
from harness.agents import profile, program  # noqa: E402
from harness.backend.environments import EnvironmentFault  # noqa: E402
from harness.gateway.chat import wire  # noqa: E402
from tests.support.fake_upstream import KEY, FakeUpstream, Handler, completion, served  # noqa: E402

PROGRAM = Path(sys.executable).with_name("coldwarm")
AS_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
T = TypeVar("T")
pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit on `main`, and an origin."""
    root = tmp_path / "checkout"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "deploy.md").write_text("We deploy with betadeploy.\n")
    (root / "away.md").symlink_to("/etc/passwd")
    for words in (
        ("init", "-q", "-b", "main"),
        ("remote", "add", "origin", "https://someone:hunter2@git.example.com/acme/storefront.git"),
        ("add", "docs"),
        (*AS_ADA, "commit", "-qm", "How we deploy"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def talk(repo: Path, store: Path, say: Callable[[Any], Awaitable[T]], *words: str, backend: str = "bm25") -> T:
    """One session of an agent program with the server, from its start to its end."""

    async def session() -> T:
        server = mcp.StdioServerParameters(
            command=str(PROGRAM), args=["mcp", "-b", backend, "--store", str(store), *words], cwd=repo,
            env={"PATH": os.environ["PATH"], "HOME": str(repo.parent)},
        )  # fmt: skip
        async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as client:
            await client.initialize()
            return await say(client)

    return asyncio.run(asyncio.wait_for(session(), 100))


async def call(client: Any, tool: str, **words: Any) -> str:
    done = await client.call_tool(tool, words)
    text = "\n".join(each.text for each in done.content)
    return f"ERROR {text}" if done.is_error else text


def test_what_one_session_remembers_the_next_one_recalls(repo: Path, tmp_path: Path) -> None:
    async def first(client: Any) -> list[str]:
        told = await call(client, "remember", text="We deploy with betadeploy.", path="docs/deploy.md", line=1)
        assert told.startswith("Remembered as ")
        return [each.name for each in (await client.list_tools()).tools]

    async def second(client: Any) -> tuple[str, str]:
        return await call(client, "recall", query="How do we deploy?"), await call(client, "list")

    assert talk(repo, tmp_path / "store", first) == ["remember", "recall", "observe", "list", "forget"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True).stdout
    recalled, listed = talk(repo, tmp_path / "store", second)
    line, text = recalled.splitlines()
    assert re.fullmatch(rf"\[.+\] 20\d\d-\d\d-\d\d, docs/deploy\.md:1 @ {head[:7]}", line)
    assert text == "  We deploy with betadeploy."
    assert recalled == listed


def test_half_a_character_gets_an_answer_and_hides_nothing(repo: Path, tmp_path: Path) -> None:
    """As a program writes it that cuts a text in the middle of a pair: no client of ours would."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
    said = {"name": "remember", "arguments": {"text": "The port is 8123. \ud83d"}}
    asked = {"name": "list", "arguments": {}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": said}, {"id": 3, "method": "tools/call", "params": asked},
    ]  # fmt: skip
    with subprocess.Popen(
        [PROGRAM, "mcp", "-b", "bm25", "--store", tmp_path / "store"], cwd=repo, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "HOME": str(repo.parent)},
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        answers = []
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    assert [each["id"] for each in answers] == [1, 2, 3]
    assert "The port is 8123. \ufffd" in answers[2]["result"]["content"][0]["text"]


def test_a_session_that_is_handed_over_is_recalled(repo: Path, tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Which port?"}, {"role": "assistant", "content": "The port is 8123."}]

    async def say(client: Any) -> list[str]:
        told = await call(client, "observe", messages=said)
        refused = await call(client, "observe", messages=[{"role": "system", "content": "x"}])
        return [told, refused, await call(client, "recall", query="port")]

    told, refused, recalled = talk(repo, tmp_path / "store", say)
    assert told.startswith("Remembered as ") and refused.startswith("ERROR ")
    assert "user: Which port?\n  assistant: The port is 8123." in recalled


def test_what_is_forgotten_is_gone(repo: Path, tmp_path: Path) -> None:
    async def say(client: Any) -> list[str]:
        name = (await call(client, "remember", text="The port is 8123.")).removeprefix("Remembered as ").rstrip(".")
        await call(client, "remember", text="The port of staging is 8124.")
        return [await call(client, "forget", ids=[name, "nobody"]), await call(client, "recall", query="port")]

    forgot, left = talk(repo, tmp_path / "store", say)
    assert "deleted" in forgot and "nobody: not found" in forgot
    assert "8124" in left and "8123" not in left


def test_repositories_and_branches_are_kept_apart(repo: Path, tmp_path: Path) -> None:
    async def write(client: Any) -> str:
        await call(client, "remember", text="The port is 8123.")
        return await call(client, "remember", text="The port of the trial is 9000.", this_branch_only=True)

    async def ask(client: Any) -> str:
        return await call(client, "recall", query="port")

    assert talk(repo, tmp_path / "store", write).startswith("Remembered")
    assert "9000" in talk(repo, tmp_path / "store", ask)
    subprocess.run(["git", "switch", "-qc", "other"], cwd=repo, check=True)
    there = talk(repo, tmp_path / "store", ask)
    assert "8123" in there and "9000" not in there
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert talk(elsewhere, tmp_path / "store", ask) == "Nothing is known."


@pytest.mark.nightly
def test_one_name_on_two_hosts_is_two_repositories(repo: Path, tmp_path: Path) -> None:
    """Also in a store of a release that did not tell them apart, whichever of them is opened first."""
    store, other = tmp_path / "store", tmp_path / "other"
    for words in (
        ("init", "-q", "-b", "main", str(other)),
        ("-C", str(other), "remote", "add", "origin", "git@gitlab.example.com:acme/storefront.git"),
        ("-C", str(other), *AS_ADA, "commit", "-qm", "Another", "--allow-empty"),
    ):
        subprocess.run(["git", *words], check=True)

    async def write(client: Any) -> str:
        return await call(client, "remember", text="The port is 8123.")

    async def ask(client: Any) -> tuple[str, str]:
        return await call(client, "recall", query="port"), await call(client, "list")

    assert talk(repo, store, write).startswith("Remembered")
    (store / "names.json").unlink()
    assert talk(other, store, ask) == ("Nothing is known.", "Nothing is known.")
    subprocess.run(
        ["git", "remote", "set-url", "origin", "ssh://git@git.example.com/acme/storefront"], cwd=repo, check=True
    )
    assert all("8123" in each for each in talk(repo, store, ask))


def test_what_an_agent_may_not_say_is_an_error_and_the_server_stays(repo: Path, tmp_path: Path) -> None:
    async def say(client: Any) -> list[str]:
        wrong: list[dict[str, Any]] = [
            {"text": ""},
            {"text": "x", "path": "../secret.md"},
            {"text": "x", "path": "/etc/passwd"},
            {"text": "x", "path": "away.md"},
            {"text": "x", "path": "docs/deploy.md", "line": 0},
            {"text": "x" * 20_000},
            {},
        ]
        told = [await call(client, "remember", **words) for words in wrong]
        told += [await call(client, "recall", query="x", k=10**9), await call(client, "nothing")]
        return [*told, await call(client, "list")]

    *wrong, listed = talk(repo, tmp_path / "store", say)
    assert all(each.startswith("ERROR") for each in wrong) and listed == "Nothing is known."
    assert sum("not inside of the repository" in each for each in wrong) == 3


def test_a_key_in_the_address_of_the_origin_is_kept_nowhere(repo: Path, tmp_path: Path) -> None:
    async def say(client: Any) -> str:
        return await call(client, "remember", text="The port is 8123.")

    talk(repo, tmp_path / "store", say)
    kept = b"".join(each.read_bytes() for each in (tmp_path / "store").rglob("*") if each.is_file())
    assert b"acme/storefront" in kept and b"hunter2" not in kept


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("-b", "bm26"), 2, "did you mean bm25"),
        (("-b", "oracle"), 2, "it has no memory to offer"),
        (("-b", "mem0,infer=true"), 3, "has a model inside"),
        (("-b", "letta"), 3, "lives in a server"),
        (("-b", "none"), 3, "keeps nothing"),
        (("-b", "notes"), 3, "was written with backend bm25, now it is notes"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    repo: Path, tmp_path: Path, words: tuple[str, ...], code: int, why: str
) -> None:
    store = tmp_path / "store"
    if words == ("-b", "notes"):
        store.mkdir()
        (store / "memory.json").write_text('{"backend": "bm25"}')
    done = subprocess.run(
        [PROGRAM, "mcp", *words, "--store", store], cwd=repo, capture_output=True, text=True, timeout=100, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (code, "") and line.startswith("coldwarm: ") and why in line


@pytest.mark.nightly
def test_the_lines_of_the_page_give_opencode_a_memory(tmp_path: Path, repo: Path) -> None:
    """Copied as they are: two sessions of the real program, the second of which is told what the first one kept."""
    found = profile.read("opencode")
    try:
        made = program.install(found)
    except EnvironmentFault as fault:
        if os.environ.get("COLDWARM_INDEX") == "required":
            pytest.fail(f"{fault} (COLDWARM_INDEX=required)")
        pytest.skip(str(fault))
    assert made is not None
    page = (paths.ROOT / "docs" / "mcp.md").read_text("utf-8")
    lines = re.search(r'```json\n(\{\s*"mcp":.*?)```', page, re.DOTALL)
    assert lines is not None
    with served(FakeUpstream()) as model:
        values = {"url": model.url, "key": KEY, "model": "fake"}
        config = json.loads(profile.fill(found.files[".config/opencode/opencode.json"], values))
        (tmp_path / "opencode.json").write_text(json.dumps(config | json.loads(lines[1])))
        steps: list[Any] = [("memory_remember", {"text": "We deploy with gammadeploy since May"}), "kept"]
        steps += [("memory_recall", {"query": "What do we deploy with?"}), "known"]

        def heard(handler: Handler, body: Any) -> None:
            model.requests.append(body)
            handler.stream(*wire.split_completion(say(steps[len(model.requests) - 1], len(model.requests))))

        model.heard = heard  # type: ignore[method-assign]
        env = {
            **{key: profile.fill(text, values) for key, text in found.environment.items()},
            "PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]]), "HOME": str(tmp_path),
            "OPENCODE_CONFIG": str(tmp_path / "opencode.json"),
        }  # fmt: skip
        words = [
            profile.fill(each, {"packages": str(made.folder), "cpu": profile.name_processor()})
            for each in found.command
        ]
        for told in ("Keep how we deploy.", "How do we deploy?"):
            done = subprocess.run(words, cwd=repo, env=env, input=told, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
    asked = [body for body in model.requests if body]
    names = [each["function"]["name"] for each in asked[0]["tools"]]
    assert {"memory_remember", "memory_recall", "memory_list", "memory_forget"} <= {*names}
    assert "Remembered as" in asked[1]["messages"][-1]["content"]
    assert "\n  We deploy with gammadeploy since May" in asked[3]["messages"][-1]["content"]


def say(step: Any, number: int) -> dict[str, Any]:
    """A tool that a fake model uses, or its words."""
    if isinstance(step, str):
        return completion(step)
    function = {"name": step[0], "arguments": json.dumps(step[1])}
    call = {"id": f"c{number}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return completion("", choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])
