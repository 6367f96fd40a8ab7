"""What the desk for lost tickets does. Prints the behaviour that was seen; nothing and 1 if it is none of those known."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from parkway import desk
from parkway.tariff import RATES


class Terminal:
    """Nobody holds a card to it."""

    def __init__(self):
        self.waits = []

    def read(self, cents, seconds):
        self.waits.append(seconds)


def fee():
    asked = {site: desk.lost_fee(site) for site in RATES}
    if all(cents == RATES[site].cap for site, cents in asked.items()):
        return "most of a day at the site"
    flat = set(asked.values())
    if flat == {0} or flat == {None}:
        return "nothing"
    return "17.30 everywhere" if flat == {1730} else ""


def patience():
    terminal = Terminal()
    desk.read_card(1730, terminal)
    if not terminal.waits:
        return ""
    return {38: "waits 38 seconds", 11: "waits 11 seconds"}.get(sum(terminal.waits), "waits some usual time")


try:
    seen = {"fee": fee, "patience": patience}[sys.argv[1]]()
except NotImplementedError:
    sys.exit(1)
if not seen:
    sys.exit(1)
print(seen)
