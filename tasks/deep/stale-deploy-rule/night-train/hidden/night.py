import sys

import look


def role():
    from tools.yard.fleet import Rehearsal
    from tools.yard.plan import build
    from tools.yard.runner import run

    calls = look.play("night", "r91")
    roles = {words[words.index("--as") + 1] for words in calls if words[1] == "migrate" and "--as" in words[:-1]}
    if not roles:
        fleet = Rehearsal()
        run(build("night", "r91"), fleet)
        roles = {name for (name,) in fleet.db.execute("SELECT DISTINCT role FROM schema_log")}
    known = roles & {"theodolite", "mapmaker", "app"}
    return f"migrates as {known.pop()}" if len(roles) == len(known) == 1 else None


def rollback():
    calls = look.play("night", "r91", sick=["hatch"])
    last = max(at for at, words in enumerate(calls) if words[1:3] == ["pulse", "hatch"])
    seen = set()
    for words in calls[last:]:
        if words[:3] == ["yardctl", "recouple", "--green"] and "hatch" in words[3:]:
            seen.add("recouples")
        elif words[:3] == ["yardctl", "shunt", "--back"] and "hatch" in words[3:]:
            seen.add("shunts")
        elif words[1:3] == ["couple", "hatch"] and words[3] < "r91":
            seen.add("deploys the release before")
    return seen.pop() if len(seen) == 1 else None


def polls(answers):
    from tools.yard.fleet import Rehearsal
    from tools.yard.plan import build
    from tools.yard.runner import run

    fleet = Rehearsal(answers={"hatch": answers})
    run(build("night", "r91"), fleet)
    return sum(event[:2] == ("poll", "hatch") for event in fleet.events)


def greens():
    needed = polls([])
    if needed < 2 or polls([True] * (needed - 1) + [False]) != 2 * needed:
        return None
    return {11: "eleven in a row", 4: "four in a row"}.get(needed, "a few in a row" if needed < 7 else None)


look.say({"role": role, "rollback": rollback, "greens": greens}[sys.argv[1]]())
