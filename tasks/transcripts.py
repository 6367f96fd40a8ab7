"""Transcripts as files of TOML, as a person reads them and the loader takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.model.transcript import Message

_DOTS = 50
"""In a line of TOML; the loader takes 64."""


def write(messages: Sequence[Message]) -> str:
    """The text of the file."""
    return "\n".join(line for message in messages for line in _write_message(message))


def _write_message(message: Message) -> Iterator[str]:
    yield f'[[messages]]\nrole = "{message.role}"'
    if message.tool_call_id is not None:
        yield f'tool_call_id = "{message.tool_call_id}"'
    if message.at is not None:
        yield f"at = {message.at.isoformat()}"
    for key in ("tells", "retracts", "mentions"):
        if names := getattr(message, key):
            yield f"{key} = [{', '.join(map(quote, names))}]"
    yield f"content = {quote(message.content)}"
    for call in message.tool_calls:
        yield f'\n[[messages.tool_calls]]\nid = "{call.id}"\n[messages.tool_calls.function]'
        yield f"name = {quote(call.function.name)}\narguments = {quote(call.function.arguments)}"
    yield ""


def quote(text: str) -> str:
    """A text as TOML has it, over several lines where it has some."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if "\n" not in escaped and escaped.count(".") <= _DOTS:
        return f'"{escaped}"'
    return '"""\n' + "\n".join(map(_break, escaped.split("\n"))) + '"""'


def _break(line: str) -> str:
    """A line of many dots as several, which TOML joins again."""
    parts = line.split(".")
    joined = (".".join(parts[at : at + _DOTS]) for at in range(0, len(parts), _DOTS))
    return "\\\n.".join(joined)
