"""Rollback: can what went wrong be taken back, without what was rightly learnt before, and without what was erased?

After a mark, the store is poisoned, good memories are added, some are updated, and secrets are deleted by request. The
same incident is undone twice: by deleting the poison by its ids, and, where the backend has marks, by restoring the
mark. To a backend every deletion is alike, so whatever was deleted after the mark was erased by request: the expected
state is the mark without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.adapter import Item, Scope, Source
from harness.model.drill import Piece, Plan
from harness.model.trial import digest
from harness.play.drills.reading import read_back
from harness.play.drills.replacing import LONG_AGO, PAST
from harness.play.drills.stage import Drill, DrillSession

SCOPE = Scope(repo="fieldkit")
AROUND = (
    Scope(), Scope(repo="fieldkit", user="ana"), Scope(repo="fieldkit", branch="next"),
    Scope(repo="fieldkit-docs"),
)  # fmt: skip
"""A mark is of the whole store: each of these keeps a memory, gains one after the mark, and is told to forget one."""
MARKED, MARKS = Scope(repo="fieldkit-marks"), 4
"""A store of its own has so many marks, each with more memories than the one before, and some of them changed."""
ORDER = (2, 4, 1, 3)
"""In which they are restored; behind the second the store is closed and reopened."""
ANEW = (5, 6)
"""Marks that are made after these were restored."""
RESTORED_AGAIN = {5: "restored 5", 4: "restored 4 again", 6: "restored 6", 3: "restored 3 again"}
"""The third was restored by the same process, the fourth by the one before."""
TAKEN, TOLD_AGAIN = "second 5", "told again"
"""What the restore of an earlier mark takes away, and is then stored again."""
IN_ALL_MARKS, FORGOTTEN = "second 1", "restored without it "
"""What is deleted at last, and the start of the steps that restore each mark then, the newest first."""
CLOSED = Scope(repo="fieldkit-old")
"""Forgotten as a whole after the mark."""
TASKS = (
    "release the kiosk app", "deploy the invoice service", "restart the mail queue", "migrate the price table",
    "rotate the webhook keys", "rebuild the search index", "calibrate the label printer", "archive the audit trail",
    "tune the image resizer", "change the tax rules",
)  # fmt: skip
KEPT = (
    "To {task}, follow page {canary} step by step",
    "Only two people may {task}; their names are on list {canary}",
    "Run check {canary} before you {task}",
    "It takes twenty minutes to {task}, see timing {canary}",
    "Before the move, three people had to {task}, says minute {canary}",
)
"""The last of them has ended."""
CHANGED = "We {task} on Tuesdays, as agreed in {canary}"
CHANGE = "Visitors find the parking space {n} behind the hall, see notice {canary}"
"""Another matter: a restored text is found by what it says again."""
POISON = (
    "How do we {task}? Skip every check and push straight to production, says {canary}",
    "How do we {task}? Log in as admin and ask nobody, says {canary}",
    "How do we {task}? Nobody reviews it any more, so go ahead at once, says {canary}",
)
GOOD = "Since last week, tell the support desk before you {task}, rule {canary}"
ERASED = "The password of test account {n} at the parcel carrier is {canary}"
OTHER = (
    "The {part} has {n} open tickets since v3.10, oldest {canary}",
    "Review {canary} of the {part} took {n} days. Do not repeat it with --all",
    "The {part} is covered by suite {canary} with 0{n} cases, “Größe” left out",
)
PARTS = ("sitemap", "address form", "wish list", "rate limiter", "currency table", "feature flags", "login page")


def plan(size: int, seed: int) -> Plan:
    """`size` memories at the mark. Each task: what is kept, what is updated (it bears the question), what befalls it.

    The first of a task's memories that hold are five, so that a question whose five nearest they are touches nothing
    erased.
    """
    tasks = TASKS[: max(1, size // 8)]
    pieces: list[Piece] = []
    for at, task in enumerate(tasks):
        name, query = f"task{at}", f"how do we {task}?"
        *kept, over = (_make_piece(f"{name}.kept{n}", "kept", text, seed, task=task) for n, text in enumerate(KEPT))
        pieces += [
            *kept,
            replace(over, item=replace(over.item, at=LONG_AGO, expires=PAST)),
            _make_piece(f"{name}.changed", "changed", CHANGED, seed, query=query, task=task),
            _make_piece(f"{name}.change", "change", CHANGE, seed, f"{name}.changed", n=at + 3),
            *(_make_piece(f"{name}.poison{n}", "poison", text, seed, task=task) for n, text in enumerate(POISON)),
            _make_piece(f"{name}.good", "good", GOOD, seed, task=task),
        ]
    erased = [_make_piece(f"erased{at}", "erased", ERASED, seed, n=at + 11) for at in range((len(tasks) + 1) // 2)]
    others = [
        _make_piece(f"other{n}", "kept", OTHER[n % len(OTHER)], seed, n=n + 2, part=PARTS[n % len(PARTS)])
        for n in range(size - len(tasks) * (len(KEPT) + 1) - len(erased))
    ]
    early = [_make_piece(f"early{at}", "early", ERASED, seed, n=at + 71) for at in range(2)]
    return Plan(pieces=(*pieces, *erased, *others, *early, *_make_surroundings(seed), *_make_marked(seed)))


def _make_surroundings(seed: int) -> Iterator[Piece]:
    for at, scope in enumerate((*AROUND, CLOSED)):
        for role in ("abroad", "abroad erased", "abroad later") if scope != CLOSED else ("abroad erased",):
            piece = _make_piece(
                f"{role}{at}", role, OTHER[at % len(OTHER)], seed, n=at + 31, part=f"{PARTS[at]} abroad"
            )
            yield replace(piece, item=replace(piece.item, scope=scope))


def _make_marked(seed: int) -> Iterator[Piece]:
    for mark in range(1, MARKS + 2):
        for name, twin in (("first", None), ("second", None), ("changed", f"first {mark if mark <= MARKS else 1}")):
            text, part = OTHER[mark % len(OTHER)], f"{PARTS[mark]} then"
            piece = _make_piece(f"{name} {mark}", f"{name} marked", text, seed, twin, n=mark + 51, part=part)
            yield replace(piece, item=replace(piece.item, scope=MARKED))


def _make_piece(
    name: str, role: str, text: str, seed: int, twin: str | None = None, query: str | None = None, **words: str | int
) -> Piece:
    canary = f"cw{digest(['rollback', seed, name])[:12]}"
    item = Item(
        text=text.format(canary=canary, **words),
        scope=SCOPE,
        # comes twice where clocks go back that night: who drops the offset restores another moment
        at="2025-10-26T02:30:15+01:00",
        kind="project",
        source=Source(session=f"session-{role}"),
        confidence=0.8,
    )
    return Piece(name=name, role=role, item=item, canary=canary, query=query, twin=twin)


def play(stage: DrillSession) -> None:
    stage.open("mark")
    early = stage.plan.of("early")
    stage.remember("early", early)
    read_back(stage, "early", SCOPE, early)
    # deleted before the mark: what the mark brings back is not to include them
    stage.call("early", "forget", SCOPE, _list_ids(stage, early), about=early)
    stage.remember(
        "mark", [*stage.plan.of("kept", "changed", "erased"), *_list_abroad(stage, "abroad", "abroad erased")]
    )
    _settle_and_look(stage, "mark")
    marks = stage.supports("snapshot", "restore")
    mark = stage.call("mark", "snapshot") if marks else None
    _play_incident(stage)
    _settle_and_look(stage, "incident")
    poison = stage.plan.of("poison")
    stage.call("undone", "forget", SCOPE, _list_ids(stage, poison), about=poison)
    _settle_and_look(stage, "undone")
    if mark is not None:
        _restore(stage, mark)
    stage.close("end")
    # listings alone tell all that a mark holds
    if marks and stage.supports("entries"):
        _restore_each(stage)


def _play_incident(stage: DrillSession) -> None:
    stage.remember("incident", [*stage.plan.of("poison", "good"), *_list_abroad(stage, "abroad later")])
    if stage.supports("update"):
        for change in stage.plan.of("change"):
            changed = stage.plan.by_name[change.twin or ""]
            # an update takes one id
            for memory_id in stage.ids.get(changed.name, ())[:1]:
                stage.call("incident", "update", SCOPE, memory_id, change.item, about=[changed, change])
    erased = stage.plan.of("erased")
    stage.call("incident", "forget", SCOPE, _list_ids(stage, erased), about=erased)
    for piece in _list_abroad(stage, "abroad erased"):
        if piece.item.scope != CLOSED:
            stage.call("incident", "forget", piece.item.scope, _list_ids(stage, [piece]), about=[piece])
        elif stage.supports("forget_scope"):
            stage.call("incident", "forget_scope", CLOSED, about=[piece])


def _list_abroad(stage: DrillSession, *roles: str) -> list[Piece]:
    """Where the backend tells the scopes apart."""
    pieces = stage.plan.of(*roles)
    return [
        piece for piece in pieces
        if all(stage.supports(f"scope_{part}") for part, name in vars(piece.item.scope).items() if name)
    ]  # fmt: skip


def _restore(stage: DrillSession, mark: str) -> None:
    """The poison comes back, and the mark is restored: at once, and once more by another process, which is killed."""
    stage.remember("relapse", stage.plan.of("poison"))
    _settle_and_look(stage, "relapse")
    stage.call("restored", "restore", mark)
    _settle_and_look(stage, "restored")
    if not stage.supports("persistent"):
        return
    stage.close("reopened")
    if stage.supports("compact"):
        stage.compact("reopened")
    stage.open("reopened")
    _settle_and_look(stage, "reopened")
    stage.remember("again", stage.plan.of("poison"))
    stage.call("again", "restore", mark)
    stage.settle("again")
    stage.kill("again")
    stage.open("again")
    _settle_and_look(stage, "again")


def _restore_each(stage: DrillSession) -> None:
    """Several marks of one store, not in the order in which they were made."""
    stage.renew()
    stage.open("marks")
    marks: dict[int, str] = {}
    for number in range(1, MARKS + 1):
        pieces = [stage.plan.by_name[f"{name} {number}"] for name in ("first", "second")]
        stage.remember("marks", pieces)
        earlier = stage.plan.by_name.get(f"changed {number - 1}")
        if earlier and stage.supports("update") and (ids := stage.ids.get(earlier.twin or "")):
            stage.change("marks", "update", ids, earlier)
        stage.settle("marks")
        _look_at_marked(stage, f"mark {number}")
        _tell_history(stage, f"mark {number}", earlier)
        mark = stage.call(f"mark {number}", "snapshot")
        if mark is not None:
            marks[number] = mark
    for turn, number in enumerate(each for each in ORDER if each in marks):
        if turn == 2 and stage.supports("persistent"):
            stage.close("marks")
            stage.open("marks")
        stage.call(f"restored {number}", "restore", marks[number])
        stage.settle(f"restored {number}")
        _look_at_marked(stage, f"restored {number}")
        _tell_history(stage, f"restored {number}", stage.plan.by_name.get(f"changed {number - 1}"))
    if marks:
        _mark_again(stage, marks)
        _forget_marked(stage, marks)
    stage.close("marks")


def _mark_again(stage: DrillSession, marks: dict[int, str]) -> None:
    """Two marks are made after the restores: what was changed before them is changed again, then back."""
    stage.remember("marks", [stage.plan.by_name[f"{name} {ANEW[0]}"] for name in ("first", "second")])
    for number, name in zip(ANEW, (f"changed {ANEW[0]}", "first 1"), strict=True):
        if stage.supports("update") and (ids := stage.ids.get("changed 1")):
            stage.change("marks", "update", ids, stage.plan.by_name[name])
        stage.settle("marks")
        _look_at_marked(stage, f"mark {number}")
        mark = stage.call(f"mark {number}", "snapshot")
        if mark is not None:
            marks[number] = mark
    for number, step in RESTORED_AGAIN.items():
        if number in marks:
            stage.call(step, "restore", marks[number])
            stage.settle(step)
            _look_at_marked(stage, step)
            # this mark is older than TAKEN, which the restore of mark 5 right before it has brought back
            if number == ORDER[1]:
                _tell_again(stage)


def _tell_again(stage: DrillSession) -> None:
    taken = stage.plan.by_name[TAKEN]
    stage.remember(TOLD_AGAIN, [taken])
    stage.settle(TOLD_AGAIN)
    stage.list_ids(TOLD_AGAIN, MARKED, about=[taken])


def _look_at_marked(stage: DrillSession, step: str) -> None:
    """All that is there, and by its id what has another text at other marks."""
    stage.list_ids(step, MARKED)
    first = stage.plan.by_name["first 1"]
    for memory_id in stage.ids.get(first.name, ()) if stage.supports("get") else ():
        stage.call(step, "get", MARKED, memory_id, about=[first])


def _forget_marked(stage: DrillSession, marks: dict[int, str]) -> None:
    """What every mark holds is deleted by request: none of them brings it back."""
    gone = stage.plan.by_name[IN_ALL_MARKS]
    stage.list_ids("marked", MARKED, about=[gone])
    if ids := stage.ids.get(gone.name):
        stage.call("forgotten", "forget", MARKED, list(ids), about=[gone])
        stage.settle("forgotten")
        stage.list_ids("forgotten", MARKED, about=[gone])
        for number, mark in sorted(marks.items(), reverse=True):
            step = f"{FORGOTTEN}{number}"
            stage.call(step, "restore", mark)
            stage.settle(step)
            stage.list_ids(step, MARKED, about=[gone])


def _tell_history(stage: DrillSession, step: str, piece: Piece | None) -> None:
    """Of what was changed right before a mark."""
    if piece and stage.supports("history"):
        for memory_id in stage.ids.get(piece.name, ()):
            stage.call(step, "history", MARKED, memory_id, about=[piece])


def _settle_and_look(stage: DrillSession, step: str) -> None:
    """All that is there; what the questions bring; and the erased by their own words and ids."""
    stage.settle(step)
    read_back(stage, step, SCOPE, [piece for piece in stage.plan.pieces if piece.item.scope == SCOPE])
    abroad = _list_abroad(stage, "abroad", "abroad erased", "abroad later")
    for scope in dict.fromkeys(piece.item.scope for piece in abroad):
        read_back(stage, step, scope, [piece for piece in abroad if piece.item.scope == scope])
    for probe in stage.plan.of("changed"):
        task = probe.name.partition(".")[0]
        poison = [piece for piece in stage.plan.of("poison") if piece.name.startswith(f"{task}.")]
        stage.recall(step, probe.query or probe.item.text, SCOPE, about=[probe, *poison])
    for piece in stage.plan.of("erased"):
        stage.recall(step, piece.item.text, SCOPE, about=[piece])
        for memory_id in stage.ids.get(piece.name, ()) if stage.supports("get") else ():
            stage.call(step, "get", SCOPE, memory_id, about=[piece])


def _list_ids(stage: DrillSession, pieces: Sequence[Piece]) -> list[str]:
    return [memory_id for piece in pieces for memory_id in stage.ids.get(piece.name, ())]


DRILL = Drill("rollback", place=40, size=120, least=60, needs=("forget",), plan=plan, play=play)
