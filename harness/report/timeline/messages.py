"""What was said in a session, as far as it tells, takes back or mentions a fact of the story."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.scenario import Session
from harness.model.transcript import Message
from harness.report import words
from harness.report.timeline.entries import draw_note, quote
from harness.report.timeline.packed import Node, make_node

LONGEST = 400
"""Characters of a message that are shown."""


def tell_transcript(session: Session) -> Iterator[Node]:
    """One list to open; nothing of a session without a transcript."""
    anchored = [(at, message) for at, message in enumerate(session.transcript, 1) if message.anchored]
    if not session.transcript:
        return
    heading = words.format_count(len(session.transcript), "message")
    summary = f"{len(anchored)} of them tell, take back or mention a fact"
    rows = [
        make_node(
            "li",
            "",
            make_node("b", "", f"{at} {message.role} "),
            quote(message.text, LONGEST),
            draw_note(*_tell(message)),
        )
        for at, message in anchored
    ]
    yield make_node(
        "details",
        "",
        make_node("summary", "quiet", f"what was said: {heading}", draw_note(summary)),
        make_node("ul", "", *rows),
    )


def _tell(message: Message) -> Iterator[str]:
    for word, names in (("tells", message.tells), ("takes back", message.retracts), ("mentions", message.mentions)):
        if names:
            yield f"{word} {words.join_words(list(names))}"
