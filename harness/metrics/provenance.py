"""Sources of memories: does a memory name one, and does that place still say so?

A source is what the backend returns; its declared support says whether the backend or its adapter keeps it. Each
distinct memory that a probe returned counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from harness.adapter import Item, Source
from harness.log.events import Resolved, Wrote
from harness.log.parts import Checked
from harness.metrics import columns
from harness.metrics.metric import StoryMetric, metric, proportion, unsupported
from harness.metrics.seen import RecalledEntry
from harness.metrics.view import Record, View, once
from harness.metrics.words import PROVEN, Case, Words
from harness.model.dates import same_moment
from harness.model.trial import Better, Measure, NotMeasured
from harness.text.classify import holds

NOTHING = "no probe brought a memory of the story"
NONE_EQUAL = "no memory came back as it was written"
FIELDS = ("commit", "path", "line", "session")
STATES: tuple[tuple[str, Better], ...] = (
    ("same", "higher"),
    ("moved", "neither"),
    ("renamed", "neither"),
    ("gone", "lower"),
)


@once
def _list_returned(record: Record) -> list[RecalledEntry]:
    """One entry for each distinct memory (id, text, source, date) that probes brought and that says something of a
    fact: noise has sources too, but is nothing that a story asks a source of."""
    first: dict[object, RecalledEntry] = {}
    for line, event in record.recalls("probe"):
        for entry in record.entries(line, event):
            hit = entry.hit
            if entry.says_something:
                first.setdefault((hit.memory_id, hit.text, hit.source, hit.created), entry)
    return list(first.values())


def _explain_unsupported(view: View, capability: str) -> Measure | None:
    support = view.record.support(capability)
    return None if support.supported else unsupported(support.note or "not kept")


def _none(view: View, reason: str) -> NotMeasured:
    return view.record.explain_uncontrolled(reason, "recall", "remember", "supersede")


def source_coverage(view: View) -> Measure:
    refused = _explain_unsupported(view, "source")
    if refused is not None:
        return refused
    returned = _list_returned(view.record)
    bare = [entry.receipt for entry in returned if entry.hit.source in (None, Source())]
    return proportion(len(returned) - len(bare), len(returned), bare, none=_none(view, NOTHING))


def _equals(record: Record) -> Iterator[tuple[RecalledEntry, list[Item]]]:
    """Memories that came back with the very text of written items, and those items."""
    written: dict[str, list[Item]] = {}
    for _, event in record.of(Wrote):
        for each in record.log.items(event):
            written.setdefault(each.item.text, []).append(each.item)
    for entry in _list_returned(record):
        if entry.hit.text in written:
            yield entry, written[entry.hit.text]


def source_fidelity(view: View) -> Measure:
    refused = _explain_unsupported(view, "source")
    if refused is not None:
        return refused
    kept, fields, lost = 0, 0, []
    for entry, items in _equals(view.record):
        # several items may have one text: a memory is compared with the one that it fits best
        equal, of = max((_fields(entry.hit.source, item.source) for item in items), key=lambda pair: pair[0] - pair[1])
        kept, fields = kept + equal, fields + of
        lost += [entry.receipt] * (equal < of)
    return proportion(kept, fields, lost, none=_none(view, NONE_EQUAL))


def _fields(back: Source | None, written: Source | None) -> tuple[int, int]:
    """Source fields that came back equal, and fields that were written."""
    named = [name for name in FIELDS if getattr(written, name, None) is not None]
    return sum(getattr(back, name, None) == getattr(written, name) for name in named), len(named)


def dates_kept(view: View) -> Measure:
    refused = _explain_unsupported(view, "created")
    if refused is not None:
        return refused
    pairs = [(entry, any(same_moment(entry.hit.created, i.at) for i in items)) for entry, items in _equals(view.record)]
    lost = [entry.receipt for entry, kept in pairs if not kept]
    return proportion(len(pairs) - len(lost), len(pairs), lost, none=_none(view, NONE_EQUAL))


# --- in git -----------------------------------------------------------------------------------------------------------


class Citation(NamedTuple):
    """A source cited by an entry that asserts a fact, at the checkout from which it was seen."""

    entry: RecalledEntry
    source: Source
    head: str
    checked: Checked | None
    line: int | None
    verified: bool


@once
def _checks(record: Record) -> dict[tuple[Source, str], tuple[int, Checked]]:
    return {
        (checked.source, event.head): (line, checked)
        for line, event in record.of(Resolved)
        for checked in event.sources
    }


@once
def _citations(record: Record) -> list[Citation]:
    """One for each distinct source, set of asserted facts, and checkout; the earliest one."""
    checks = _checks(record)
    heads = {session.id: session.commit for session in record.scenario.sessions}
    found: dict[object, Citation] = {}
    for line, event in record.recalls("probe"):
        for entry in record.entries(line, event):
            source, head = entry.hit.source, heads[event.session]
            # the raw reading: what is marked as superseded asserts nothing, and its source can be false all the same
            if source is None or not source.commit or not source.path or not entry.raw.asserted:
                continue
            at, checked = checks.get((source, head), (None, None))
            says = checked.says if checked else None
            verified = says is not None and any(
                holds(says, record.scenario.by_id[fact].forms) for fact in entry.raw.asserted
            )
            citation = Citation(entry, source, head, checked, at, verified)
            found.setdefault((source, entry.raw.asserted, head), citation)
    return list(found.values())


def source_verified(view: View) -> Measure:
    refused = _explain_unsupported(view, "source")
    if refused is not None:
        return refused
    sources: dict[object, Citation] = {}
    for citation in _citations(view.record):
        sources.setdefault((citation.source, citation.entry.raw.asserted), citation)
    wrong = [citation.entry.receipt for citation in sources.values() if not citation.verified]
    none = _none(view, "no memory that asserts a fact cites a path at a commit")
    return proportion(len(sources) - len(wrong), len(sources), wrong, none=none)


def source_at_head(view: View, state: str) -> Measure:
    refused = _explain_unsupported(view, "source")
    if refused is not None:
        return refused
    found = [each for each in _citations(view.record) if each.verified]
    # what became of a line of another repository cannot be told from this one's checkout
    verified = [each for each in found if each.checked is None or each.checked.state != "elsewhere"]
    chosen = [each for each in verified if each.checked is not None and each.checked.state == state]
    return proportion(
        len(chosen), len(verified), [f"L{each.line}" for each in chosen], none=_none(view, "no source was verified")
    )


def dangling_sources(view: View) -> Measure:
    refused = _explain_unsupported(view, "source")
    if refused is not None:
        return refused
    # one checkout is enough: whether a commit has a line does not depend on it
    checked = {source: (line, each) for (source, _), (line, each) in _checks(view.record).items()}
    loose = [f"L{line}" for line, each in checked.values() if each.state == "dangling"]
    return proportion(len(loose), len(checked), loose, none=_none(view, "no memory cites a line of a file at a commit"))


SOURCE_VERIFIED = "source_verified"
_STATED = {
    "same": "lines unchanged today", "moved": "lines moved since", "renamed": "files renamed since",
    "gone": "lines gone today",
}  # fmt: skip
_measure = partial(metric, words=Words(PROVEN))
METRICS: tuple[StoryMetric, ...] = (
    _measure(
        "source_coverage", "higher", "proportion",
        "memories returned to probes with a source / memories returned that say something of a fact; other noise "
        "is left out",
        source_coverage, version=2, words=Words(PROVEN, place=20),
        label="answers with a source", otherwise="answers without a source", column=columns.SOURCES.at("lost"),
    ),
    _measure(
        "source_fidelity", "higher", "proportion",
        "source fields (commit, path, line, session) equal to those written / fields written, over memories whose text "
        "came back as written", source_fidelity, words=Words(PROVEN, place=30),
        label="source fields returned as written", otherwise="source fields changed",
        column=columns.SOURCES.at("false"),
    ),
    _measure(
        SOURCE_VERIFIED, "higher", "proportion",
        "sources whose line at the cited commit holds an accepted form of each part of a fact that the memory asserts "
        "/ sources with commit and path of memories that assert a fact", source_verified, words=Words(
            PROVEN, 10, thing="sources proven", answers=True, cells="source proven",
            case=Case(90, "source not proven"),
        ),
        label="sources proven in git", otherwise="sources not proven in git", column=columns.SOURCES.at("false"),
    ),
    *(
        _measure(
            f"source_at_head_{state}", better, "proportion",
            f"verified sources whose line is {state} at the checkout of the probe / verified sources, by checkout",
            partial(source_at_head, state=state), label=f"cited {_STATED[state]}",
            aside="what the story did to the cited line since, not what memory says of it",
            words=Words(PROVEN, place=40 + at),
        )
        for at, (state, better) in enumerate(STATES)
    ),
    _measure(
        "dangling_sources", "lower", "proportion",
        "sources that the cited commit does not have / sources with commit, path and line that came back, those of "
        "noise among them, which cites lines that are there",
        dangling_sources, version=2,
        label="sources that lead nowhere", otherwise="sources that lead somewhere", column=columns.SOURCES.at("false"),
    ),
    _measure(
        "dates_kept", "higher", "proportion",
        "memories dated with the moment at which they were written / memories whose text came back as written",
        dates_kept,
        label="dates returned as written", otherwise="dates lost or changed", column=columns.DATES.at("wrong"),
    ),
)  # fmt: skip
