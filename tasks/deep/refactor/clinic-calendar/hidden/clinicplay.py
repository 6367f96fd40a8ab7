"""A desk to try requests at, and what its answers look like."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from turnstile.desk import Desk  # noqa: E402
from turnstile.store.schema import connect  # noqa: E402


def open_desk(*patients):
    """With two therapists and these patients: folio, name, phone."""
    db = connect()
    db.executemany("insert into patients (folio, name, phone) values (?, ?, ?)", patients)
    db.execute("insert into therapists (name) values ('Sanne'), ('Odo')")
    db.commit()
    return Desk(db)


def book(desk, when):
    status, body = desk.handle("POST", "/visits", {"patient": 1, "therapist": 1, "when": when}, badge="B-01")
    assert status == 201, body
    return body["id"]


def name_registration(desk):
    """What the daybook has of badge B-31."""
    line = desk.db.execute("select 1 from daybook where badge = 'B-31'").fetchone()
    return "a line in the daybook" if line else "no line in the daybook"


def name_code(body):
    said = json.dumps(body)
    if re.search(r"\bTD-8[45]\d\b", said, re.I):
        return "a code of the 840s"
    if re.search(r"\bTD-7[01]\d\b", said, re.I):
        return "a code of the 700s"
    if re.search(r"\bKX-3\d\d\b", said, re.I):
        return "a code of the kiosk"
    return "words for a code"


def name_time(body):
    """How an answer puts half past nine of 2 June."""
    said = json.dumps(body)
    if re.search(r'"clinic_start": "2025-06-02T09:30(:00)?\+02:?00"', said):
        return "clinic_start with its offset"
    if re.search(r'"starts_utc": "2025-06-02T07:30(:00)?(Z|\+00:00)"', said):
        return "starts_utc"
    if re.search(r'"when": "2025-06-02 09:30"', said):
        return "the wall clock"
    return None


def name_echo(ask, rows):
    """By which header a second request is answered again. `ask(desk, headers, again)` -> answer, rows; `rows` of one."""

    def new_desk():
        return open_desk(("F-0301", "Ada Quist", "555-0301"))

    def is_recalled(header):
        desk = new_desk()
        (first, _), (again, kept) = ask(desk, {header: "m-1"}, 0), ask(desk, {header: "m-1"}, 0)
        other, more = ask(desk, {header: "m-2"}, 1)
        return first[0] == 201 and again == first and kept == rows and other[0] == 201 and more == 2 * rows

    for header in ("X-Wicket-Echo", "X-Desk-Stub"):
        if is_recalled(header):
            return f"recalled by {header}"
    answer, kept = ask(new_desk(), {}, 0)
    return "recalled by neither header" if answer[0] == 201 and kept == rows else None


def main(**decisions):
    seen = decisions[sys.argv[1]]()
    if seen is None:
        sys.exit(1)
    print(seen)
