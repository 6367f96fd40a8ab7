"""Git as it is called here: for the repository that we name, never for the one that our caller works in."""

from __future__ import annotations

import os

_CALLERS = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
    "GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_CEILING_DIRECTORIES",
)  # fmt: skip
"""By these, a hook or a script tells git which repository is meant, wherever it is called."""


def forget_caller() -> None:
    """For this process and all that it starts."""
    for name in _CALLERS:
        os.environ.pop(name, None)
