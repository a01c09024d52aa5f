"""A small llama-type language model in float32 numpy: its weights, and the forward pass.

Written to be read from top to bottom. The one idea beyond the textbook: **an answer does not depend on the batch it is
computed in.** Nothing is padded: the tokens of all sequences are stacked for the matrix products, attention is computed
for each sequence by itself, and float32 is kept throughout. What is left is the order in which a BLAS adds up, worth
about 0.00001 in a log-probability. So a batch (`batch.py`) may admit and drop sequences freely.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class ModelShape(NamedTuple):
    """The sizes of a model."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    vocabulary: int
    context: int
    rope_base: float
    norm_epsilon: float


class Layer(NamedTuple):
    """The matrices of one layer, each as (out, in); query, key and value are one, and so are gate and up."""

    attention_norm: Array
    query_key_value: Array
    attention_out: Array
    feed_norm: Array
    gate_up: Array
    down: Array


class Weights(NamedTuple):
    """All parameters of a model."""

    shape: ModelShape
    embedding: Array
    layers: list[Layer]
    final_norm: Array
    output: Array
    """The same array as `embedding` where a model ties them."""


def load_weights(folder: Path) -> Weights:
    """The weights in a folder that `weights` wrote, memory-mapped: processes share one copy."""
    description = json.loads((folder / "model.json").read_bytes())
    shape = ModelShape(**description["shape"])
    flat = np.memmap(folder / "weights.f32", dtype=np.float32, mode="r")
    places: Mapping[str, tuple[int, list[int]]] = description["tensors"]

    def tensor(name: str) -> Array:
        offset, sizes = places[name]
        part: Array = np.asarray(flat[offset : offset + int(np.prod(sizes))]).reshape(sizes)
        return part

    embedding = tensor("embedding")
    return Weights(
        shape=shape,
        embedding=embedding,
        layers=[Layer(*(tensor(f"{number}.{part}") for part in Layer._fields)) for number in range(shape.layers)],
        final_norm=tensor("final_norm"),
        output=tensor("output") if "output" in places else embedding,
    )


class Memory:
    """The keys and values of one sequence: what it has read so far."""

    def __init__(self, shape: ModelShape, capacity: int) -> None:
        sizes = (shape.layers, shape.kv_heads, capacity, shape.head_width)
        self.keys: Array = np.empty(sizes, np.float32)
        self.values: Array = np.empty(sizes, np.float32)
        self.length = 0

    @property
    def capacity(self) -> int:
        return int(self.keys.shape[2])

    def copy(self, length: int, capacity: int) -> Memory:
        """A sequence that continues after the first `length` tokens of this one, with room for `capacity`."""
        layers, kv_heads, _, head_width = self.keys.shape
        copied = Memory.__new__(Memory)
        copied.keys = np.empty((layers, kv_heads, capacity, head_width), np.float32)
        copied.values = np.empty_like(copied.keys)
        copied.keys[:, :, :length] = self.keys[:, :, :length]
        copied.values[:, :, :length] = self.values[:, :, :length]
        copied.length = length
        return copied


class Piece(NamedTuple):
    """Tokens that a sequence reads next."""

    memory: Memory
    tokens: Sequence[int]


class Engine:
    """The forward pass."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.shape = weights.shape
        half = weights.shape.head_width // 2
        angles = np.outer(
            np.arange(weights.shape.context), weights.shape.rope_base ** (-np.arange(half, dtype=np.float64) / half)
        )
        self._cos = np.cos(angles).astype(np.float32)
        self._sin = np.sin(angles).astype(np.float32)

    def read(self, pieces: Sequence[Piece]) -> list[Array]:
        """Read a piece of each sequence; return the final hidden states of the tokens of each piece."""
        counts = [len(piece.tokens) for piece in pieces]
        ends = np.cumsum(counts)
        spans = [slice(int(end) - count, int(end)) for end, count in zip(ends, counts, strict=True)]
        rows = self.weights.embedding[[token for piece in pieces for token in piece.tokens]]
        for number, layer in enumerate(self.weights.layers):
            rows += self._attention(number, layer, rows, pieces, spans)
            rows += self._feed_forward(layer, rows)
        for piece in pieces:
            piece.memory.length += len(piece.tokens)
        rows = _normed(rows, self.weights.final_norm, self.shape.norm_epsilon)
        return [rows[span] for span in spans]

    def logits(self, hidden: Array) -> Array:
        """One row of token scores for each row of hidden states."""
        return hidden @ self.weights.output.T

    def _attention(self, number: int, layer: Layer, rows: Array, pieces: Sequence[Piece], spans: list[slice]) -> Array:
        heads, kv_heads, width = self.shape.heads, self.shape.kv_heads, self.shape.head_width
        together = _normed(rows, layer.attention_norm, self.shape.norm_epsilon) @ layer.query_key_value.T
        split = together.reshape(len(rows), heads + 2 * kv_heads, width)
        mixed = np.empty((len(rows), heads * width), np.float32)
        for piece, span in zip(pieces, spans, strict=True):
            before, after = piece.memory.length, piece.memory.length + len(piece.tokens)
            turned = self._turned(split[span, : heads + kv_heads], before, after)
            keys, values = piece.memory.keys[number], piece.memory.values[number]
            keys[:, before:after] = turned[:, heads:].transpose(1, 0, 2)
            values[:, before:after] = split[span, heads + kv_heads :].transpose(1, 0, 2)
            mixed[span] = _attend(turned[:, :heads], keys[:, :after], values[:, :after])
        return mixed @ layer.attention_out.T

    def _turned(self, vectors: Array, before: int, after: int) -> Array:
        """Rotary positions: the pair (2i, 2i+1) of every head is turned by the token's position."""
        cos, sin = self._cos[before:after, None], self._sin[before:after, None]
        even, odd = vectors[..., 0::2], vectors[..., 1::2]
        turned = np.empty_like(vectors)
        turned[..., 0::2] = even * cos - odd * sin
        turned[..., 1::2] = even * sin + odd * cos
        return turned

    def _feed_forward(self, layer: Layer, rows: Array) -> Array:
        together = _normed(rows, layer.feed_norm, self.shape.norm_epsilon) @ layer.gate_up.T
        gate, up = together[:, : self.shape.feed_forward], together[:, self.shape.feed_forward :]
        # the exponent is capped where the quotient is zero anyway, so that nothing overflows
        mixed: Array = (gate / (1 + np.exp(-np.maximum(gate, -80))) * up) @ layer.down.T
        return mixed


def _attend(queries: Array, keys: Array, values: Array) -> Array:
    """Attention of one sequence: queries (new, heads, width) over keys and values (kv heads, all, width)."""
    new, heads, width = queries.shape
    kv_heads, known = keys.shape[:2]
    grouped = queries.transpose(1, 0, 2).reshape(kv_heads, heads // kv_heads * new, width)
    scores: Array = (grouped @ keys.transpose(0, 2, 1)) * np.float32(width**-0.5)
    if new > 1:
        future = np.arange(known)[None] > np.arange(known - new, known)[:, None]
        scores.reshape(kv_heads, heads // kv_heads, new, known)[:, :, future] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: Array = (scores @ values).reshape(heads, new, width)
    return mixed.transpose(1, 0, 2).reshape(new, heads * width)


def _normed(rows: Array, weight: Array, epsilon: float) -> Array:
    """Root-mean-square normalisation."""
    mean_square: Array = np.mean(rows * rows, axis=-1, keepdims=True)
    normed: Array = rows / np.sqrt(mean_square + np.float32(epsilon)) * weight
    return normed


def log_softmax(logits: Array) -> NDArray[np.float64]:
    """Log-probabilities in double precision, because they are summed over many tokens."""
    rows = logits.astype(np.float64)
    rows -= rows.max(axis=-1, keepdims=True)
    result: NDArray[np.float64] = rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))
    return result
