"""Rings, crews and surroundings for the checks."""

import hashlib
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

PEOPLE = {
    "b3": {"name": "Quillon Ibarz", "watch": "port", "cabin": "317"},
    "b8": {"name": "Xanthe Vorlund", "watch": "day", "cabin": "322"},
}


def say(seen, known):
    """Prints the value of what was seen, if it is one that is known."""
    if seen not in known:
        print(f"saw {seen!r}", file=sys.stderr)
        sys.exit(1)
    print(known[seen])


SHOWN = {
    "word": "the word [battened]",
    "digits": "six digits of its hash",
    "letters": "four letters and waves",
    "nothing": "nothing of it",
}


def shown(text, secret):
    """How much a text lets on about a secret."""
    digits = hashlib.sha256(secret.encode()).hexdigest()
    if secret[:4] + "~~~~" in text:
        return "letters"
    if secret in text or any(secret[at : at + 5] in text for at in range(len(secret) - 4)):
        return "much of it"
    if digits[:6] in text:
        return "digits" if digits[:7] not in text else "more digits"
    return "word" if "[battened]" in text else "nothing"


PERSON = {"watch": "the watch", "letters": "initials", "name": "the whole name"}


def person(row, badge):
    """What a row of a table says of the one who did it."""
    who = PEOPLE[badge]
    if who["cabin"] in str(row):
        return "the cabin"
    if any(word in str(row) for word in who["name"].split()):
        return "name"
    first, last = (word[0] for word in who["name"].split())
    if any(str(value).replace(".", "").replace(" ", "") == first + last for value in row.values()):
        return "letters"
    return "watch" if row.get("watch_slot") == who["watch"] else "nothing"


FOUND = {
    "file": "its file in the folder",
    "BRIDLE_TOKEN": "the variable of the unit",
    "own": "a variable of its own making",
}


class Surroundings(dict):
    """An environment in which each variable that one could think of is set."""

    def __missing__(self, name):
        if not isinstance(name, str):
            raise KeyError(name)
        return "token-own"

    def __contains__(self, name):
        return True

    def get(self, name, default=None):
        return self[name]


def surroundings(folder, instrument):
    """With a folder of tokens, as it is on board."""
    for name in (instrument, "ctd", "mast"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("token-file\n" if name == instrument else "token-of-another\n")
    return Surroundings(BRIDLE_TOKEN="token-BRIDLE_TOKEN", DRYBAG_DIR=folder)
