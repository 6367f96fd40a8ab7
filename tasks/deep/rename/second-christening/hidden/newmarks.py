"""The plug-in for new words: with which hook it is asked, and how its subcommand is named."""

import inspect
import sys

import stage

from lexikit.desk import Desk
from lexikit.entries import read_book
from lexikit.hooks import load_plugins, through


def hook():
    entries, desk, seen = {entry.headword: entry for entry in read_book(folder)}, Desk(folder), set()
    for plugin in load_plugins("plugins"):
        marked, plain = (stage.call(through, [plugin], entries[word], desk)[0] for word in ("bolster", "quad"))
        if None in (marked, plain) or plain.headword != "quad" or not (
            marked.headword.endswith("bolster") and "*" in marked.headword
        ):
            continue
        glaze = getattr(plugin.hook, "glaze", None)
        if glaze is None:
            seen.add("burnish(entry, page)")
        else:
            seen.add("glaze(entry)" if len(inspect.signature(glaze).parameters) == 1 else "glaze(entry, desk)")
    return seen.pop() if len(seen) == 1 else None


def name():
    seen = set()
    for each in stage.new_commands():
        out = stage.tool(each, folder)[1]
        if all(word in out for word in stage.WORDS) and "quad" not in out:
            seen.add(stage.style(each))
    return seen.pop() if len(seen) == 1 else None


with stage.book() as folder:
    stage.answer({"hook": hook, "name": name}[sys.argv[1]]())
