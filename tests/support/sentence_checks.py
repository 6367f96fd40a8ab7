"""What has to hold of every sentence of a verdict, whatever the results are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from harness.model.results import Results, Row
from harness.model.trial import NEEDS, WritePolicy
from harness.report import words
from harness.report.model import ways
from harness.report.model.judges import SPEED
from harness.report.model.sections import Level
from harness.report.model.ways import READS
from harness.report.text import verdict
from tests.support.generated_results import ASKED, LEVELS, NAMES, Judged

CHECKS = list[Callable[[Judged], None]]()


def check(each: Callable[[Judged], None]) -> Callable[[Judged], None]:
    CHECKS.append(each)
    return each


@check
def a_word_on_no_memory_holds_under_every_read_policy_or_names_the_one(found: Judged) -> None:
    for line in found.lines:
        rows = [claim.row for claim in line.claims if claim.column == "decisions"]
        for key in rows:
            assert key not in found.results.like_oracle
            stood, text = found.stood(key), line.text
            for word, verdict_ in (("more", "right-better"), ("fewer", "left-better")):
                if f"{word} decisions are right" in text:
                    assert stood and set(stood.values()) == {verdict_}
            if at := re.search(r"were proven only if the agent (.*)\.$", text):
                when = re.split(", | or ", at[1].rpartition("when it asks, ")[2])
                named = {read for read, each in READS.items() if each in when}
                assert named == {read for read, each in stood.items() if each == "right-better"}
                assert "left-better" not in stood.values()
            if at := re.search(
                r"were proven.*\. If (?:it later|the agent) (.*), no gain over no memory was proven\.$", text
            ):
                named = {read for read, each in READS.items() if each in re.split(", | or ", at[1])}
                assert named == {read for read in stood if stood[read] != "right-better"}
                assert "left-better" not in stood.values() and len(named) < len(stood) - len(named)
            if "no difference from no memory" in text:
                assert "no-difference-shown" in stood.values()
                assert set(stood.values()) <= {"no-difference-shown", "untold"}
            if verdict.WHICHEVER in text:
                assert len(stood) > 1
            if text.startswith("Too few"):
                assert set(stood.values()) == {"untold"}


@check
def counts_of_a_sentence_are_those_of_its_rows_in_their_order(found: Judged) -> None:
    for line in found.lines:
        told = [claim for claim in line.claims if claim.column == "decisions"]
        if told and re.match(r"\d+ backends", told[0].phrase):
            continue
        reached = [found.decided(claim.row) for claim in told]
        for claim, own in zip(told, reached, strict=True):
            assert re.search(rf"\({ways.show_range(min(own), max(own))}(?: of \d+)? right\)$", claim.phrase)
        lows = [(min(own), max(own)) for own in reached]
        assert lows == sorted(lows, reverse=True)


LEADS = re.compile(
    r"(?:^|(?<=: )|(?<=\. ))([^.:]+?) leads? to more right decisions than ([^.]+?)(?:, if the agent ([^.]+))?\."
)  # fmt: skip


@check
def a_pair_is_said_to_differ_only_where_its_comparisons_do(found: Judged) -> None:
    lines = [line for line in found.lines if line.rests and {each.family for each in line.rests} == {"pairs"}]
    reads = len(ways.list_reads(found.results))
    for line in lines:
        for left, right, how in LEADS.findall(line.text):
            when = [each for each in re.split(", and later |, | or ", how) if each in READS.values()]
            assert len(found.results.list_writes()) == 1 or how.startswith(tuple(ways.WRITE_DESCRIPTIONS.values()))
            for winner in _names(left):
                assert winner not in found.results.like_oracle
                for loser in _names(right):
                    own = [each for each in line.rests if {each.left, each.right} == {winner, loser}]
                    won = [
                        each
                        for each in own
                        if each.verdict == ("left-better" if each.left == winner else "right-better")
                    ]
                    assert not [each for each in own if each not in won and each.verdict != "no-difference-shown"]
                    assert {READS[each.read_policy] for each in won} == set(when) if when else len(won) == reads
        differ = {frozenset((each.left, each.right)) for each in line.rests if each.verdict != "no-difference-shown"}
        if at := re.search(r"was proven between ([^.,]*)", line.text):
            assert not [pair for pair in differ if pair <= _names(at[1])]
        if "Between any other two" in line.text:
            told = [
                frozenset((winner, loser))
                for left, right, _ in LEADS.findall(line.text)
                for winner in _names(left)
                for loser in _names(right)
            ]
            assert differ == set(told)


def _names(text: str) -> set[str]:
    return {name for name in NAMES if re.search(rf"\b{name}\b", text)}


GAIN = re.compile(
    r"If it ([^,.]*), right decisions then go from ([\d\u2013]+) to ([\d\u2013]+)(?: of \d+)? with ([^.]*)\."
)


@check
def advice_on_writing_rests_on_a_test_of_each_row_it_names(found: Judged) -> None:
    lines = [line for line in found.lines if re.match(r"The agent should look up|An agent that looks up", line.text)]
    tested = {
        (each.right, each.read_policy): each.verdict
        for each in found.results.comparisons
        if each.family == "writes" and each.able and each.right not in found.results.doubted()
    }
    shown = {key: verdict_ for key, verdict_ in tested.items() if verdict_ != "no-difference-shown"}
    named = {key for key, verdict_ in shown.items() if key[0] not in found.results.like_oracle}
    assert bool(lines) is any(shown[key] == "right-better" for key in named)
    for line in lines:
        told = set()
        for text, before, after, names in GAIN.findall(line.text):
            (read,) = (read for read, each in READS.items() if each == text)
            if re.match(r"\d+ backends", names):
                return
            told |= {(name, read) for name in _names(names)}
            assert len({tested[name, read] for name in _names(names)}) == 1
            for write, said in (("curated", after), ("append", before)):
                pools = [ways.pool_way(found.results, name, "decisions_right", write, read) for name in _names(names)]  # type: ignore[arg-type]
                own = [pooled.hits or 0 for pooled in pools if pooled]
                assert said == ways.show_range(min(own), max(own))
        assert told == named
        losing = any(shown[key] == "left-better" for key in named)
        assert line.text.startswith("An agent") is losing and (line.tone == "good") is not losing
        rests = re.search(r"If it ([^.;]*), no gain over only adding was proven\.", line.text)
        silent = {read for read, each in READS.items() if rests and each in re.split(", | or ", rests[1])}
        assert silent == {read for _, read in tested} - {read for _, read in named}
        if rest := re.search(r"For ([^.]*), none was proven\.", line.text):
            assert _names(rest[1]) and not _names(rest[1]) & {name for name, _ in named}


@check
def a_robust_way_helps_under_every_reading_and_who_supports_it_is_who_declares_that(found: Judged) -> None:
    results, told = found.results, dict[WritePolicy, dict[Level, list[str]]]()
    rows = [row.key for row in found.board.rows if not row.cold and row.key not in results.doubted()]
    rows = [key for key in rows if key in results.backends and not results.backends[key].control]
    for line in found.lines:
        if line.text.startswith(verdict.ROBUST):
            assert not told and line.rests and {each.verdict for each in line.rests} == {"right-better"}
            for part in line.text.removeprefix(f"{verdict.ROBUST} ").removesuffix(".").split("; or if it "):
                at = re.fullmatch(rf"(.*), with (.*?) \({verdict.TAKES} (.*)\)", part)
                assert at
                (write,) = (write for write, does in ways.WRITE_DESCRIPTIONS.items() if does == at[1])
                won = {key for key in rows if _is_robust(results, key, write)}
                assert _names(at[2]) == won or at[2] == f"{len(won)} backends"
                told[write] = _read_support(at[3], rows)
    assert set(told) == {
        write for write in results.list_writes() if any(_is_robust(results, key, write) for key in rows)
    }  # fmt: skip
    for write, levels in told.items():
        expected = {key: _find_level(results.backends[key], write) for key in rows}
        for level in LEVELS:
            own = [key for key in rows if expected[key] == level]
            assert levels.get(level, []) == own or levels[level] == [f"{len(own)} backends"]


def _is_robust(results: Results, key: str, write: WritePolicy) -> bool:
    found = results.against_cold(key, "decisions_right")
    reads = ways.list_reads(results, key)
    won = [(each := found.get((write, read))) and each.able and each.verdict == "right-better" for read in reads]
    return len(won) > 1 and all(won) and key not in results.like_oracle


def _read_support(text: str, rows: Sequence[str]) -> dict[Level, list[str]]:
    """Level -> its rows, or how many."""
    found: dict[Level, list[str]] = {}
    for level, whose in verdict.SUPPORTED.items():
        if at := re.search(rf"{whose} (.*?)(?=, (?:added by our code for|impossible with) |$)", text):
            named = [key for key in rows if key in _names(at[1])]
            found[level] = {"every backend": [*rows], "no backend": []}.get(at[1], named or [at[1]])
    return found


def _find_level(row: Row, write: WritePolicy) -> Level:
    """The least that what it takes is declared; a lifetime of its own makes it native to let memories expire."""
    assert row.backend is not None
    levels = {each: row.backend.find_support(each).level for each in ASKED}
    least = min((LEVELS[::-1].index(levels[each]) for each in NEEDS[write]), default=LEVELS[::-1].index("native"))
    level = LEVELS[::-1][least]
    if write != "expire" or level == "unsupported":
        return level
    return "emulated" if "unsupported" in (levels["expiry"], levels["update"]) else "native"


@check
def what_failed_nowhere_is_good_in_every_row(found: Judged) -> None:
    for line in found.lines:
        if at := re.match(r"No test failed with any backend in: (.*?)\.(?: |$)", line.text):
            heads = [head for head in found.board.trust if re.search(rf"(^|, ){head.head} \(", at[1])]
            assert len(heads) == at[1].count("(")
            for head in heads:
                own = [score for _, score in found.board.list_scores(head.id)]
                assert all(score.judgement == "good" for score in own)
        for names, partly in re.findall(r"([^.:]*): every test( that could run)? passed\.", line.text):
            for name in _names(names):
                own = [found.board.find(name, head.id) for head in found.board.trust]
                assert not [score for score in own if score.judgement == "bad"]
                assert all(score.measured for score in own) is not bool(partly)


@check
def what_is_said_to_lack_a_number_is_all_that_lacks_one(found: Judged) -> None:
    for line in found.lines:
        if at := re.search(r"There is no number for (.*?)\.(?: |$)", line.text):
            told = {name: heads for name, _, heads in (part.partition(" in ") for part in at[1].split("; for "))}
            for row in found.board.rows:
                cells = zip(found.board.columns, row.scores, strict=True)
                none = [head.head for head, score in cells if not score.measured and score.why]
                whole = len(none) == len(found.board.columns)
                assert told.get(row.name, "") == ("every column" if whole else words.join_words(none))


@check
def what_a_run_can_prove_is_told_of_its_stories(found: Judged) -> None:
    shown = [
        max(each.left_better, each.right_better)
        for each in found.results.comparisons
        if each.measure == "decisions_right" and each.verdict != "no-difference-shown"
    ]
    for line in found.lines:
        if "no difference in decisions can be proven" in line.text:
            assert not shown
        if at := re.search(r"proven only if at least (\d+) of them show it", line.text):
            assert all(int(at[1]) <= stories for stories in shown) and int(at[1]) <= len(found.results.stories)


@check
def a_few_failed_calls_are_said_and_remove_no_row(found: Judged) -> None:
    said = " ".join(line.text for line in found.lines)
    doubted, beyond = found.results.doubted(), found.results.beyond()
    for row in found.board.rows:
        if row.key in beyond:
            assert any("failed" in note for note in row.notes)
        if row.key in beyond and row.key not in doubted and not found.board.empty:
            assert f"Of {row.name}, 1 of 900 calls failed" in said
            assert not any(score.word == "calls failed" for score in row.scores)


@check
def what_went_wrong_beside_failed_calls_is_told_with_its_doubt(found: Judged) -> None:
    for row in found.board.rows:
        scores = [found.board.find(row.key, head.id) for head in found.board.trust if head.id != SPEED]
        wrong = [score for score in scores if score.measured and score.judgement == "bad"]
        said = [text for line in found.lines for text in DOUBTFUL.findall(line.text) if text[0] == row.name]
        expected = row.key in found.results.doubted() and bool(wrong) and not found.board.empty
        assert bool(said) == expected, (row.name, found.lines)
        for score in wrong if said else ():
            assert (score.cases[0].told if score.cases else score.text) in said[0][1]


DOUBTFUL = re.compile(r"What went wrong with (.*?) may be due to that: (.*?)\.(?: |$)")


KINDS = tuple(
    map(
        re.compile,
        (
            r"(Memory helps with|With) .*: more decisions are right than without memory \(.*\.$",
            r"With .*, fewer decisions are right than without memory \(",
            r"For .*, no difference from no memory \(.* right\) could be proven",
            r"Too few stories to tell whether memory helps with .*: without it .* are right\.$",
            r"With .*: no story compares it with no memory\.$",
            r"With .*, more right decisions than without memory \(.*\) were proven only if the agent .*\.$",
            r"With .*, more right decisions than without memory \(.*\) were proven.* no gain .* was proven\.$",
            r"With .*, decisions are .*(better|worse) than no memory (if|unless) the agent .*\. Without memory, .*",
            r"The agent should look up the old note and replace it, not only add the new one\. If it ",
            r"An agent that looks up the old note and replaces it gains in some cases and loses in others\. If it ",
            rf"{verdict.ROBUST} ",
            r".* lead to the same decisions",
            r".* leads? to more right decisions than ",
            r"No difference in right decisions was proven between ",
            r"Of \d+ pairs of backends, \d+ differ in right decisions",
            r"With \d+ stor(y|ies), (no difference in decisions can|a difference is) ",
            r"(There is no number for |\d+ numbers? (is|are) missing in the table)",
            r"As the calls of .* failed, nothing is concluded of what the table shows for (it|them)\.",
            r"Of .* calls failed: ",
            r"No drill was played: ",
            r"Noth?ing (can be concluded|was measured)",
            r"What was measured is in no column of the scoreboard",
            r"No test failed with any backend in: ",
            r".*: every test( that could run)? passed\.$",
            r"[A-Z][\w ]*: .* in .*; no number for .*\.$",
            r"[\w ,]+: .* \(\d+ of \d+\)",
            r"[\w ]+: .*(the test|broken|recalled|every|failed)",
        ),
    )
)
"""Every sentence begins as one of them, so that a new wording cannot slip past the checks of this module."""


@check
def every_line_is_of_a_kind_that_is_checked(found: Judged) -> None:
    for line in found.lines:
        assert any(kind.match(line.text) for kind in KINDS), line.text


@check
def every_claim_stands_in_its_sentence_and_on_the_scoreboard(found: Judged) -> None:
    keys, columns = {row.key for row in found.board.rows}, {head.id for head in found.board.columns}
    for line in found.lines:
        at = 0
        for claim in line.claims:
            assert claim.row in keys and claim.column in columns
            at = line.text.index(claim.phrase, at) + len(claim.phrase)
        assert line.text.endswith(".") and not re.search(r"  |\.\.", line.text), line.text
