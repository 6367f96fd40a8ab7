"""An ASGI application at a listening socket, in a thread: uvicorn, set the same for every server of ours."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
import time
from collections import Counter
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_IDLE = 600  # seconds that a client may keep an idle connection
_SHARE = 4
"""Of the files that this process may have open, one in so many is a connection."""
_AT_ONCE, _QUEUED = 16, 2048
"""Connections that are taken before any of them is counted, and those that the system holds until they are taken."""


class _Connection(HttpToolsProtocol):  # type: ignore[misc]  # it is not typed
    """A connection, for which the oldest one without a whole request goes where there are many: of the client with the
    most. Those that have sent no key yet count as one client, as nothing tells them apart.
    """

    key = b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        # RLIM_INFINITY is -1: without a limit there is always room
        if len(self.connections) >= resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE > 0:
            self._make_room()
        self.born = self.loop.time()
        super().connection_made(transport)

    def on_headers_complete(self) -> None:
        self.key = dict(self.headers).get(b"authorization", b"")
        super().on_headers_complete()

    def _make_room(self) -> None:
        waiting = [each for each in self.connections if isinstance(each, _Connection) and each._is_waiting()]
        if counts := Counter(each.key for each in waiting).most_common(1):
            min((each for each in waiting if each.key == counts[0][0]), key=lambda each: each.born).transport.abort()

    def _is_waiting(self) -> bool:
        asked = self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)
        return not asked and not self.transport.is_closing()


class _Uvicorn(uvicorn.Server):  # type: ignore[misc]  # it is not typed
    """Without a traceback for each connection that finds no file left: asyncio takes it a second later."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_report)
        await super().startup(sockets)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


class Server:
    """Answers until it is stopped. Calls under way are broken off then."""

    def __init__(self, server: uvicorn.Server, thread: threading.Thread) -> None:
        self._server, self._thread = server, thread

    def stop(self) -> None:
        """Ends it soon. Safe from any thread."""
        self._server.should_exit = True

    def join(self) -> None:
        self._thread.join()


def serve(app: ASGIApp, listener: socket.socket, name: str) -> Server:
    """Starts to answer at `listener`, which it closes in the end. Raises OSError."""
    config = uvicorn.Config(
        app,
        # Named, not "auto": the same server wherever it runs, whatever else is installed.
        loop="asyncio",
        http=_Connection,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="critical",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=_AT_ONCE,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=0,  # who leaves has stopped listening: no call under way is waited for
    )
    server = _Uvicorn(config)
    thread = threading.Thread(target=server.run, args=([listener],), name=name, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():  # uvicorn has no event for it
        time.sleep(0.002)
    if not server.started:
        raise OSError("the server thread ended")
    # uvicorn's backlog is also how many connections asyncio takes at a stroke: here the queue alone is made longer
    listener.listen(_QUEUED)
    return Server(server, thread)
