"""What the checks share: small shifts and readings, and how what was seen is said."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from provebox import planner  # noqa: E402  from the work tree

EVENING = 75600


def say(seen, known):
    """Prints the value of what was seen, if it is one that is known."""
    if seen not in known:
        print(f"saw {seen!r}", file=sys.stderr)
        sys.exit(1)
    print(known[seen])


def play(module, name, *arguments):
    """Calls a function that the change brings."""
    function = getattr(module, name, None)
    if function is None:
        print(f"no {name} in {module.__name__}", file=sys.stderr)
        sys.exit(1)
    return function(*arguments)


def door_gap(name):
    """Seconds between doors where nothing but the gap holds a load back."""
    batches = [planner.Batch(f"tray {at}", "wheat", 2) for at in range(6)]
    loads = list(play(planner, name, batches, EVENING))
    doors = sorted(load.door_s for load in loads)
    if len(loads) != 6 or {load.oven for load in loads} != set(planner.OVENS):
        sys.exit(1)
    gaps = {later - sooner for sooner, later in zip(doors, doors[1:])}
    return gaps.pop() if len(gaps) == 1 else tuple(sorted(gaps))


GAPS = {390: "390 s", 240: "240 s", 780: "780 s", 320: "320 s"}


def leads(burners, name):
    """Minutes from the burner of an oven to its first door, agnes then bruno."""
    loads = planner.plan([planner.Batch("farm loaf", "wheat", 50)] * 4, planner.OVENS, EVENING, gap_s=600)
    on = dict(play(burners, name, loads))
    first = burners.first_doors(loads)
    return tuple(round((first[oven] - on[oven]) / 60, 2) for oven in planner.OVENS)


LEADS = {(52, 35): "agnes 52 min, bruno 35", (47, 35): "agnes 47 min, bruno 35", (35, 35): "35 min for both"}


def medlar(values, span):
    out = []
    for at in range(len(values)):
        last = sorted(values[max(0, at - span + 1) : at + 1])
        kept = last[1:-1] if len(last) > 2 else last
        out.append(sum(kept) / len(kept))
    return out


def gullwing(values, stiff=0.35):
    level, slope, out = values[0], 0.0, [values[0]]
    for value in values[1:]:
        miss = value - level - slope
        level, slope = level + slope + stiff * miss, slope + stiff * stiff / 2 * miss
        out.append(level)
    return out


def plumbline(values):
    return [sorted(values[at - 4 : at + 1])[2] if at > 3 else values[at] for at in range(len(values))]


def cleaned_by(rooms, name):
    """Which filter readings went through; the first ones, of which a filter has too few, do not count."""
    values = [round(24 + 0.03 * at + ((at * 7) % 11 - 5) * 0.12 + (4.5 if at % 17 == 9 else 0), 2) for at in range(60)]
    seen = list(play(rooms, name, list(values)))
    known = {
        "medlar, span 13": medlar(values, 13),
        "gullwing": gullwing(values),
        "plumbline": plumbline(values),
    }
    for label, wanted in known.items():
        if len(seen) == len(values) and all(abs(a - b) < 0.01 for a, b in zip(seen[20:], wanted[20:])):
            return label
    return None


FILTERS = {label: label for label in ("medlar, span 13", "gullwing", "plumbline")}
