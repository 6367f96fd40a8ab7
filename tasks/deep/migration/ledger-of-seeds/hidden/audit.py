"""What the auditors asked for."""

import sys

from vaultplay import codes, columns, largest_commit, lot, migrate, register, say

BASE = 9


def rates():
    conn = register(BASE)
    lot(conn, 1)
    for number in range(1000):
        conn.execute(
            "INSERT INTO germination (accession_id, started, sown, sprouted) VALUES (1, '2025-02-01', 50, ?)",
            (number % 51,),
        )
    conn.commit()
    size = largest_commit(conn, "germination")
    if "rate_pml" not in columns(conn, "germination"):
        sys.exit(1)
    for row in conn.execute("SELECT sprouted, rate_pml FROM germination"):
        if row["rate_pml"] != row["sprouted"] * 20:
            sys.exit(1)
    say(
        size,
        {
            85: "85 rows a commit", 440: "440 rows a commit", 230: "230 rows a commit", 1000: "the whole table at once",
        },
    )  # fmt: skip


def taken():
    conn = register(BASE)
    lot(conn, 1)
    for grams in (1.5, None, 0.25):
        conn.execute(
            "INSERT INTO withdrawals (accession_id, taken_on, grams, purpose) VALUES (1, '2025-06-01', ?, 'exchange')",
            (grams,),
        )
    conn.commit()
    migrate.upgrade(conn)
    if not {"mass_mg", "mass_note"} <= columns(conn, "withdrawals"):
        sys.exit(1)
    first, blank, last = conn.execute("SELECT mass_mg, mass_note FROM withdrawals ORDER BY id").fetchall()
    if (first["mass_mg"], last["mass_mg"]) != (1500, 250):
        sys.exit(1)
    say(
        tuple(blank),
        {(None, "pan-empty"): "NULL, pan-empty", (0, "tare-guess"): "0 mg, tare-guess", (None, None): "NULL, no note"},
    )


def discard():
    from seedvault import accessions

    conn = register(None)
    for number in (1, 2):
        lot(conn, number, mass_mg=400)
    conn.commit()
    accessions.discard(conn, "HV-0002", "mould")
    there, heap = codes(conn), codes(conn, "compost_heap")
    if "HV-0001" not in there or heap - {"HV-0002"}:
        sys.exit(1)
    struck = conn.execute("SELECT COUNT(*) FROM accessions WHERE struck_on IS NOT NULL").fetchone()[0]
    say(
        ("HV-0002" in there, struck, len(heap)),
        {(False, 0, 1): "carried to the heap", (True, 1, 0): "dated where it stands", (False, 0, 0): "deleted"},
    )


{"rates": rates, "taken": taken, "discard": discard}[sys.argv[1]]()
