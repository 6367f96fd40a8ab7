"""The memory of one job, as an agent program sees it: the MCP server of `coldwarm mcp`, at a socket of its own.

The program neither names a scope nor a date, as these are the trial's; what it asks and keeps is logged as its own.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from pydantic import Field

from harness.model.job import Decision, Job
from harness.play.readers import StoreGone
from harness.play.readers.tools import NOTHING, Toolbox
from harness.repo.desk import Refusal
from harness.serving.server import make_server

LONGEST = 2000
"""Characters of a question or a note."""
_WORD = re.compile(r"\w{3,}")


@dataclass
class TrialMemory:
    """What an agent program may do with the memory of its trial. One call at a time.

    Attributes:
        end: Ends the program: its memory has gone, as `lost` says.
        over: The job has ended: nobody uses the memory in its name any more.
        opened: How often it was greeted by a client.
        asked: How often it was used.
    """

    toolbox: Toolbox
    end: Callable[[str], None]
    lost: BaseException | None = None
    over: bool = False
    opened: int = 0
    asked: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(
        self,
        text: Annotated[str, Field(min_length=1, max_length=LONGEST, description="One fact, in a sentence or two.")],
    ) -> str:
        """Keep a fact for later sessions. Repository, branch, commit and date are added."""
        remember = self.toolbox.context.remember
        assert remember is not None, "a warm trial has a memory"
        return self._use(lambda: "Remembered." if remember(text) else _refuse())

    def recall(
        self,
        query: Annotated[str, Field(min_length=1, max_length=LONGEST, description="What you want to know.")],
    ) -> str:
        """Ask the memory about this repository and branch; the best come first."""
        return self._use(lambda: self.toolbox.recall(find_point(query, self.toolbox.job), query) or NOTHING)

    def close(self) -> None:
        """Waits for who still asks."""
        with self._lock:
            self.over = True

    def _use(self, use: Callable[[], str]) -> str:
        """Raises ToolError."""
        with self._lock:
            self.asked += 1
            if self.lost is not None or self.over:
                raise ToolError("the memory has gone")
            try:
                return use()
            except Refusal as refusal:
                raise ToolError(str(refusal)) from None
            except Exception as error:
                # raised again by the reader: here it would reach the program alone
                self.lost = error
                self.end("the memory has gone" if isinstance(error, StoreGone) else "the memory failed")
                raise ToolError("the memory has gone") from None


def _refuse() -> str:
    raise Refusal("the memory did not keep it")


def find_point(query: str, job: Job) -> Decision:
    """The decision of the job that a question is about: that with most of its words, the first of them."""
    query_words = {*_WORD.findall(query.casefold())}
    return max(job.decisions, key=lambda each: len(query_words & {*_WORD.findall(each.question.casefold())}))


@contextmanager
def serve(memory: TrialMemory, path: Path) -> Iterator[None]:
    """Answers at a socket, a thread for each client."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=_accept, args=(listener, memory), daemon=True).start()
        try:
            yield
        finally:
            # wakes the thread in accept(), which a close alone does not
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            memory.close()


def _accept(listener: socket.socket, memory: TrialMemory) -> None:
    while True:
        try:
            link, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_talk, args=(link, memory), daemon=True).start()


def _talk(link: socket.socket, memory: TrialMemory) -> None:
    server = make_server([memory.remember, memory.recall], "1")
    with link, suppress(Exception):  # a client that leaves in the middle, or talks no MCP
        anyio.run(_run, server, link, memory)


async def _run(server: MCPServer[None], link: socket.socket, memory: TrialMemory) -> None:
    # Bytes that are no text spoil one message, not the link.
    lines = anyio.wrap_file(link.makefile("r", encoding="utf-8", errors="replace"))
    with link.makefile("w", encoding="utf-8") as out:
        async with stdio_server(lines, anyio.wrap_file(out)) as (read, write):
            memory.opened += 1
            # run_stdio_async() of the server itself takes no other streams than its process's own
            plain = server._lowlevel_server
            await plain.run(read, write, plain.create_initialization_options())
