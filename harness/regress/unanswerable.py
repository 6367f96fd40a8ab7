"""Gates that a run can never answer: on a row, a drill or a policy that it does not play."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from harness.compare.rows import COLD, GOLD
from harness.metrics import trust
from harness.model.backend import SOUND
from harness.model.trial import Selection, list_policies
from harness.regress.baseline import RegressError
from harness.regress.gates import Gate, Gates
from harness.report.words import join_words

DRILL_OF = {metric.definition.name: metric.drill for metric in trust.METRICS}


def check(gates: Gates, selection: Selection) -> None:
    """Raises RegressError for the first gate that no number of such a run can answer."""
    for each in gates.placed:
        if reason := next(_explain(each.gate, selection), None):
            raise RegressError(f"{gates.name}:{each.line}: gate '{each.gate.name}': {reason}")


def _explain(gate: Gate, selection: Selection) -> Iterator[str]:
    drill = DRILL_OF.get(gate.measure)
    stories = selection.scenarios != ("none",)
    if drill and drill not in selection.drills:
        yield f"{gate.measure} is measured by the drill {drill}, which this run does not play: add -d {drill}"
    if not drill and not stories:
        yield f"{gate.measure} is measured by stories, and -s none plays none"
    labels = [spec.label for spec in selection.backends]
    # beside what is named, drills play the sound reference, and stories no memory and the controls with gold
    rows = [*labels, SOUND] if drill else [*labels, COLD, *GOLD]
    for name in gate.named:
        if name not in rows:
            # mem0 may be meant for mem0@2.0.4 or mem0+store=faiss
            near = [row for row in rows if row.startswith(name)] or get_close_matches(name, rows, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it plays {join_words(labels)}"
            yield f"backend '{name}' is not played by this run; {hint}"
    if gate.write and gate.write not in selection.writes:
        yield f"write {gate.write} is not played by this run: add --write {gate.write}"
    if gate.read and gate.read not in (policies := list_policies(selection.reader)):
        yield f"read {gate.read} is no way in which {selection.reader} reads: {join_words(policies)}"
    levels = (selection.headline_noise,) if gate.write not in (None, selection.headline_write) else selection.noise
    if gate.noise is not None and gate.noise not in levels:
        other = f", as other policies than {selection.headline_write} are played at the highest level only"
        beside = other if len(levels) == 1 else ""
        yield f"noise {gate.noise} is not played by this run{beside}; it plays {join_words(list(map(str, levels)))}"
