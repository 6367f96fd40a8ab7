"""The night bake: its plan, its burners, steam for seeded loaves."""

import sys
from datetime import date

from ovenplay import GAPS, LEADS, door_gap, leads, say


def gap():
    say(door_gap("night"), GAPS)


def lead():
    from provebox import burners

    say(leads(burners, "night"), LEADS)


def seeded():
    from provebox import steam

    try:
        puffs = {
            tuple(tuple(puff) for puff in steam.program("seeded", "millgate", day))
            for day in (None, date(2025, 6, 12), date(2025, 7, 20))
        }
    except steam.NoProgram:
        sys.exit(1)
    if len(puffs) != 1:
        sys.exit(1)
    say(
        puffs.pop(),
        {
            ((0, 14),): "one puff of 14 s",
            ((0, 5), (45, 5), (90, 5)): "three of 5 s",
            ((0, 6),): "one puff of 6 s",
        },
    )


{"gap": gap, "lead": lead, "seeded": seeded}[sys.argv[1]]()
