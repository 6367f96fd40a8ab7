"""Knowing everything must not win: against every real backend, `full_context` loses somewhere.

A store that only picks cannot be told from one that gives back everything, if the latter is as good at recall and at
keeping stale facts away, and costs no more. Then the stories are too small or too easy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from harness.compare.comparisons import compare_pairs
from harness.compare.rows import COLD, DOMINANCE, DUMP, average_by_scenario
from harness.model.cells import Cell
from harness.model.results import Comparison
from harness.selftest import control_plays
from harness.selftest.local import PaperWorkTrees
from harness.selftest.proof import ScenarioProof

RANKED = "bm25"
"""The cheapest backend that ranks what it has."""
REAL = (RANKED, "notes")
"""Backends that need neither an embedder nor a server: the cheapest one, and the one most like `full_context`. Of the
others each run says whether they are dominated. Beside transcripts `notes` is shown and not judged: its lines are
longer there, as facts are, and a file that is read whole is `full_context` in another form."""
NOISE = 100
"""As a run has it by default. With none, all memories of a story fit the budget, so that any store that gives back
everything recalls all of it, and differs in its price alone. `full_context` has the budget, too: without it, it would
recall everything everywhere, and lose by its price whatever the others are worth."""


def score_bounds(proof: ScenarioProof) -> list[Cell]:
    """What a run would report of one story for `full_context` and the real backends, under the primary conditions.

    Neither recall nor exposure nor tokens depend on a check, so that work is believed.
    """
    paper = PaperWorkTrees()
    played = (cell for name in (DUMP, *REAL) for cell in control_plays.score_scenario(proof, name, paper, NOISE))
    return [cell for cell in played if cell.read_policy == "trusting"]


def compare_dominance(cells: Sequence[Cell]) -> list[Comparison]:
    """`full_context` (left) with each real backend, on each measure of dominance, over the stories of these cells."""
    pairs = [(DUMP, name) for name in REAL]
    rows = defaultdict[str, list[Cell]](list)
    for cell in cells:
        rows[cell.backend or COLD].append(cell)
    return [
        each
        for measure in DOMINANCE
        for values in [{name: average_by_scenario(measure, own) for name, own in rows.items()}]
        for each in compare_pairs("dump", measure, pairs, values)
    ]
