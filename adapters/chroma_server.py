"""Chroma as a server (`chroma run`), over HTTP: the collection of the embedded row, shared by any number of clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from adapters.chroma import Chroma, ChromaMemory
from harness.adapter import Layer, Program, Server, Space, Unsupported

RUN = "from chromadb.cli.cli import app; app()"
"""The command `chroma`, whose script need not be on the PATH."""


class ServerMemory(ChromaMemory):
    @staticmethod
    def connect(chromadb: Any, space: Space) -> Any:
        place = urlsplit(space.service or "")
        return chromadb.HttpClient(
            host=place.hostname, port=place.port, settings=chromadb.Settings(anonymized_telemetry=False)
        )


class ChromaServer(Chroma):
    name = "chroma_server"
    clients = ("Python", "TypeScript", "Rust")
    native: ClassVar[tuple[str, ...]] = (*(each for each in Chroma.native if each != "compact"), "multi_process")
    unsupported: ClassVar = {
        **{name: why for name, why in Chroma.unsupported.items() if name != "multi_process"},
        "compact": "`chroma vacuum` wants the store alone, and the server has it open",
    }
    memory: ClassVar[type[ChromaMemory]] = ServerMemory

    def serve(self, gateway: str) -> Server:
        """It embeds nothing itself: vectors come with each call."""
        program = Program(
            name="chroma",
            argv=(sys.executable, "-c", RUN, "run", "--path", "{store}/chroma", "--host", "127.0.0.1",
                  "--port", "{chroma}"),
            health="/api/v2/heartbeat",
            data="chroma",
        )  # fmt: skip
        return Server(
            (program,), "http://127.0.0.1:{chroma}", "CHROMA_SERVER_URL", "coldwarm-chroma", "pip install chromadb"
        )

    def compact(self, space: Space) -> None:
        raise Unsupported("compact")

    def storage(self, space: Space) -> list[Layer]:
        """Within reach if the server was started for this space."""
        if space.service is None or Path(space.root, "chroma").exists():
            return super().storage(space)
        return [Layer("server", "server", "remote")]
