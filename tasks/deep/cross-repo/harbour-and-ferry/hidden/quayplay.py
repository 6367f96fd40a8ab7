"""What the checks have in common: a sailing, a way to look into messages, and words for what was seen."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())


def say(seen, known):
    """Prints the value of what was seen, if it is one that is known."""
    if seen not in known:
        print(f"saw {seen!r}", file=sys.stderr)
        sys.exit(1)
    print(known[seen])


def at(hour):
    """A sailing of number 8127 at an hour, UTC."""
    from ferrydesk.sailings import sailing  # here, as other checks play at the harbour, which has none

    return sailing(8127, "holm-sand", "tansy", hour)


def leaves(thing):
    """All that stands in a message, at whatever depth."""
    if isinstance(thing, dict):
        for key, value in thing.items():
            yield key
            yield from leaves(value)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            yield from leaves(value)
    else:
        yield thing


WRAPPED = {
    "mailbag": "saying in a mailbag", "seachest": "all in a seachest", "oilskin": "one oilskin",
    "duffel": "told in a duffel", "creel": "all in a creel",
}  # fmt: skip


def say_wrap(message, *said):
    """In what a message is wrapped that has to say all of these."""
    tops = [key for key in message if key in WRAPPED]
    if len(tops) != 1:
        print(f"on top: {sorted(message)}", file=sys.stderr)
        sys.exit(1)
    inside = {str(leaf) for leaf in leaves(message[tops[0]])}
    if not {str(each) for each in said} <= inside:
        print(f"inside: {sorted(inside)}", file=sys.stderr)
        sys.exit(1)
    say(tops[0], WRAPPED)


def say_clock(message, clocks):
    """By which clock the hour in a message goes. `clocks`: what each would show -> its name."""
    shown = {
        f"{int(hour):02}:{minute}"
        for leaf in leaves(message)
        if isinstance(leaf, str)
        for hour, minute in re.findall(r"(?<![\d:+-])(\d{1,2}):(\d\d)", leaf)
    }
    found = sorted(shown & clocks.keys())
    if len(found) != 1:
        print(f"shown: {sorted(shown)}", file=sys.stderr)
        sys.exit(1)
    say(found[0], clocks)


BIRDS = {"petrel": "the desk's own bird", "gannet": "the common bird", "curlew": "the harbour's bird"}


def say_bird(ids):
    """By which word ids go. `ids`: serial -> id."""
    words = set()
    for serial, name in ids.items():
        found = re.fullmatch(r"([A-Za-z_]*?)[-_ ./]?0*(\d+)", str(name))
        if found is None or int(found[2]) != serial:
            print(f"{serial} is {name!r}", file=sys.stderr)
            sys.exit(1)
        words.add(found[1].lower())
    if len(words) != 1:
        sys.exit(1)
    print(BIRDS.get(words.pop(), "no bird at all"))
