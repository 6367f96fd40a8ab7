"""The store after one run of the regram."""

import json
import sys

from mill import call, files, say, yarn


def run(*yarns):
    with files(stock={"yarns": list(yarns)}) as paths:
        call("regram", paths["stock"])
        with open(paths["stock"], encoding="utf-8") as file:
            return {each["code"]: each for each in json.load(file)["yarns"]}


def opened():
    after = run(yarn("CO-77", "cotton", 10, open=3), yarn("WO-77", "wool", 4, grams=2900))["CO-77"]
    say(
        (after.get("grams"), after.get("thrumbox")),
        {(5000, 3): "no grams, numbered apart", (5750, None): "half a cone each", (6500, None): "a whole cone each"},
    )


def wool():
    after = run(yarn("WO-77", "wool", 10, grams=7313), yarn("CO-77", "cotton", 2))
    if after["CO-77"].get("grams") != 1000:
        sys.exit(1)
    say(after["WO-77"]["grams"], {7313: "its weights stay", 7600: "its weights made anew"})


def waiting():
    before = [yarn("LI-77", "linen", 5), yarn("SI-77", "silk", 6), yarn("CO-77", "cotton", 2)]
    after = run(*(dict(each) for each in before))
    if after["CO-77"].get("grams") != 1000:
        sys.exit(1)
    same = tuple(after[each["code"]] == each for each in before[:2])
    if any(not kept and "grams" not in after[each["code"]] for kept, each in zip(same, before)):
        sys.exit(1)
    say(
        same,
        {(True, False): "passes by linen", (False, True): "passes by silk", (False, False): "passes by nothing"},
    )


{"opened": opened, "wool": wool, "waiting": waiting}[sys.argv[1]]()
