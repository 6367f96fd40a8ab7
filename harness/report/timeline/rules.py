"""What an agent's way of writing deletes by its own rule, or keeps back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.log.events import Retired, RetiringRule, Withheld
from harness.metrics.view import Record
from harness.model.scenario import Session
from harness.report import words
from harness.report.timeline.entries import draw_note, quote, show
from harness.report.timeline.packed import Node, make_node

_WHY: Mapping[RetiringRule, str] = {
    "expired": "it has outlived its kind", "gone": "the line that it cites is gone",
    "replaced": "a new one says otherwise",
}  # fmt: skip
_HOW = {"forget": "deleted", "deprecate": "marked as ended", "expire": "told that it has expired"}


def tell_rules(record: Record, session: Session) -> Iterator[tuple[int, Node]]:
    """An item of the list of writes for each, with its line."""
    for line, retired in record.of(Retired):
        if retired.session == session.id:
            yield line, _tell_retired(retired)
    for line, withheld in record.of(Withheld):
        if withheld.session == session.id:
            for each in withheld.items:
                yield (
                    line,
                    make_node("li", "", "\u2212 ", quote(each.item.text), draw_note("kept back until it is confirmed")),
                )


def _tell_retired(retired: Retired) -> Node:
    own = [name.partition(":")[2] for name in retired.names if not name.startswith("noise:")]
    others = len(retired.names) - len(own)
    what = words.join_words([*own, *([words.format_count(others, "unrelated text")] if others else [])])
    why = f"{_HOW[retired.op]}: {_WHY[retired.rule]}"
    if retired.fault is not None:
        why = f"{retired.fault.kind}: {show(retired.fault.message)}"
    return make_node("li", "", make_node("b", "bad", "\u2715 ") if retired.fault else "\u2212 ", what, draw_note(why))
