import contextlib
import io
import os
import sqlite3
import sys
import tempfile

import look


def order():
    seen = look.order("sunday", "r86")
    return seen if seen in ("treadle, atlas, hatch", "atlas, hatch, treadle", "hatch, treadle, atlas") else None


def leftovers():
    from waybill.jobs import Queues
    from waybill.worker import Worker

    queues = Queues(sqlite3.connect(":memory:"))
    for number in range(3):
        queues.put("routes", {"parcel": number})
    worker = Worker(queues, lambda body: None, clock=lambda: 0.0)
    worker.claim()
    worker.drain(0)
    found = {name: len(queues.waiting(name)) for name in queues.names()}
    return {
        (("gravel-loop", 3),): "parked in gravel-loop",
        (("deadhead", 3),): "parked in deadhead",
        (("routes", 3),): "back in routes",
    }.get(tuple(found.items()))


def role():
    from tools.yard.__main__ import main

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = os.path.join(folder, "waybill.db")
        main(["migrate", "--db", path])
        conn = sqlite3.connect(path)
        roles = [name for (name,) in conn.execute("SELECT DISTINCT role FROM schema_log")]
        conn.close()
    known = [name for name in roles if name in ("theodolite", "mapmaker", "app")]
    return f"runs as {known[0]}" if len(roles) == len(known) == 1 else None


look.say({"order": order, "leftovers": leftovers, "role": role}[sys.argv[1]]())
