"""What a deletion leaves on disk, as measures: in declared layers and in undeclared places."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.log.parts import Sighting
from harness.log.transcript import Transcript
from harness.metrics.metric import cannot_tell, not_applicable, proportion
from harness.metrics.trust.reach import Reach
from harness.metrics.trust.residue import REMOVED, ResidueKind, residue_of
from harness.model.cells import LookStage
from harness.model.trial import Measure, Measured

_PRINTED = re.compile(r"(?:\.\./)*home-\d+/output\.txt")
"""Where what a backend's own process prints is kept, in the home of that process."""


def bytes_gone(
    transcript: Transcript,
    *,
    kind: ResidueKind,
    step: LookStage,
    roles: Sequence[str] = REMOVED,
    needs: Sequence[str] = (),
) -> Measure:
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal(roles, "persistent", *needs, step=step):
        return refused
    targets = [name for name in reach.targets(*roles) if transcript.plan.by_name[name].canary]
    return residue_of(transcript).measure_gone(targets, kind, step)


def bytes_gone_after_kill(transcript: Transcript, *, kind: ResidueKind) -> Measure:
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal(("forget",), "persistent", step="killed"):
        return refused
    return residue_of(transcript).measure_gone(reach.killed, kind, "killed")


def replaced_bytes_gone(transcript: Transcript) -> Measure:
    found = bytes_gone(transcript, roles=("update",), kind="text", step="closed")
    # only a number is set aside: any other word already says why there is none
    if isinstance(found, Measured) and transcript.supports("history"):
        return not_applicable("the backend offers a history of earlier texts, which keeps them on purpose")
    if isinstance(found, Measured) and next(transcript.calls("snapshot"), None):
        return not_applicable("a mark was made before the update, which keeps the earlier texts on purpose")
    return found


def seen_astray(transcript: Transcript, *, printed: bool = False) -> Measure:
    """Args: printed: Only in what its processes print."""
    reach, residue = Reach.of(transcript), residue_of(transcript)
    if refused := reach.explain_refusal(("forget", "scope"), step="before"):
        return refused
    if not residue.undeclared:
        return not_applicable("only declared layers were looked at")
    pieces = [
        piece.name for piece in transcript.plan.of(*REMOVED, "killed") if piece.canary and piece.name in reach.first_ids
    ]
    seen, lines = residue.astray(pieces, _is_printed if printed else lambda _: True)
    unread = next((look.problem for _, look in transcript.looks() if look.problem and not look.declared), None)
    if printed and not seen and unread:
        return cannot_tell(f"nothing was seen where it could be looked, but {unread}")
    return proportion(len(seen), len(pieces), lines, none="nothing was written that carries a canary")


def _is_printed(sighting: Sighting) -> bool:
    return _PRINTED.fullmatch(sighting.path) is not None


def queries_kept(transcript: Transcript) -> Measure:
    """Their words stand in no memory, so a place that shows one keeps what it was asked."""
    reach, residue = Reach.of(transcript), residue_of(transcript)
    if refused := reach.explain_refusal((), "persistent", step="closed"):
        return refused
    questions = (piece.name for piece in transcript.plan.of("question"))
    asked = [name for name in questions if (look := reach.at("before", "paraphrase", name)) and not look.failed]
    shown = residue.list_shown("closed") & set(asked)
    lines = [line for name in sorted(shown) if (line := residue.shows("closed", name))]
    if not shown and (blind := residue.blind("closed")):
        return cannot_tell(f"none was found where it could be looked, but {'; '.join(blind)}")
    return proportion(len(shown), len(asked), lines, none="no question with a word of its own was asked")
