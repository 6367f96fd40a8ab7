"""What midsummer week needs."""

import sys
from datetime import datetime, timezone

from quayplay import at, say, say_clock


def hour():
    from ferrydesk.kinds import running_late

    leaves = datetime(2025, 6, 21, 14, 35, tzinfo=timezone.utc)
    say_clock(
        running_late.compose(at("2025-06-21T14:00"), leaves),
        {"15:45": "70 minutes ahead", "15:15": "40 minutes ahead", "14:10": "25 minutes behind", "14:35": "UTC"},
    )


def refused():
    from ferrydesk.outbox import Outbox

    codes = (None, 200, 400, 404, 460, 471, 483, 500, 503)
    box = Outbox()
    for code in codes:
        box.put("hail", {"code": code})
    box.send_all(lambda message: message["code"])
    left = {waiting.message["code"] for waiting in box.queue}
    if None not in left or left & {200, 400, 404, 460}:
        sys.exit(1)
    say(
        (483 in left, 471 in left, {500, 503} <= left),
        {
            (True, False, False): "483 stays", (False, True, False): "471 stays", (False, False, True): "500 and above stay",
            (True, False, True): "483 stays", (False, True, True): "471 stays",
        },
    )  # fmt: skip


{"hour": hour, "refused": refused}[sys.argv[1]]()
