"""Where trials are played: what a worker opens once, from settings that can be sent to it, and closes once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from os import environ
from pathlib import Path
from typing import Protocol, Self

from harness.backend.client import Deadlines
from harness.backend.forkserver import locate_work_tree
from harness.backend.store import make_opaque_name
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin_agent import Known
from harness.gateway.chat.upstreams import make_upstream
from harness.gateway.embedder import Encoder, choose
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Budget, Ledger, Meter
from harness.log.folder import Folder
from harness.log.redaction import Redactor
from harness.machine import leftovers
from harness.model.job import Decision
from harness.model.trial import Chat, Trial, WritePolicy
from harness.play import readers
from harness.play.backends import DEADLINES, Playable
from harness.play.children import Children
from harness.play.readers import AskModel
from harness.play.readers.job_commands import find_option
from harness.play.store import Handle, Store
from harness.play.story import Story
from harness.play.writing import WAYS, Way
from harness.repo.checks import WorkTrees
from harness.text.classify import Classifier


@dataclass(frozen=True)
class Settings:
    """All that a worker needs to know, in this process or another. It holds the secrets of backends.

    Attributes:
        root: Takes logs, blobs and, while they are played, stores.
        playables: By label.
        stories: By the id of the scenario.
        cache: Where embeddings are kept; None: in memory.
        chat: Who answers models inside backends, and readers.
        answerer: What they are called.
        keep: Stores stay below the root.
        embedder: None where no store embeds anything.
        ways: How agents write; other ones only to prove that measures see them.
    """

    root: Path
    playables: Mapping[str, Playable]
    stories: Mapping[str, Story] = field(default_factory=dict)
    embedder: Callable[[], Encoder] | None = choose
    cache: Path | None = None
    chat: Chat | None = None
    answerer: str = ""
    deadlines: Deadlines = DEADLINES
    keep: bool = False
    ways: Mapping[WritePolicy | None, type[Way]] = field(default_factory=lambda: WAYS)

    @property
    def redactor(self) -> Redactor:
        """Keeps the secrets out of all that is written down."""
        lent = [secret for each in self.playables.values() for secret in each.withheld]
        # the key of the chat model comes from the environment, not from a backend
        return Redactor([*lent, environ.get("OPENAI_API_KEY", "").strip()])

    def find_story(self, trial: Trial) -> Story:
        """What a trial plays, as its reader needs it. Raises ReaderError."""
        story = self.stories[trial.scenario]
        return story.salt(trial.seed) if readers.uses_salt(trial.reader) else story

    def find_job(self, day: str, goal: str, seed: int | None) -> Known | None:
        """A job of these stories as a reader is told it, which may salt them by a seed. Only for the stand-in, which
        plays by it."""
        for story in (each if seed is None else each.salt(seed) for each in self.stories.values()):
            for session, job in story.scenario.jobs():
                if (f"{session.at:%Y-%m-%d}", job.goal) == (day, goal):
                    return Known(job, partial(_tell_value, story.classifier))
        return None

    @property
    def embedder_digest(self) -> str:
        return self.embedder().digest if self.embedder else ""


def _tell_value(classifier: Classifier, decision: Decision, text: str) -> str | None:
    option = find_option(classifier.read, decision, text)
    return option.value if option else None


class Control:
    """What the scheduler of a run keeps for itself, and those who play look at: the budget, and whether to stop.

    Attributes:
        noted: Hears one line now and then while a server starts, from any thread.
    """

    def __init__(self, budget: Budget | None = None, noted: Callable[[str], None] = lambda _: None) -> None:
        self.ledger, self.noted = Ledger(budget), noted
        self.stop = threading.Event()

    @property
    def stopping(self) -> bool:
        """No trial may come to its end whose chat calls were refused for the budget's sake."""
        return self.stop.is_set() or bool(self.ledger.used_up)


class Stores(Protocol):
    """Where the stores of backends come from. A control with gold needs none."""

    def warm(self, texts: Iterable[str], backend: str) -> None:
        """Takes note of what a trial will write and ask, before any of its clocks starts."""

    def played(self, backend: str, meter: Meter) -> None:
        """A story came to its end: what it asked of models tells which trials of this backend need `warm`."""

    def find_cut(self) -> str:
        """Why no store reaches its models, as the system says; empty: they do."""

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes]:
        """The embeddings of texts as little-endian float32 bytes: what to look for on disk, if there is an embedder."""

    def check(self) -> None:
        """Raises EmbedderError if a store asked for an embedding that nobody here can make."""

    def lend(
        self, playable: Playable, seed: int, folder: Path, older: Playable | None = None
    ) -> AbstractContextManager[tuple[Store[Handle], Meter]]:
        """An empty store for one trial, in a folder of its own, and what counts its calls to models.

        Args:
            older: Another release, which can open it, too.
        """

    def lend_chat(self) -> AbstractContextManager[tuple[AskModel | None, Meter]]:
        """The chat model of the run, for a reader, and what counts its calls; None: nobody answers."""

    def kill(self) -> None:
        """Ends what waits for an answer."""


class Environment:
    """Opened once a worker, for any number of trials; safe for several threads.

    Attributes:
        stores, work_trees: Instead of child processes and real work trees, for who brings their own.
    """

    def __init__(
        self,
        settings: Settings,
        control: Control | None = None,
        stores: Stores | None = None,
        work_trees: WorkTrees | None = None,
    ) -> None:
        self.settings, self.control = settings, control or Control()
        self.folder = Folder(settings.root)
        self.blobs = self.folder.blobs
        self.blobs.redactor = settings.redactor
        self.work_trees = work_trees or WorkTrees()
        self._given, self._open = stores, ExitStack()

    def __enter__(self) -> Self:
        """Raises GatewayError and ChatError."""
        # closes what is open by then if the next thing cannot be opened
        with self._open:
            self.stores = self._given or self._open.enter_context(_open_children(self.settings, self.control))
            self._open = self._open.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @contextmanager
    def place(self, trial: str, below: str) -> Iterator[tuple[Path, Path]]:
        """Where a trial is logged, and a folder for its store, whose name says nothing; kept, it gets the trial's."""
        path, space, kept = (
            self.folder.new_log(trial, below),
            self.folder.work / make_opaque_name(),
            self.folder.work / trial,
        )
        try:
            yield path, space
        finally:
            # first, as what still runs could write to the folder while it is removed
            left = leftovers.end_processes(space)
            # beside the space, and so not removed with it
            leftovers.remove(locate_work_tree(space))
            if self.settings.keep and space.exists():
                # of an earlier play of this trial
                leftovers.remove(kept)
                space.rename(kept)
                # sockets and pipes that nobody serves would hold up whoever searches the kept store
                leftovers.remove_channels(kept)
            else:
                leftovers.remove(space)
            if left:
                self.control.noted(
                    f"trial {trial}: {len(left)} of its processes could not be ended: {left[0]} among them"
                )
            # not `exists`, which says no of a link that leads nowhere
            if os.path.lexists(space):
                self.control.noted(f"trial {trial}: {space} could not be removed")


@contextmanager
def _open_children(settings: Settings, control: Control) -> Iterator[Stores]:
    assert settings.embedder is not None, "children embed"
    embedder = settings.embedder()
    asked = settings.chat
    chat = make_upstream(asked, environ, settings.find_job, settings.deadlines.call) if asked else None
    file = settings.cache / "embeddings.sqlite" if settings.cache else None
    with (
        # closed from the last to the first: children ask the gateway, which reads the cache
        closing(EmbeddingCache(file, embedder)) as cache,
        Gateway(cache, chat, control.ledger) as gateway,
        Children.opened(gateway, settings.root, settings.deadlines, embedder.dims, control.noted) as children,
    ):
        yield children
