"""A fake npm registry on this machine: tiny packages that npm finds, checks and unpacks."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


def pack(manifest: Mapping[str, object]) -> bytes:
    """A package of one program."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in {"package.json": json.dumps(manifest), "run.js": "#!/usr/bin/env node\n"}.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return target.getvalue()


class FakeRegistry:
    """Packages by name and version; `tamper` changes what is sent, never what is promised."""

    def __init__(self) -> None:
        self.packed: dict[str, dict[str, tuple[dict[str, object], bytes]]] = {}
        self.tamper, self.url = False, ""

    def add(self, name: str, version: str, **more: object) -> None:
        manifest: dict[str, object] = {"name": name, "version": version, "bin": {"tiny-node": "run.js"}, **more}
        self.packed.setdefault(name, {})[version] = manifest, pack(manifest)

    def answer(self, path: str) -> bytes | None:
        if path.endswith(".tgz"):
            name, _, version = path.removesuffix(".tgz").rpartition("/")
            manifest, data = self.packed[name][version]
            return pack({**manifest, "description": "another"}) if self.tamper else data
        if path not in self.packed:
            return None
        versions = {
            version: {
                **manifest,
                "dist": {
                    "tarball": f"{self.url}/{path}/{version}.tgz",
                    "integrity": f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}",
                },
            }
            for version, (manifest, data) in self.packed[path].items()
        }
        return json.dumps({"name": path, "dist-tags": {"latest": [*versions][-1]}, "versions": versions}).encode()


@contextmanager
def serve_packages() -> Iterator[FakeRegistry]:
    found = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = found.answer(unquote(self.path.lstrip("/")))
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"{}")

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()
