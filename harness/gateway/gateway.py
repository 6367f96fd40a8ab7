"""The OpenAI-compatible server on 127.0.0.1: the only way from a backend to a model."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from harness.gateway.cache import EmbeddingCache
from harness.gateway.embedder import MissingEmbedderError
from harness.gateway.meter import READING, Ledger, Meter
from harness.machine import extras, shortage

if TYPE_CHECKING:
    from harness.gateway.chat.client import ChatClient
    from harness.gateway.chat.wire import Upstream
    from harness.gateway.server import Server

_CONNECT_SECONDS = 2.0


class GatewayError(shortage.Lacking):
    """The gateway cannot start; one line that says why and what to do."""


class Gateway:
    """`with Gateway(cache) as gateway:` serves at `gateway.url`, in a thread. Each trial registers a key of its own.

    Attributes:
        chat: Who answers chat calls (nobody: they are refused with 404); leaving closes it, so it serves one gateway.
        ledger: What chat calls may cost; the call that crosses its budget is the last that is answered. Entering raises
            GatewayError; starlette and uvicorn are imported there, so that scoring runs without them.
    """

    url: str
    port: int
    _server: Server

    def __init__(self, cache: EmbeddingCache, chat: Upstream | None = None, ledger: Ledger | None = None) -> None:
        self._cache = cache
        self._chat = chat
        self.ledger = ledger or Ledger()
        self._meters: dict[str, Meter] = {}
        self._silent: dict[str, bool] = {}

    def __enter__(self) -> Self:
        try:
            from harness.gateway.chat.route import ChatRoute
            from harness.gateway.endpoint import build_application
            from harness.gateway.server import serve
        except ImportError as error:
            raise GatewayError(f"the gateway needs starlette and uvicorn ({error}): {extras.install()}") from None
        app = build_application(self._cache, self._meters, ChatRoute(self._chat, self.ledger) if self._chat else None)
        # With the protocol named, asyncio sets TCP_NODELAY on what this socket accepts; with the default 0 it would
        # not, and each answer (head and body are two writes) could wait 40 ms for the client's delayed ack.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}/v1"
            self._server = serve(app, listener, "gateway")
        except OSError as error:
            listener.close()
            raise GatewayError(f"the gateway cannot listen on 127.0.0.1 ({error}): local sockets are needed") from None
        if lack := self.find_cut():
            self.__exit__()
            raise GatewayError(lack)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._server.join()

    def stop(self) -> None:
        """Breaks off the calls under way and answers none any more. Safe from any thread."""
        self._server.stop()

    def find_cut(self) -> str:
        """Why nobody reaches it, as the system says; empty: somebody does, or it is late, which a client may bring
        about."""
        try:
            try:
                _connect(self.port)
            except TimeoutError:
                with socket.create_server(("127.0.0.1", 0)) as fresh:  # which no client can make late
                    _connect(fresh.getsockname()[1])
        except OSError as error:
            why = error.strerror or error
            return f"the gateway on 127.0.0.1 is cut off ({why}): look at the loopback interface (ip link)"
        return ""

    def register(self, *keys: str) -> Meter:
        """Accept these keys and count together what they ask for. Raises ValueError for an empty or known key."""
        if not all(keys) or any(key in self._meters for key in keys):
            raise ValueError("a gateway key must be new and not empty")
        meter = Meter()
        self._meters.update(dict.fromkeys(keys, meter))
        return meter

    @contextmanager
    def lend_chat(self) -> Iterator[tuple[ChatClient, Meter]]:
        """Asks the chat model for a reader of ours, under a key of its own, so that no backend is charged."""
        from harness.gateway.chat.client import ChatClient

        key = secrets.token_hex(8)
        meter = self.register(key)
        meter.phase = READING
        try:
            with ChatClient(self.url, key) as client:
                yield client, meter
        finally:
            self.unregister(key)

    def warm(self, texts: Iterable[str], who: str = "") -> None:
        """Embeds these texts now, so that no later request waits for the model.

        Args:
            who: The backend that is to be told them; for one that has played a whole trial without a request, nothing
                is.
        """
        if not self._silent.get(who):
            with suppress(MissingEmbedderError):  # who asks after all is refused, and `check` says so
                self._cache.warm(list(texts))

    def check(self) -> None:
        """Raises EmbedderError if a backend asked for a vector and there was no embedder."""
        if self._cache.refused:
            raise self._cache.refused

    def note_end(self, who: str, meter: Meter) -> None:
        """A backend has come to the end of a trial: whether it asks is known until it is seen to ask after all."""
        self._silent[who] = self._silent.get(who, True) and not meter.counts()

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """The embeddings of these texts as little-endian float32 bytes: what to look for on disk. Nobody is charged.

        Empty where no embedder is installed, so that no backend can have stored one.
        """
        try:
            return [each.vector for each in self._cache.get(texts)]
        except MissingEmbedderError:
            return []

    def unregister(self, *keys: str) -> None:
        """Refuse these keys from now on; their meter stays readable."""
        for key in keys:
            self._meters.pop(key, None)


def _connect(port: int) -> None:
    """Raises OSError; TimeoutError where nothing answers at all."""
    socket.create_connection(("127.0.0.1", port), _CONNECT_SECONDS).close()
