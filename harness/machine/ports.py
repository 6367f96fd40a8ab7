"""Ports of this machine: which are free, and whether a server answers at one."""

from __future__ import annotations

import http.client
import random
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

PORTS = range(20000, 32000)
"""Below those that the system gives to outgoing connections."""
TRIED = 100


def free(names: Iterable[str]) -> Mapping[str, int] | None:
    """A port for each name that nobody listens on now; None if there are not so many."""
    found = {port for port in random.sample(PORTS, TRIED) if is_free(port)}
    names = list(names)
    return dict(zip(names, found, strict=False)) if len(found) >= len(names) else None


def is_free(port: int) -> bool:
    """Whether nobody listens there; what an ended server left of its connections does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def is_answered(url: str, health: str | None) -> bool:
    """Whether somebody listens there and, with the path `health`, says 200 within ten seconds."""
    try:
        where = urlsplit(url)
        if health is None:
            socket.create_connection((where.hostname or "", where.port or 80), timeout=2).close()
            return True
        kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        link = kind(where.hostname or "", where.port, timeout=10)
        try:
            link.request("GET", where.path + health)
            return link.getresponse().status == 200
        finally:
            link.close()
    # ValueError: the port of the URL is no number, or too large
    except (OSError, ValueError, http.client.HTTPException):
        return False
