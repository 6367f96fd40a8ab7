"""The names of repositories in one store. The short one, owner and name, is of the first host that has it: stores of
earlier releases know no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from harness.machine import documents, files, shortage
from harness.machine.documents import DocumentError
from harness.serving.place import Place, PlaceError

FILE = "names.json"


class Names:
    """Host and path of each repository that was here -> its name in the store. One call at a time."""

    def __init__(self, file: Path) -> None:
        """Raises DocumentError."""
        self._file, self._known = file, _read(file)

    def find(self, place: Place, list_commits: Callable[[], Iterable[str]]) -> str:
        """The name of a repository, which keeps it for good. Raises PlaceError.

        Args:
            list_commits: What memories under the short name cite. If none of these is here, they are another's.
        """
        if place.origin is None:
            return place.repo
        return self._known.get(place.origin) or self._give(place, place.origin, list_commits)

    def _give(self, place: Place, origin: str, list_commits: Callable[[], Iterable[str]]) -> str:
        taken = {*self._known.values()}
        free = place.repo not in taken and place.holds_any(list_commits())
        name = place.repo if free else origin
        if name in taken:
            raise PlaceError(f"another repository is called {name} in this memory: name another --store")
        known = {**self._known, origin: name}
        try:
            files.write(self._file, json.dumps(known, indent=1) + "\n")
        except OSError as error:
            raise PlaceError(f"{self._file}: cannot be written: {shortage.tell(error)}") from None
        # only now: a name that is not on disk could be given to another repository after a restart
        self._known = known
        return name


def _read(file: Path) -> Mapping[str, str]:
    """Raises DocumentError."""
    known = documents.read_json(file) if file.exists() else {}
    if not isinstance(known, dict) or not all(isinstance(name, str) for name in known.values()):
        raise DocumentError("is none of ours")
    return known
