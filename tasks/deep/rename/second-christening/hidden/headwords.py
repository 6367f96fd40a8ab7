"""The renamed call of the public API: how it lists, and what the former one says."""

import sys

import stage

import lexikit


def order():
    found = stage.call(lambda: lexikit.headwords(folder))[0]
    return stage.order("\n".join(found)) if found else None


def former():
    found, _, err = stage.call(lambda: lexikit.terms(folder))
    return stage.release(err) if found and set(stage.WORDS) <= set(found) else None


with stage.book() as folder:
    stage.answer({"order": order, "former": former}[sys.argv[1]]())
