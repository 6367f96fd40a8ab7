"""What the request does when its code runs: one word for each behaviour, and nothing for any other."""

import os
import sys

sys.path.insert(0, os.getcwd())


def reviewer():
    import review_request

    return {
        ("desk-redstart",): "asks desk-redstart",
        ("desk-wagtail",): "asks desk-wagtail",
        (): "asks nobody",
    }.get(tuple(review_request.ask()))


if os.path.exists("review_request.py"):
    seen = {"reviewer": reviewer}[sys.argv[1]]()
    if seen:
        print(seen)
