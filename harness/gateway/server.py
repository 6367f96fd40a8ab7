"""An ASGI application at a listening socket, in a thread: uvicorn, set the same for every server of ours."""

from __future__ import annotations

import socket
import threading
import time

import uvicorn
from starlette.types import ASGIApp

_IDLE = 600  # seconds that a client may keep an idle connection


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
        http="httptools",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="critical",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=0,  # who leaves has stopped listening: no call under way is waited for
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name=name, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():  # uvicorn has no event for it
        time.sleep(0.002)
    if not server.started:
        raise OSError("the server thread ended")
    return Server(server, thread)
