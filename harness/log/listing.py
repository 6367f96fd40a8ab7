"""Listings of large stores on their way into a log."""

from __future__ import annotations

from collections.abc import Sequence

from harness.adapter import Hit
from harness.log.blobs import INLINE, Blobs, Ref
from harness.log.parts import HITS


class HitsPacker:
    """`pack` for hits that come page by page, of which only the JSON is held."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs, self._pages = blobs, list[bytes]()

    def add(self, page: Sequence[Hit]) -> None:
        if page:
            # without its own brackets, so that the pages make one list
            self._pages += [b"," if self._pages else b"[", HITS.dump_json(tuple(page), exclude_none=True)[1:-1]]

    def finish(self) -> tuple[Hit, ...] | Ref:
        """The hits themselves if their JSON is small, else the blob that holds it; equal hits, equal bytes."""
        data = b"".join([*self._pages, b"]"]) if self._pages else b"[]"
        self._pages.clear()
        return HITS.validate_json(data) if len(data) <= INLINE else self._blobs.put(data)
