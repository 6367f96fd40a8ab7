"""The suite and the results of a run as plain tables: JSON Lines with a dataset card, and Parquet.

Nothing heavy is imported before a table asks for it; what a user lacks is the extra `data`.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.adapter import Scope
from harness.compare import statements
from harness.log.folder import Folder
from harness.machine import extras, files, shortage
from harness.model.cells import Cell
from harness.model.facts import STRATA
from harness.model.results import Results, Suite
from harness.model.scenario import Learn, Scenario, Session
from harness.model.trial import Measure, Measured
from harness.report.outputs import formats

ExportRow = dict[str, Any]
STRING, WHOLE, REAL, TRUTH = "dtype: string", "dtype: int32", "dtype: float64", "dtype: bool"
MOMENT, STRINGS, LISTS = "dtype: timestamp[us, tz=UTC]", "list: string", "list:\n      list: string"
SHOWN = {
    STRING: "text", WHOLE: "whole number", REAL: "number", TRUTH: "true or false", MOMENT: "time, UTC",
    STRINGS: "texts", LISTS: "lists of texts",
}  # fmt: skip
"""Types of columns, as the head of a dataset card names them, and in words."""

STORY = {
    "scenario": (STRING, "id of the scenario, `<kind>/<name>`"),
    "kind": (STRING, "what the story is about"),
    "split": (STRING, "`dev` or `held`"),
    "fixture": (STRING, "the repository in which the story plays"),
}
SCOPE = {name: (STRING, f"scope: its {name}; none: not limited") for name in ("repo", "org", "branch", "user")}
SITTING = {
    "session": (STRING, "the session in which it happens"),
    "at": (MOMENT, "story time of that session"),
    "by": (STRING, "who works"),
    "commit": (STRING, "what is checked out then"),
}
Tables = Mapping[str, Mapping[str, tuple[str, str]]]
TABLES: Tables = {
    "facts": {
        **STORY,
        "fact": (STRING, "its id, unique in the scenario"),
        "type": (STRING, "project, episodic, procedural or user"),
        "since": (MOMENT, "true from then on"),
        "until": (MOMENT, "no longer true from then on"),
        **SCOPE,
        "source_commit": (STRING, "where the repository says it; none: only memory can know it"),
        "source_path": (STRING, "the file at that commit"),
        "source_line": (WHOLE, "the line, from 1"),
        "source_session": (STRING, "the session in which it was said"),
        "confidence": (REAL, "above 0, up to 1"),
        "supersedes": (STRING, "the fact that it replaces"),
        "learnt": (STRINGS, "the sessions in which it enters memory"),
        "forgotten": (MOMENT, "when it was asked to be forgotten"),
        "forms": (LISTS, "accepted forms: a text carries the fact if it holds one alternative of every part"),
        "identifier": (STRING, "said with the names that the code uses"),
        "plain": (STRING, "said plainly"),
        "paraphrase": (STRING, "said without those names"),
        "rewrites": (STRINGS, "other wordings that assert it"),
    },
    "probes": {
        **STORY,
        "probe": (STRING, "its id, unique in the scenario"),
        "stratum": (STRING, "of the phrasing: identifier, plain or paraphrase"),
        "query": (STRING, "the question as it is asked"),
        **SITTING,
        **SCOPE,
        "gold": (STRINGS, "the facts that answer it; none: the right answer is that nothing is known"),
        "history": (TRUTH, "whether it asks about the past, so that a superseded fact is right"),
    },
    "jobs": {
        **STORY,
        "job": (STRING, "its id, unique in the scenario"),
        "goal": (STRING, "the task"),
        **SITTING,
        **SCOPE,
        "relevant": (STRINGS, "the files that a good engineer opens"),
        "run": (LISTS, "commands that are run after the edits, each a list of words"),
        "decision": (STRING, "its id, unique in the job"),
        "question": (STRING, "what is to be decided"),
        "edits": (STRINGS, "the files that the decision changes"),
        "check": (STRINGS, "the command that prints the value seen in the work tree"),
        "value": (STRING, "of the option"),
        "verdict": (STRING, "of the option: right, stale, or lure (a neighbour's truth)"),
        "fact": (STRING, "the fact that leads to the option"),
    },
}
"""Table -> column -> its type and what it says; a suite of spoken stories also has `messages`."""
ONE = {
    "facts": "one row a fact",
    "probes": "one row a phrasing of a probe",
    "jobs": "one row an option of a decision, so that a decision has as many rows as options",
    "messages": "one row a message of a session",
}

CELLS = {
    "id": "string", "trial": "string", "backend": "string", "scenario": "string", "kind": "string", "arm": "string",
    "write_policy": "string", "read_policy": "string", "noise": "Int64", "seed": "Int64", "reader": "string",
    "k": "Int64", "pool": "Int64", "status": "string", "reason": "string", "log": "string", "log_sha256": "string",
}  # fmt: skip
"""Columns of `cells.parquet`: dtypes of pandas that have nulls."""
MEASURES = {
    "cell": "string", "measure": "string", "status": "string", "value": "Float64", "hits": "Float64", "of": "Int64",
    "interval_low": "Float64", "interval_high": "Float64", "interval_method": "string", "known": "string",
    "reason": "string",
}  # fmt: skip
"""Columns of `measures.parquet`. Without a measured value all numbers are null, and `status` is the word for it."""


class ExportError(Exception):
    """What cannot be written: where, why, what to do."""


class MissingExtraError(ExportError):
    """An optional package that is not installed, and how to install it."""


def suite(directory: Path, stories: Sequence[Scenario], identity: Suite, published: str) -> None:
    """Writes the tables as JSON Lines, the card `README.md` and `croissant.json` into a new or empty directory.

    Equal stories give equal bytes. Raises ExportError.

    Args:
        published: The day on which this version of our own suite was, as ISO 8601.
    """
    makers = {"facts": _facts, "probes": _probes, "jobs": _jobs}
    tables = dict(TABLES)
    if any(story.spoken for story in stories):
        makers["messages"], tables["messages"] = formats.list_messages, {**STORY, **formats.MESSAGE_COLUMNS}
    rows = {
        name: [{**_story(story, identity), **row} for story in stories for row in make(story)]
        for name, make in makers.items()
    }
    texts = {f"{name}.jsonl": "".join(map(_line, table)) for name, table in rows.items()}
    texts["README.md"] = _card(stories, identity, rows, tables)
    texts["croissant.json"] = formats.describe_croissant(_head(identity, published), texts, tables)
    with _fill_draft(directory) as draft:
        for name, text in texts.items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")


def results(directory: Path, run: Folder) -> Results:
    """Scores a run and writes `cells.parquet` and `measures.parquet` into a new or empty directory.

    Equal logs give equal bytes under equal versions of pandas and pyarrow. Raises ExportError, and FolderError or
    BlobError if the run cannot be scored.
    """
    pandas = _pandas()
    with _fill_draft(directory) as draft:
        return _write_results(draft, run, pandas)


def _write_results(directory: Path, run: Folder, pandas: Any) -> Results:
    scored = statements.compute_results(run)
    if any(cell.seed.bit_length() > 63 for cell in scored.cells):
        raise ExportError(
            f"{run.root}: a seed of the run is beyond 64 bits, which Parquet cannot hold; play smaller seeds"
        )
    cells = [_cell(cell) for cell in scored.cells]
    measures = [_measure(cell, name) for cell in scored.cells for name in sorted(cell.measures)]
    for name, table, dtypes in (("cells", cells, CELLS), ("measures", measures, MEASURES)):
        # Column by column: a frame made of rows would turn nulls of numbers into NaN before the dtypes are known.
        columns = {key: pandas.array([row[key] for row in table], dtype=dtypes[key]) for key in dtypes}
        pandas.DataFrame(columns).to_parquet(directory / f"{name}.parquet", engine="pyarrow", index=False)
    return scored


def spans(file: Path, run: Folder, *, content: bool) -> None:
    """Writes the calls of a run as OTLP JSON lines into a new file. Raises ExportError, FolderError and BlobError."""
    # Not `exists`, which says no of a link that leads nowhere, and a draft would replace it.
    if os.path.lexists(file):
        raise ExportError(f"{file}: is there already; name a new file")
    try:
        with files.open_draft(file) as draft, draft.open("x", encoding="utf-8", newline="\n") as lines:
            lines.writelines(formats.write_spans(run, content))
    except OSError as error:
        raise _unwritable(file.parent, error) from None


@contextmanager
def _fill_draft(directory: Path) -> Iterator[Path]:
    """A draft of the directory; nothing that is there already is written over or mixed with."""
    try:
        with files.fill(directory) as draft:
            yield draft
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            raise ExportError(f"{directory}: is not empty; name a directory that is new or empty") from None
        raise _unwritable(directory, error) from None


def _unwritable(directory: Path, error: OSError) -> ExportError:
    return ExportError(f"{directory}: cannot write there: {shortage.tell(error)}; name another directory")


def _pandas() -> Any:
    try:
        importlib.import_module("pyarrow.parquet")  # pandas writes with it, and would say so too late
        return importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtraError(extras.explain_lack((error.name or "pandas").partition(".")[0], "Parquet")) from None


# --- the suite ----------------------------------------------------------------------------------------------------


def _story(story: Scenario, identity: Suite) -> ExportRow:
    split = "held" if story.id in identity.held else "dev"
    return {"scenario": story.id, "kind": story.kind, "split": split, "fixture": str(story.fixture)}


def _facts(story: Scenario) -> Iterator[ExportRow]:
    learnt = [(name, session.id) for session, step in story.steps() if isinstance(step, Learn) for name in step.facts]
    for fact in story.facts:
        source = fact.source
        yield {
            "fact": fact.id,
            "type": fact.type,
            "since": _moment(fact.since),
            "until": _moment(fact.until),
            **_scope(story.home(fact)),
            "source_commit": source.commit if source else None,
            "source_path": source.path if source else None,
            "source_line": source.line if source else None,
            "source_session": source.session if source else None,
            "confidence": fact.confidence,
            "supersedes": fact.supersedes,
            "learnt": [session for name, session in learnt if name == fact.id],
            "forgotten": _moment(story.forgotten.get(fact.id)),
            "forms": fact.forms,
            **{stratum: fact.phrase(stratum).text for stratum in STRATA},
            "rewrites": [text.text for text in fact.rewrites],
        }


def _probes(story: Scenario) -> Iterator[ExportRow]:
    for session, probe in story.probes():
        for stratum, query in probe.ask.phrasings():
            yield {
                "probe": probe.id,
                "stratum": stratum,
                "query": query,
                **_row_of(story, session),
                "gold": probe.gold,
                "history": probe.history,
            }


def _jobs(story: Scenario) -> Iterator[ExportRow]:
    for session, job in story.jobs():
        for decision in job.decisions:
            for option in decision.options:
                yield {
                    "job": job.id,
                    "goal": job.goal,
                    **_row_of(story, session),
                    "relevant": job.relevant,
                    "run": job.run,
                    "decision": decision.id,
                    "question": decision.question,
                    "edits": [edit.path for edit in option.edits or decision.edits],
                    "check": decision.check,
                    "value": option.value,
                    "verdict": option.verdict,
                    "fact": option.fact,
                }


def _row_of(story: Scenario, session: Session) -> ExportRow:
    return {
        "session": session.id,
        "at": _moment(session.at),
        "by": session.by,
        "commit": session.commit,
        **_scope(story.place(session)),
    }


def _scope(scope: Scope) -> ExportRow:
    return asdict(scope)


def _moment(at: datetime | None) -> str | None:
    """In UTC: readers of JSON take such a text for a time, and drop any other offset."""
    return at.astimezone(UTC).isoformat() if at else None


def _line(row: ExportRow) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _head(identity: Suite, published: str) -> dict[str, str]:
    own = identity.version != "private"
    return {
        "name": "coldwarm-suite",
        "description": "Scripted stories over small git repositories, which measure whether a memory backend makes "
        "a coding agent better at repo work and whether what it remembers deserves trust. Not for training.",
        "license": "https://spdx.org/licenses/MIT.html" if own else "as its owner says",
        "version": f"{identity.version}.0.0" if identity.version.isdecimal() else identity.version,
        "keywords": "benchmark, agent memory, retrieval",
        **(
            {"citeAs": f"The coldwarm maintainers. coldwarm, suite {identity.version}.", "datePublished": published}
            if own
            else {}
        ),
    }


def _card(stories: Sequence[Scenario], identity: Suite, rows: Mapping[str, Sequence[ExportRow]], tables: Tables) -> str:
    """The dataset card. Types are written down, so that a column of nulls loads as what it is."""
    own = identity.version != "private"
    head = ["---", "pretty_name: coldwarm suite", f"license: {'mit' if own else 'other'}", "language: [en]", "configs:"]
    for name, columns in tables.items():
        head += [f"- config_name: {name}", "  data_files:", "  - split: test", f"    path: {name}.jsonl", "  features:"]
        head += [f"  - name: {column}\n    {kind}" for column, (kind, _) in columns.items()]
    kinds = len({story.kind for story in stories})
    counts = f"{len(stories):,} scenarios, {kinds} {'kind' if kinds == 1 else 'kinds'}, {len(rows['facts']):,} facts"
    decisions = sum(len(job.decisions) for story in stories for _, job in story.jobs())
    body = f"""---

# The coldwarm suite

Scripted stories over small git repositories, with which coldwarm measures whether a memory backend makes a coding
agent better at repo work and whether what it remembers deserves trust. These tables are for people who study the
suite: they hold the gold and the accepted forms.

**Not for training.** Whoever trains or tunes a model, an embedder, a memory backend or a prompt on these texts can
no longer measure it with them. For the same reason the only split of each table is called `test`; the column `split`
says which scenarios are held back when something is tuned on the others.

Suite version {identity.version}, split {identity.split}, digest `{identity.digest}`.

{counts}, {len(rows["probes"]):,} phrasings of probes,
{decisions:,} decisions with {len(rows["jobs"]):,} options.

```python
import datasets, pandas

datasets.load_dataset("DIR", "facts", split="test")  # DIR: this directory; offline, from these files
pandas.read_json("DIR/facts.jsonl", lines=True)
```

`croissant.json` says the same for tools that read Croissant:
`mlcroissant load --jsonld croissant.json --record_set facts`.

Ids are unique in a scenario: join tables by `scenario` and `fact`. `{{canary}}` stands where each play puts a random
string, which must be gone after it was forgotten. What a text merely mentions or denies, the edits in full and the
order of all steps stand in the scenario files.
"""
    for name, columns in tables.items():
        body += (
            f"\n## {name} ({len(rows[name]):,} rows)\n\n{ONE[name].capitalize()}.\n\n| column | type | what it says |\n"
        )
        body += "|---|---|---|\n" + "".join(
            f"| `{key}` | {SHOWN[kind]} | {meaning} |\n" for key, (kind, meaning) in columns.items()
        )
    terms = "MIT" if own else "as its owner says: this is a private suite, which coldwarm's licence does not cover"
    body += f"\n## Licence\n\n{terms}.{' People and companies in it are invented.' if own else ''}\n"
    return "\n".join(head) + "\n" + body


# --- the results --------------------------------------------------------------------------------------------------


def _cell(cell: Cell) -> ExportRow:
    return {name: getattr(cell, name) for name in CELLS}


def _measure(cell: Cell, name: str) -> ExportRow:
    measure: Measure = cell.measures[name]
    row = {**dict.fromkeys(MEASURES), "cell": cell.id, "measure": name, "status": measure.status}
    if not isinstance(measure, Measured):
        return {**row, "reason": measure.reason}
    interval = measure.interval
    return {
        **row,
        "value": measure.value,
        "hits": measure.hits,
        "of": measure.of,
        "interval_low": interval.low if interval else None,
        "interval_high": interval.high if interval else None,
        "interval_method": interval.method if interval else None,
        "known": measure.known,
    }
