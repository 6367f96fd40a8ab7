"""Hits that nobody stored, judged by what was acknowledged before the question (`harness.text.stored_texts`)."""

from __future__ import annotations

from harness.log.events import Recalled, Wrote
from harness.metrics import columns
from harness.metrics.metric import metric, not_applicable, proportion
from harness.metrics.view import View
from harness.metrics.words import RECALLED, Words
from harness.model.trial import Measure
from harness.text.classify import cut
from harness.text.stored_texts import StoredTexts

WORDS_ITS_OWN = "a model inside, or a control, brings texts of its own"


def hits_invented(view: View) -> Measure:
    """Each hit of each question, by what had been written until then."""
    backend = view.log.opened.backend
    if backend is not None and backend.words_its_own:
        return not_applicable(WORDS_ITS_OWN)
    stored, of, bad = StoredTexts(), 0, list[str]()
    held = set[tuple[str, str]]()  # what was stored once is for good, and most hits come back often
    for line, event in enumerate(view.log.events, 1):
        if isinstance(event, Wrote):
            items = view.log.items(event)
            # a session that was handed over as spoken may come back message by message, under the session's ids
            ids = [names for each, names in zip(items, event.ids or (), strict=False) for _ in each.texts]
            stored.add([text for each in items for text in each.texts], ids)
        elif isinstance(event, Recalled):
            hits = view.log.find_answer(event).hits
            of += len(hits)
            for hit in hits:
                if (hit.memory_id, hit.text) in held:
                    continue
                if stored.holds(hit.memory_id, hit.text, cut(hit.text, stored.known)):
                    held.add((hit.memory_id, hit.text))
                else:
                    bad.append(f"L{line}")
    return proportion(len(bad), of, list(dict.fromkeys(bad)), none="nothing came back")


METRICS = (
    metric(
        "hits_invented", "lower", "proportion",
        "hits that show neither what was stored under their id nor, under an id that was never acknowledged, anything "
        "that was stored (less than half of their words, in runs of three, and no stored text as a whole) / hits; no "
        "reader is shown one, and nothing is credited with it", hits_invented,
        words=Words(RECALLED, place=50), label="answers that nobody stored", otherwise="answers that were stored",
        column=columns.SOURCES.at("invented"),
    ),
)  # fmt: skip
