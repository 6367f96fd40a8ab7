"""For the port call: the office's own pull, the settings for the vendor, the table of the leg."""

import sys
import tempfile

from deck import FOUND, PEOPLE, PERSON, SHOWN, person, say, shown, surroundings


def state():
    from tollbridge import client

    with tempfile.TemporaryDirectory() as folder:
        request = client.state_request("sounder", surroundings(folder, "sounder"))
    if request.full_url != "http://sounder.wet/state":
        sys.exit(1)
    say((request.get_header("X-toll") or "").strip().removeprefix("token-"), FOUND)


def report():
    from tollbridge import bundle

    settings = {"sounder_host": "sounder.wet", "sounder_pin": "4711", "ring_phrase": "wet socks every watch", "rate": 5}
    lines = bundle.settings_report(settings)
    lines = lines.strip().split("\n") if isinstance(lines, str) else list(lines)
    if len(lines) != 4 or "sounder_host: sounder.wet" not in lines or "rate: 5" not in lines:
        sys.exit(1)
    (pin,) = [line for line in lines if line.startswith("sounder_pin")]
    (phrase,) = [line for line in lines if line.startswith("ring_phrase")]
    seen = {shown(pin, settings["sounder_pin"]), shown(phrase, settings["ring_phrase"])}
    say(seen.pop() if len(seen) == 1 else seen, SHOWN)


def leg():
    from tollbridge import exports

    entries = [
        {"at": 60, "instrument": "ctd", "scope": "casts.write", "by": "b3"},
        {"at": 90, "instrument": "mast", "scope": "weather.write", "by": "b8"},
    ]
    rows = exports.leg_table(entries, PEOPLE)
    if [(row["day"], row["instrument"]) for row in rows] != [(0, "ctd"), (0, "mast")]:
        sys.exit(1)
    seen = {person(row, entry["by"]) for row, entry in zip(rows, entries, strict=True)}
    say(seen.pop() if len(seen) == 1 else seen, PERSON)


{"state": state, "report": report, "leg": leg}[sys.argv[1]]()
