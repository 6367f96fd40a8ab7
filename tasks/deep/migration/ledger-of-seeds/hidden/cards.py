"""The card index: sheets with blanks, boxes, names of donors."""

import glob
import os
import sqlite3
import sys
import tempfile

from vaultplay import CRASHED, lot, migrate, outlives_a_crash, register, say, steps_after

BASE = 8


def blanks():
    from seedvault import accessions, sheets

    conn = register(None)
    for number in (1, 2, 3):
        lot(conn, number)
    conn.commit()
    try:
        sheets.read_sheet(conn, "code;grams\nHV-0001;2.5\nHV-0002;\nHV-0003;0,5\n")
    except sheets.SheetError:
        sys.exit(1)
    if [accessions.get(conn, code)["mass_mg"] for code in ("HV-0001", "HV-0003")] != [2500, 500]:
        sys.exit(1)
    row = accessions.get(conn, "HV-0002")
    say(
        (row["mass_mg"], row["mass_note"]),
        {(None, "pan-empty"): "NULL, pan-empty", (0, "tare-guess"): "0 mg, tare-guess", (None, None): "NULL, no note"},
    )


def boxes():
    say(outlives_a_crash(BASE, "boxes", "label", {"red", "blue", "grey"}), CRASHED)


def names():
    def read(conn):
        return sorted(row[0] for row in conn.execute("SELECT name FROM donors"))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "holm.db")
        conn = register(BASE, path)
        for copy in glob.glob(f"{path}.*"):
            os.remove(copy)
        lot(conn, 1, donor="  Aarn ")
        lot(conn, 2, donor="Weil ", received="2025-02-11")
        conn.commit()
        blank = read(conn)
        for number in steps_after(BASE):
            migrate.upgrade(conn, upto=number)
            if read(conn) == ["Aarn", "Weil"]:
                break
            for copy in glob.glob(f"{path}.*"):
                os.remove(copy)
        else:
            sys.exit(1)
        conn.close()
        kept = []
        for copy in glob.glob(f"{path}.before-*"):
            old = sqlite3.connect(copy)
            kept.append(read(old) == blank)
            old.close()
        conn = sqlite3.connect(path)
        aside = any(
            "  Aarn " in tuple(row)
            for (table,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for row in conn.execute(f"SELECT * FROM {table}")
            if table not in ("accessions", "donors")
        )
        conn.close()
    say(
        "copy" if any(kept) else "aside" if aside else "nothing",
        {"copy": "copy of the file first", "aside": "old rows in a side table", "nothing": "no copy"},
    )


{"blanks": blanks, "boxes": boxes, "names": names}[sys.argv[1]]()
