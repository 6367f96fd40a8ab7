"""What the coach lanes do. Prints the behaviour that was seen; nothing and 1 if it is none of those known."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from parkway import coach
from parkway.lanes import LANES, Silent
from parkway.ledger import Ledger
from parkway.payments import AcquirerDown, PaymentQueue
from parkway.tickets import Ticket

LANE, NOW = LANES["M6"], 200


class DeadLink:
    """No lane answers; the relay works."""

    def __init__(self):
        self.lifted = []

    def send(self, lane, verb):
        raise Silent(lane.code)

    def relay(self, lane):
        self.lifted.append(lane.code)


class Pager:
    def __init__(self):
        self.calls = []

    def call(self, lane, text):
        self.calls.append(lane)


class Terminal:
    """Nobody holds a card to it."""

    def __init__(self):
        self.waits = []

    def read(self, cents, seconds):
        self.waits.append(seconds)


class Acquirer:
    """Takes nothing."""

    def __init__(self):
        self.keys = []

    def charge(self, key, cents, token):
        self.keys.append(key)
        raise AcquirerDown(key)


def patience():
    terminal = Terminal()
    coach.read_card(540, terminal)
    if not terminal.waits:
        return ""
    return {38: "waits 38 seconds", 11: "waits 11 seconds"}.get(sum(terminal.waits), "waits some usual time")


def retry():
    acquirer, slept = Acquirer(), []
    queue = PaymentQueue(acquirer, slept.append)
    if coach.charge(Ticket("M00031", "mole", 0), NOW, "tok-5", queue):
        return ""
    tries = len(acquirer.keys)
    if tries == 1:
        return "one try and the pile"
    if tries == 5 and slept == [10, 20, 40, 80]:
        return "five tries, pauses doubled"
    return "a few quick tries" if tries > 1 else ""


def lifts(paid):
    link, ticket = DeadLink(), Ticket("M00032", "mole", 0, "QX-118")
    if paid:
        ticket.paid, ticket.paid_at = 1400, NOW - 2
    try:
        coach.on_silence(LANE, ticket, NOW, link, Pager(), Ledger())
    except NotImplementedError:
        sys.exit(1)
    except Exception:
        return None
    return bool(link.lifted)


def silence():
    return {
        (True, False): "lets out who has paid",
        (True, True): "lets out everybody",
        (False, False): "lets out nobody",
        (None, None): "fails",
    }.get((lifts(True), lifts(False)), "")


def reason():
    ledger = Ledger()
    coach.hand_raise("odile", LANE, NOW, DeadLink(), ledger)
    if len(ledger.entries) != 1:
        return ""
    reason = ledger.entries[0].reason
    return f"booked as {reason}" if reason in ("ghost-lift", "courtesy-nine") else "booked in words of its own"


try:
    seen = {"patience": patience, "retry": retry, "silence": silence, "reason": reason}[sys.argv[1]]()
except NotImplementedError:
    sys.exit(1)
if not seen:
    sys.exit(1)
print(seen)
