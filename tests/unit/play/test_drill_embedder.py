"""The drill of a switched embedder: refused, embedded anew, or wrong in silence."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from harness.gateway.alternate_embedders import SwitchedEmbedder
from harness.log.transcript import Handled, Transcript
from harness.metrics.trust.embedder import METRICS
from harness.model.trial import Measure, Measured
from harness.play.drills.embedder import DRILL, plan
from tests.support.drill_player import drilled, measured

PLANTED = "harness.selftest.planted.switching"
SIZE = 30


def _value(measure: Measure) -> float | str:
    return measure.value if isinstance(measure, Measured) else measure.status


def _vector(*values: float) -> bytes:
    return array("f", values).tobytes()


def test_another_embedder_keeps_similarities_and_has_nothing_to_do_with_the_own_one() -> None:
    one, other = [((at * 7 % 11) - 5) / 20 for at in range(64)], [((at * 5 % 13) - 6) / 20 for at in range(64)]
    turned = [array("f", SwitchedEmbedder("another", 64).turn(_vector(*each))) for each in (one, other)]

    def near(left: object, right: object) -> float:
        pairs = list(zip(left, right, strict=True))  # type: ignore[call-overload]
        lengths = [sum(value * value for value in each) ** 0.5 for each in (left, right)]  # type: ignore[attr-defined]
        return float(sum(a * b for a, b in pairs) / (lengths[0] * lengths[1]))

    assert near(*turned) == pytest.approx(near(one, other), abs=1e-5)
    assert abs(near(turned[0], one)) < 0.5
    assert SwitchedEmbedder("another", 64).turn(_vector(*one)) == turned[0].tobytes()
    shorter = SwitchedEmbedder("shorter", 64)
    assert len(shorter.turn(_vector(*one))) == 4 * shorter.dims == 4 * 32


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, "adapters.reference:Reference", SIZE)


@pytest.mark.slow
def test_the_sound_backend_embeds_its_memories_anew(sound: Transcript) -> None:
    for name, measure in measured(METRICS, sound).items():
        wanted = 0.0 if name.startswith("silently") else 1.0
        assert isinstance(measure, Measured) and measure.of and measure.value == wanted, name
    assert [event.step for _, event in sound.of(Handled) if event.what == "switched"] == [
        "another", "shorter written", "shorter",
    ]  # fmt: skip
    assert len(plan(SIZE, 1).of("new")) == SIZE // 5


@pytest.mark.slow
def test_old_vectors_of_the_same_length_are_wrong_in_silence_and_of_another_length_raise(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, f"{PLANTED}:KeepsOldVectors", SIZE))
    silent = found["silently_unfound_with_another_embedder"]
    assert isinstance(silent, Measured) and silent.value > 0.5 and silent.receipts
    assert _value(found["found_with_shorter_vectors"]) == "failed"
    assert _value(found["silently_unfound_with_shorter_vectors"]) == 0.0
    assert _value(found["new_found_with_another_embedder"]) == 1.0


@pytest.mark.slow
def test_a_refusal_is_not_silent(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, f"{PLANTED}:RefusesAnotherEmbedder", SIZE))
    assert {_value(found[name]) for name in found if name.startswith("silently")} == {0.0}
    assert {_value(found[name]) for name in found if not name.startswith("silently")} == {"failed"}
    assert all(found[name].receipts for name in found if not name.startswith("silently"))


@pytest.mark.slow
def test_words_need_no_embedder(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, "adapters.bm25:Bm25", SIZE))
    assert {_value(measure) for measure in found.values()} <= {0.0, 1.0}
    assert _value(found["silently_unfound_with_another_embedder"]) == 0.0
