import contextlib
import io
import os
import re
import sqlite3
import sys
import tempfile

import look


def yard(*words):
    from tools.yard.__main__ import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        main(list(words))
    return said.getvalue()


def order():
    seen = look.order("peak", "r97")
    known = ("treadle, hatch, atlas", "treadle, atlas, hatch", "atlas, hatch, treadle", "hatch, treadle, atlas")
    return seen if seen in known else None


def undo():
    said = yard("undo", "hatch", "r97") + "\n" + "\n".join(" ".join(words) for words in look.CALLS)
    seen = {
        name
        for name, line in (
            ("recouples", r"yardctl recouple --green hatch\b"),
            ("shunts", r"yardctl shunt --back hatch\b"),
            ("couples the release before", r"yardctl couple hatch r96\b"),
        )
        if re.search(line, said)
    }
    return seen.pop() if len(seen) == 1 else None


def replay():
    from waybill import store
    from waybill.jobs import Queues

    kept = ("gravel-loop", "deadhead", "failed", "parked", "letters")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "waybill.db")
        conn = store.connect(path)
        queues = Queues(conn)
        for name in kept:
            queues.put(name, {"from": name})
        queues.put("routes", {"from": "routes"})
        queues.claim("routes", 1)
        conn.commit()
        conn.close()
        yard("replay", "--db", path)
        conn = sqlite3.connect(path)
        moved = sorted(body["from"] for body in Queues(conn).waiting("routes"))
        conn.close()
    names = {
        ("gravel-loop",): "from gravel-loop",
        ("deadhead",): "from deadhead",
        ("failed",): "what failed",
        (): "what stayed claimed" if moved else None,
    }
    return names.get(tuple(name for name in moved if name != "routes"))


look.say({"order": order, "undo": undo, "replay": replay}[sys.argv[1]]())
