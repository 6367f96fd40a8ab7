"""Pairs that only their meaning tells apart: one date, one source, one kind; the order of telling is drawn.

A store that prefers the newest, what begins like the question, or the latest of one file does well in a story, in
which the current rule is the newest. Here none of it helps: each look-alike begins with the question's first words
and is about another matter.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from harness.adapter import Item, Scope, Source
from harness.model.drill import Piece
from harness.play.drills.stage import DrillSession

SCOPE = Scope(repo="storefront-choices", org="acme")
OWN = replace(SCOPE, user="ana")
"""Who asks; every other look-alike is her own."""
LEAD = (
    "Minutes of Thursday: Ida was away, the window in the hall is mended at last, and the lift will be looked at in "
    "spring. Of what was decided in the end, read on here: "
)
WRITTEN = "2026-01-12T09:00:00+01:00"
SOURCE = Source("5e1f0c2d9a7b4836c1d2e3f405162738495a6b7c", "docs/operations.md", 40)
PAIRS = (
    (
        "how long does the gateway keep access logs",
        "access logs of the gateway are kept for 45 days",
        "how long does the review of a translation take: two working days",
    ),
    (
        "who may approve a rollback of the payment service",
        "a rollback of the payment service is approved by the release desk",
        "who may approve a holiday is written in the staff handbook",
    ),
    (
        "which port does the ledger listen on in staging",
        "in staging the ledger listens on port 7411",
        "which port does the ferry leave from is printed on the ticket of the excursion",
    ),
    (
        "where do failed invoices go after the last retry",
        "after the last retry failed invoices go to the queue parked-invoices",
        "where do failed invoices hang: framed, in the hall of the museum",
    ),
    (
        "what has to run before a schema migration",
        "before a schema migration, run the job freeze-writers",
        "what has to run before the marathon: registration opens in May",
    ),
    (
        "when does the nightly export of orders start",
        "the nightly export of orders starts at 02:40",
        "when does the nightly train to the coast leave was asked in the travel channel",
    ),
    (
        "how many workers does the image resizer have",
        "six is how many workers the image resizer does have",
        "how many workers does the canteen feed: about four hundred at noon",
    ),
    (
        "which flag turns off the cache of the search page",
        "the cache of the search page is turned off by --no-page-cache",
        "which flag turns off the harbour lights is not for a visiting ship to say",
    ),
    (
        "where does the mobile app read its feature switches",
        "the mobile app reads its feature switches from switches.json",
        "where does the mobile coffee cart stand: in the yard, until eleven",
    ),
    (
        "what is the timeout of calls to the tax service",
        "calls to the tax service have a timeout of 1800 ms",
        "what is the timeout of the basketball coach called",
    ),
    (
        "who owns the alerts of the message broker",
        "alerts of the message broker are owned by the platform desk",
        "who owns the alerts bell in the cellar has not been found out",
    ),
    (
        "how are release tags of the client library named",
        "release tags of the client library are named client-YYYY.MM.N",
        "how are release tags sewn on: with red thread, says the tailor",
    ),
)
"""A question, the memory that answers it, and one that begins as the question does."""


BEHIND = (
    (
        "which bucket holds the dumps of the wish list",
        "the dumps of the wish list lie in bucket nightly-dumps-3",
    ),
    (
        "who renews the certificate of the mail relay",
        "the certificate of the mail relay is renewed by the network desk",
    ),
    (
        "how often is the vault of the billing keys sealed again",
        "the vault of the billing keys is sealed again every six hours",
    ),
    (
        "what is the size limit of an uploaded invoice",
        "the size limit of an uploaded invoice is 12 MB",
    ),
)
"""A question, and what answers it at the end of a longer memory: of 200 characters, and more with each."""
PREFACE = (
    "I have been in this repository since Monday and read whatever I found in its handbook, but nothing of it told me "
    "what I have to know before I go on: "
)
LENGTHY = 3
"""Of so many questions about pairs one is asked behind a preface."""


def plan(seed: int) -> Iterator[Piece]:
    """In a drawn order, so that neither of a pair is always the later one."""
    pieces = [piece for number, pair in enumerate(PAIRS) for piece in _make_pair(number, *pair)]
    for number, (question, answer) in enumerate(BEHIND):
        text = LEAD * (number + 1) + answer
        pieces.append(Piece(name=f"behind-{number}", role="chosen", item=_make_item(text), query=question))
    random.Random(f"ranking {seed}").shuffle(pieces)  # noqa: S311  reproducible on purpose
    yield from pieces


def _make_pair(number: int, question: str, answer: str, other: str) -> tuple[Piece, Piece]:
    right, decoy = f"chosen-{number}", f"passed-{number}"
    question = question if number % LENGTHY else PREFACE + question
    return (
        Piece(name=right, role="chosen", item=_make_item(answer), query=question, twin=decoy),
        Piece(name=decoy, role="passed", item=_make_item(other, OWN if number % 2 else SCOPE)),
    )


def _make_item(text: str, scope: Scope = SCOPE) -> Item:
    return Item(text, scope, WRITTEN, "project", SOURCE, 0.8)


def play(stage: DrillSession) -> None:
    for piece in stage.plan.of("chosen", "passed"):
        # one a call: of a batch, the order of telling would be the backend's
        stage.remember("told apart", [piece])
    stage.settle("told apart")
    place = OWN if stage.supports("scope_user") else SCOPE
    for piece in stage.plan.of("chosen"):
        # what was never acknowledged says nothing about order
        if piece.query and stage.ids.get(piece.name):
            stage.recall("told apart", piece.query, place, about=[piece])
