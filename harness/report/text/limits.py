"""What a run cannot tell, in plain words: for the verdict in short, for the page in full."""

from __future__ import annotations

from collections.abc import Iterator

from harness.compare.comparisons import find_dominated
from harness.compare.rows import DOMINANCE, DUMP, ENOUGH
from harness.metrics.completion import DECISIONS_RIGHT, GUESSED_RIGHT
from harness.model.results import Results
from harness.model.trial import SCRIPTED, Measured
from harness.report import words
from harness.report.model.board import Board

SCRIPTED_READER = (
    "What a live agent would do: the scripted reader follows fixed rules. It compares memories under equal reading "
    "and predicts no agent's success."
)
SCRIPT = "Fixed rules took the decisions; how a live agent would decide was not measured."
NAMED = 2
"""As many backends as are named with what has no number."""
ONE_READER = "What another agent would do: the reader {reader} did the jobs, and it is one of many."
DRILLS = (
    "How likely a fault of trust is in your use: a drill shows what can happen in one store of some hundred memories, "
    "with this machine's builds of libraries. Its intervals are over the drill's own cases."
)


def tell(results: Results, board: Board) -> Iterator[str]:
    """Sentences for the last point of the verdict."""
    if results.stories:
        yield tell_reach(results)
    yield from _tell_lacking(board)
    doubted, failing = results.doubted(), results.beyond()
    if names := [row.name for row in board.rows if row.key in doubted]:
        yield f"Nothing is said of {words.join_words(names)}, whose calls failed."
    for row in board.rows:
        if row.key in failing.keys() - doubted.keys():
            count = sum(each.count for each in failing[row.key])
            brought = "it would have brought" if count == 1 else "they would have brought"
            failed = f"{count:,} of {results.calls[row.key]:,}"
            yield f"Of {row.name}, {failed} calls failed: what {brought} counts as missing."
    if results.stories:
        scripted = results.run.conditions.reader == SCRIPTED
        yield SCRIPT if scripted else "Another agent may decide otherwise."


def _tell_lacking(board: Board) -> Iterator[str]:
    """`Without a number: notes in Sources and Dates.`; of many backends, how many."""
    lacking: dict[str, list[str]] = {}
    for row in board.rows:
        for column, score in zip(board.columns, row.scores, strict=True):
            if not score.measured and score.why:
                lacking.setdefault(row.name, []).append(column.head)
    if len(lacking) > NAMED:
        many = words.format_count(sum(map(len, lacking.values())), "number is", "numbers are")
        yield f"{many[0].upper()}{many[1:]} missing in the table; what is missing has its reason there."
    elif lacking:
        whole = len(board.columns)
        sentences = [
            f"{name} in {'every column' if len(heads) == whole else words.join_words(heads)}"
            for name, heads in lacking.items()
        ]
        yield f"Without a number: {'; '.join(sentences)}."


def explain(results: Results) -> list[str]:
    """What a reader must not take from this run, each point in full."""
    if not results.stories:
        return [DRILLS]
    reader = results.run.conditions.reader
    first = SCRIPTED_READER if reader == SCRIPTED else ONE_READER.format(reader=words.make_visible(reader, 60))
    found = [first, *([DRILLS] if results.trust else []), *_tell_guesses(results)]
    many = len(results.stories)
    found.append(tell_reach(results))
    if commits := sum(story.commits for story in results.stories):
        told = f"{words.format_count(many, 'story', 'stories')} that {words.format_count(commits, 'commit')} made"
        counted = words.format_count(many, "cluster")
        found.append(
            f"How many cases these are: {told}. No two tell of one commit, so statistics count {counted}, not facts."
        )
    if many < ENOUGH:
        found.append(f"How sure a number is: with fewer than {ENOUGH} stories, no interval is given.")
    if too_easy := find_dominated(results.comparisons):
        things = words.join_words([words.label(measure) for measure in DOMINANCE])
        found.append(
            f"What it is worth to be selective: at noise {results.run.conditions.headline_noise} {DUMP}, which gives "
            "back everything, is as good as "
            f"{words.join_words([words.make_visible(name, 40) for name in too_easy])} in "
            f"{things}, and better in at least one of them. These stories are too easy."
        )
    return found


def tell_reach(results: Results) -> str:
    """The number of stories below which no difference in decisions is proven, whatever it is between."""
    many = words.format_count(len(results.stories), "story", "stories")
    able = [
        each.reach.least
        for each in results.comparisons
        if each.measure == DECISIONS_RIGHT and each.able and each.reach is not None
    ]
    if not able:
        return f"With {many}, no difference in decisions can be proven."
    return (
        f"With {many}, a difference is proven only if at least {min(able)} of them show it and clearly outweigh those "
        "that show the opposite."
    )


def _tell_guesses(results: Results) -> list[str]:
    """What a model decides right without a memory, where only a memory can know, was guessed."""
    if results.run.conditions.reader == SCRIPTED:
        return []
    cold = [cell.measures.get(GUESSED_RIGHT) for cell in results.cells if cell.arm == "cold"]
    measured = [each for each in cold if isinstance(each, Measured) and each.of]
    hits, of = sum(each.hits or 0 for each in measured), sum(each.of or 0 for each in measured)
    return (
        [f"Guessed: without a memory, {hits:g} of {of} decisions that only a memory can know came out right."]
        if of
        else []
    )
