"""What a memory backend looks like to coldwarm: wire types, protocols and a base for authors.

Standard library only: this package is all that a child process needs besides the adapter itself, so an adapter runs in
any environment in which its own SDK runs. What adapters import from here is stable; where inside it stands is not.
"""

from harness.adapter.base import BaseAdapter, BaseMemory, applies, delete_and_add, find_installed, fits
from harness.adapter.capabilities import CAPABILITIES, FILTERS, NOT_OFFERED, UNDECLARED, Operation, Trait
from harness.adapter.codec import encode, read_call, read_filter, read_item, read_message, to_wire
from harness.adapter.contract import (
    CLOSED,
    PLACE,
    Ack,
    Adapter,
    Call,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Program,
    Scope,
    Server,
    Source,
    Space,
    Support,
    Unsupported,
    Usage,
    Verdict,
    VerdictKind,
)
from harness.adapter.embeddings import BATCH, embed

__all__ = [
    "BATCH",
    "CAPABILITIES",
    "CLOSED",
    "FILTERS",
    "NOT_OFFERED",
    "PLACE",
    "UNDECLARED",
    "Ack",
    "Adapter",
    "BaseAdapter",
    "BaseMemory",
    "Call",
    "Filter",
    "Hit",
    "Item",
    "Layer",
    "Memory",
    "Message",
    "Operation",
    "Program",
    "Scope",
    "Server",
    "Source",
    "Space",
    "Support",
    "Trait",
    "Unsupported",
    "Usage",
    "Verdict",
    "VerdictKind",
    "applies",
    "delete_and_add",
    "embed",
    "encode",
    "find_installed",
    "fits",
    "read_call",
    "read_filter",
    "read_item",
    "read_message",
    "to_wire",
]  # fmt: skip
