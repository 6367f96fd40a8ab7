"""For the summer inspection, on main."""

import sys

from office import TAILS, Port, ends_in, leaves_with, one_wait, say

from beaconctl import link


def roll():
    port = Port(_7=1, _9=0)
    seen = link.roll_call(port, [7, 8, 9])
    if {address: bool(state) for address, state in seen.items()} != {7: True, 8: False, 9: False} or seen[8] is not None:
        sys.exit(1)
    say(one_wait(port), {wait: f"{wait} ms a lamp" for wait in (640, 275, 415, 1900, 2650, 1000)})


def hail():
    say(leaves_with("hail"), {status: f"leaves with {status}" for status in (58, 17, 31, 1)})


def group():
    say(ends_in(), TAILS)


{"roll": roll, "hail": hail, "group": group}[sys.argv[1]]()
