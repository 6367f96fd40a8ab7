"""The market on Saturday: plan, burners, the screen at the stall, the proving cart."""

import sys

from ovenplay import FILTERS, GAPS, LEADS, cleaned_by, door_gap, leads, say


def gap():
    say(door_gap("market"), GAPS)


def lead():
    from provebox import burners

    say(leads(burners, "market"), LEADS)


def screen():
    from provebox import board

    if not hasattr(board, "Stall"):
        sys.exit(1)
    stall = board.Stall()
    if round(stall.degrees({"at": 0, "core": 26.0, "duct": 28.7}), 2) != 26.0:
        sys.exit(1)
    seen = [stall.degrees({"at": at, "core": None, "duct": 30.0}) for at in (60, 150, 200, 300)]
    say(
        tuple(None if each is None else round(each, 2) for each in seen),
        {
            (27.3,) * 4: "the duct less 2.7",
            (26.0, 26.0, None, None): "the last reading for 170 s",
            (None,) * 4: "nothing",
        },
    )


def cart():
    from provebox import rooms

    say(cleaned_by(rooms, "cart"), FILTERS)


{"gap": gap, "lead": lead, "screen": screen, "cart": cart}[sys.argv[1]]()
