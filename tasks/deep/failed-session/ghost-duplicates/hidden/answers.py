"""What a night does with hard answers and old files: `python3 hidden/answers.py known|partly|sweep`."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.getcwd())

CRATE = [{"box": "elmbank-02", "at": f"2025-07-0{day}T02:15:00Z", "w": 40.0 + day} for day in range(1, 7)]


class Larder:
    """A store that loses one reply. It stored `first` rows of that crate by then, but the name is known at once."""

    def __init__(self, first, partly=None):
        self.first, self.partly = first, partly
        self.rows, self.tokens, self.calls = [], set(), 0

    def __call__(self, path, body):
        self.calls += 1
        if self.calls > 40:
            raise RuntimeError("the store is asked for ever")
        rows = [dict(each) for each in body["readings"]]
        if body.get("mode") == "unite-rows":
            self.rows += [each for each in rows if each not in self.rows]
        elif self.partly is not None and self.calls == 1:
            self.rows += rows[: self.partly]
            return 463, {"kept": self.partly}
        elif body["token"] in self.tokens:
            return 409, {}
        elif self.first is not None and self.calls == 1:
            self.rows += rows[: self.first]
            self.tokens.add(body["token"])
            raise TimeoutError
        else:
            self.rows += rows
        self.tokens.add(body["token"])
        return 200, {}

    def count(self):
        """How often each row of the crate is in."""
        return [self.rows.count(each) for each in CRATE]


def send(larder):
    from combline.upload import Uploader

    uploader = Uploader(larder, lambda seconds: None)
    uploader.send([dict(each) for each in CRATE], "20250702T000001-1")
    return uploader


def known():
    """The reply was lost after the whole crate was stored, and after nothing was."""
    whole, nothing = Larder(len(CRATE)), Larder(0)
    first, second = send(whole), send(nothing)
    n = len(CRATE)
    if first.parked or second.parked:
        return "parked for a person to look at" if whole.count() == [1] * n and nothing.count() == [0] * n else None
    return {
        (1, 1): "every reading is in once, whatever was there before",
        (2, 1): "sent under another token, doubled where it was in",
        (1, 0): "taken for delivered, lost where it was not in",
    }.get((whole.count()[0], nothing.count()[0]) if len({*whole.count()}) == len({*nothing.count()}) == 1 else None)


def partly():
    """Two of six readings went in."""
    larder = Larder(None, partly=2)
    uploader = send(larder)
    if uploader.parked:
        return "parked with all that is in" if larder.count() == [1, 1, 0, 0, 0, 0] else None
    return {
        (1,) * 6: "the rest is sent",
        (2, 2, 1, 1, 1, 1): "all of it is sent again",
    }.get(tuple(larder.count()))


def sweep():
    """Old but open, capped and read, capped and unread."""
    from combline.spool import Spool
    from combline.spool import sweep as swept

    now = 1751940000.0
    ages = {"elmbank-0706.spool": 9000, "priory-0707.spool": 400, "thornhill-0707.spool": 300, "weir-0707.spool": 40}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each, age in ages.items():
            (folder / each).write_text("a line\n")
            os.utime(folder / each, (now - age, now - age))
        for each in ("priory-0707.spool", "thornhill-0707.spool"):
            (folder / f"{each}.capped").write_text("")
        spool = Spool(folder)
        for each in ages:
            if not each.startswith("priory"):
                list(spool.unread(each))
        spool.commit()
        swept(folder, now)
        gone = sorted({*ages} - {path.name for path in folder.iterdir()})
    return {
        ("thornhill-0707.spool",): "read, and marked by the relay",
        ("elmbank-0706.spool",): "read, and quiet for long",
        ("elmbank-0706.spool", "thornhill-0707.spool", "weir-0707.spool"): "read to the end",
    }.get(tuple(gone))


def main():
    seen = {"known": known, "partly": partly, "sweep": sweep}[sys.argv[1]]()
    if seen is None:
        return 1
    print(seen)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
