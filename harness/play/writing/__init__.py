"""Ways of writing: what an agent does with a memory beside adding what was learnt. Each is a small module here.

A way never makes up a fact: it holds back, replaces or takes away what the story tells.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.trial import WritePolicy
from harness.play.writing.curated import Curated
from harness.play.writing.deprecate import Deprecate, DeprecateOnCommit
from harness.play.writing.expire import Expire
from harness.play.writing.matched import Matched
from harness.play.writing.on_commit import OnCommit
from harness.play.writing.reviewed import Reviewed
from harness.play.writing.way import Way, locate

__all__ = ["WAYS", "Way", "locate"]
WAYS: Mapping[WritePolicy | None, type[Way]] = {
    None: Way, "append": Way, "curated": Curated, "matched": Matched, "expire": Expire, "on-commit": OnCommit,
    "reviewed": Reviewed, "deprecate": Deprecate, "deprecate-on-commit": DeprecateOnCommit,
}  # fmt: skip
"""None: of a control, which is told nothing."""
