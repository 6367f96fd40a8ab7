"""Small registers for the checks: played up to a step, filled by hand, and watched while the rest is played."""

import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from seedvault import migrate  # noqa: E402  from the work tree


def say(seen, known):
    """Prints the value of what was seen, if it is one that is known."""
    if seen not in known:
        print(f"saw {seen!r}", file=sys.stderr)
        sys.exit(1)
    print(known[seen])


def register(upto, path=":memory:"):
    conn = sqlite3.connect(path)
    conn.row_factory = sqlite3.Row
    migrate.upgrade(conn, upto=upto)
    return conn


def lot(conn, number, taxon="Silene nutans", donor="Aarn", received="2025-01-20", **columns):
    conn.execute("INSERT OR IGNORE INTO donors (name) VALUES (?)", (donor,))
    row = {
        "id": number, "code": f"HV-{number:04}", "taxon": taxon, "donor": donor, "received": received,
        "donor_id": conn.execute("SELECT id FROM donors WHERE name = ?", (donor,)).fetchone()[0], **columns,
    }  # fmt: skip
    marks = ", ".join("?" * len(row))
    conn.execute(f"INSERT INTO accessions ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def steps_after(number):
    return [step.number for step in migrate.discover() if step.number > number]


def codes(conn, table="accessions"):
    return {row[0] for row in conn.execute(f"SELECT code FROM {table}")}


def columns(conn, table):
    return {row[1] for row in conn.execute(f"PRAGMA table_info({table})")}


def has_table(conn, name):
    return conn.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone() is not None


def largest_commit(conn, table):
    """Plays the steps that are left, and returns how many rows of a table the largest commit changed."""
    changed, sizes = set(), [0]

    def statement(sql):
        word = sql.strip().upper()
        if word.startswith(("COMMIT", "END")):
            sizes.append(len(changed))
            changed.clear()
        elif word.startswith("ROLLBACK") and " TO " not in word:
            changed.clear()

    conn.create_function("noted", 1, changed.add)
    conn.execute(f"CREATE TEMP TRIGGER watch AFTER UPDATE ON main.{table} BEGIN SELECT noted(NEW.id); END")
    conn.commit()
    conn.set_trace_callback(statement)
    migrate.upgrade(conn)
    conn.set_trace_callback(None)
    return max(sizes)


CRASHED = {False: "gone with the ledger line", True: "kept by a commit of its own"}


def outlives_a_crash(base, table, column, values):
    """Whether a table that one of the steps after `base` makes is there when the ledger refuses the step's line."""
    conn, before = register(base), base
    for number in steps_after(base):
        migrate.upgrade(conn, upto=number)
        if has_table(conn, table):
            break
        before = number
    else:
        sys.exit(1)
    if {row[0] for row in conn.execute(f"SELECT {column} FROM {table}")} != values:
        sys.exit(1)
    conn = register(before)
    conn.execute("CREATE TEMP TRIGGER shut BEFORE INSERT ON main.schema_ledger BEGIN SELECT RAISE(ABORT, 'shut'); END")
    conn.commit()
    try:
        migrate.upgrade(conn, upto=number)
    except sqlite3.Error:
        pass
    else:
        sys.exit(1)
    if conn.in_transaction:
        conn.rollback()
    return has_table(conn, table)
