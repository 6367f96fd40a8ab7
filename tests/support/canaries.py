"""Two canaries, and the look for them in a folder."""

from __future__ import annotations

from pathlib import Path

from harness.adapter import Layer
from harness.scan.disk import Needles, Scan, scan

CANARIES = {"pin": "cw0123456789abcdef0123", "key": "cwfedcba9876543210fedc"}
PIN, KEY = CANARIES["pin"], CANARIES["key"]
NEEDLES = Needles(CANARIES)


def look(root: Path, path: str = ".") -> Scan:
    return scan(root, Layer("all", path, "file"), NEEDLES)


def make_folder(parent: Path) -> Path:
    """Of a store, with room beside it."""
    (parent / "store").mkdir()
    return parent / "store"
