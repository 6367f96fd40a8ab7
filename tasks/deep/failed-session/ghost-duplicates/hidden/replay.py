"""What the replay tools do: `python3 hidden/replay.py twin|token|ready`."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.getcwd())

BOX = "thornhill-01"
HEARD = f"SK2 {BOX} 2025-06-10T02:15:00Z wake=3 tick=40 hop=0 cyc=2 w=31.40 t=34.2"
AGAIN = f"SK2 {BOX} 2025-06-10T02:15:07Z wake=3 tick=40 hop=1 cyc=2 w=31.40 t=34.2"
QUIET = f"SK2 {BOX} 2025-06-10T02:30:00Z wake=3 tick=41 hop=0 cyc=2 w=31.40 t=34.2"
JUMP = f"SK2 {BOX} 2025-06-10T02:15:00Z wake=4 tick=1 hop=0 cyc=0 w=31.52 t=33.9"
COUNTED = f"SK2 {BOX} 2025-06-10T03:30:00Z wake=4 tick=40 hop=0 cyc=2 w=31.61 t=33.7"
OTHER = f"SK2 {BOX[:-1]}4 2025-06-10T02:15:07Z wake=3 tick=40 hop=0 cyc=2 w=28.00 t=34.4"


def told(readings):
    return [(each.box, each.at.strftime("%H:%M:%S"), each.values["w"]) for each in readings]


def twin():
    """One line is out already; a relay says it again, with a new stamp, beside what is new."""
    from combline.lines import parse
    from combline.replay import missing

    given = {"again": AGAIN, "quiet": QUIET, "jump": JUMP, "counted": COUNTED, "other": OTHER}
    names = {told([parse(line)])[0]: name for name, line in given.items()}
    found = missing([line + "\n" for line in given.values()], [HEARD + "\n"])
    kept = {names[each] for each in told(found)}
    return {
        frozenset(given) - {"again"}: "one for each wake and tick of a box",
        frozenset(given) - {"again", "quiet"}: "equal measurements are one",
        frozenset(given) - {"jump"}: "equal stamps are one",
        frozenset(given): "equal lines are one",
    }.get(frozenset(kept))


class Larder:
    """Remembers every row that is in; the first reply is lost after all was stored."""

    def __init__(self, rows=()):
        self.rows, self.tokens, self.lost, self.bodies = list(rows), set(), False, []

    def __call__(self, path, body):
        self.bodies.append(dict(body))
        if body.get("mode") == "unite-rows":
            self.rows += [each for each in map(dict, body["readings"]) if each not in self.rows]
        elif body["token"] in self.tokens:
            return 409, {}
        else:
            self.rows += map(dict, body["readings"])
        self.tokens.add(body["token"])
        if not self.lost:
            self.lost = True
            raise TimeoutError
        return 200, {}


def token():
    """A crate that is in the Larder already, under a name that nobody has any more, is sent again."""
    from combline.upload import resend

    crate = [{"box": BOX, "at": f"2025-06-10T0{hour}:15:00Z", "w": 31.4} for hour in range(3)]
    larder = Larder(crate)
    try:
        resend([crate], larder, lambda seconds: None)
    except Exception as error:  # how the second answer is taken is not asked here
        if type(error).__name__ != "Refused":
            raise
    if not larder.bodies:
        return None
    if larder.rows == crate:
        return "merged, every reading is in once"
    tokens = {body["token"] for body in larder.bodies}
    if len(larder.rows) == 3 * len(crate) and len(tokens) == len(larder.bodies) > 1:
        return "another token for each try, stored again and again"
    if len(larder.rows) == 2 * len(crate) and len(tokens) == 1:
        return "one new token for the crate, stored a second time"
    return None


def ready():
    from combline.spool import ready as finished

    now = 1749636000.0
    ages = {"elmbank-0610.spool": 7200, "priory-0611.spool": 60, "thornhill-0611.spool": 300}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each, age in ages.items():
            (folder / each).write_text(HEARD + "\n")
            os.utime(folder / each, (now - age, now - age))
        mark = folder / "thornhill-0611.spool.capped"
        mark.write_text("")
        os.utime(mark, (now - 290, now - 290))
        found = [os.path.basename(str(each)) for each in finished(folder, now)]
    return {
        ("thornhill-0611.spool",): "those with a mark of the relay",
        ("elmbank-0610.spool",): "those that were quiet for long",
        tuple(sorted(ages)): "every file in the spool",
    }.get(tuple(sorted(found)))


def main():
    seen = {"twin": twin, "token": token, "ready": ready}[sys.argv[1]]()
    if seen is None:
        return 1
    print(seen)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ImportError, AttributeError, TypeError, LookupError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
