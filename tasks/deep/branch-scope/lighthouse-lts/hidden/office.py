"""Lamps that answer or do not, for the checks: what was sent, how long was waited, and how a command ended."""

import contextlib
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from beaconctl import cli, frames, tails  # noqa: E402  from the work tree


def say(seen, known):
    """Prints the value of what was seen, if it is one that is known."""
    if seen not in known:
        print(f"saw {seen!r}", file=sys.stderr)
        sys.exit(1)
    print(known[seen])


class Port:
    """Answers for the lamps that it has, with one byte for `state` and an echo for the rest; notes each wait."""

    def __init__(self, **lamps):
        self.lamps = {int(name[1:]): state for name, state in lamps.items()}
        self.answer, self.waits, self.asked = b"", [], []

    def write(self, raw):
        address, verb, payload = frames.split(raw)
        self.asked.append((address, verb, payload))
        self.answer = b""
        if address in self.lamps:
            if verb == "state":
                payload = bytes([self.lamps[address]])
            self.answer = frames.build(address, verb, payload)

    def read(self, wait_ms):
        self.waits.append(wait_ms)
        return self.answer

    def close(self):
        pass


def one_wait(port):
    """The wait that all lamps were given."""
    if len(set(port.waits)) != 1:
        print(f"waits {port.waits}", file=sys.stderr)
        sys.exit(1)
    return port.waits[0]


def play(*words):
    """(status, output, errors) of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main([*map(str, words)])
        except SystemExit as ended:
            status = ended.code
    return status or 0, out.getvalue(), err.getvalue()


def leaves_with(*words):
    """The status of a command that has a lamp do something: lamp 7 answers, lamp 8 does not."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lamps.json")
        with open(path, "w") as file:
            json.dump({"7": "on", "9": "dark"}, file)
        name, *rest = words
        if play(name, 7, *rest, "--port", f"sim:{path}")[0] != 0:
            sys.exit(1)
        return play(name, 8, *rest, "--port", f"sim:{path}")[0]


def ends_in():
    """What a group frame ends in."""
    seen = set()
    for addresses, verb, payload in (([7, 9], "dark", b""), ([12, 3, 200], "dim", b"\x28"), ([5], "show", b"\x05\x0f")):
        raw = bytes(frames.build_group(addresses, verb, payload))
        body = bytes([0xA6, len(addresses), *sorted(addresses), frames.VERBS[verb], len(payload)]) + payload
        if not raw.startswith(body):
            sys.exit(1)
        rest, sum_ = raw[len(body) :], tails.plover(body)
        seen.add(
            {
                tails.gannet(body, 0x5E1D): "gannet begun with 0x5E1D",
                tails.gannet(body): "gannet begun with nothing",
                sum_: "plover and no more",
                sum_ + b"\x6b" * 2: "plover and two 0x6B",
                sum_ + b"\xd4" * 3: "plover and three 0xD4",
            }.get(rest, rest.hex())
        )
    return seen.pop() if len(seen) == 1 else None


TAILS = {
    value: value
    for value in (
        "gannet begun with 0x5E1D", "gannet begun with nothing", "plover and no more", "plover and two 0x6B",
        "plover and three 0xD4",
    )
}  # fmt: skip
