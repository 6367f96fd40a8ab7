"""A book to try the tool on, and the tool run as a person runs it."""

import contextlib
import io
import os
import sys
import tempfile
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

KNOWN = {"bind-glossary", "check-refs", "list-terms", "glossary", "make-glossary"}
DEEDS = {"list", "show", "print", "find", "check", "count", "report", "display", "get", "dump", "search", "detect"}
FILES = {
    "a.gls": "fly-leaf\n    A blank leaf.\n    new: yes\n\nThe apron\n    Space in a margin.\n    new: yes\n\n"
    "Zinc\n    A metal.\n    see: quad\n    new: yes\n",
    "b.gls": "bolster\n    What carries a plate.\n    new: yes\n\nflyer\n    An arm that lays sheets.\n    new: yes\n\n"
    "quad\n    A blank piece of type.\n",
    "book.ini": "[book]\ntitle = Trial\n\n[marks]\nnew = *\n",
}
WORDS = ["fly-leaf", "The apron", "Zinc", "bolster", "flyer"]
ORDERS = {
    ("The apron", "bolster", "fly-leaf", "flyer", "Zinc"): "shelf order",
    ("The apron", "Zinc", "bolster", "fly-leaf", "flyer"): "plain alphabet",
    ("bolster", "fly-leaf", "flyer", "The apron", "Zinc"): "plain alphabet",
    tuple(WORDS): "as in the files",
}


@contextlib.contextmanager
def book(files=FILES):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        yield folder


def call(function, *arguments):
    """What it returns (None if it falls over), and what was written to stdout and stderr, warnings included."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = function(*arguments)
        except SystemExit as end:
            value = end.code
        except Exception:
            value = None
    return value, out.getvalue(), err.getvalue() + "".join(f"{each.message}\n" for each in said)


def tool(*argv, **variables):
    from lexikit.cli import main

    for name in [name for name in os.environ if name.startswith("LEXI")]:
        del os.environ[name]
    os.environ.update(variables)
    try:
        return call(main, list(argv))
    finally:
        for name in variables:
            os.environ.pop(name, None)


def order(text):
    """In which order a text names the words, if it names them all."""
    places = {word: text.find(word) for word in WORDS}
    return ORDERS.get(tuple(sorted(WORDS, key=places.get))) if min(places.values()) >= 0 else None


def release(text):
    """The one release that a text names."""
    named = [name for name in ("Nettlecombe", "Wenlow", "Tollgate", "Harrowick") if name in text]
    return named[0] if len(named) == 1 else None


def style(name):
    """In which style a command is named."""
    if name.count(":") == 1:
        thing, deed = name.split(":")
        return "thing:deed" if thing and deed and thing not in DEEDS else None
    if "-" in name and name.split("-")[0] in DEEDS:
        return "deed-thing"
    return None


def new_commands():
    from lexikit import cli

    return [name for name in cli.list_commands() if name not in KNOWN]


def answer(value):
    if value is None:
        sys.exit(1)
    print(value)
