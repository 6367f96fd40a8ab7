"""What the yard does, seen from its machines: every call that would have left this one is written down."""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.getcwd())
CALLS, SICK = [], set()


def call(words, *args, **options):
    words = words.split() if isinstance(words, str) else [str(word) for word in words]
    CALLS.append(words)
    if words[1:2] == ["pulse"] and SICK.intersection(words[2:3]):
        raise subprocess.CalledProcessError(1, words)
    return 0


time.sleep = lambda seconds: None
subprocess.check_call = subprocess.call = call
subprocess.run = lambda words, *args, **options: subprocess.CompletedProcess(words, call(words))


def play(name, release, sick=()):
    """The calls of a plan that is run against the machines, some parts of which never get well."""
    from tools.yard.fleet import Live
    from tools.yard.plan import build
    from tools.yard.runner import run

    CALLS.clear()
    SICK.clear()
    SICK.update(sick)
    steps = build(name, release)
    try:
        run(steps, Live(call))
    except Exception:
        if not sick:
            raise
    return list(CALLS)


def order(name, release):
    """The parts in the order in which the last hub gets them: one hub may have been tried out ahead."""
    from waybill.zones import HUBS

    reached, parts = {}, []
    for words in play(name, release):
        if words[1] == "couple" and words[3] == release:
            hubs = reached.setdefault(words[2], set())
            hubs.update(words[4:])
            if hubs >= set(HUBS) and words[2] not in parts:
                parts.append(words[2])
    return ", ".join(parts)


def say(value):
    if value is None:
        sys.exit(1)
    print(value)
