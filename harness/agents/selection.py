"""What a user selects behind `agent:`: the profile, a release of its program, and how memory comes to it.

`NAME`, `NAME@1.2.3`, `NAME+file+auto` or `NAME@1.2.3+file`. NAME may be a path that ends in `.toml`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.model.trial import RELEASE
from harness.play.readers import ReaderError

SHIPPED = Path(__file__).with_name("profiles")
_PARTS = {"tools": ("tools",), "file": ("file",), "both": ("file", "tools"), "auto": ("auto",)}


class ProfileError(ReaderError):
    """A profile that is not there, or none. One line."""


@dataclass(frozen=True)
class Way:
    """How memory comes to a program in the warm arm; at least one of them.

    Attributes:
        tools: It asks and tells the memory under test by tools.
        file: What that memory brings is put into the file that the program reads into each session.
        auto: The memory that the program keeps by itself is on. It begins with what the memory under test brings if
            nothing else brings that, else empty.
    """

    tools: bool
    file: bool
    auto: bool

    @property
    def only_auto(self) -> bool:
        return self.auto and not (self.tools or self.file)


class Selection(NamedTuple):
    """A profile, a release of its program, and how memory comes to it.

    Attributes:
        profile: Its name or path.
        release: Empty: the one that the profile pins.
    """

    profile: str
    release: str
    way: Way


def parse(word: str) -> Selection:
    """Takes a word apart; ways stand in any order, and without one memory comes by tools."""
    parts = set[str]()
    # from the end on, as a path may hold a plus of its own
    name, _, last = word.rpartition("+")
    while name and last in _PARTS:
        word, parts = name, parts.union(_PARTS[last])
        name, _, last = word.rpartition("+")
    way = Way("tools" in parts or not parts, "file" in parts, "auto" in parts)
    found = re.fullmatch(rf"(.+)@({RELEASE})", word)
    return Selection(found[1], found[2], way) if found else Selection(word, "", way)


def locate(name: str) -> Path:
    """The file of a profile: a path where it ends in `.toml`, else a name. Raises ProfileError."""
    if name.endswith(".toml"):
        return Path(name).absolute()
    known = sorted(each.stem for each in SHIPPED.glob("*.toml"))
    first, _, way = name.rpartition("+")
    if first in known or first.endswith(".toml"):
        if way in _PARTS:
            raise ProfileError(f"the release stands before '+{way}', as in {first}@1.2.3+{way}")
        raise ProfileError(
            f"a memory comes to no program by '+{way}'; it does by {', '.join(f'+{each}' for each in _PARTS)}"
        )
    if name not in known:
        near = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"shipped are {', '.join(known)}"
        raise ProfileError(f"there is no profile '{name}'; {hint} (or a path that ends in .toml)")
    return SHIPPED / f"{name}.toml"
