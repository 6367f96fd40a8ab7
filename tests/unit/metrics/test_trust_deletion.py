from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Item, Layer, to_wire
from harness.log.events import Event
from harness.log.parts import Sighting
from harness.log.transcript import Called, Ended, Handled, Looked, Op
from harness.metrics import trust
from harness.metrics.trust.deletion import METRICS
from harness.metrics.trust.residue import matrix
from harness.model.backend import Fault
from harness.model.cells import LayerRow
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, Measured, NotMeasured
from harness.play.drills.deletion import AROUND, GONE, HOME, NARROWER, SIBLINGS, USERS, WIDER, own_words
from tests.support.measures import counts, value
from tests.support.transcripts import transcript

ROLES = {
    "forget": ("pin", "key"), "update": ("port",), "supersede": ("host",), "scope": ("plan", "map"), "expire": ("ban",),
    "lasting": ("law",), "killed": ("gun",), "same": ("cat", "dog"), "sibling": ("cow",), "user": ("fox",),
    "wider": ("elk",), "narrower": ("ant",),
}  # fmt: skip
PLACES = {"plan": GONE, "map": GONE, "cow": SIBLINGS[0], "fox": USERS[0], "elk": WIDER[0], "ant": NARROWER[0]}
PLAIN = ("map", "cat", "dog", "cow", "fox", "elk", "ant")
SOUGHT = ("pin", "key", "port", "host", "plan")
SHOWN = (*SOUGHT, "gun")
BYSTANDERS = ("cat", "dog", "cow", "fox", "elk", "ant")
COMPLETE = Ended(status="complete")
FAULT = Fault(kind="crashed", op="recall", message="no more")


def piece(name: str, role: str) -> Piece:
    canary = None if name in PLAIN else f"cw{name}"
    text = f"What is known of the {name} {canary or ''} is this"
    item = Item(text, PLACES.get(name, HOME), "2026-02-02T09:00:00+00:00", "project")
    twin = {"law": "ban"}.get(name)
    return Piece(name=name, role=role, item=item, canary=canary, query=canary and f"What of the {name}?", twin=twin)


KEY = piece("key", "forget").item.text
AGAIN = replace(piece("key", "forget").item, text=f"{KEY}, again")
REVISION = Piece(name="new-key", role="revision", item=AGAIN, canary="cwkey", twin="key")
ASKING = Item("Who? cwwho", HOME, "", "project")
WHO = Piece(name="who", role="question", item=ASKING, canary="cwwho", query=ASKING.text)
PLAN = Plan(pieces=(*(piece(name, role) for role, names in ROLES.items() for name in names), REVISION, WHO))


class Play:
    """The events of a drill; a memory may be named with a route (`search:pin`), to be seen there only."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def call(self, step: str, op: Op, about: Sequence[str] = (), answer: Any = None, **more: Any) -> Play:
        fault = more.pop("fault", None)
        self.events.append(Called(step=step, op=op, about=tuple(about), request=more, answer=answer, fault=fault))
        return self

    @property
    def line(self) -> str:
        """Where the last event stands in the file, after the opening."""
        return f"L{len(self.events) + 1}"

    def line_of(self, step: str, op: Op, name: str) -> str:
        lines = (
            f"L{at}"
            for at, event in enumerate(self.events, 2)
            if isinstance(event, Called) and (event.step, event.op, event.about) == (step, op, (name,))
        )
        return next(lines)

    def stored(self) -> Play:
        names = [each.name for each in PLAN.pieces]
        return self.call("before", "remember", names, [{"ids": [f"id-{name}"]} for name in names])

    def sought(self, step: str, *seen: str, faults: Collection[str] = (), skip: Collection[str] = ()) -> Play:
        """Every route for every target. seen, faults, skip: `name` for every route or `route:name`."""
        for name in SOUGHT:
            each = PLAN.by_name[name]
            asks: list[tuple[str, Op, dict[str, Any]]] = [("search", "recall", {"query": own_words(each)})]
            if each.role == "forget":
                asks += [("forbidden search", "recall", {"query": each.canary})]
                asks += [("paraphrase", "recall", {"query": each.query})]
            asks += [("get", "get", {}), ("history", "history", {})]
            for route, op, request in asks:
                if {name, f"{route}:{name}"} & set(skip):
                    continue
                there = {name, f"{route}:{name}"} & set(seen)
                hit = {"memory_id": f"id-{name}", "text": each.item.text}
                answer: Any = [each.item.text] if op == "history" else [hit] if op == "recall" else hit
                empty: Any = None if op == "get" else []
                fault = FAULT if {name, f"{route}:{name}"} & set(faults) else None
                self.call(step, op, [name], None if fault else answer if there else empty, fault=fault, **request)
        if step == "before":
            self.call(step, "recall", ["who"], [], query=WHO.query)
        return self.listed(step, *seen)

    def listed(self, step: str, *seen: str, superseded: Collection[str] = ()) -> Play:
        for scope in (HOME, GONE, *(scope for scopes in AROUND.values() for scope in scopes)):
            there = [
                {"memory_id": f"id-{each.name}", "text": each.item.text, "superseded": each.name in superseded}
                for each in PLAN.pieces
                if each.item.scope == scope and {each.name, f"listing:{each.name}"} & set(seen)
            ]
            self.call(step, "entries", (), there, scope=to_wire(scope))
        return self

    def expiring(self, *seen: str) -> Play:
        for name in ("ban", "law"):
            each = PLAN.by_name[name]
            hits = [{"memory_id": name, "text": each.item.text}] if name in seen else []
            self.call("before", "recall", [name], hits, query=own_words(each))
        return self

    def deleted(self, said: bool = True, unknown: bool = False, unknown_fault: Fault | None = None) -> Play:
        self.call("deleted", "forget", ["pin", "key"], [said, said], memory_ids=["id-pin", "id-key"])
        answer = None if unknown_fault else [unknown]
        self.call("deleted", "forget", [], answer, memory_ids=["id-nobody"], fault=unknown_fault)
        self.call("deleted", "update", ["port"], {"ids": ["id-port"]})
        self.call("deleted", "supersede", ["host"], {"ids": ["id-new"]})
        return self.call("deleted", "forget_scope", ["plan", "map"])

    def looked(
        self,
        step: str,
        *seen: str,
        layer: str = "db",
        form: str = "utf-8",
        place: str = "",
        problem: str | None = None,
        size: int = 9,
        path: str = "db",
    ) -> Play:
        sightings = tuple(
            Sighting(fact=name, path=path, form=form, count=1, offset=0, place=place) for name in seen
        )  # fmt: skip
        event = Looked(
            step=step, layer=Layer(layer, layer, "file"), declared=layer != "elsewhere", files=1, bytes=size,
            sightings=sightings, problem=problem,
        )  # fmt: skip
        self.events.append(event)
        return self

    def handled(self, step: str, what: Any, fault: Fault | None = None) -> Play:
        self.events.append(Handled(step=step, what=what, fault=fault))
        return self

    def measures(self, path: Path, lacks: Sequence[str] = (), ended: Ended = COMPLETE) -> dict[str, Measure]:
        made = transcript(path, PLAN, self.events, drill="deletion", lacks=dict.fromkeys(lacks, "why"), ended=ended)
        return {each.definition.name: each.measure(made) for each in METRICS}

    def rows(self, path: Path) -> dict[tuple[str, str, str], LayerRow]:
        rows = matrix(transcript(path, PLAN, self.events, drill="deletion"))
        return {(row.layer, row.place, row.kind): row for row in rows}


EVERYTHING = tuple(PLAN.by_name)


def ready() -> Play:
    """All is there and seen everywhere, and the backend was asked to delete."""
    return Play().stored().sought("before", *EVERYTHING).expiring("law").looked("before", *SHOWN).deleted()


def sound() -> Play:
    play = ready().sought("after", *BYSTANDERS).handled("closed", "closed").looked("closed")
    play.sought("reopened", *BYSTANDERS).call("killed", "forget", ["gun"], [True]).looked("killed").looked("churned")
    return play.handled("compacted", "compacted").looked("compacted").sought("compacted", *BYSTANDERS)


def reason(measure: Measure, status: str) -> str:
    assert isinstance(measure, NotMeasured) and measure.status == status, measure
    return measure.reason


def test_a_sound_store_is_clean_everywhere(tmp_path: Path) -> None:
    found = sound().measures(tmp_path)
    assert "a history" in reason(found.pop("replaced_text_gone_after_closing"), "not-applicable")
    assert "two texts" in reason(found.pop("history_tells_earlier_text"), "not-applicable")
    for name in ("seen_in_undeclared_places", "memories_printed"):
        assert "only declared" in reason(found.pop(name), "not-applicable")
    assert "words of its own" in reason(found.pop("retold_after_deletion"), "not-applicable")
    of = {
        "expired_not_recalled": 1, "replaced_gone_after_update": 1, "replaced_gone_after_supersede": 1,
        "scope_forgotten_from_search": 1, "text_gone_after_kill": 1, "scope_forgotten_from_listing": 2,
        "large_scope_listed": 2,
        **{f"text_gone_after_{name}": 3 for name in ("closing", "churn", "compaction")},
    }  # fmt: skip
    for name, measure in found.items():
        if name.startswith("vector"):
            assert reason(measure, "not-applicable") == "db: no vector of a target was seen in it before"
        elif name.endswith("over_deletion") or name.startswith(("unknown", "queries")):
            assert counts(measure)[0] == 0
        else:
            assert counts(measure) == (of.get(name, 2),) * 2, name


@pytest.mark.parametrize("route", ["search", "forbidden search", "paraphrase", "listing", "get", "history"])
def test_what_one_route_still_brings_is_not_gone(tmp_path: Path, route: str) -> None:
    play = ready().sought("after", *BYSTANDERS, f"{route}:key").sought("reopened", f"{route}:pin")
    found = play.measures(tmp_path)
    own = f"forgotten_from_{route.replace(' ', '_')}"
    assert {name for name, each in found.items() if name.startswith("forgotten_from") and value(each) < 1} == {own}
    assert counts(found[own]) == counts(found["forgotten_by_every_route"]) == (1, 2)
    live = (2, 2) if route == "history" else (1, 2)
    assert counts(found["forgotten_after_reopening"]) == counts(found["forgetting_said_and_done"]) == live
    if route == "history":
        assert found[own].receipts == (f"{play.line_of('after', 'history', 'key')} key stored at L2",)


def test_only_what_was_seen_counts(tmp_path: Path) -> None:
    found = Play().stored().sought("before", "get:pin").deleted().sought("after").measures(tmp_path)
    assert counts(found["forgotten_from_get"]) == (1, 1)
    assert counts(found["forgotten_by_every_route"]) == (1, 1)
    assert reason(found["forgotten_from_search"], "not-applicable")
    assert reason(found["scope_forgotten_from_listing"], "not-applicable")
    assert reason(found["same_scope_over_deletion"], "not-applicable")


def test_what_comes_back_after_the_deletion_only_is_not_gone(tmp_path: Path) -> None:
    """A listing that stops at a page shows the next one when the first is deleted."""
    play = Play().stored().sought("before", "listing:plan").deleted().sought("after", "listing:map", "search:pin")
    found = play.measures(tmp_path)
    assert counts(found["scope_forgotten_from_listing"]) == (1, 2)
    assert counts(found["large_scope_listed"]) == (1, 2) and len(found["large_scope_listed"].receipts) == 1
    assert counts(found["forgotten_from_search"]) == (0, 1)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([KEY, f"{KEY}, again"], (1, 1)),
        ([f"{KEY}, again"], (0, 1)),  # the text as it is now is no history
        ([], (0, 1)),
        (None, None),
    ],
)
def test_a_history_that_tells_nothing_of_an_earlier_text_is_found(
    tmp_path: Path, told: list[str] | None, expected: tuple[int, int] | None
) -> None:
    play = Play().stored().call("before", "update", ["key", "new-key"], {"ids": ["id-key"]})
    play.call("before", "history", ["key"], told, fault=FAULT if told is None else None)
    found = play.measures(tmp_path)["history_tells_earlier_text"]
    assert found.status == "failed" if expected is None else counts(found) == expected


def test_a_look_that_failed_or_is_missing_shows_no_absence(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS, faults=["search:pin"], skip=["search:key"])
    found = play.measures(tmp_path)
    asked = next(at for at, event in enumerate(play.events, 2) if isinstance(event, Called) and event.step == "deleted")
    nobody = found["forgotten_from_search"]
    assert nobody.status == "failed" and nobody.receipts == (
        f"{play.line_of('after', 'recall', 'pin')} pin stored at L2", f"L{asked} key stored at L2",
    )  # fmt: skip
    assert counts(found["forgotten_from_get"]) == (2, 2)


def test_of_several_looks_one_that_failed_counts_as_the_worst_and_says_so(tmp_path: Path) -> None:
    found = ready().sought("after", *BYSTANDERS, faults=["search:pin"]).measures(tmp_path)
    one = found["forgotten_from_search"]
    assert counts(one) == (1, 2) and isinstance(one, Measured) and one.unanswered == 1


def test_an_id_that_raises_when_it_is_gone_is_told_apart_from_one_that_is_still_there(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS, faults=["get:pin", "get:key"])
    (cell,) = trust.score([transcript(tmp_path, PLAN, play.events, drill="deletion")])
    found = cell.measures
    raised = found["forgotten_from_get"]
    assert isinstance(raised, NotMeasured) and raised.status == "failed" and "get crashed: " in raised.reason
    assert "an id that is not there is to be answered with nothing" in raised.reason
    assert found["forgotten_by_every_route"].status == "failed" and counts(found["forgotten_from_search"]) == (2, 2)


@pytest.mark.parametrize(
    ("lack", "names"),
    [
        ("forget", ["forgotten_from_search", "forgetting_said_and_done", "unknown_id_called_deleted"]),
        ("get", ["forgotten_from_get"]),
        ("history", ["forgotten_from_history"]),
        ("entries", ["forgotten_from_listing", "scope_forgotten_from_listing", "same_scope_over_deletion"]),
        ("scope_user", ["wider_scope_over_deletion"]),
        ("scope_branch", ["narrower_scope_over_deletion"]),
        ("forget_scope", ["scope_forgotten_from_listing", "scope_forgotten_from_search"]),
        ("update", ["replaced_gone_after_update", "replaced_text_gone_after_closing"]),
        ("supersede", ["replaced_gone_after_supersede"]),
        ("expiry", ["expired_not_recalled"]),
        ("persistent", ["forgotten_after_reopening", "text_gone_after_closing", "vector_gone_after_churn"]),
        ("compact", ["forgotten_after_compaction", "text_gone_after_compaction", "vector_gone_after_compaction"]),
    ],
)
def test_what_is_not_offered_is_unsupported(tmp_path: Path, lack: str, names: list[str]) -> None:
    found = sound().measures(tmp_path, lacks=[lack])
    assert [reason(found[name], "unsupported") for name in names] == [f"{lack}: why"] * len(names)
    assert counts(found["forgotten_from_search" if lack != "forget" else "scope_forgotten_from_search"])


def test_receipts_stand_in_the_order_of_the_routes(tmp_path: Path) -> None:
    """Equal logs give equal results, so nothing may depend on how a process hashes the names of routes."""
    play = ready().sought("after", "pin", *BYSTANDERS)
    found = play.measures(tmp_path)["forgotten_by_every_route"]
    asked = [f"L{at}" for at, event in enumerate(play.events, 2) if _is_about(event, "after", "pin")]
    listing = next(
        f"L{at}"
        for at, event in enumerate(play.events, 2)
        if getattr(event, "op", "") == "entries" and getattr(event, "step", "") == "after"
    )
    assert [receipt.split(" ")[0] for receipt in found.receipts] == [*asked[:3], listing, *asked[3:]]


def _is_about(event: Event, step: str, name: str) -> bool:
    return isinstance(event, Called) and (event.step, event.about) == (step, (name,))


def test_a_drill_that_ended_early_says_nothing_of_what_it_did_not_reach(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS).handled("closed", "closed").looked("closed")
    found = play.handled("reopened", "opened", FAULT).measures(tmp_path, ended=Ended(status="failed", fault=FAULT))
    assert counts(found["forgotten_by_every_route"]) == (2, 2)
    assert counts(found["text_gone_after_closing"]) == (3, 3)
    for name in ("forgotten_after_reopening", "text_gone_after_churn", "text_gone_after_compaction"):
        assert reason(found[name], "failed").endswith("recall: no more")


def test_a_compaction_that_failed_is_no_compaction(tmp_path: Path) -> None:
    play = ready().sought("after").looked("churned").handled("compacted", "compacted", FAULT)
    line = play.line
    found = play.looked("compacted").sought("compacted").measures(tmp_path)
    assert reason(found["text_gone_after_compaction"], "failed") == "compact: no more"
    assert found["forgotten_after_compaction"].receipts == (line,)
    assert counts(found["text_gone_after_churn"]) == (3, 3)


def test_a_superseded_memory_may_come_back_if_it_is_marked(tmp_path: Path) -> None:
    marked = ready().sought("after").listed("after", "host", superseded=["host"]).measures(tmp_path / "marked")
    plain = ready().sought("after").listed("after", "host").measures(tmp_path / "plain")
    assert counts(marked["replaced_gone_after_supersede"]) == (1, 1)
    assert counts(plain["replaced_gone_after_supersede"]) == (0, 1)
    updated = ready().sought("after").listed("after", "port", superseded=["port"]).measures(tmp_path / "updated")
    assert counts(updated["replaced_gone_after_update"]) == (0, 1)


def test_what_lies_where_nobody_declared_it_is_residue_and_a_finding_of_its_own(tmp_path: Path) -> None:
    def found(*seen: str, before: Sequence[str] = ()) -> dict[str, Measure]:
        play = ready().looked("before", *before, layer="elsewhere").sought("after", *BYSTANDERS).looked("closed")
        return play.looked("closed", *seen, layer="elsewhere").measures(tmp_path / "-".join(["x", *before, *seen]))

    clean, left, moved = found(), found("pin", before=["pin"]), found("key")
    assert counts(clean["text_gone_after_closing"]) == (3, 3) and counts(clean["seen_in_undeclared_places"]) == (0, 4)
    assert counts(left["text_gone_after_closing"]) == counts(moved["text_gone_after_closing"]) == (2, 3)
    assert counts(left["seen_in_undeclared_places"]) == counts(moved["seen_in_undeclared_places"]) == (1, 4)
    assert len(left["seen_in_undeclared_places"].receipts) == 1
    blind = ready().sought("after").looked("closed").looked("closed", layer="elsewhere", problem="a link")
    assert "elsewhere: a link" in reason(blind.measures(tmp_path)["text_gone_after_closing"], "not-applicable")


def test_what_a_process_prints_is_told_from_other_files_that_nobody_declared(tmp_path: Path) -> None:
    def found(name: str, path: str, *seen: str, problem: str | None = None) -> Measure:
        play = ready().sought("after").looked("closed").looked("closed", *seen, layer="elsewhere", path=path,
                                                               problem=problem)  # fmt: skip
        return play.measures(tmp_path / name)["memories_printed"]

    printed = found("printed", "../home-12/output.txt", "pin", "pin")
    assert counts(printed) == (1, 4) and len(printed.receipts) == 1
    assert counts(found("clean", "../home-12/output.txt")) == (0, 4)
    assert counts(found("beside", "../home-12/tmp/output.txt", "pin")) == (0, 4)
    assert "too large" in reason(found("unread", "../home-12/tmp/x", "pin", problem="too large"), "not-applicable")


@pytest.mark.slow
@pytest.mark.parametrize(("form", "kind"), [("utf-8", "text"), ("float32", "vector")])
def test_of_what_grew_and_shows_nothing_nothing_can_be_told(tmp_path: Path, form: str, kind: str) -> None:
    """An index in a form that nobody knows: as long as nothing is left elsewhere, gone is more than anybody knows."""

    def found(name: str, grown: int, *left: str) -> tuple[Measure, LayerRow]:
        play = Play().stored().looked("opened").looked("opened", layer="index", size=100)
        play.sought("before", *EVERYTHING).looked("before", *SHOWN, form=form)
        play.looked("before", layer="index", size=100 + grown).deleted().sought("after", *BYSTANDERS)
        play.looked("closed", *left, form=form).looked("closed", layer="index", size=100 + grown)
        measure = play.measures(tmp_path / name)[f"{kind}_gone_after_closing"]
        return measure, play.rows(tmp_path / f"{name} rows")["index", "", kind]

    small, _ = found("small", 50)
    assert counts(small) == (3, 3)
    large, row = found("large", 20_000)
    assert "index: it took in 20,000 bytes" in reason(large, "not-applicable")
    assert {look.verdict for look in row.looks} == {"not-computable"}
    left, _ = found("left", 20_000, "pin")
    assert counts(left) == (2, 3)


def test_what_is_left_by_a_kill_is_counted_apart(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS).looked("closed").sought("reopened", *BYSTANDERS)
    play.call("killed", "forget", ["gun"], [True]).looked("killed", "gun", "pin").looked("churned")
    found = play.measures(tmp_path)
    assert counts(found["text_gone_after_kill"]) == (0, 1)
    assert counts(found["text_gone_after_closing"]) == (3, 3)
    look = next(look for look in play.rows(tmp_path / "rows")["db", "", "text"].looks if look.stage == "killed")
    assert (look.verdict, look.seen, "before a kill" in look.reason) == ("present", 1, True)


def test_two_layers_of_one_name_are_both_looked_at(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS).looked("closed", "pin").looked("closed")
    assert counts(play.measures(tmp_path)["text_gone_after_closing"]) == (2, 3)


def test_what_queries_left_is_counted_apart(tmp_path: Path) -> None:
    found = ready().sought("after", *BYSTANDERS).looked("closed", "who").measures(tmp_path / "kept")
    assert counts(found["queries_kept_on_disk"]) == (1, 1)
    assert counts(found["text_gone_after_closing"]) == (3, 3)
    blind = ready().sought("after").looked("closed", problem="remote").measures(tmp_path / "blind")
    assert "remote" in reason(blind["queries_kept_on_disk"], "not-applicable")


def test_what_expires_needs_a_twin_that_does_not(tmp_path: Path) -> None:
    def measure(*seen: str) -> Measure:
        return Play().stored().expiring(*seen).measures(tmp_path / "".join(seen))["expired_not_recalled"]

    assert counts(measure("law")) == (1, 1)
    assert counts(measure("law", "ban")) == (0, 1)
    assert reason(measure("ban"), "not-applicable")


def test_said_and_done(tmp_path: Path) -> None:
    before = Play().stored().sought("before", *EVERYTHING)
    before.deleted(said=False, unknown=True)
    silent = before.sought("after", "pin").measures(tmp_path / "silent")
    assert reason(silent["forgetting_said_and_done"], "not-applicable")
    assert counts(silent["unknown_id_called_deleted"]) == (1, 1)
    lied = ready().sought("after", "search:pin").measures(tmp_path / "lied")
    assert counts(lied["forgetting_said_and_done"]) == (1, 2)
    angry = Play().stored().deleted(unknown_fault=FAULT).measures(tmp_path / "angry")
    assert reason(angry["unknown_id_called_deleted"], "failed").endswith("no more")


@pytest.mark.parametrize(
    ("name", "lost"),
    [("same_scope", "dog"), ("sibling_scope", "cow"), ("other_user", "fox"), ("wider_scope", "elk"),
     ("narrower_scope", "ant")],
)  # fmt: skip
def test_bystanders_of_each_kind_are_counted_apart(tmp_path: Path, name: str, lost: str) -> None:
    play = ready().sought("after", *(each for each in BYSTANDERS if each != lost))
    found = {key: each for key, each in play.measures(tmp_path).items() if key.endswith("over_deletion")}
    assert {key for key, each in found.items() if value(each)} == {f"{name}_over_deletion"}
    measure = found[f"{name}_over_deletion"]
    assert counts(measure)[0] == 1 and len(measure.receipts) == 1


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["utf-8", "float32", "near float32", "float16"])
def test_bytes_that_are_left_are_left(tmp_path: Path, form: str) -> None:
    play = Play().stored().looked("before", "pin", "key", "plan", "port", form=form).deleted()
    play.looked("closed", "pin", "plan", "port", form=form, place="free page")
    line = play.line
    found = play.looked("churned", "pin", form=form).looked("compacted").measures(tmp_path)
    kind = "text" if form == "utf-8" else "vector"
    assert [counts(found[f"{kind}_gone_after_{name}"]) for name in ("closing", "churn", "compaction")] == [
        (1, 3), (2, 3), (3, 3),
    ]  # fmt: skip
    assert found[f"{kind}_gone_after_closing"].receipts == (line,)
    if kind == "text":
        (tmp_path / "without").mkdir()
        without = play.measures(tmp_path / "without", lacks=["history"])
        assert counts(without["replaced_text_gone_after_closing"]) == (0, 1)
        (tmp_path / "marked").mkdir()
        marked = play.call("before", "snapshot", answer="m1").measures(tmp_path / "marked", lacks=["history"])
        assert "a mark" in reason(marked["replaced_text_gone_after_closing"], "not-applicable")


def test_the_first_vector_of_a_revised_memory_is_its_own(tmp_path: Path) -> None:
    play = Play().stored().looked("before", "new-key", "pin", form="float32").deleted()
    measure = play.looked("closed", "new-key", form="float32").measures(tmp_path)["vector_gone_after_closing"]
    assert counts(measure) == (1, 2)


def test_a_text_that_moved_to_another_layer_is_not_gone(tmp_path: Path) -> None:
    play = Play().stored().looked("before", "pin").looked("before", layer="log").deleted()
    found = play.looked("closed").looked("closed", "pin", "key", layer="log").measures(tmp_path)
    assert counts(found["text_gone_after_closing"]) == (0, 2)


def test_a_layer_that_cannot_be_looked_at_any_more_shows_no_absence(tmp_path: Path) -> None:
    play = Play().stored().looked("before", "pin", "key").looked("before", "plan", layer="log").deleted()
    found = play.looked("closed", problem="db cannot be read").measures(tmp_path)
    assert counts(found["text_gone_after_closing"]) == (0, 3)
    blind = Play().stored().looked("before", problem="db is remote").deleted().looked("closed", problem="db is remote")
    measure = blind.measures(tmp_path / "blind")["text_gone_after_closing"]
    assert (
        reason(measure, "not-applicable") == "cannot be told: no text of a target was seen before, but db: db is remote"
    )


def test_a_clean_layer_beside_one_that_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    def measure(*left: str) -> Measure:
        play = Play().stored().looked("before", "pin", "key").looked("before", layer="far", problem="remote").deleted()
        play.looked("closed", *left).looked("closed", layer="far", problem="remote")
        return play.measures(tmp_path / "-".join(["left", *left]))["text_gone_after_closing"]

    untold = measure()
    assert isinstance(untold, NotMeasured) and untold.untold
    assert untold.reason == "cannot be told: no target is left where it could be looked, but far: remote"
    assert counts(measure("pin")) == (1, 2)


def test_rows_say_where_what_is(tmp_path: Path) -> None:
    play = Play().stored().sought("before", "pin", "key", "listing:plan").looked("before", "pin", place="rows a.b")
    before = play.line
    play.looked("before", "key", "port", layer="log").looked("before", layer="index", problem="not open").deleted()
    play.sought("after", "history:pin", faults=["get:key"]).looked("closed", "key", "plan", place="free page")
    closed = play.line
    rows = play.looked("closed", layer="index", problem="not open").rows(tmp_path)

    def looks(layer: str, place: str = "", kind: str = "route") -> list[tuple[str, str, int]]:
        return [(look.stage, look.verdict, look.seen) for look in rows[layer, place, kind].looks]

    assert looks("search") == [("before", "present", 2), ("after", "gone", 0)]
    assert looks("listing") == [("before", "present", 3), ("after", "gone", 0)]
    assert looks("get") == [("before", "present", 2), ("after", "not-computable", 0)]
    assert looks("history") == [("before", "present", 2), ("after", "present", 1)]
    assert (
        rows["history", "", "route"].looks[1].receipt == f"{play.line_of('after', 'history', 'pin')} pin stored at L2"
    )
    assert looks("db", "rows a.b", "text") == [("before", "present", 1), ("closed", "gone", 0)]
    assert looks("db", "free page", "text") == [("before", "not-seen-before", 0), ("closed", "present", 2)]
    assert [look.receipt for look in rows["db", "free page", "text"].looks] == [before, closed]
    assert looks("db", "", "vector") == [("before", "not-seen-before", 0), ("closed", "not-seen-before", 0)]
    assert looks("log", "", "text") == [("before", "present", 1), ("closed", "not-computable", 0)]
    assert looks("index", "", "text") == [("before", "not-computable", 0), ("closed", "not-computable", 0)]
    assert {look.reason for look in rows["index", "", "text"].looks} == {"not open"}


def test_without_a_deletion_there_is_nothing_to_say(tmp_path: Path) -> None:
    play = Play().stored().sought("before", *EVERYTHING).looked("before", *SOUGHT)
    assert play.rows(tmp_path / "rows") == {}
    assert reason(play.measures(tmp_path)["text_gone_after_closing"], "not-applicable") == "nothing was deleted"
