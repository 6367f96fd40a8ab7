"""What the harbour needs for the regatta."""

import sys
from datetime import datetime, timezone

from quayplay import say, say_bird, say_clock, say_wrap


def closed():
    from quaywatch.hails import north_closed

    say_wrap(north_closed.compose("2025-07-12", ["north-1", "north-2"]), "2025-07-12", "north-1", "north-2")


def gun():
    from quaywatch.hails import start_gun

    say_clock(
        start_gun.compose(datetime(2025, 7, 12, 9, 30, tzinfo=timezone.utc)),
        {"10:40": "70 minutes ahead", "10:10": "40 minutes ahead", "09:05": "25 minutes behind", "09:30": "UTC"},
    )


def pennant():
    from quaywatch import pennants

    say_bird({serial: pennants.pennant(serial) for serial in (17, 4203)})


def silent():
    from quaywatch.rounds import tell_all
    from quaywatch.watch import Watch

    hails, calm, watch = [{"kind": "hail", "n": n} for n in (1, 2)], Watch(), Watch()
    tell_all(list(hails), lambda hail: 200, calm)
    if calm.queue or calm.paper:
        sys.exit(1)
    tell_all(list(hails), lambda hail: None, watch)
    horns = [each for each in watch.queue if isinstance(each, dict) and each.get("kind") == "foghorn"]
    say(
        (len(horns), len(watch.queue) - len(horns), bool(watch.paper)),
        {
            (2, 0, False): "foghorn in the queue", (0, 0, True): "line on paper", (0, 2, False): "queued as it was",
            (0, 0, False): "lost without a trace",
        },
    )  # fmt: skip


{"closed": closed, "gun": gun, "pennant": pennant, "silent": silent}[sys.argv[1]]()
