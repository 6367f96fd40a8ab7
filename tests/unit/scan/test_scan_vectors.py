"""Vectors in bytes: the very same in every form of number, copies that are nearly the same, and nothing else."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.scan import raw
from harness.scan.disk import Needles, scan
from harness.scan.vectors import NEAR, Vectors

Vector = npt.NDArray[np.float32]
DIMS = 96


def made(seed: int, dims: int = DIMS) -> Vector:
    values = np.random.default_rng(seed).standard_normal(dims)
    return (values / np.linalg.norm(values)).astype("f4")


WANTED = {str(seed): made(seed) for seed in range(30)}
NEEDLES = Needles({}, {name: vector.tobytes() for name, vector in WANTED.items()})
SAME: dict[str, Callable[[Vector], bytes]] = {
    "float32": lambda vector: vector.tobytes(),
    "float16": lambda vector: vector.astype("<f2").tobytes(),
    "float64": lambda vector: vector.astype("<f8").tobytes(),
    "decimal floats": lambda vector: json.dumps({"embedding": vector.tolist()}, indent=None).encode(),
    "decimal floats, compact": lambda vector: json.dumps(vector.tolist(), separators=(",", ":")).encode(),
    "pickled floats": lambda vector: pickle.dumps(("id", {"vector": vector.tolist()})),
    "pickled floats, old": lambda vector: pickle.dumps(vector.tolist(), protocol=1),
}


def bfloat(vector: Vector) -> Vector:
    return (vector.view("u4") + 0x8000 & 0xFFFF0000).astype("u4").view("f4")


def eighths(vector: Vector) -> Vector:
    """As 8-bit integers with one scale, and back."""
    scale = np.abs(vector).max() / 127
    found: Vector = (np.round(vector / scale) * scale).astype("f4")
    return found


ALIKE: dict[str, Callable[[Vector], Vector]] = {
    "normalised again": lambda vector: vector * np.float32(1 - 3e-7),
    "scaled": lambda vector: vector * np.float32(17.3),
    "from float16": lambda vector: vector.astype("f2").astype("f4"),
    "from bfloat16": bfloat,
    "from 8 bits": eighths,
}


def scaled(vector: Vector, steps: int, least: float, most: float) -> Vector:
    """Even steps between two ends."""
    return np.clip(np.round((vector - least) / (most - least) * steps), 0, steps)


def ends(vector: Vector) -> Vector:
    return scaled(vector, 255, float(vector.min()), float(vector.max()))


def largest(vector: Vector) -> bytes:
    return bytes(np.round(vector / np.abs(vector).max() * 127).astype("i1").tobytes())


FEW: dict[str, tuple[str, Callable[[Vector], bytes]]] = {
    "bfloat16, rounded": ("bfloat16", lambda vector: (bfloat(vector).view("u4") >> 16).astype("<u2").tobytes()),
    "bfloat16, cut": ("bfloat16", lambda vector: (vector.view("u4") >> 16).astype("<u2").tobytes()),
    "float16 of another length": ("float16", lambda vector: (vector * np.float32(3)).astype("<f2").tobytes()),
    "int8 by the largest": ("int8 floats", largest),
    "int8 of all": ("int8 floats", lambda vector: np.round(vector / 0.5 * 127).astype("i1").tobytes()),
    "uint8 from least to most": ("int8 floats", lambda vector: ends(vector).astype("u1").tobytes()),
    "int8 from least to most": ("int8 floats", lambda vector: (ends(vector) - 128).astype("i1").tobytes()),
    "uint8 with a middle": ("int8 floats", lambda vector: scaled(vector, 254, -0.5, 0.5).astype("u1").tobytes()),
}  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    how=st.sampled_from(sorted(FEW)),
    name=st.sampled_from(sorted(WANTED)),
    before=st.integers(0, 900),
    piece=st.integers(200, 2000),
)
def test_a_copy_in_fewer_bits_is_found_wherever_it_stands(
    tmp_path: Path, how: str, name: str, before: int, piece: int
) -> None:
    form, make = FEW[how]
    rng = np.random.default_rng(before)
    (tmp_path / "index.bin").write_bytes(rng.bytes(before) + make(WANTED[name]) + rng.bytes(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        seen = scan(tmp_path, Layer("index", "index.bin", "file"), NEEDLES).sightings
    assert [(each.fact, each.form, each.offset, each.count) for each in seen] == [(name, form, before, 1)]


def test_chance_makes_no_vector_of_bytes() -> None:
    """A window of random bytes has a correlation of 0.1 with a vector of 96 components, give or take: 0.999 is ten
    standard deviations away. Of four million windows, and of other vectors in few bits, none is taken for a copy."""
    others = [make(made(seed)) for seed in range(100, 400) for _, make in FEW.values()]
    for data in (np.random.default_rng(2).bytes(4_000_000), b"".join(others)):
        assert not list(NEEDLES.find(data))


@pytest.mark.parametrize("form", SAME)
def test_the_very_same_vector_is_found_in_every_form(form: str) -> None:
    stored = b"?" * 13 + SAME[form](WANTED["7"]) + b"rest"
    found = list(NEEDLES.find(stored))
    assert {(match.fact, match.form) for match in found if match.nearness is None} == {("7", form.split(",")[0])}
    assert all(match.fact == "7" for match in found)


def test_a_vector_of_many_components_is_found_in_a_pickle() -> None:
    """Lists of more than a thousand are written in parts."""
    vector = made(5, 2500)
    (match,) = Needles({}, {"big": vector.tobytes()}).find(pickle.dumps(vector.tolist()))
    assert match.form == "pickled floats"


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    how=st.sampled_from(sorted(ALIKE)),
    name=st.sampled_from(sorted(WANTED)),
    before=st.integers(0, 900),
    piece=st.integers(200, 2000),
)
def test_a_copy_is_found_wherever_it_stands(tmp_path: Path, how: str, name: str, before: int, piece: int) -> None:
    copy = ALIKE[how](WANTED[name])
    rng = np.random.default_rng(before)
    (tmp_path / "index.bin").write_bytes(rng.bytes(before) + copy.tobytes() + rng.bytes(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        (seen,) = scan(tmp_path, Layer("index", "index.bin", "file"), NEEDLES).sightings
    cosine = float(copy.astype("f8") @ WANTED[name] / np.linalg.norm(copy.astype("f8")))
    assert (seen.fact, seen.form, seen.offset, seen.count) == (name, "float32", before, 1)
    assert seen.nearness == pytest.approx(cosine, abs=1e-5) and (seen.nearness or 0) >= NEAR


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(1000, 2000), cosine=st.sampled_from((0.9993, 0.9997, 0.9975, 0.99)))
def test_near_means_near(seed: int, cosine: float) -> None:
    """Gaussian noise down to the bound is found, noise beyond it is not."""
    noise = made(seed).astype("f8")
    noise -= noise @ WANTED["3"] * WANTED["3"]
    noise /= np.linalg.norm(noise)
    copy = cosine * WANTED["3"] + np.sqrt(1 - cosine**2) * noise
    found = [match.nearness for match in NEEDLES.find(copy.astype("f4").tobytes())]
    assert found == ([pytest.approx(cosine, abs=1e-4)] if cosine >= NEAR else [])


def test_each_is_counted_once_with_the_nearest(tmp_path: Path) -> None:
    near = bfloat(WANTED["1"]).tobytes()
    (tmp_path / "index.bin").write_bytes(near + WANTED["1"].tobytes() + eighths(WANTED["1"]).tobytes())
    exact, copies = scan(tmp_path, Layer("index", "index.bin", "file"), NEEDLES).sightings
    assert (exact.count, exact.offset, exact.nearness) == (1, DIMS * 4, None)
    assert (copies.count, copies.offset) == (2, 0)
    assert copies.nearness is not None and NEAR <= copies.nearness <= 1


def test_other_bytes_are_no_vectors() -> None:
    others = np.stack([made(seed) for seed in range(100, 600)])
    for data in (bytes(99_999), b"\xff" * 99_999, np.random.default_rng(1).bytes(300_001), others.tobytes()):
        assert not list(NEEDLES.find(data))


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([bytes(64)], "zero"),
        ([np.full(16, np.nan, "f4").tobytes()], "not finite"),
        ([np.ones(16, "f4").tobytes(), np.ones(17, "f4").tobytes()], "sizes"),
        ([b"abcde"], "float32"),
        ([b""], "float32"),
    ],
)
def test_vectors_that_cannot_be_told_are_refused(vectors: list[bytes], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Needles({}, dict(zip("ab", vectors, strict=False)))


def test_nothing_is_nearer_than_the_same() -> None:
    """A cosine that rounding puts above 1 is 1."""
    copies = [list(Vectors({"it": made(seed).tobytes()}).near(made(seed).tobytes())) for seed in range(40)]
    assert {cosine > 1 for found in copies for *_, cosine in found} == {False}
