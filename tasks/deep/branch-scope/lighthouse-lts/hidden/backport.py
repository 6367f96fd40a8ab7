"""The inspection's calls, on the branch."""

import sys

from office import TAILS, Port, ends_in, leaves_with, one_wait, play, say

from beaconctl import link


def roll():
    port = Port(_7=1, _9=0)
    seen = link.roll_call(port, [7, 8, 9])
    if {address: bool(state) for address, state in seen.items()} != {7: True, 8: False, 9: False} or seen[8] is not None:
        sys.exit(1)
    say(one_wait(port), {wait: f"{wait} ms a lamp" for wait in (1900, 2650, 275, 415, 640)})


def hail():
    say(leaves_with("hail"), {status: f"leaves with {status}" for status in (31, 58, 17, 1)})


def group():
    say(ends_in(), TAILS)


def spelling():
    status, new, _ = play("plan", "stations/north.ini", "--station", "corbel-rock")
    if status or "corbel-rock" not in new or "gull-ness" in new:
        sys.exit(1)
    status, old, errors = play("plan", "stations/north.ini", "--site", "corbel-rock")
    lines = errors.splitlines()
    if status == 0 and old == new:
        seen = "moored" if any(line.startswith("moored:") for line in lines) else "loud" if lines else "quiet"
    elif status:
        seen = "told" if lines and "--station" in lines[-1] else "unknown"
    else:
        seen = "ignored"
    say(
        seen,
        {
            "moored": "taken, with a moored line", "quiet": "taken in silence", "told": "refused, the new one named",
            "unknown": "unknown",
        },
    )  # fmt: skip


{"roll": roll, "hail": hail, "group": group, "spelling": spelling}[sys.argv[1]]()
