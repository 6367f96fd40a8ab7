"""Our own error rates: the published ones are those that were simulated, and the simulation does what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import errors
from harness.compare import stats

SUITE = [errors.StoryShare(5, 0.4), errors.StoryShare(4, 0.6), errors.StoryShare(7, 0.5)]


def test_the_page_shows_the_rates_that_were_simulated() -> None:
    page, found = errors.PAGE.read_text(), json.loads(errors.FILE.read_text())
    assert page == errors.insert(page, errors.render(found))


def test_what_is_published_keeps_what_is_promised() -> None:
    found = json.loads(errors.FILE.read_text())
    for table in found["false alarms"].values():
        for rows, own in table.items():
            slack = 3 * (stats.ALPHA * (1 - stats.ALPHA) / found["runs"][rows]) ** 0.5
            assert own["row"] <= own["row, read alike"] <= own["run, read alike"]
            assert max(own["row, read alike"], own["pair"]) <= stats.ALPHA + slack
    for own in found["covered"].values():
        assert min(own["share"], own["difference"]) > 0.93


@pytest.mark.parametrize("gain", [0.0, 0.2])
def test_a_simulated_row_gains_as_much_as_it_is_given(gain: float) -> None:
    made = errors.draw_run(SUITE, 4000, [gain], np.random.default_rng(1))
    assert made.cold.mean() == pytest.approx(0.5, abs=0.02)
    assert made.rows.mean(axis=-1) - made.cold.mean() == pytest.approx(gain, abs=0.02)
    assert (made.rows[0, 0, 0] == made.cold).mean() > 0.1, "many stories do not move"


def test_a_sentence_is_robust_if_every_read_policy_says_the_same() -> None:
    nothing = [0, 0, 0]
    assert errors.is_robust(np.array([nothing, [1, 1, 1]])) and errors.is_robust(np.array([[-1, -1, -1], nothing]))
    assert not errors.is_robust(np.array([nothing, [1, 1, 0]])) and not errors.is_robust(
        np.array([nothing, [1, 1, -1]])
    )


def test_a_pair_is_shown_where_holm_shows_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(8):
        made = errors.draw_run(SUITE, 12, [0.5, 0.0, 0.2], rng)
        own = made.rows[:, 0, 0]
        raw = [stats.sign_flip((own[b] - own[a]).tolist()) for a, b in ((0, 1), (0, 2), (1, 2))]
        assert errors.is_pair_shown(made) == (min(stats.holm(raw)) <= stats.ALPHA)
    assert not errors.is_pair_shown(errors.draw_run(SUITE, 12, [0.0], rng))
