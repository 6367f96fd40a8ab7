"""A newer release on the store of an older one: what it keeps, finds, changes, or silently gets wrong.

A case counts if the older release passed it as the control: it wrote a store in the same way and went on with it. If
the newer release fails in a call, the case is unanswered, as somebody saw the refusal. A wrong answer is silently
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from harness.adapter import Hit
from harness.log.transcript import Handled, Op, Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.metric import amount, not_applicable, proportion
from harness.metrics.trust import fields
from harness.metrics.trust.fields import Field
from harness.metrics.trust.metric import DrillWords, TrustMetric, trust
from harness.metrics.trust.view import READS, DrillView, lacks
from harness.metrics.trust.wrong import share_wrong
from harness.model.drill import Piece
from harness.model.trial import Measure

TAKEN, AGAIN, RESTORED = "taken over", "reopened", "restored"
STEPS = (TAKEN, "until", "since", AGAIN, RESTORED)
CONTROL, UPGRADE = "control", "upgrade"
Judge = Callable[["Passes", str, Piece], bool | None]
"""Whether all is well with a memory in one of the two passes; None: the calls that could have told failed."""


class Passes(DrillView):
    """Both passes of a transcript. What is asked of a memory is told by its canary, as ids differ between stores."""

    @property
    def route(self) -> Op:
        """The look that says what is stored."""
        return "entries" if self.transcript.supports("entries") else "recall"

    def keeps_memory(self, turn: str, piece: Piece) -> bool | None:
        """Shown when the store was taken over, and by a fresh process after it was changed."""
        seen = [self.sees(f"{turn} {step}", piece.name, self.route) for step in (TAKEN, AGAIN)]
        return False if False in seen else None if None in seen else True

    def found(self, turn: str, piece: Piece) -> bool | None:
        return self.sees(f"{turn} {TAKEN}", piece.name, "recall")

    def written(self, turn: str, piece: Piece) -> bool | None:
        """A fresh process finds it by its own text; what was not acknowledged was refused."""
        if not self._acknowledged(turn, piece):
            return None
        return self.sees(f"{turn} {AGAIN}", piece.name, "recall")

    def _acknowledged(self, turn: str, piece: Piece) -> bool:
        calls = self.transcript.calls("remember", f"{turn} changed")
        return any(
            bool(ids) for _, call in calls for name, ids in zip(call.about, self.transcript.ids(call), strict=False)
            if name == piece.name
        )  # fmt: skip

    def deleted(self, turn: str, piece: Piece) -> bool | None:
        """Said to be gone, and shown by no fresh process."""
        if not self._said_gone(f"{turn} changed", piece):
            return None
        return self._gone(piece, f"{turn} {AGAIN}")

    def stays_deleted(self, turn: str, piece: Piece) -> bool | None:
        """Deleted before the store was taken over, by the release that wrote it, which had found it."""
        step = f"{turn} written"
        if not self.sees(step, piece.name, "recall") or not self._said_gone(step, piece):
            return None
        return self._gone(piece, f"{turn} {TAKEN}", f"{turn} {AGAIN}")

    def stays_ended(self, turn: str, piece: Piece) -> bool | None:
        """Its own text brings it as of a day before its end, and not as of one after it."""
        before, after = self.sees(f"{turn} until", piece.name), self.stands(f"{turn} since", piece.name)
        return None if before is None or after is None else before and not after

    def tells_history(self, turn: str, piece: Piece) -> bool | None:
        """The text that the older release replaced."""
        return self.sees(f"{turn} {TAKEN}", piece.name, "history")

    def restored(self, turn: str, piece: Piece) -> bool | None:
        """What the older release's snapshot holds is listed once it is restored; what was written since is gone."""
        restores = [call for _, call in self.transcript.calls("restore", f"{turn} {RESTORED}")]
        if not restores or any(call.fault for call in restores):
            return None
        if piece.role == "kept":
            return self.sees(f"{turn} {RESTORED}", piece.name, "entries")
        # what was never stored is gone without any restore
        seen = self.sees(f"{turn} {RESTORED}", piece.name, "recall") if self._acknowledged(turn, piece) else None
        return None if seen is None else not seen

    def _said_gone(self, step: str, piece: Piece) -> bool:
        calls = [call for _, call in self.transcript.calls("forget", step) if call.about == (piece.name,)]
        # a call that failed has no answer, and `all` holds of nothing
        return bool(calls) and all(self.transcript.answer(calls[-1]) or [False])

    def _gone(self, piece: Piece, *steps: str) -> bool | None:
        # a dict, as the route may be the recall itself
        seen = [self.sees(step, piece.name, op) for step in steps for op in dict.fromkeys((self.route, "recall"))]
        return False if True in seen else None if None in seen else True

    def keeps(self, turn: str, piece: Piece, field: Field) -> bool | None:
        """Its field is as it was written, in every answer that shows it when the store was taken over."""
        seen = list(self._hits_of(f"{turn} {TAKEN}", piece))
        return all(field.same(self.transcript, hit, piece.item) for hit in seen) if seen else None

    def _hits_of(self, step: str, piece: Piece) -> Iterator[Hit]:
        for _, call in self.looks(piece.name, [step], ("entries", "recall")):
            yield from (hit for hit, shown in self.hits(call) if shown.name == piece.name)

    def where(self, piece: Piece) -> str:
        """The line to look at: the first that failed or showed it under the newer release, else its opening."""
        looks = self.looks(piece.name, [f"{UPGRADE} {step}" for step in STEPS], (*READS, "history"))
        failed = [line for line, call in looks if call.fault]
        refused = [line for line, event in self.transcript.of(Handled) if event.fault and event.who == UPGRADE]
        line = next(iter([*failed, *refused, *(line for line, _ in looks)]), None)
        return self.transcript.receipt(line, piece.name)


class Cases(NamedTuple):
    """Memories that the control did well, and those of them that the newer release did not."""

    of: int
    wrong: Sequence[Piece]
    untold: Sequence[Piece]


class Question(NamedTuple):
    """What is asked of memories of one role.

    Attributes:
        needs: Capabilities without which it is not asked.
    """

    roles: tuple[str, ...]
    needs: tuple[str, ...]
    judge: Judge


def _field(name: str, field: Field) -> Question:
    # in a function of its own: made in a comprehension, each judge would see the last field
    def judge(passes: Passes, turn: str, piece: Piece) -> bool | None:
        return None if field.written(piece.item) is None else passes.keeps(turn, piece, field)

    return Question(("kept",), field.needs, judge)


FIELDS: Mapping[str, Field] = {
    "text": Field((), lambda item: item.text, lambda hit: hit.text, lambda _, hit, item: item.text in hit.text),
    **{name: fields.FIELDS[name] for name in ("source", "confidence", "date", "scope")},
}
PLACES: Mapping[str, Place] = {**fields.PLACES, "text": columns.KEPT.at("altered")}


QUESTIONS = {
    "kept": Question(("kept",), (), Passes.keeps_memory),
    "found": Question(("kept",), (), Passes.found),
    **{name: _field(name, field) for name, field in FIELDS.items()},
    "stays deleted": Question(("dropped before",), ("forget",), Passes.stays_deleted),
    "written": Question(("new",), (), Passes.written),
    "deleted": Question(("dropped after",), ("forget",), Passes.deleted),
    "ended": Question(("ended",), ("deprecate",), Passes.stays_ended),
    "history": Question(("changed",), ("update", "history"), Passes.tells_history),
    "restored": Question(("kept", "new"), ("snapshot", "restore"), Passes.restored),
}


def _judge(passes: Passes, name: str) -> Cases:
    question = QUESTIONS[name]
    good = [p for p in passes.plan.of(*question.roles) if question.judge(passes, CONTROL, p) is True]
    found = [(piece, question.judge(passes, UPGRADE, piece)) for piece in good]
    wrong, untold = ([piece for piece, well in found if well is value] for value in (False, None))
    if name in FIELDS:  # what did not come back at all is counted once, by `kept`
        return Cases(len(good) - len(untold), wrong, ())
    return Cases(len(good), wrong, untold)


def well(transcript: Transcript, name: str) -> Measure:
    """The share of cases that went as well as with the older release."""
    if refused := lacks(transcript, *QUESTIONS[name].needs):
        return refused
    passes = Passes.of(transcript)
    cases = _judge(passes, name)
    bad = [*cases.wrong, *cases.untold]
    lines = list(dict.fromkeys(map(passes.where, bad)))
    none = f"no case went well with the older release ({name})"
    return proportion(cases.of - len(bad), cases.of, lines, none=none, unanswered=len(cases.untold))


def silent(transcript: Transcript) -> Measure:
    passes = Passes.of(transcript)
    asked = [name for name, question in QUESTIONS.items() if lacks(transcript, *question.needs) is None]
    found = [_judge(passes, name) for name in asked]
    wrong = [piece for cases in found for piece in cases.wrong]
    lines = list(dict.fromkeys(map(passes.where, wrong)))
    none = "nothing went well with the older release"
    return proportion(len(wrong), sum(cases.of for cases in found), lines, none=none)


def wrong(transcript: Transcript) -> Measure:
    passes = Passes.of(transcript)
    steps = [f"{UPGRADE} {step}" for step in (TAKEN, AGAIN)]
    good = {
        piece.name
        for piece in passes.plan.of("kept")
        if passes.keeps_memory(CONTROL, piece) and passes.found(CONTROL, piece)
    }
    deeds = [
        deed for deed in passes.list_written("remember", f"{UPGRADE} written") if deed.ids and deed.piece.name in good
    ]
    cases = [(deed, passes.looks(deed.piece.name, steps, ("entries", "recall"))) for deed in deeds]
    return share_wrong(passes, cases, "no memory was kept and found by the older release")


def seconds(transcript: Transcript) -> Measure:
    """The opening, and the first look that was answered."""
    step = f"{UPGRADE} {TAKEN}"
    opened = [event.took for _, event in transcript.of(Handled) if event.step == step and event.what == "opened"]
    op = Passes.of(transcript).route
    looks = [call.took for _, call in transcript.calls(op, step) if call.fault is None][:1]
    times = [took for took in (*opened, *looks) if took is not None]
    return amount(sum(times)) if opened and looks and times else not_applicable("the store was not opened and read")


DRILL = DrillWords(
    "upgrade",
    65,
    "Upgraded",
    "Does a newer release keep what an older one wrote, and say so where it cannot?",
)
ASKS = ("open", "remember", "recall", "entries", "forget")
_OF = "memories of which the older release showed the same, going on with a store that it wrote in the same way"
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "kept_after_upgrade", DRILL, "higher", "proportion",
        "memories that the newer release shows (listed; without listings, brought by their own text) on taking over "
        f"the store of an older one, and in a fresh process after changes / {_OF}",
        partial(well, name="kept"), whole=False, asks=ASKS,
        label="memories kept after an upgrade", otherwise="memories lost by an upgrade", column=columns.KEPT.at("lost"),
    ),
    trust(
        "found_after_upgrade", DRILL, "higher", "proportion",
        f"memories that the newer release brings by their own text within k on taking over the store / {_OF}",
        partial(well, name="found"), whole=False, asks=ASKS,
        label="memories found after an upgrade", otherwise="memories not found after an upgrade",
        column=columns.FOUND.at("unfound"),
    ),
    *(
        trust(
            f"{name}_kept_after_upgrade", DRILL, "higher", "proportion",
            f"memories that come back with their {name} as it was written / those that the newer release shows and "
            f"that came back so from the older one", partial(well, name=name), whole=False, asks=ASKS,
            label=f"{name}s kept after an upgrade", otherwise=f"{name}s lost by an upgrade", column=PLACES[name],
            verbatim=name == "text",
        )
        for name in FIELDS
    ),
    trust(
        "deleted_stays_deleted_after_upgrade", DRILL, "higher", "proportion",
        "memories that the older release found and deleted, and that no listing and no question of their own text "
        "brings from the newer one / such memories that stayed deleted for the older one",
        partial(well, name="stays deleted"), whole=False, asks=ASKS,
        label="deletions that outlast an upgrade", otherwise="deleted memories back after an upgrade",
        column=columns.DELETED.at("served"),
    ),
    trust(
        "written_after_upgrade", DRILL, "higher", "proportion",
        "memories that the newer release acknowledged in the older one's store, and that a fresh process brings by "
        "their own text / those with which the older one succeeded", partial(well, name="written"),
        whole=False, asks=ASKS,
        label="writes that work after an upgrade", otherwise="writes that fail after an upgrade",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "deleted_after_upgrade", DRILL, "higher", "proportion",
        "memories of the older release that the newer one deleted, and that no fresh process shows / those with which "
        "the older one succeeded", partial(well, name="deleted"), whole=False, asks=ASKS,
        label="deletions that work after an upgrade", otherwise="deletions that fail after an upgrade",
        column=columns.DELETED.at("served"),
    ),
    trust(
        "ends_kept_after_upgrade", DRILL, "higher", "proportion",
        "memories that the older release marked as ended, and that the newer one brings by their own text as of three "
        "days before their end and not as of three days after it / those with which the older one does so",
        partial(well, name="ended"), whole=False, asks=(*ASKS, "deprecate"),
        label="ended memories that stay so after an upgrade", otherwise="ends lost by an upgrade",
        column=columns.DATES.at("expired"),
    ),
    trust(
        "history_kept_after_upgrade", DRILL, "higher", "proportion",
        "memories that the older release updated, and whose history tells the newer one's callers the text before / "
        "those of which the older one tells it", partial(well, name="history"),
        whole=False, asks=(*ASKS, "update", "history"),
        label="histories kept after an upgrade", otherwise="histories lost by an upgrade",
        column=columns.KEPT.at("fields"),
    ),
    trust(
        "restored_after_upgrade", DRILL, "higher", "proportion",
        "memories that are as the snapshot of the older release has them once the newer one has restored it: listed "
        "if they were there, not brought by their own text if they were written since / those with which the older "
        "one does so", partial(well, name="restored"), whole=False, asks=(*ASKS, "snapshot", "restore"),
        label="memories restored after an upgrade", otherwise="memories that an older snapshot does not bring back",
        column=columns.KEPT.at("undone"),
    ),
    trust(
        "silently_wrong_after_upgrade", DRILL, "lower", "proportion",
        "cases of all measures above that went wrong although every call was answered / their cases, all of which went "
        "well with the older release; a refusal in words, or the end of the process, is not silent", silent, version=4,
        whole=False, asks=ASKS,
        label="cases wrong after an upgrade, without an error",
        otherwise="cases right after an upgrade, or refused with an error",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "wrong_after_upgrade", DRILL, "lower", "proportion",
        "memories of the older release in whose place the newer one shows another: its text under their id, or itself, "
        "which its own text does not bring, first for theirs / those that the older one kept and found", wrong,
        verbatim=True, whole=False, asks=ASKS,
        label="memories another one stands for after an upgrade",
        otherwise="memories no other stands for after an upgrade", column=columns.KEPT.at("wrong"),
    ),
    trust(
        "upgrade_seconds", DRILL, "lower", "seconds",
        "seconds that the newer release takes to open the older one's store and to answer the first look at it",
        seconds, aside="a time has no best value", varies="it is a time", whole=False, asks=ASKS,
        label="time of an upgrade",
    ),
)  # fmt: skip
