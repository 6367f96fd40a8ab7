"""Wrong answers: another memory appears in the place of the one that was stored.

There are two ways. An id shows the text of another memory, which was never acknowledged under that id. Or the query
with a memory's own text returns another memory first, which does not come back for its own text: an index answers with
its neighbour's text. The caller gets a statement about another matter, without any sign of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.metrics.metric import proportion
from harness.metrics.trust.view import DrillDeed, DrillLook, DrillView
from harness.model.trial import Measure


def is_wrong(view: DrillView, name: str, look: DrillLook) -> bool:
    """Whether a look shows another memory in the place of this one; a look that failed shows nothing."""
    if look.call.fault:
        return False
    return _stands_under(view, name, look) or (look.call.op == "recall" and _answers_for(view, name, look))


def _stands_under(view: DrillView, name: str, look: DrillLook) -> bool:
    """Under its id: a text with the marks of others, and of none that was ever acknowledged with that id."""
    texts = view.texts_by_id(look.call)
    shown = (
        (each, {piece.name for piece in view.find_named(text)})
        for each in view.ids[name]
        for text in texts.get(each, ())
    )
    return any(names and names.isdisjoint(view.named_by_id[each]) for each, names in shown)


def _answers_for(view: DrillView, name: str, look: DrillLook) -> bool:
    """Comes first for its own text, while it does not come: one that its own text does not bring in the same step."""
    hits = view.transcript.hits(look.call)
    if look.call.about != (name,) or not hits or name in view.list_shown(look.call):
        return False
    first = view.find_named(hits[0].text)
    # a neighbour whose own text brings it may rightly rank first
    return bool(first) and all(view.sees(look.call.step, piece.name, "recall") is False for piece in first)


def share_wrong(view: DrillView, cases: Iterable[tuple[DrillDeed, Sequence[DrillLook]]], none: str) -> Measure:
    """Memories of which one of the looks at them is wrong, of those with a look; a look that failed could have been."""
    looked_at = [(deed.piece.name, looks) for deed, looks in cases if looks]
    bad = [(name, next((look for look in looks if is_wrong(view, name, look)), None)) for name, looks in looked_at]
    lines = [view.transcript.receipt(look.line, name) for name, look in bad if look]
    silent = [name for name, looks in looked_at if all(look.call.fault for look in looks)]
    lines += [view.transcript.receipt(looks[-1].line, name) for name, looks in looked_at if name in silent]
    hits = sum(look is not None for _, look in bad) + len(silent)
    return proportion(hits, len(looked_at), list(dict.fromkeys(lines)), none=none, unanswered=len(silent))
