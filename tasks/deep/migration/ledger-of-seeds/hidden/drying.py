"""The steps for the drying wing."""

import sys

from vaultplay import CRASHED, codes, columns, largest_commit, lot, migrate, outlives_a_crash, register, say

BASE = 8


def moisture():
    conn = register(BASE)
    for number in range(1, 1001):
        lot(conn, number, taxon=f"Orchis {number}", moisture_pct=5 + (number % 40) * 0.25)
    conn.commit()
    size = largest_commit(conn, "accessions")
    if "moisture_pmy" not in columns(conn, "accessions"):
        sys.exit(1)
    for row in conn.execute("SELECT id, moisture_pmy FROM accessions"):
        if row["moisture_pmy"] != 500 + (row["id"] % 40) * 25:
            sys.exit(1)
    say(size, {440: "440 rows a commit", 230: "230 rows a commit", 1000: "the whole table at once"})


def rooms():
    say(outlives_a_crash(BASE, "rooms", "name", {"north", "south", "cellar"}), CRASHED)


def doubles():
    conn = register(BASE)
    lot(conn, 1, mass_mg=400)
    lot(conn, 2, mass_mg=400)
    lot(conn, 3, received="2025-02-11")
    conn.commit()
    migrate.upgrade(conn)
    there = codes(conn)
    if not {"HV-0001", "HV-0003"} <= there or codes(conn, "compost_heap") - {"HV-0002"}:
        sys.exit(1)
    struck = [row[0] for row in conn.execute("SELECT code FROM accessions WHERE struck_on IS NOT NULL")]
    say(
        ("HV-0002" in there, tuple(struck), len(codes(conn, "compost_heap"))),
        {
            (False, (), 1): "carried to the heap",
            (True, ("HV-0002",), 0): "dated where it stands",
            (False, (), 0): "deleted",
        },
    )


{"moisture": moisture, "rooms": rooms, "doubles": doubles}[sys.argv[1]]()
