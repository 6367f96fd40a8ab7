"""What the season of coaches needs."""

import sys

from quayplay import at, say, say_bird, say_clock, say_wrap


def party():
    from ferrydesk.kinds import coach_party

    say_wrap(coach_party.compose(at("2025-07-12T09:30"), 3), 8127, 3)


def call():
    from ferrydesk.kinds import coach_call

    say_clock(
        coach_call.compose(at("2025-07-12T09:30")),
        {"09:55": "70 minutes ahead", "09:25": "40 minutes ahead", "08:20": "25 minutes behind", "08:45": "UTC"},
    )


def voucher():
    from ferrydesk import coaches

    say_bird({serial: coaches.voucher(serial) for serial in (17, 4203)})


def unpark():
    from ferrydesk.outbox import TRIES, Outbox

    codes = (404, 460, 471, 483, 500)
    box = Outbox()
    for code in codes:
        box.put("hail", {"code": code})
    for _ in range(TRIES):
        box.send_all(lambda message: message["code"])
    if box.queue or len(box.parked) != len(codes):
        sys.exit(1)
    box.unpark()
    back = {waiting.message["code"] for waiting in box.queue}
    say(
        (483 in back, 471 in back, bool(back & {404, 460})),
        {
            (True, False, False): "483 comes back", (False, True, False): "471 comes back",
            (True, True, True): "everything comes back",
        },
    )  # fmt: skip


{"party": party, "call": call, "voucher": voucher, "unpark": unpark}[sys.argv[1]]()
