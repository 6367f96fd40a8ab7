"""Who answers the chat calls of a run, made from what its selection says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.gateway.chat.forward import SECONDS, Forwarder
from harness.gateway.chat.recording import Recorder, Replayer
from harness.gateway.chat.standin import FindJob, StandIn
from harness.gateway.chat.wire import ChatError, Upstream
from harness.model.trial import Chat


def make_upstream(
    chat: Chat, environ: Mapping[str, str], find_job: FindJob = lambda *_: None, seconds: float = 0.0
) -> Upstream:
    """The one that answers; its `name` is what stands beside results. Raises ChatError, one line.

    Args:
        find_job: By which the stand-in plays whole jobs.
        seconds: What a call of a backend may take: a model inside it has as long, if that is more than usual.
    """
    keys = [key for key in (environ.get("OPENAI_API_KEY", "").strip(),) if key]
    if chat.answers == "recordings":
        if chat.folder is None:
            raise ChatError("a replay needs the folder of its recordings")
        return Replayer(Path(chat.folder), keys)
    answering: Upstream
    if chat.answers == "stand-in":
        answering = StandIn(find_job)
    else:
        answering = Forwarder.from_environment(environ, max(SECONDS, seconds))
    return Recorder(answering, Path(chat.folder), keys) if chat.folder else answering
