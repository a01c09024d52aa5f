"""Log-likelihoods by a model of `transformers`: a shared prefix is read once, and kept while rows begin with it.

Choices of one question share its prompt, questions of one task their few-shot examples. The rest is read in batches of
rows of similar length. A model without a plain cache of keys and values reads every row whole.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from assay.models.likelihood.shared_prefixes import common_length, grouped

LEAST_SHARED = 16
"""Tokens: reading fewer again costs less than keeping them."""
ONE_MORE_PASS = 256
"""The fixed cost of a pass through the model, in tokens."""
MOST_TOKENS = 8192
"""Tokens in one pass, padding included."""
MOST_TRIED = 64
"""Tokens to try out a model with."""
TOLERANCE = 1e-3


class ScoredRow(NamedTuple):
    """Tokens, and from which on they are scored, which is never the first."""

    row: list[int]
    begin: int


ReadLikelihood = tuple[float, bool]
"""The log-likelihood of the scored tokens, and whether each is the likeliest at its position."""


class _Stem(NamedTuple):
    tokens: list[int]
    cache: Any


class PrefixReader:
    """Reads rows with one model; keeps the last shared prefix."""

    def __init__(self, model: Any, torch: Any, device: str) -> None:
        self._model = model
        self._torch = torch
        self._device = device
        self._stem: _Stem | None = None
        self._shares: bool | None = None
        """Whether sharing a prefix gives the same numbers as reading rows whole; None until it was tried."""
        self._keeps_logits = "logits_to_keep" in inspect.signature(model.forward).parameters

    def read(self, pieces: Sequence[ScoredRow]) -> list[ReadLikelihood]:
        """The likelihood of each piece, in their order."""
        likelihoods: dict[int, ReadLikelihood] = {}
        alone: list[int] = []
        # what is read of a row is all but its last token
        for common, places in grouped([piece.row[:-1] for piece in pieces], ONE_MORE_PASS):
            group = [pieces[place] for place in places]
            shared = self._shared(common, group)
            if shared < LEAST_SHARED or self._shares is False:
                alone.extend(places)
            else:
                likelihoods |= zip(places, self._read_shared(group, shared), strict=True)
        likelihoods |= zip(alone, self._read_after(None, [pieces[place] for place in alone]), strict=True)
        return [likelihoods[place] for place in range(len(pieces))]

    def _shared(self, common: int, group: Sequence[ScoredRow]) -> int:
        """How many tokens of a group's rows to read once; a single row can share the last prefix."""
        if len(group) == 1:
            common = common_length(self._stem.tokens, group[0].row) if self._stem is not None else 0
        # the token before the first scored one must be read with the rest
        return min(common, *(piece.begin - 1 for piece in group))

    def _read_shared(self, pieces: Sequence[ScoredRow], shared: int) -> list[ReadLikelihood]:
        if self._shares is None:
            self._shares = self._try_out(pieces, shared)
        stem = self._stem_of(pieces[0].row[:shared]) if self._shares else None
        return self._read_after(stem, pieces)

    def _try_out(self, pieces: Sequence[ScoredRow], shared: int) -> bool:
        """Whether the model can read in two steps: with a plain cache of keys and values, and the same numbers."""
        row = pieces[0].row[: min(shared, MOST_TRIED)]
        half = len(row) // 2
        tried = [ScoredRow(row, half + 1)]
        try:
            stem = self._stem_of(row[:half])
            if any(type(layer).__name__ != "DynamicLayer" for layer in stem.cache.layers):
                return False
            parts = self._read_after(stem, tried)
        except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError):
            self._stem = None
            return False
        whole = self._read_after(None, tried)
        return abs(parts[0][0] - whole[0][0]) < TOLERANCE

    def _stem_of(self, tokens: list[int]) -> _Stem:
        """The keys and values of a prefix; those that it has in common with the last prefix are reused."""
        from transformers import DynamicCache

        cache = DynamicCache()
        known = 0
        if self._stem is not None:
            known = common_length(self._stem.tokens, tokens)
            if known >= LEAST_SHARED:
                cache = self._stem.cache
                if known < len(self._stem.tokens):
                    cache.crop(known)
            else:
                known = 0
        if known < len(tokens):
            rest = self._torch.tensor([tokens[known:]], device=self._device)
            with self._torch.inference_mode():
                self._model(rest, past_key_values=cache, use_cache=True, **self._only_last(1))
        self._stem = _Stem(tokens, cache)
        return self._stem

    def _read_after(self, stem: _Stem | None, pieces: Sequence[ScoredRow]) -> list[ReadLikelihood]:
        """Batches of rows of similar length; rows that differ only in their last token are read once."""
        before = len(stem.tokens) if stem is not None else 0
        inputs: dict[tuple[int, ...], list[int]] = {}
        for place, piece in enumerate(pieces):
            inputs.setdefault(tuple(piece.row[before:-1]), []).append(place)
        likelihoods: dict[int, ReadLikelihood] = {}
        for batch in _batches(sorted(inputs, key=len)):
            starts = [min(pieces[place].begin for place in inputs[row]) - 1 - before for row in batch]
            logits, first = self._logits(stem, batch, min(starts))
            for row, scores in zip(batch, logits, strict=True):
                for place in inputs[row]:
                    begin = pieces[place].begin - before - 1 - first
                    likelihoods[place] = self._likelihood(scores[begin:], pieces[place])
        return [likelihoods[place] for place in range(len(pieces))]

    def _logits(self, stem: _Stem | None, rows: Sequence[tuple[int, ...]], start: int) -> tuple[Any, int]:
        """The logits from a position on that is not later than `start`, and that position."""
        torch = self._torch
        longest = max(len(row) for row in rows)
        # padding is on the right and attention looks backwards only, so no mask is needed
        padded = torch.tensor([[*row, *[row[-1]] * (longest - len(row))] for row in rows], device=self._device)
        options: dict[str, Any] = {"use_cache": False}
        if stem is not None:
            cache = copy.deepcopy(stem.cache)
            cache.batch_repeat_interleave(len(rows))
            options = {"past_key_values": cache, "use_cache": True}
        with torch.inference_mode():
            logits = self._model(padded, **options, **self._only_last(longest - start)).logits
        return logits, longest - logits.shape[1]

    def _only_last(self, count: int) -> dict[str, int]:
        """Limits most models to the positions that are needed; every other costs a pass over the vocabulary."""
        return {"logits_to_keep": count} if self._keeps_logits else {}

    def _likelihood(self, scores: Any, piece: ScoredRow) -> ReadLikelihood:
        torch = self._torch
        targets = torch.tensor(piece.row[piece.begin :], device=scores.device)
        logprobs = torch.log_softmax(scores[: len(targets)].double(), dim=-1)
        own = logprobs.gather(1, targets[:, None])[:, 0]
        return float(own.sum()), bool((own >= logprobs.max(dim=-1).values).all())


def _batches(rows: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Rows come sorted by length; a batch ends where padding its rows would cost more than another pass."""
    batch: list[tuple[int, ...]] = []
    for row in rows:
        padding = sum(len(row) - len(shorter) for shorter in batch)
        if batch and (
            len(row) * (len(batch) + 1) > MOST_TOKENS or padding > ONE_MORE_PASS + len(row) * len(batch) // 4
        ):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
