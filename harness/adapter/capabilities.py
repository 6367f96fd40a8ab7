"""What a backend may be able to do: the optional operations of the protocol, and traits that it has or has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Operation = Literal[
    "observe", "entries", "get", "history", "update", "supersede", "deprecate", "forget", "forget_scope", "snapshot",
    "restore", "compact",
]  # fmt: skip
Trait = Literal[
    "ranked", "abstains", "source", "created", "expiry",
    "scope_org", "scope_repo", "scope_branch", "scope_user",
    "persistent", "multi_process", "concurrent", "usage", "extracts", "masks", "verdict", "work_tree",
    "filter_kind", "filter_path", "filter_confidence",
]  # fmt: skip
"""concurrent: several threads may call `remember` at once. extracts: a model inside rewrites what it is told; texts
come back as facts of its own making. masks: addresses and what looks like a credential are replaced in what it is told.
verdict: hits say what the backend itself thinks of them; one without a verdict is not doubted. work_tree: it
reads the repository that a story is about, in `Space.work_trees`. filter_...: the backend itself keeps a recall to this
part of a `Filter`.
"""
CAPABILITIES: tuple[str, ...] = get_args(Operation) + get_args(Trait)
FILTERS: tuple[Trait, ...] = ("filter_kind", "filter_path", "filter_confidence")
NOT_OFFERED = "not offered by this adapter"
UNDECLARED: Mapping[str, str] = {
    "concurrent": "serial: it is told one thing after the other",
    **dict.fromkeys(("masks", "deprecate", "observe", "verdict", "work_tree", *FILTERS), NOT_OFFERED),
}  # fmt: skip
"""Why a capability is not there that an adapter says nothing of."""
