"""What is left on disk of strings and vectors, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.adapter import Layer
from harness.scan import text
from harness.scan.text import Scan


class Needles:
    """What is looked for: canaries (name -> string) and vectors (name -> little-endian float32 bytes)."""

    def __init__(self, canaries: Mapping[str, str], vectors: Mapping[str, bytes] = {}) -> None:
        self.canaries, self.vectors = canaries, vectors


def scan(root: Path, layer: Layer, needles: Needles) -> Scan:
    """Looks for every needle in the layer's files below `root`."""
    return text.scan(root, layer, needles.canaries)
