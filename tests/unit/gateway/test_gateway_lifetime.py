from __future__ import annotations

import errno
import http.client
import json
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.adapter import Space, embed
from harness.gateway.cache import EmbeddingCache
from harness.gateway.gateway import Gateway, GatewayError
from tests.support.fakes import FakeEmbedder
from tests.support.limits import limited

KEY = "trial-key-1"


def space(gateway: Gateway) -> Space:
    return Space(root="", gateway=gateway.url, key=KEY, dims=384, seed=0)


@pytest.mark.slow
def test_two_gateways_side_by_side_and_nothing_left_behind() -> None:
    cache = EmbeddingCache(None, FakeEmbedder())
    before = set(threading.enumerate())
    with Gateway(cache) as first, Gateway(cache) as second:
        assert first.url != second.url
        assert first.url.startswith("http://127.0.0.1:")
        first.register(KEY)
        idle = socket.create_connection(("127.0.0.1", urlsplit(first.url).port))
        assert len(embed(space(first), ["text"])) == 1
        with pytest.raises(RuntimeError, match="answered 401"):
            embed(space(second), ["text"])
    idle.close()
    assert "gateway" not in {thread.name for thread in set(threading.enumerate()) - before}
    with pytest.raises(ConnectionRefusedError):
        embed(space(first), ["text"])


@pytest.mark.slow
def test_a_gateway_that_nobody_can_reach_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = EmbeddingCache(None, FakeEmbedder())
    with Gateway(cache) as gateway:
        assert not gateway.find_cut()
        with monkeypatch.context() as patched:
            patched.setattr(socket, "create_connection", _fail(TimeoutError("timed out"), gateway.port))
            assert not gateway.find_cut(), "a client may bring that about"
            patched.setattr(socket, "create_connection", _fail(TimeoutError("timed out")))
            assert "cut off (timed out)" in gateway.find_cut(), "no client makes a fresh listener late"
    assert "Connection refused" in gateway.find_cut()
    monkeypatch.setattr(socket, "create_connection", _fail(OSError(errno.ENETUNREACH, "Network is unreachable")))
    with pytest.raises(GatewayError, match="loopback interface"):
        Gateway(cache).__enter__()
    assert "gateway" not in {thread.name for thread in threading.enumerate()}


def _fail(error: OSError, only: int = 0) -> Callable[..., socket.socket]:
    """What connects to no port, or not to this one only."""
    real = socket.create_connection

    def connect(address: tuple[str, int], *more: Any) -> socket.socket:
        if only in (0, address[1]):
            raise error
        return real(address, *more)

    return connect


def test_a_process_keeps_its_connection_and_one_that_was_closed_meanwhile_is_opened_anew() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    answer = b'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"data": []}'

    def serve() -> None:
        for served in (2, 1):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                for _ in range(served):
                    head = dict(
                        line.lower().split(b": ", 1) for line in iter(stream.readline, b"\r\n") if b": " in line
                    )
                    stream.read(int(head[b"content-length"]))
                    connection.sendall(answer)

    server = threading.Thread(target=serve)
    server.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    place = Space(root="", gateway=url, key=KEY, dims=384, seed=0)
    for _ in range(3):
        assert embed(place, ["text"]) == []
    server.join()
    listener.close()
    with pytest.raises(ConnectionError):
        embed(place, ["text"])


def test_who_holds_many_connections_loses_the_oldest_and_nobody_else_does() -> None:
    files = len([*Path("/proc/self/fd").iterdir()]) + 400
    with limited(resource.RLIMIT_NOFILE, files), Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        gateway.register(KEY)
        with ExitStack() as stack:
            other = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", gateway.port)))
            assert ask(other) == 200
            port = other.sock.getsockname()[1]
            held = [
                stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port)))
                for _ in range(files // 4 + 20)
            ]
            fresh = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", gateway.port)))
            assert ask(fresh) == 200, "it came after all of those"
            assert ask(other) == 200 and other.sock.getsockname()[1] == port, "its connection is the oldest of all"
            assert [is_open(held[0]), is_open(held[-1])] == [False, True]


def ask(link: http.client.HTTPConnection) -> int:
    body = json.dumps({"input": ["text"]})
    link.request("POST", "/v1/embeddings", body, {"authorization": f"Bearer {KEY}"})
    answer = link.getresponse()
    answer.read()
    return answer.status


def is_open(link: socket.socket) -> bool:
    link.setblocking(False)
    try:
        return link.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_answers_are_not_held_back_by_the_client_s_delayed_ack(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted: list[socket.socket] = []
    accept = socket.socket.accept

    def noted(listener: socket.socket) -> tuple[socket.socket, Any]:
        connection, address = accept(listener)
        accepted.append(connection.dup())
        return connection, address

    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        gateway.register(KEY)
        monkeypatch.setattr(socket.socket, "accept", noted)
        embed(space(gateway), ["text"])
    # dup shares the connection's options; they outlive the server's own descriptor
    assert accepted and all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in accepted)
    for each in accepted:
        each.close()


def test_a_connection_that_finds_no_file_left_is_taken_later_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    accept, refused = socket.socket.accept, list[socket.socket]()

    def refuse_once(listener: socket.socket) -> tuple[socket.socket, Any]:
        if not refused:
            refused.append(listener)
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listener)

    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        gateway.register(KEY)
        monkeypatch.setattr(socket.socket, "accept", refuse_once)
        assert len(embed(space(gateway), ["text"])) == 1 and refused
    assert not caplog.records


def test_missing_server_packages_are_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "harness.gateway.server", raising=False)  # else it has it already
    with pytest.raises(GatewayError, match=r"^the gateway needs starlette and uvicorn .*pip install .*'$"):
        Gateway(EmbeddingCache(None, FakeEmbedder())).__enter__()


def test_no_socket_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def bind(self, address: Any) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("harness.gateway.gateway.socket.socket", Refusing)
    with pytest.raises(GatewayError, match=r"^the gateway cannot listen on 127\.0\.0\.1 \(.*Permission denied\)"):
        Gateway(EmbeddingCache(None, FakeEmbedder())).__enter__()


def test_no_server_is_imported_before_it_starts() -> None:
    code = (
        "import sys; from harness.gateway.gateway import Gateway;"
        "print(sorted({'uvicorn', 'starlette', 'onnxruntime', 'splintr'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
