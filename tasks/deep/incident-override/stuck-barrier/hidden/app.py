"""What the app's side does. Prints the behaviour that was seen; nothing and 1 if it is none of those known."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

from parkway import app
from parkway.lanes import Lane, Silent
from parkway.ledger import Ledger
from parkway.payments import AcquirerDown, PaymentQueue
from parkway.tariff import RATES
from parkway.tickets import Ticket

LANE, NOW = Lane("C4", "corn", "out"), 200  # one of the lanes with a new reader


class Link:
    """A lane that answers or does not; both the relay and an open that is answered lift the barrier."""

    def __init__(self, dead):
        self.dead, self.lifted = dead, False

    def send(self, lane, verb):
        if self.dead:
            raise Silent(lane.code)
        self.lifted |= verb == "open"

    def relay(self, lane):
        self.lifted = True


class Pager:
    def call(self, lane, text):
        pass


class Acquirer:
    """Takes nothing."""

    def __init__(self):
        self.keys = []

    def charge(self, key, cents, token):
        self.keys.append(key)
        raise AcquirerDown(key)


def retry():
    acquirer, slept = Acquirer(), []
    if app.charge(Ticket("C00012", "corn", 0), NOW, "tok-8", PaymentQueue(acquirer, slept.append)):
        return ""
    tries, one_key = len(acquirer.keys), len(set(acquirer.keys)) == 1
    if tries == 1:
        return "one try and the pile"
    if tries == 3 and one_key and slept == [45, 210]:
        return "three tries with one key"
    if tries == 5 and slept == [10, 20, 40, 80]:
        return "five tries, pauses doubled"
    return "a few quick tries" if tries > 1 else ""


def lifts(dead, paid):
    link, ticket = Link(dead), Ticket("C00014", "corn", 0, "QX-119")
    if paid:
        ticket.paid, ticket.paid_at = 3150, NOW - 2
    try:
        app.let_out(ticket, NOW, LANE, link, Pager(), Ledger())
    except NotImplementedError:
        sys.exit(1)
    except Exception:
        return None
    return link.lifted


def silence():
    if (lifts(False, True), lifts(False, False)) != (True, False):
        return ""
    return {
        (True, False): "lets out who has paid",
        (True, True): "lets out everybody",
        (False, False): "lets out nobody",
        (None, False): "fails",
        (None, None): "fails",
    }.get((lifts(True, True), lifts(True, False)), "")


def fee():
    asked = {site: app.lost_fee(site) for site in RATES}
    if all(cents == RATES[site].cap for site, cents in asked.items()):
        return "most of a day at the site"
    flat = set(asked.values())
    if flat == {0} or flat == {None}:
        return "nothing"
    return "17.30 everywhere" if flat == {1730} else ""


try:
    seen = {"retry": retry, "silence": silence, "fee": fee}[sys.argv[1]]()
except NotImplementedError:
    sys.exit(1)
if not seen:
    sys.exit(1)
print(seen)
