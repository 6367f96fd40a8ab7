"""The command of the work tree, played over small files."""

import contextlib
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from shuttleworks import cli  # noqa: E402  from the work tree


def say(seen, known):
    """Prints the value of what was seen, if it is one that is known."""
    if seen not in known:
        print(f"saw {seen!r}", file=sys.stderr)
        sys.exit(1)
    print(known[seen])


def call(*words):
    """What a command prints; whoever is refused by it has seen nothing."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            code = cli.main(list(words))
        except SystemExit as error:
            code = error.code
    if code:
        sys.exit(1)
    return out.getvalue()


@contextlib.contextmanager
def files(**texts):
    """Name -> path of a file with this text, or with this JSON."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, text in texts.items():
            paths[name] = os.path.join(folder, name)
            with open(paths[name], "w", encoding="utf-8") as file:
                file.write(text if isinstance(text, str) else json.dumps(text))
        yield paths


def yarn(code, family, cones, **more):
    return {"code": code, "family": family, "shade": "plain", "cones": cones, **more}


def order(number, due, warp="W-x", **more):
    return {"number": number, "cloth": "x", "loom": "merrow", "warp": warp, "metres": 5, "due": due, **more}
