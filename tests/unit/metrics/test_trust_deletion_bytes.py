"""Deletion, from transcripts made by hand: what is left in bytes, where it lies, and what cannot be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.model.cells import LayerRow
from harness.model.trial import Measure, NotMeasured
from tests.support.deletion_drill import BYSTANDERS, EVERYTHING, SHOWN, SOUGHT, Play, ready, reason
from tests.support.measures import counts

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
