"""The two lists that Idris left half done."""

import re
import sys

from mill import call, files, order, say, yarn


def sequence():
    jobs = [
        order(11, "2025-09-12", "W-a"), order(12, "2025-09-03", "W-b"), order(13, "2025-09-01", "W-a"),
        order(14, "2025-09-02", "W-c"), order(15, "2025-09-05", "W-a"), order(16, "2025-09-08", "W-b"),
    ]  # fmt: skip
    with files(orders=jobs) as paths:
        out = call("plan", paths["orders"], "merrow")
    say(
        tuple(int(line.split()[0]) for line in out.splitlines()),
        {
            (13, 15, 14, 12, 16, 11): "by week, then by warp",
            (13, 15, 11, 14, 12, 16): "by warp, whatever is due",
            (13, 14, 12, 15, 16, 11): "by day only",
        },
    )


def lacks(grams, wanted):
    """What is wanting of one yarn."""
    jobs = [order(1, "2025-09-01", yarn=grams["code"], grams=wanted)]
    with files(stock={"yarns": [grams]}, orders=jobs) as paths:
        out = call("short", paths["stock"], paths["orders"])
    return tuple(float(word) for word in out.split() if re.fullmatch(r"\d+(\.\d+)?", word))


def opened():
    found = lacks(yarn("LI-77", "linen", 8, open=4), 9000)
    say(found, {(3880,): "nothing of it", (2600,): "half of it", (1320,): "all of it"})


def wool():
    found = lacks(yarn("WO-77", "wool", 7, grams=5105), 6000)
    say(found, {(895,): "what was weighed", (680,): "what the boxes say"})


{"sequence": sequence, "opened": opened, "wool": wool}[sys.argv[1]]()
