"""The winch: its module, its logger, a line for refused tokens, its table."""

import sys
import tempfile

from deck import FOUND, PEOPLE, PERSON, SHOWN, person, say, shown, surroundings


def nod():
    from tollbridge import tokens
    from tollbridge.keyring import Ring

    ring = Ring()
    ring.issue("winch-2506", "winch", "s1")
    ring.promote("winch-2506")
    claims = tokens.verify(ring, tokens.mint_for(ring, "winch", 1000), 1001)
    if claims["scp"] != ["winch.drive", "winch.write"]:
        sys.exit(1)
    say(
        claims.get("nod"),
        {"bosun-nod": "the bosun's nod", "harbour-stamp": "the harbour's stamp", None: "no nod"},
    )


def token():
    from tollbridge import logger

    with tempfile.TemporaryDirectory() as folder:
        found = logger.load_token("winch", surroundings(folder, "winch"))
    say(found.strip().removeprefix("token-"), FOUND)


def refusal():
    from tollbridge import audit

    secret, log = "eyJleHAiOjE3NTAwMDB9.5d3c0b7e", audit.Log()
    audit.note_refusal(log, 1000, "winch", secret, "it has run out")
    if len(log.lines) != 1 or "winch" not in log.lines[0]:
        sys.exit(1)
    say(shown(log.lines[0], secret), SHOWN)


def table():
    from tollbridge import exports

    entries = [
        {"at": 60, "instrument": "winch", "scope": "winch.drive", "by": "b3", "metres": 412},
        {"at": 90, "instrument": "winch", "scope": "winch.drive", "by": "b8", "metres": 12},
    ]
    rows = exports.winch_table(entries, PEOPLE)
    if [(row["at"], row["metres"]) for row in rows] != [(60, 412), (90, 12)]:
        sys.exit(1)
    seen = {person(row, entry["by"]) for row, entry in zip(rows, entries, strict=True)}
    say(seen.pop() if len(seen) == 1 else seen, PERSON)


{"nod": nod, "token": token, "refusal": refusal, "table": table}[sys.argv[1]]()
