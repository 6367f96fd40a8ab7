"""What the officer's weights look like: `python3 hidden/weights.py quarter|merge`."""

import os
import sys

sys.path.insert(0, os.getcwd())


def quarter():
    """Into which quarters three readings fall: on the dot, three minutes late, one minute late."""
    from combline.curve import curve
    from combline.lines import parse

    lines = [
        f"SK2 elmbank-02 2025-06-25T{clock}Z wake=2 tick={tick} hop=0 cyc=1 w={weight} t=34.0"
        for tick, (clock, weight) in enumerate([("06:15:00", 30.5), ("07:03:10", 30.75), ("08:01:00", 31.0)])
    ]
    found = curve([parse(line) for line in lines])
    if {box for box, _ in found} != {"elmbank-02"} or sorted(found.values()) != [30.5, 30.75, 31.0]:
        return None
    return {
        ("06:00", "06:45", "07:45"): "the quarter that ended nearest",
        ("06:00", "07:00", "07:45"): "a lead taken off first",
        ("06:15", "07:00", "08:00"): "the quarter of the stamp itself",
    }.get(tuple(sorted(at.strftime("%H:%M") for _, at in found)))


BOX = "priory-lane-03"
ONE = f"SK2 {BOX} 2025-06-25T02:15:00Z wake=3 tick=40 hop=0 cyc=2 w=31.40 t=34.2"
ONE_AGAIN = f"SK2 {BOX} 2025-06-25T02:15:07Z wake=3 tick=40 hop=1 cyc=2 w=31.40 t=34.2"
QUIET = f"SK2 {BOX} 2025-06-25T02:30:00Z wake=3 tick=41 hop=0 cyc=2 w=31.40 t=34.2"
JUMP = f"SK2 {BOX} 2025-06-25T02:30:00Z wake=4 tick=1 hop=0 cyc=0 w=31.52 t=33.9"
COUNTED = f"SK2 {BOX} 2025-06-25T03:30:00Z wake=4 tick=40 hop=0 cyc=2 w=31.61 t=33.7"
OTHER = "SK2 priory-lane-04 2025-06-25T02:15:07Z wake=3 tick=40 hop=0 cyc=2 w=28.00 t=34.4"


def merge():
    """Two relays heard the same boxes; one of them restamped a reading."""
    from combline.dedupe import merge as merged
    from combline.lines import parse

    found = merged([parse(each) for each in (ONE, QUIET, OTHER)], [parse(each) for each in (ONE_AGAIN, JUMP, COUNTED)])
    clocks = sorted((each.box[-1], each.at.strftime("%H:%M:%S"), each.values["w"]) for each in found)
    both = [("3", "02:15:00", 31.4), ("3", "02:15:07", 31.4)]
    quiet, jump = ("3", "02:30:00", 31.4), ("3", "02:30:00", 31.52)
    rest = [("3", "03:30:00", 31.61), ("4", "02:15:07", 28.0)]
    for first in both:  # whichever of the two came to stay
        if clocks == sorted([first, quiet, jump, *rest]):
            return "one for each wake and tick of a box"
        if clocks == sorted([first, jump, *rest]):
            return "equal measurements are one"
    if clocks in (sorted([*both, quiet, *rest]), sorted([*both, jump, *rest])):
        return "equal stamps are one"
    if clocks == sorted([*both, quiet, jump, *rest]):
        return "only equal readings are one"
    return None


def main():
    seen = {"quarter": quarter, "merge": merge}[sys.argv[1]]()
    if seen is None:
        return 1
    print(seen)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ImportError, AttributeError, TypeError, LookupError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
