"""Releases of one backend beside each other: `ladder`, `bisect`."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    COULD_NOT_RUN,
    FAILED,
    GOOD,
    choose_exit_code,
    open_terminal,
    say,
    score_run,
    shorten,
    stop,
    tell,
    tell_written,
)
from harness.cli.play import GROUPS, run
from harness.machine import files

if TYPE_CHECKING:
    from harness.model.regression import Change
    from harness.regress.baseline_files import Side
    from harness.regress.releases import Reading

_OTHERS = ("jobs", "call_seconds", "fresh", "out", "tasks", "fixtures")
SHARED = (*GROUPS["What is played"][1:], *GROUPS["Chat models"], *_OTHERS)
"""The options of `run` that say how a release is played."""


def with_selection(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds those options."""
    own = {param.name: param for param in run.params}
    # click reverses what decorators have added, as they are applied from the last to the first.
    for name in reversed(SHARED):
        param = own[name]
        assert isinstance(param, click.Option)
        command = _attach(command, param)
    return command


def _attach(command: Callable[..., Any], param: click.Option) -> Callable[..., Any]:
    # click.option keeps its options here, and cannot add one that exists already.
    command.__dict__.setdefault("__click_params__", []).append(param)
    return command


def _name(backend: str, release: str) -> str:
    """`mem0,store=faiss` at 2.0.4 is `mem0@2.0.4,store=faiss`."""
    name, comma, settings = backend.partition(",")
    return f"{name}@{release}{comma}{settings}"


def _play(specs: Sequence[str], options: dict[str, Any], *, quiet: bool) -> Side:
    """One run of these backends. What could not even begin stops the command."""
    from harness.cli import playing
    from harness.regress import baseline_files

    # Read from the command, so that what is not shared has the defaults of `run`.
    defaults = run.make_context("run", []).params
    defaults.pop("browse")
    folder = playing.play(**{**defaults, **options, "backends": tuple(specs), "quiet": quiet})
    tell_written(folder, *score_run(folder, options["jobs"]))
    return baseline_files.load_evidence(folder.root)


def _label_releases(backend: str, releases: Sequence[str]) -> tuple[str, list[str]]:
    """What the backend is called without a release, and the label of each. Stops for what no backend is called."""
    from harness.backend import interpreters, registry

    try:
        specs = interpreters.name_releases([registry.parse(_name(backend, each)) for each in releases])
        for spec in specs:
            registry.find(spec)
    except registry.RegistryError as error:
        stop(error)
    plain = specs[0].model_copy(update={"release": "", "pinned": False})
    return plain.label, [spec.label for spec in specs]


@click.command()
@click.argument("backend")
@click.argument("releases", metavar="VERSION VERSION...", nargs=-1, required=True)
@with_selection
def ladder(backend: str, releases: tuple[str, ...], **options: Any) -> None:
    """Play releases of BACKEND, and show what changed between them.

    All play under the same conditions. Each runs in an environment of its own (docs/upgrades.md). A page for each pair
    of neighbours is written into the run's folder. Ends with 1 if something became worse or has no number any more,
    with 3 if a release could not run.

    \b
    coldwarm ladder mem0 2.0.4 2.1.0 2.2.1 -s none -d deletion -d durability -j 2
    """
    from harness.regress import comparison_page, comparison_table, pairing  # fmt: skip
    from harness.regress import releases as sides

    if len({*releases}) < 2 or len({*releases}) < len(releases):
        stop("ladder: name two releases or more, each once: coldwarm ladder mem0 2.0.4 2.2.1")
    plain, labels = _label_releases(backend, releases)
    played = _play([_name(backend, each) for each in releases], options, quiet=False)
    assert played.results is not None and played.root is not None
    there = [label for label in labels if label not in {each.backend for each in played.results.run.unplayed}]
    steps = [sides.make_side(played, label, plain) for label in there]
    screen, sentences, worst = open_terminal(), list[str](), GOOD
    for old, new in itertools.pairwise(steps):
        changes = pairing.list_changes(old.baseline, new.baseline)
        screen.print()
        comparison_table.show(
            pairing.judge_comparability(old.baseline, new.baseline), new.baseline.run, changes, screen
        )
        # A label may hold a slash, in a setting that is a path.
        file = played.root / "upgrades" / f"{old.baseline.run} to {new.baseline.run}.html".replace("/", "_")
        files.write(file, comparison_page.write_page(old, new))
        sentences.append(f"{old.baseline.run} -> {new.baseline.run}: {_count(changes)}; page: {shorten(file)}")
        worst = max(worst, FAILED if any(each.verdict in ("worse", "vanished") for each in changes) else GOOD)
    screen.print()
    for line in sentences:
        tell(line)
    tell(f"report: {shorten(played.root / 'report.html')}")
    if len(there) < 2:
        stop("fewer than two releases could run: nothing was compared", COULD_NOT_RUN)
    # A ladder has no gates, so this code only says what could not run.
    code = choose_exit_code(played.results)
    sys.exit(COULD_NOT_RUN if code == COULD_NOT_RUN else worst)


def _count(changes: Sequence[Change]) -> str:
    if not changes:
        return "nothing could be compared"
    words = ("worse", "vanished", "better", "appeared")
    counted = {word: sum(each.verdict == word for each in changes) for word in words}
    return ", ".join(f"{number} {word}" for word, number in counted.items() if number) or "nothing changed"


@click.command()
@click.argument("backend")
@click.argument("good")
@click.argument("bad")
@click.option("--measure", required=True, metavar="NAME", help="The measure that changed, as `compare` calls it.")
@with_selection
def bisect(backend: str, good: str, bad: str, measure: str, **options: Any) -> None:
    """Find the first release of BACKEND at which a measure changed.

    That is the first after GOOD whose measure is nearer to that of BAD. Plays both ends, then halves what lies between:
    of n releases at most log2 n are played. A release that cannot be judged is passed over. Plays what the measure
    needs: its drill, or stories.

    \b
    coldwarm bisect mem0 2.0.4 2.2.1 --measure expired_recalled
    """
    from packaging.version import Version

    from harness import metrics
    from harness.backend import environments, registry
    from harness.backend.client import MemoryFault
    from harness.metrics import trust

    drill = next((each.drill for each in trust.METRICS if each.definition.name == measure), None)
    if drill is None and measure not in metrics.DEFINITIONS:
        stop(f"--measure {measure}: there is no such measure; docs/measures.md names them")
    # For its refusals alone, before anything is played.
    _label_releases(backend, (good, bad))
    if not Version(good) < Version(bad):
        stop(f"{good} is not older than {bad}: name the good release first")
    options = {**options, "drilled": (drill,), "scenarios": ("none",)} if drill else {**options, "drilled": ("none",)}
    try:
        between = environments.list_releases(registry.parse(_name(backend, good)), good, bad)
    except MemoryFault as error:
        stop(error, COULD_NOT_RUN)
    search = Search(backend, measure, options)
    ends = search.read(good), search.read(bad)
    if "no-environment" in (ends[0].word, ends[1].word):
        stop("nothing was searched: an end could not be played", COULD_NOT_RUN)
    # `None` says that a reading is like neither end.
    if ends[0].is_like(*ends) is not True or ends[1].is_like(*ends) is not False:
        stop(f"{measure} is {ends[0]} in {good} and {ends[1]} in {bad}: there is no change to look for", COULD_NOT_RUN)
    releases = search.narrow([good, *between, bad], *ends)
    tell(
        f"first release whose {measure} is like that of {bad}: {releases[-1]} (last that is like {good}: {releases[0]})"
    )
    if unjudged := releases[1:-1]:
        say(f"it may also be one of these, which could not be judged: {', '.join(unjudged)}")
    tell(f"played: both ends and {search.played - 2} of the {len(between)} releases between them")
    sys.exit(COULD_NOT_RUN if unjudged else GOOD)


class Search:
    """The runs of one bisection.

    Attributes:
        played: Releases.
    """

    def __init__(self, backend: str, measure: str, options: dict[str, Any]) -> None:
        self._backend, self._measure, self._asked = backend, measure, options
        self.played = 0

    def read(self, release: str) -> Reading:
        """Plays a release, and says in a line what it has of the measure."""
        from harness.backend import environments, interpreters, registry
        from harness.backend.client import MemoryFault
        from harness.regress import releases

        began, text = time.monotonic(), _name(self._backend, release)
        plain, (label,) = _label_releases(self._backend, [release])
        try:
            # Asked here, as playing a release without an environment would end the whole search.
            environments.get_environment(*interpreters.name_releases([registry.parse(text)]))
        except MemoryFault as error:
            say(error)
            return releases.Reading(None, "no-environment")
        side = _play([text], self._asked, quiet=True)
        self.played += 1
        reading = releases.read_value(releases.make_side(side, label, plain).baseline, self._measure)
        why = f" ({' '.join(reading.reason.split())[:200]})" if reading.reason else ""
        tell(f"{label}: {self._measure} {reading}{why}, {time.monotonic() - began:.0f} s")
        return reading

    def narrow(self, releases: list[str], good: Reading, bad: Reading) -> list[str]:
        """The last release that is like the good end, the first that is like the bad one, and between them those that
        are like neither.
        """
        unjudged = set[str]()
        while open_ := [each for each in releases[1:-1] if each not in unjudged]:
            release = open_[len(open_) // 2] if len(open_) % 2 else open_[len(open_) // 2 - 1]
            like = self.read(release).is_like(good, bad)
            at = releases.index(release)
            if like is None:
                unjudged.add(release)
            else:
                releases = releases[at:] if like else releases[: at + 1]
        return releases
