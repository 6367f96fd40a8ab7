"""Undoing an incident, by a restored mark or by deleting the bad memories, without losing or reviving anything else.

The expected state is the mark without what was deleted since, as that was erased by request. After a restore there are
up to three looks: at once, after reopening, and after a second restore by another process that was killed then. A
memory must pass all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from harness.adapter import Hit
from harness.log.transcript import Called, Op, Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.metric import failed, mean, not_applicable, proportion
from harness.metrics.trust.metric import DrillWords, TrustMetric, trust
from harness.metrics.trust.view import DrillView, lacks
from harness.model.trial import Better, Measure, NotMeasured

_LOOKS = "at once, reopened, and restored again by another process that is killed then"
RESTORED, UNDONE = ("restored", "reopened", "again"), "undone"
IN_ALL_MARKS, FORGOTTEN = "second 1", "restored without it "  # a number follows the space
TAKEN, TOLD_AGAIN, BEFORE, AFTER = "second 5", "told again", "mark 5", "restored 4 again"
"""See `harness.play.drills.rollback`, from which logs outlive any change."""


class RollbackView(DrillView):
    @property
    def steps(self) -> list[str]:
        """The looks after a restore; the first is always due."""
        seen = {call.step for op in ("entries", "recall") for _, call in self.transcript.calls(op)}
        return [step for step in RESTORED if step in seen or step == RESTORED[0]]

    def names(self, *roles: str) -> list[str]:
        return [piece.name for piece in self.plan.of(*roles)]

    def surest(self) -> tuple[Op, ...]:
        """Where a memory must be that is still there: in the listing, if there is one."""
        return ("entries",) if self.transcript.supports("entries") else ()

    def there(self, step: str, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.sees(step, name, *self.surest())]

    def find_listing(self, step: str) -> tuple[str, Counter[Hit] | None]:
        """The receipt, and the memories as they are listed, without what may differ; None if the look failed."""
        for line, call in self.transcript.calls("entries", step):
            hits = (replace(hit, memory_id="", score=None) for hit in self.transcript.hits(call))
            # counted, and no set: a memory that a restore doubled is another state
            return f"L{line}", None if call.fault else Counter(hits)
        return "", None

    def probes(self, step: str) -> Mapping[str, tuple[int, Called]]:
        """What the questions brought, by the memory whose question it is."""
        names = {piece.query: piece.name for piece in self.plan.of("changed")}
        asked = ((line, call, str(call.request["query"])) for line, call in self.transcript.calls("recall", step))
        return {names[query]: (line, call) for line, call, query in asked if query in names}


def measure_marked(measure: Callable[[RollbackView], Measure], found: Transcript) -> Measure:
    """For backends with marks; one that could not make its mark has failed."""
    if lacking := lacks(found, "snapshot", "restore"):
        return lacking
    if next(found.calls("snapshot", "mark"), None) is None:
        return failed("no mark was made")
    failing = broken(found, "snapshot", "mark") or broken(found, "restore", "restored")
    return failing or broken(found, "restore", "again") or measure(RollbackView.of(found))


def broken(found: Transcript, op: Op, step: str | None = None) -> Measure | None:
    """Why nothing can have been lost or revived: what would have done it failed."""
    for line, call in found.calls(op, step):
        if call.fault:
            why = f"L{line}: {op}: {' '.join(call.fault.message.split())}"
            return NotMeasured(status="failed", reason=why[:300], receipts=(f"L{line}",))
    return None


def wrong(cases: Mapping[str, Sequence[str]], view: RollbackView, there: bool, none: str) -> Measure:
    """Of these memories, those that a look shows though they should be gone, or misses though they should be `there`.

    Args:
        cases: Memory -> the steps in which it is looked for.

    Gone is what no route shows; there is what the surest one shows. A look that failed or is missing is neither.
    """
    ops = view.surest() if there else ()
    first = {
        name: next((step for step in steps if view.sees(step, name, *ops) is not there), None)
        for name, steps in cases.items()
    }
    lines = [view.line(step, name) or f"no look {step}" for name, step in first.items() if step]
    # `is (not there)` is known to be otherwise; `is not there` above also holds where nobody knows
    told = {name for name, steps in cases.items() if any(view.sees(step, name, *ops) is (not there) for step in steps)}
    unanswered = sum(step is not None and name not in told for name, step in first.items())
    return proportion(len(lines), len(cases), list(dict.fromkeys(lines)), none=none, unanswered=unanswered)


# --- point in time ----------------------------------------------------------------------------------------------------


def restored_exactly(view: RollbackView) -> Measure:
    if lacking := lacks(view.transcript, "entries"):
        return lacking
    receipt, mark = view.find_listing("mark")
    if not mark:
        return failed(f"{receipt}: nothing was listed at the mark")
    erased = view.names("erased", "abroad erased")  # a backend without scopes lists both
    expected = Counter(
        {hit: n for hit, n in mark.items() if not any(p.name in erased for p in view.find_named(hit.text))}
    )
    if view.find_listing("relapse")[1] in (None, expected):
        return not_applicable("no listing shows that the incident changed it")
    looks = [view.find_listing(step) for step in view.steps]
    other = [line for line, state in looks if state != expected]
    unanswered = sum(state is None for _, state in looks)
    none = "no look after the restore"
    return proportion(len(looks) - len(other), len(looks), other, none=none, unanswered=unanswered)


def restored_probes(view: RollbackView) -> Measure:
    incident = {name: set(view.texts(call)) for name, (_, call) in view.probes("relapse").items() if not call.fault}
    erased, values, receipts = set(view.names("erased")), [], []
    for name, (_, call) in view.probes("mark").items():
        wanted = set(view.texts(call))
        if not wanted or erased & view.list_shown(call) or incident.get(name, wanted) == wanted:
            continue
        for step in view.steps:
            line, now = view.probes(step).get(name, (0, None))  # a look that is missing or failed counts as 0
            texts = set(view.texts(now) if now else ())
            values.append(len(wanted & texts) / len(wanted | texts))
            receipts += [f"L{line}"] if line and texts != wanted else []
    return mean(values, receipts, none="no question that touches nothing erased was answered otherwise by the incident")


def left_after_restore(view: RollbackView) -> Measure:
    names = [name for name in view.names("poison") if view.sees("relapse", name)]
    return wrong(dict.fromkeys(names, view.steps), view, False, "no poison was seen before the restore")


def resurrected(view: RollbackView) -> Measure:
    seen = [name for name in view.names("erased", "abroad erased") if view.sees("mark", name)]
    seen += [name for name in view.names("early") if view.sees("early", name) and view.sees("mark", name) is False]
    cases = dict.fromkeys((name for name in seen if view.sees("relapse", name) is False), view.steps)
    restores = [call for _, call in view.transcript.calls("restore") if call.step.startswith(FORGOTTEN)]
    later = [call.step for call in restores if not call.fault]  # one that failed brings nothing back
    if later and view.sees("marked", IN_ALL_MARKS) and view.sees("forgotten", IN_ALL_MARKS) is False:
        cases[IN_ALL_MARKS] = later
    return wrong(cases, view, False, "no memory that was seen at the mark was gone before the restore")


def elsewhere_restored(view: RollbackView) -> Measure:
    """A mark is of the whole store, so a restore makes every scope what it was then, without what was deleted since."""
    hits, counted, unanswered, lines = 0, 0, 0, []
    names = view.names("abroad", "abroad erased", "abroad later")
    scopes = {name: view.plan.by_name[name].item.scope for name in names}
    for scope in dict.fromkeys(scopes.values()):
        here = [name for name in names if scopes[name] == scope]
        mark, relapse = ({name: view.sees(step, name) for name in here} for step in ("mark", "relapse"))
        wanted = {name: bool(mark[name]) and name not in view.names("abroad erased") for name in here}
        # a look that failed does not show that the incident changed anything
        if None in mark.values() or not any(relapse[name] is (not wanted[name]) for name in here):
            continue
        for step in view.steps:
            now = {name: view.sees(step, name) for name in here}
            counted, hits = counted + 1, hits + (now == wanted)
            unanswered += None in now.values()
            wrong = next((name for name in here if now[name] != wanted[name]), None)
            lines += [view.line(step, wrong) or f"no look {step}"] if wrong else []
    none = "the incident changed no other scope"
    return proportion(hits, counted, list(dict.fromkeys(lines)), none=none, unanswered=unanswered)


def lost_by_restore(view: RollbackView) -> Measure:
    cases = dict.fromkeys(view.there("mark", view.names("kept", "changed")), view.steps)
    if _is_told_again(view):
        cases[TAKEN] = [TOLD_AGAIN]
    return wrong(cases, view, True, "nothing was seen at the mark")


def _is_told_again(view: RollbackView) -> bool:
    """Whether it was listed, then taken away by a restore, and told once more."""
    steps = (BEFORE, AFTER, TOLD_AGAIN)
    looks = [call for step in steps for _, call in view.transcript.calls("entries", step)]
    # the third look is what is measured, and may have failed
    known = len(looks) == len(steps) and not any(call.fault for call in looks[:2])
    return known and [TAKEN in view.list_shown(call) for call in looks[:2]] == [True, False]


def good_lost_by_restore(view: RollbackView) -> Measure:
    names = view.there("relapse", view.names("good"))
    return wrong(dict.fromkeys(names, view.steps[:1]), view, True, "no good memory was seen before the restore")


def marks_restored(view: RollbackView) -> Measure:
    """One that could not be made was not restored."""
    found = view.transcript
    if lacking := lacks(found, "entries"):
        return lacking
    hits, of, unanswered, lines = 0, 0, 0, list[str]()
    for line, call in found.calls("snapshot"):
        name = call.step.removeprefix("mark ")
        # the mark of the incident has no number, and measures of its own
        if name == call.step:
            continue
        of += 1
        again = [each for _, call in found.calls("restore") if (each := call.step) == f"restored {name} again"]
        steps = [f"mark {name}", f"restored {name}", *again]
        (_, was), *looks = map(view.find_listing, steps)
        failing = any(broken(found, op, step) for op in ("restore", "history", "get") for step in steps)
        known = was is not None and not failing and all(now is not None for _, now in looks)
        forgetful = next(_list_forgetful(found, name), None)
        wrong = next((receipt for receipt, now in looks if now != was), "")
        other = next((line for step in steps[1:] for line in _list_otherwise(found, steps[0], step)), "")
        good = known and not wrong and not forgetful and not other
        hits += good
        unanswered += not known
        lines += [] if good else [forgetful or wrong or other or f"L{line}"]
    return proportion(hits, of, lines, none="only one mark was made", unanswered=unanswered)


def _list_otherwise(found: Transcript, mark: str, step: str) -> Iterator[str]:
    """Reads by id that bring something else than at the mark; a restored memory may have another id."""
    before = {call.request["memory_id"]: found.hits(call) for _, call in found.calls("get", mark)}
    for line, call in found.calls("get", step):
        was = before.get(call.request["memory_id"], ())
        if any(replace(now, score=None) != replace(hit, score=None) for now in found.hits(call) for hit in was):
            yield f"L{line}"


def _list_forgetful(found: Transcript, mark: str) -> Iterator[str]:
    """Histories that miss a text which they told at the mark; later ones may be there, too."""
    before = {call.request["memory_id"]: call for _, call in found.calls("history", f"mark {mark}")}
    for line, call in found.calls("history", f"restored {mark}"):
        told = found.answer(before[call.request["memory_id"]]) or ()
        if not set(told) <= set(found.answer(call) or ()):
            yield f"L{line}"


# --- targeted undo ----------------------------------------------------------------------------------------------------


def left_after_undo(found: Transcript) -> Measure:
    if undone := broken(found, "forget", "undone"):
        return undone
    view = RollbackView.of(found)
    names = [name for name in view.names("poison") if view.sees("incident", name)]
    return wrong(dict.fromkeys(names, (UNDONE,)), view, False, "no poison was seen before")


def lost_by_undo(roles: tuple[str, ...], found: Transcript) -> Measure:
    if undone := broken(found, "forget", "undone"):
        return undone
    view = RollbackView.of(found)
    names = view.there("incident", view.names(*roles))
    return wrong(dict.fromkeys(names, (UNDONE,)), view, True, "none was seen before")


def _restore(
    name: str,
    better: Better,
    formula: str,
    measure: Callable[[RollbackView], Measure],
    label: str,
    otherwise: str = "",
    column: Place | None = None,
    version: int = 2,
) -> TrustMetric:
    return trust(
        name, DRILL, better, "proportion", formula, partial(measure_marked, measure), label=label,
        otherwise=otherwise, column=column, version=version,
    )  # fmt: skip


DRILL = DrillWords(
    "rollback",
    40,
    "Rolled back",
    "After an incident, is the store what it was, without what was erased since?",
)
METRICS: tuple[TrustMetric, ...] = (
    _restore(
        "restored_exactly",
        "higher",
        "looks after a restore whose listing is, memory for memory (text, source, scope, dates), that of the mark "
        f"without what was deleted since / looks ({_LOOKS}); counted if the incident had changed the listing",
        restored_exactly,
        version=4,
        label="restores that are exact",
        otherwise="restores that are not exact",
        column=columns.KEPT.at("undone"),
    ),
    _restore(
        "restored_probes",
        "higher",
        f"mean over questions and looks after a restore ({_LOOKS}) of the Jaccard index of the texts in the top k with "
        "those at the mark; over questions whose answer the incident had changed and whose answer at the mark held "
        "nothing that was deleted since",
        restored_probes,
        version=4,
        label="answers restored",
        otherwise="answers not restored",
        column=columns.KEPT.at("undone"),
    ),
    _restore(
        "left_after_restore",
        "lower",
        f"bad memories that a listing or search still shows after a restore ({_LOOKS}) / bad memories seen before it",
        left_after_restore,
        version=3,
        label="bad memories left after a restore",
        column=columns.POISON.at("stays"),
    ),
    _restore(
        "resurrected_by_restore",
        "lower",
        f"memories deleted after the mark that a listing, search or id shows after a restore ({_LOOKS}) / those seen "
        "at the mark and gone before the restore, in all scopes, with those that were deleted before the mark, and "
        "one that each of six marks held",
        resurrected,
        version=5,
        label="deleted memories brought back by a restore",
        column=columns.DELETED.at("served"),
    ),
    trust(
        "other_scopes_restored", DRILL, "higher", "proportion",
        "looks at another scope (wider, of a user, of a branch, next door) after a restore that show what was there at "
        f"the mark without what was deleted since / looks ({_LOOKS}); counted if the incident had changed that scope, "
        "as a mark is of the whole store",
        partial(measure_marked, elsewhere_restored),
        version=3,
        label="other scopes restored",
        otherwise="other scopes not restored",
        column=columns.KEPT.at("undone"),
    ),
    _restore(
        "lost_by_restore",
        "lower",
        f"memories of the mark, as they were then, that are missing after a restore ({_LOOKS}), and one that a restore "
        "took away and that is not listed though it was then told again / those seen at the mark, without what was "
        "deleted since, and that one",
        lost_by_restore,
        version=4,
        label="memories lost by a restore",
        otherwise="memories kept by a restore",
        column=columns.KEPT.at("lost"),
    ),
    _restore(
        "good_lost_by_restore",
        "neither",
        "good memories from after the mark that are missing after a restore / those seen before it; a restore to a "
        "point in time takes them by design",
        good_lost_by_restore,
        label="later good memories lost by a restore",
    ),
    _restore(
        "marks_restored",
        "higher",
        "marks of six of one store, two of them made after the others were restored, as a text was changed again and "
        "back, restored in another order than they were made in, two twice, partly by a later process, whose listing "
        "is then, memory for memory, what it was at the mark, where a memory that was changed between them comes by "
        "its id as it came then, and where the history of a memory that was changed right before it, if there is one, "
        "tells each text that it told then / such marks",
        marks_restored,
        version=6,
        label="marks of several restored",
        otherwise="marks of several not restored",
        column=columns.KEPT.at("undone"),
    ),
    trust(
        "left_after_undo", DRILL, "lower", "proportion",
        "bad memories that a listing or search still shows after they were deleted by id / those seen before",
        left_after_undo,
        version=2,
        label="bad memories left after they were deleted",
        column=columns.POISON.at("stays"),
    ),
    trust(
        "good_lost_by_undo", DRILL, "lower", "proportion",
        "good memories from the time of the incident that are missing after the bad ones were deleted by id / those "
        "seen before",
        partial(lost_by_undo, ("good",)),
        version=2,
        label="good memories lost by deleting bad ones",
        column=columns.DELETED.at("bystanders"),
    ),
    trust(
        "kept_lost_by_undo", DRILL, "lower", "proportion",
        "memories from before the incident, as they stand after its updates, that are missing after the bad ones were "
        "deleted by id, in their scope or another / those seen before",
        partial(lost_by_undo, ("kept", "changed", "change", "abroad", "abroad later")),
        version=3,
        label="earlier memories lost by deleting bad ones",
        column=columns.DELETED.at("bystanders"),
    ),
)  # fmt: skip
