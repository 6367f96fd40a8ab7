"""Dimming, on main."""

import contextlib
import io
import sys
import warnings

from office import Port, leaves_with, one_wait, say

from beaconctl import config, link

SITE = "[brae]\nlamps = 4\nprogram = 1+2\n"


def all_():
    port = Port(_7=1, _9=0)
    if list(link.dim_all(port, [7, 8, 9], 40)) != [8]:
        sys.exit(1)
    if {(verb, payload) for _, verb, payload in port.asked} != {("dim", b"\x28")}:
        sys.exit(1)
    say(one_wait(port), {wait: f"{wait} ms a lamp" for wait in (415, 275, 640, 1900, 2650)})


def command():
    say(leaves_with("dim", 40), {status: f"leaves with {status}" for status in (58, 17, 31, 1)})


def key():
    if [each.dim for each in config.load(f"{SITE}dim_pct = 35\n")] != [35]:
        sys.exit(1)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        warnings.simplefilter("always")
        try:
            (station,) = config.load(f"{SITE}dim = 35\n")
        except config.ConfigError as error:
            seen = "told" if "dim_pct" in str(error) else "refused"
        else:
            said = errors.getvalue()
            seen = {35: "moored" if "moored:" in said else "loud" if said else "quiet", 100: "ignored"}.get(station.dim)
    say(
        seen,
        {
            "told": "refused, the new one named", "quiet": "taken in silence", "moored": "taken, with a moored line",
            "ignored": "passed over",
        },
    )  # fmt: skip


{"all": all_, "command": command, "key": key}[sys.argv[1]]()
