"""What the week of storms needs."""

import sys

from quayplay import at, say, say_bird, say_wrap


def off():
    from ferrydesk.kinds import sailing_off

    say_wrap(sailing_off.compose(at("2025-06-07T06:30"), "gale"), 8127, "gale")


def lost():
    from ferrydesk.kinds import berth_back
    from ferrydesk.outbox import TRIES, Outbox

    box = Outbox()
    box.put("berth_back", berth_back.compose(at("2025-06-07T06:30"), "north-2"))
    for _ in range(TRIES):
        if box.tray:
            sys.exit(1)
        box.send_all(lambda message: None)
    say(
        (bool(box.tray), bool(box.queue)),
        {(True, False): "slip in the tray", (False, True): "alarm in the queue", (False, False): "lost without a trace"},
    )


def ticket():
    from ferrydesk import standby

    say_bird({serial: standby.ticket(serial) for serial in (17, 4203)})


{"off": off, "lost": lost, "ticket": ticket}[sys.argv[1]]()
