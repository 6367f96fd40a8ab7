"""Ways of writing with one believable bug each: an agent who writes to a sound store, and handles it badly.

They write in the process that plays, as every way does, so that a measure sees what an agent does to a good memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import ClassVar

from harness.log.events import Event
from harness.log.parts import Written
from harness.model.scenario import Session
from harness.model.trial import ReadPolicy, WritePolicy
from harness.play.readers import ReadEntry
from harness.play.writing.curated import Curated
from harness.play.writing.deprecate import Deprecate
from harness.play.writing.expire import LIFETIMES, Expire
from harness.play.writing.matched import Matched, compare, list_words
from harness.play.writing.on_commit import OnCommit
from harness.play.writing.reviewed import Reviewed, Waiting
from harness.play.writing.way import Cited, Way, retire


class PlantedWay(Way):
    """One believable bug of a way. What else it may move stands in `may.json`, beside the faults of stores.

    Attributes:
        write: The way of which it is a fault.
        story: In which that way has something to do.
        read: How what was written is read.
        must: Measures that flag it.
    """

    write: ClassVar[WritePolicy]
    story: ClassVar[str]
    read: ClassVar[ReadPolicy] = "trusting"
    must: ClassVar[tuple[str, ...]] = ()


# --- on-commit -------------------------------------------------------------------------------------------------------


class _OnCommit(PlantedWay, OnCommit):
    write = "on-commit"
    story = "stale-deploy-rule/forgotten-runbook"


class FollowsOneOfAFile(_OnCommit):
    """Of the memories that cite a file, the hook knows the first one only."""

    must = ("stale_exposure",)

    def follow(self, written: Sequence[Written]) -> None:
        for each in written:
            known = {cited.path for cited in map(Cited.of, self.cited.values()) if cited}
            if (cited := Cited.of(each)) and cited.path not in known:
                super().follow([each])


class DeletesWhatMoved(_OnCommit):
    """A line that is not where it was is gone to the hook: what cites it is deleted."""

    must = ("true_memories_dropped",)

    def exchange(self, session: Session, old: Written, new: Written) -> Iterator[Event]:
        return self.retire(session, [old]) if new.name == old.name else super().exchange(session, old, new)


class StopsAfterTheFirst(_OnCommit):
    """The hook fails after the first memory that a commit touches, and takes the commit for done."""

    must = ("stale_exposure",)

    def begin(self, session: Session) -> Iterator[Event]:
        yield from islice(super().begin(session), 1)
        # the sound `begin`, which was cut off, notes it only once all is done
        self.tips[self.find_line(session)] = session.commit


class WritesBesideTheOld(_OnCommit):
    """The hook writes what the line says now, and does not come to taking the old memory away."""

    must = ("stale_exposure",)

    def exchange(self, session: Session, old: Written, new: Written) -> Iterator[Event]:
        self.cited.pop(old.name)
        self.follow([new])
        return self.memory_session.write(session, "learn", [new])


class ChangesTheSourceOnly(_OnCommit):
    """The memory cites the line that stands there now, in the words of the old one."""

    must = ("stale_exposure",)

    def rewrite(self, session: Session, written: Written, cited: Cited) -> Written | None:
        new = super().rewrite(session, written, cited)
        return new and replace(new, item=replace(new.item, text=written.item.text))


class FollowsEveryBranch(_OnCommit):
    """A commit on any branch touches what holds on another one."""

    story = "branch-scope/two-trains"
    must = ("true_memories_dropped",)

    def concerns(self, written: Written, session: Session) -> bool:
        return self.is_stored(written.name)


class KeepsWhatIsGone(_OnCommit):
    """The hook follows lines that moved or changed, and passes over those that are gone."""

    must = ("stale_exposure",)

    def retire(self, session: Session, gone: Sequence[Written]) -> Iterator[Event]:
        return iter(())


# --- expire ----------------------------------------------------------------------------------------------------------


class _Expire(PlantedWay, Expire):
    write = "expire"
    story = "rename/two-names-ago"


class RenewsAtEachSession(_Expire):
    """A lifetime counts from the last session in which the memory was asked for, and each session asks."""

    must = ("stale_exposure",)

    def begin(self, session: Session) -> Iterator[Event]:
        for name, (_, each) in self.ends.items():
            if end := self.find_end(session, each):
                # only a value changes, which a loop over a dict allows
                self.ends[name] = end, each
        return super().begin(session)


class ExpiresAllByOneRule(_Expire):
    """Rules of the project have the lifetime of what was found while debugging."""

    must = ("true_memories_dropped",)

    def find_end(self, session: Session, written: Written) -> datetime | None:
        return super().find_end(session, replace(written, item=replace(written.item, kind="episodic")))


class ExpiresByToday(_Expire):
    """Lifetimes run by the clock of the machine, to which a story is over long since."""

    must = ("true_memories_dropped",)

    def begin(self, session: Session) -> Iterator[Event]:
        return super().begin(session.model_copy(update={"at": datetime.now(UTC)}))


class CountsMonthsAsWeeks(_Expire):
    """The lifetime of half a year is read as six weeks."""

    must = ("true_memories_dropped",)

    def find_end(self, session: Session, written: Written) -> datetime | None:
        end, lifetime = super().find_end(session, written), LIFETIMES.get(written.item.kind)
        return min(end, session.at + timedelta(weeks=6)) if end and lifetime == LIFETIMES["project"] else end


# --- reviewed --------------------------------------------------------------------------------------------------------


class _Reviewed(PlantedWay, Reviewed):
    write = "reviewed"
    story = "experiment/median-hunch"


class _ReviewedTooLightly(_Reviewed):
    """Where what a session is not sure of is wrong and the newest word, so that who reads the newest pays for it."""

    story = "failed-session/slow-statements"
    read = "newest"


class LetsNothingThrough(_Reviewed):
    """What waits is never written, whoever confirms it."""

    must = ("facts_stored",)

    def release(self, is_confirmed: Callable[[Waiting], bool]) -> list[Written]:
        return []


class ForgetsWhatWaits(_Reviewed):
    """What waits is held in the process of a session, and is lost with it."""

    must = ("facts_stored",)

    def begin(self, session: Session) -> Iterator[Event]:
        self.waiting.clear()
        return iter(())


class DoubtsWhatIsNotRated(_Reviewed):
    """A memory without a confidence is taken for one without any."""

    must = ("recall",)

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        rated = [replace(each, item=replace(each.item, confidence=each.item.confidence or 0.0)) for each in written]
        return super().take(session, rated)


class ReviewsNothing(_ReviewedTooLightly):
    """What a session is not sure of is written at once, as everything else."""

    must = ("decisions_right",)

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        # makes it a generator, as a way has to be
        yield from ()
        return list(written)


class ReleasesAtTheNextSession(_ReviewedTooLightly):
    """What waits does so until the next session begins, whether anybody confirms it or not."""

    must = ("decisions_right",)

    def stands(self, waiting: Waiting, session: Session) -> bool:
        return True


class ReleasesToItsOwnWords(_ReviewedTooLightly):
    """A session that tells an unsure thing has told it: what it says confirms itself."""

    must = ("decisions_right",)

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        taken = yield from super().take(session, written)
        return [*taken, *self.release(lambda each: each.since == session.id)]


# --- matched ---------------------------------------------------------------------------------------------------------


class _Matched(PlantedWay, Matched):
    write = "matched"
    story = "migration/three-layouts-of-a-record"


class ReplacesTheFirstFound(_Matched):
    """What the look-up brings first is replaced, however it is worded."""

    must = ("true_memories_dropped",)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        return list(usable)[:1]


class ReplacesTheSameFile(_Matched):
    """The first memory that cites the same file is replaced, whatever it says."""

    must = ("true_memories_dropped",)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        cited = Cited.of(written)
        alike = [each for each in usable if cited and each.hit.source and each.hit.source.path == cited.path]
        return alike[:1]


class ReplacesAllAlike(_Matched):
    """Not the memory that is most alike is replaced, but each that shares a third of the words."""

    must = ("true_memories_dropped",)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        new = list_words(written.item.text)
        return [each for each in usable if compare(new, list_words(each.text)) >= 1 / 3]


class ReplacesNothing(_Matched):
    """Looks up, compares by whole texts, and finds no two alike."""

    must = ("update_omission",)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        return [each for each in usable if each.text == written.item.text]


# --- curated ---------------------------------------------------------------------------------------------------------


class _Curated(PlantedWay, Curated):
    write = "curated"
    story = "migration/three-layouts-of-a-record"


class LooksUpForNothing(_Curated):
    """Asks for the old memory, and writes the new one beside it."""

    must = ("stale_exposure", "update_omission")

    def replace(self, session: Session, written: Written, old: Sequence[str]) -> Iterator[Event]:
        return self.memory_session.write(session, "learn", [written])


class ReplacesTheNewest(_Curated):
    """Takes the newest of what the look-up brings for the memory that the fact is about."""

    must = ("true_memories_dropped",)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        return sorted(usable, key=lambda entry: entry.hit.created or "")[-1:]


class ReplacesWhatIsFoundFirst(_Curated):
    """Looks no further than the first memory that the look-up brings."""

    must = ("stale_exposure",)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        return super().list_replaced(written, list(usable)[:1])


# --- deprecate -------------------------------------------------------------------------------------------------------


class _Deprecate(PlantedWay, Deprecate):
    write = "deprecate"
    story = "migration/three-layouts-of-a-record"


class MarksNothing(_Deprecate):
    """Writes the new memory, and leaves the mark for later."""

    must = ("stale_exposure",)

    def replace(self, session: Session, written: Written, old: Sequence[str]) -> Iterator[Event]:
        return self.memory_session.write(session, "learn", [written])


class MarksTheNewOne(_Deprecate):
    """The mark lands on the memory that was written just now."""

    must = ("true_memories_dropped", "stale_exposure")

    def replace(self, session: Session, written: Written, old: Sequence[str]) -> Iterator[Event]:
        yield from self.memory_session.write(session, "learn", [written])
        new = self.memory_session.ids.get(written.name, ()) if old else ()
        yield from retire(self.memory_session, session, "replaced", written.item.scope, new, "deprecate")


class DeletesInsteadOfMarking(_Deprecate):
    """The old memory is deleted, so that nobody can be told what held before."""

    must = ("history_recall",)

    def replace(self, session: Session, written: Written, old: Sequence[str]) -> Iterator[Event]:
        yield from self.memory_session.write(session, "learn", [written])
        yield from retire(self.memory_session, session, "replaced", written.item.scope, old)
