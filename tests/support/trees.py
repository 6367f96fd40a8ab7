"""Packed trees read back, as the script in the page reads them."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from harness.report.timeline.nodes import Node


def unpacked(data: str) -> dict[str, Any]:
    """Name -> nested [tag, class, child...]."""
    block = json.loads(gzip.decompress(base64.b64decode(data)))
    texts = iter(block["texts"])
    nodes = [[kind, *(next(texts) if child == 0 else child for child in rest)] for kind, *rest in block["nodes"]]

    def made(number: int) -> list[Any]:
        kind, *children = nodes[number - 1]
        return [*block["kinds"][kind], *(each if isinstance(each, str) else made(each) for each in children)]

    return {name: made(number) for name, number in block["trees"].items()}


def plain(tree: Node) -> list[Any]:
    """A tree as the same nested lists."""
    return [tree.tag, tree.cls, *(each if isinstance(each, str) else plain(each) for each in tree.children)]
