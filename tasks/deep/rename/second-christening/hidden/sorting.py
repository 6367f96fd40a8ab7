"""The renamed option: how it is typed, how its twin is spelled, what the former spelling says."""

import os
import re
import sys

import stage

SORTED = "shelf order"
OTHERS = {"LEXIKIT_COLLATE", "LEXIKIT_INTO", "LEXIKIT_HEADING", "LEXI_OUT"}


def works(*argv, **variables):
    status, out, err = stage.tool("bind-glossary", folder, *argv, **variables)
    return status == 0 and stage.order(out) == SORTED and not err.strip()


def one(found, named):
    """The only one of the names that are known, else that there is another one."""
    known = [name for name in found if name in named]
    return known[0] if len(known) == 1 else named[None] if found and not known else None


def option():
    offered = re.findall(r"--[a-z][a-z-]*", stage.tool("bind-glossary", "--help")[1])
    named = dict.fromkeys(["--by-spine", "--shelfwise", *offered])
    found = [name for name in named if name != "--collate" and works(name)]
    return one(found, {"--by-spine": 1, "--shelfwise": 1, None: "another option"})


class Asked(dict):
    """An environment that notes what it is asked for."""

    names: list[str] = []

    def get(self, name, default=None):
        self.names.append(name)
        return super().get(name, default)

    def __getitem__(self, name):
        self.names.append(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        self.names.append(name)
        return super().__contains__(name)


def twin():
    from lexikit.cli import main

    ours, os.environ = os.environ, Asked(os.environ)
    stage.call(main, ["bind-glossary", folder])
    os.environ = ours
    named = ["LEXIKIT_BY_SPINE", "LEXIKIT_SHELFWISE", *(name for name in Asked.names if name.startswith("LEXI"))]
    found = [name for name in dict.fromkeys(named) if name not in OTHERS and works(**{name: "1"})]
    return one(found, {"LEXIKIT_BY_SPINE": 1, "LEXIKIT_SHELFWISE": 1, None: "another variable"})


def former():
    status, out, err = stage.tool("bind-glossary", folder, "--collate")
    return stage.release(err) if status == 0 and stage.order(out) == SORTED else None


with stage.book() as folder:
    stage.answer({"option": option, "twin": twin, "former": former}[sys.argv[1]]())
