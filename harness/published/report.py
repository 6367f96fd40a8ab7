"""What was measured on a published set, as lines, as JSON and as a page of Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.machine import files
from harness.published import play
from harness.published.figures import Figures, compute
from harness.published.sets import Format, PublishedSet
from harness.report.words import format_count


def describe(data: PublishedSet) -> str:
    """How much there is, and what of it cannot be used as it is."""
    documents = sum(len(each.documents) for each in data.haystacks)
    questions = sum(len(each.questions) for each in data.haystacks)
    odd = "".join(f", {count:,} {what}" for what, count in data.odd.items() if count)
    stores, memories = format_count(len(data.haystacks), "store"), format_count(documents, "memory", "memories")
    return f"{stores}, {memories} ({data.unit}s), {format_count(questions, 'question')}{odd}"


def compute_from(logs: Sequence[Path], ks: Sequence[int]) -> Figures:
    """Computes figures of the logs of one backend. Raises LogError."""
    return compute([play.read(log) for log in logs], ks)


def list_lines(all_figures: Sequence[Figures]) -> Iterator[str]:
    """A table: a row for each figure, a column for each backend, in percent."""
    wide = max(len(figure.name) for figure in all_figures[0].figures)
    yield " ".join([" " * wide, *(f"{each.backend:>12}" for each in all_figures), f"{'questions':>10}"])
    # by place: which figures there are, and in which order, depends on the questions and on k alone
    for at, figure in enumerate(all_figures[0].figures):
        cells = [f"{_format_percent(each.figures[at].value):>12}" for each in all_figures]
        yield " ".join([f"{figure.name:<{wide}}", *cells, f"{_count_questions(all_figures, at):>10}"])
    pool = all_figures[0].pool
    yield f"stores hold {pool.fewest:,} to {pool.most:,} memories (mean {pool.mean:.0f})" + (
        f"; {pool.within_k:,} of {all_figures[0].questions:,} questions are asked where k is all of them"
        if pool.within_k
        else ""
    )
    for each in all_figures:
        if each.failed or each.unended:
            failed, unended = format_count(each.failed, "question"), format_count(each.unended, "store")
            yield f"{each.backend}: {failed} failed, {unended} did not come to the end"
        if each.unknown:
            unknown = format_count(each.unknown, "memory", "memories")
            yield f"{each.backend}: {unknown} came back under an id that it never acknowledged"


def write(folder: Path, form: Format, dataset: PublishedSet, all_figures: Sequence[Figures]) -> Path:
    """Writes `figures.json` and `figures.md` beside the logs; the latter's path."""
    data = {
        "set": form.name, "unit": dataset.unit, "wording": dataset.wording, "sha256": dataset.sha256,
        "licence": form.licence, "odd": dict(dataset.odd),
        "backends": [each.model_dump(mode="json") for each in all_figures],
    }  # fmt: skip
    files.write(folder / "figures.json", json.dumps(data, indent=1) + "\n")
    page = folder / "figures.md"
    files.write(page, "\n".join(_write_page(form, dataset, all_figures)) + "\n")
    return page


def _write_page(form: Format, data: PublishedSet, all_figures: Sequence[Figures]) -> Iterator[str]:
    yield f"# {form.title}\n\n{describe(data)}. Licence: {form.licence}. sha256 `{data.sha256}`\n"
    yield f"| measure | {' | '.join(each.backend for each in all_figures)} | questions | what it is |"
    yield "|---|" + "---:|" * (len(all_figures) + 1) + "---|"
    for at, figure in enumerate(all_figures[0].figures):
        cells = " | ".join(_format_percent(each.figures[at].value) for each in all_figures)
        yield f"| {figure.name} | {cells} | {_count_questions(all_figures, at)} | {figure.says} |"
    yield ""
    for each in all_figures:
        yield f"- {each.backend} {each.version}: {each.failed:,} of {each.questions:,} questions failed"


def _count_questions(all_figures: Sequence[Figures], at: int) -> str:
    """Of a figure; one for each backend where they differ, as what one of them cannot do is not asked of it."""
    counts = [each.figures[at].of for each in all_figures]
    return " / ".join(f"{count:,}" for count in (counts if len({*counts}) > 1 else counts[:1]))


def _format_percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"
