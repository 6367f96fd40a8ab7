"""The cellar box: its probe string, a core probe that is silent, the slow ramp of July."""

import sys
from datetime import date

from ovenplay import FILTERS, cleaned_by, say


def clean():
    from provebox import rooms

    say(cleaned_by(rooms, "cellar"), FILTERS)


def silent():
    from provebox import controller

    loop = controller.Controller(28.0)
    loop.step({"at": 0, "core": 26.0, "duct": 28.7})
    seen = []
    for at in (60, 150, 200, 300):
        try:
            seen.append(round(loop.step({"at": at, "core": None, "duct": 30.0}), 3))
        except controller.NoReading:
            sys.exit(1)
    say(
        tuple(seen),
        {
            (0.14,) * 4: "goes by the duct less 2.7",
            (0.4, 0.4, 0.0, 0.0): "holds the last reading for 170 s, then off",
            (0.4,) * 4: "holds the last reading",
        },
    )


def ramp():
    from provebox import curves

    def lower(site, day):
        """Whether wheat is a degree below its curve all along; None where something else happens."""
        curve = {0: 24.0, 20: 26.33, 60: 28.25, 120: 29.0}
        away = {round(curves.target("wheat", at, site, day)[0] - degrees, 1) for at, degrees in curve.items()}
        return {(0.0,): False, (-1.0,): True}.get(tuple(away))

    if any(curves.target("rye", 30, site, date(2025, 7, 9))[0] != 29.25 for site in ("millgate", "quayside")):
        sys.exit(1)
    seen = (
        lower("millgate", date(2025, 7, 9)),
        lower("millgate", date(2025, 8, 1)),
        lower("quayside", date(2025, 7, 9)),
    )
    say(
        seen,
        {
            (True, False, False): "ends in July, at millgate only",
            (True, True, True): "everywhere, without an end",
            (True, False, True): "ends in July, at both sites",
        },
    )


{"clean": clean, "silent": silent, "ramp": ramp}[sys.argv[1]]()
