"""Published sets: `import`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import paths
from harness.cli.common import COULD_NOT_RUN, GOOD, open_terminal, say, shorten, stop, tell
from harness.cli.options import FOLDER, with_call_seconds
from harness.cli.sessions import sessions
from harness.machine import files, shortage

if TYPE_CHECKING:
    from harness.published.figures import Figures

# The names of `catalogue.SETS`, which is not imported for the sake of a light start.
SETS = ("devmembench", "forgeteval", "locomo", "longmemeval", "memorycode", "personamem")


@click.group(name="import")
def import_() -> None:
    """Put published sets or recorded sessions to backends."""


@click.command()
@click.argument("file", type=FOLDER)
@click.option("--backend", "-b", "backends", multiple=True, required=True, help="Same syntax as `run -b`; repeatable.")
@click.option("--document", type=click.Choice(["turn", "session"]), help="What is one memory. Default: as published.")
@click.option(
    "--wording", type=click.Choice(["text", "said"]), help='How: the text, or NAME said, "TEXT". Default: text.'
)
@click.option("-k", type=click.IntRange(1, 1000), help="Results requested per query. Default: the set's largest.")
@click.option("--out", type=FOLDER, default=paths.RUNS / "published", help="Where logs and figures are written.")
@with_call_seconds
@click.pass_context
def put(
    ctx: click.Context,
    file: Path,
    backends: tuple[str, ...],
    document: str | None,
    wording: str | None,
    k: int | None,
    out: Path,
    call_seconds: float | None,
) -> None:
    """Put the questions of a published set to backends.

    Prints the figures that its papers print. You bring the FILE and keep its licence. There are no jobs in it: only
    what a memory brings back is measured.

    \b
    devmembench  the folder benchmark/src/dataset of github.com/prosperitypirate/opencode-memory
    forgeteval   data/external_subset_cases.json of github.com/WaylandYang/forgeteval-anon-supp
    locomo       data/locomo10.json of github.com/snap-research/LoCoMo
    longmemeval  longmemeval_s.json or _oracle of LongMemEval
    memorycode   the folder dataset of github.com/for-ai/MemoryCode
    personamem   a folder with one questions_*.csv of PersonaMem and its shared_contexts_*.jsonl
    \b
    A file may hold JSON, lines of JSON, CSV or Parquet (which needs the extra `data`).
    \b
    Example: coldwarm import locomo locomo10.json -b bm25 -b chroma
    """
    from harness.backend import interpreters, registry
    from harness.backend.client import MemoryFault
    from harness.conformance import DEADLINES, open_setting
    from harness.gateway.embedder import EmbedderError
    from harness.published import catalogue, play, report
    from harness.published.sets import SetError
    from harness.report.progress import say_during

    # One command serves all sets: the name that it was called by says which.
    name = str(ctx.info_name)
    form = catalogue.SETS[name]
    try:
        dataset = form.load(file, document, wording)
        specs = interpreters.name_releases(map(registry.parse, backends))
    except (SetError, registry.RegistryError) as error:
        stop(error)
    tell(f"{form.title}: {report.describe(dataset)}")
    tell(f"licence: {form.licence}. Home: {form.home}")
    deadlines, cache = DEADLINES.allow(call_seconds), paths.cache_root() / "embeddings.sqlite"
    folder: Path | None = None
    all_figures: list[Figures] = []
    for spec in specs:
        try:
            with open_setting(spec, None, deadlines, cache) as setting:
                if setting.chat:
                    why = f"a model inside rewrites what it is told: no memory stands for a {dataset.unit}"
                    say(f"{spec.label}: {why}")
                    continue
                # Made once a backend is open, so that a refusal leaves no empty folder.
                folder = folder or _make_folder(out, name)
                with say_during(open_terminal(), f"asking {spec.label}"):
                    logs = play.play(dataset, setting, k or form.k[-1], folder)
        # What others answered is not lost.
        except registry.RegistryError as error:
            if not all_figures:
                stop(error)
            say(error)
            continue
        except MemoryFault as error:
            say(f"{interpreters.explain_missing(spec, error)}; {spec.label} was not asked")
            continue
        except (EmbedderError, OSError) as error:
            say(error)
            break
        all_figures.append(report.compute_from(logs, form.k))
    if not all_figures or folder is None:
        sys.exit(COULD_NOT_RUN)
    written = report.write(folder, form, dataset, all_figures)
    for line in report.list_lines(all_figures):
        tell(line)
    tell(f"figures: {shorten(written)}")
    sys.exit(
        COULD_NOT_RUN
        if len(all_figures) < len(specs) or any(each.failed or each.unended for each in all_figures)
        else GOOD
    )


import_.add_command(sessions)
for _name in SETS:
    import_.add_command(put, _name)


def _make_folder(out: Path, name: str) -> Path:
    try:
        return files.make_folder(out, f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    except OSError as error:
        stop(f"{out}: cannot be written: {shortage.tell(error)}; choose another with --out", COULD_NOT_RUN)
