"""The new subcommand for entries to which nobody refers: its name, its order."""

import sys

import stage

with stage.book() as folder:
    seen = {}
    for name in stage.new_commands():
        out = stage.tool(name, folder)[1]
        if all(word in out for word in stage.WORDS) and "quad" not in out:
            seen[name] = out
    if len(seen) != 1:
        sys.exit(1)
    ((name, out),) = seen.items()
    stage.answer({"name": stage.style(name), "order": stage.order(out)}[sys.argv[1]])
