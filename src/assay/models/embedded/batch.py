"""Continuous batching for the embedded model: texts are written and read in a batch that refills.

New jobs are admitted as others finish, common prefixes of prompts are read once, and each request has its own random
numbers: a result does not depend on what else is in the batch.

    batch = Batch(Engine(load_weights(folder)), slots=16)
    batch.add(Writing(key="a", prompt=[1, 2, 3], most_tokens=20))
    batch.add(Reading(key="b", prompt=[1, 2, 3], continuation=[4, 5]))
    while batch.busy:
        for job in batch.step(): ...
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from assay.models.embedded.engine import Array, Engine, Memory, Piece, log_softmax
from assay.models.likelihood.shared_prefixes import common_length

PromptTokens = tuple[int, ...]

CHUNK_TOKENS = 512
"""A long prompt is fed in pieces, which bounds the memory that attention needs."""

PASS_TOKENS = 2048
"""The most tokens, of several sequences, that go through the layers together."""

SCORED_TOKENS = 128
"""Scores of the whole vocabulary are kept for this many tokens at once: they are a hundred times as large as states."""

KEPT_TOKENS = 8192
"""Sequences in flight have at most about this many tokens."""

REMEMBERED_TOKENS = 4096
"""How many tokens of prompts are kept, for other continuations and for prompts with the same prefix."""

LEAST_SHARED = 16
"""A shorter common prefix is read again, which is faster than copying."""


TokenLikelihood = tuple[float, list[tuple[int, float]]]
"""The log-probability of a token, and the likeliest tokens at its position with theirs."""


def token_likelihood(logits: Array, token: int, alternatives: int) -> TokenLikelihood:
    """The likelihood of one token, from one row of scores."""
    scores = log_softmax(logits)
    if not alternatives:
        return float(scores[token]), []
    if alternatives == 1:
        best = int(np.argmax(scores))
        return float(scores[token]), [(best, float(scores[best]))]
    least = np.partition(scores, -alternatives)[-alternatives] if alternatives < len(scores) else scores.min()
    likeliest = np.flatnonzero(scores >= least)  # sorting the whole vocabulary would cost more than the scores
    ranked = likeliest[np.argsort(-scores[likeliest], kind="stable")][:alternatives]
    return float(scores[token]), [(int(alternative), float(scores[alternative])) for alternative in ranked]


@dataclass(kw_only=True)
class Writing:
    """A job: continue the prompt, token by token."""

    key: Any
    prompt: Sequence[int]
    most_tokens: int
    temperature: float = 0.0
    """0 takes the likeliest token."""
    top_p: float = 1.0
    seed: int = 0
    """Of this text alone: two jobs with the same seed and prompt write the same."""
    alternatives: int | None = None
    """How many alternatives to keep with each token; None keeps no log-probabilities."""
    echo: bool = False
    """Whether to keep log-probabilities of the prompt's own tokens too."""
    ends: frozenset[int] = frozenset()
    """Tokens that end the text and are not part of it."""
    enough: Callable[[list[int]], bool] = lambda tokens: False
    """Whether the text so far is complete."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLikelihood] = field(default_factory=list)
    prompt_logprobs: list[TokenLikelihood] = field(default_factory=list)
    """From the second token on: the first has nothing before it."""
    end: tuple[int, TokenLikelihood] | None = None
    """The token that ended the text, where log-probabilities are kept."""
    finish_reason: str | None = None

    @property
    def room(self) -> int:
        return len(self.prompt) + self.most_tokens


@dataclass(kw_only=True)
class Reading:
    """A job: score a continuation of the prompt."""

    key: Any
    prompt: Sequence[int]
    continuation: Sequence[int]

    token_logprobs: list[float] = field(default_factory=list)
    is_greedy: bool | None = None

    @property
    def room(self) -> int:
        return len(self.prompt) + len(self.continuation)


@dataclass(kw_only=True)
class Embedding:
    """A job: the embedding of a text, the mean of its tokens' last hidden states."""

    key: Any
    prompt: Sequence[int]

    vector: list[float] | None = None

    @property
    def room(self) -> int:
        return len(self.prompt)


BatchJob = Writing | Reading | Embedding


class Batch:
    """Jobs in progress: new ones are admitted as others finish."""

    def __init__(self, engine: Engine, slots: int = 16) -> None:
        self._engine = engine
        self._slots = slots
        self._waiting: list[BatchJob] = []
        self._writing: list[_Writer] = []
        self._remembered: OrderedDict[PromptTokens, _ReadPrompt] = OrderedDict()

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._writing)

    def add(self, job: BatchJob) -> None:
        self._waiting.append(job)

    def step(self) -> list[BatchJob]:
        """Read the prompts of new jobs, write one token for each of the others; return the finished jobs."""
        new = self._admit()
        readings = [job for job in new if isinstance(job, Reading)]
        writings = [job for job in new if isinstance(job, Writing)]
        embeddings = [job for job in new if isinstance(job, Embedding)]
        if readings:
            self._read_continuations(readings)
        if embeddings:
            self._embed(embeddings)
        if writings:
            self._begin(writings)
        elif self._writing:
            self._write_on()
        finished = [writer.job for writer in self._writing if writer.job.finish_reason is not None]
        self._writing = [writer for writer in self._writing if writer.job.finish_reason is None]
        return [*readings, *embeddings, *finished]

    def _admit(self) -> list[BatchJob]:
        """The next jobs for which there is a slot and memory; at least one when there are no others."""
        admitted: list[BatchJob] = []
        tokens = sum(writer.job.room for writer in self._writing)
        while self._waiting and len(admitted) + len(self._writing) < self._slots:
            room = self._waiting[0].room
            if tokens + room > KEPT_TOKENS and (admitted or self._writing):
                break
            tokens += room
            admitted.append(self._waiting.pop(0))
        return admitted

    def _begin(self, jobs: list[Writing]) -> None:
        silent, echoing = [job for job in jobs if not job.echo], [job for job in jobs if job.echo]
        prompts = self._read_prompts([(tuple(job.prompt), job.room) for job in silent])
        prompts += [self._read_with_logprobs(job) for job in echoing]
        writers = [_Writer(job, prompt.memory) for job, prompt in zip([*silent, *echoing], prompts, strict=True)]
        self._choose(writers, np.stack([prompt.last for prompt in prompts]))
        self._writing += writers

    def _read_with_logprobs(self, job: Writing) -> _ReadPrompt:
        """Read a prompt with log-probabilities of its tokens. Every state is needed, so no prefix is reused."""
        memory = Memory(self._engine.shape, job.room)
        states = self._read_whole([Piece(memory, job.prompt)])[0]
        job.prompt_logprobs = self._likelihoods(states[:-1], job.prompt[1:], job.alternatives or 0)
        return _ReadPrompt(memory, states[-1])

    def _write_on(self) -> None:
        pieces = [Piece(writer.memory, writer.job.tokens[-1:]) for writer in self._writing]
        self._choose(self._writing, np.concatenate(self._engine.read(pieces)))

    def _choose(self, writers: Sequence[_Writer], hidden: Array) -> None:
        for writer, row in zip(writers, self._engine.logits(hidden), strict=True):
            writer.write(row)

    def _likelihoods(self, states: Array, tokens: Sequence[int], alternatives: int) -> list[TokenLikelihood]:
        """The likelihood of each token, from the state before it."""
        likelihoods: list[TokenLikelihood] = []
        for begin in range(0, len(tokens), SCORED_TOKENS):
            rows = self._engine.logits(states[begin : begin + SCORED_TOKENS])
            likelihoods += [
                token_likelihood(row, token, alternatives) for row, token in zip(rows, tokens[begin:], strict=False)
            ]
        return likelihoods

    def _read_whole(self, pieces: Sequence[Piece]) -> list[Array]:
        """Read whole sequences; return the hidden states of all tokens of each."""
        parts: list[list[Array]] = [[] for _ in pieces]
        for chunks in _passes(pieces):
            hidden = self._engine.read([chunk for _, chunk in chunks])
            for (number, _), states in zip(chunks, hidden, strict=True):
                parts[number].append(states)
        return [np.concatenate(states) if states else np.empty((0, 0), np.float32) for states in parts]

    def _read_continuations(self, jobs: list[Reading]) -> None:
        """Each prompt is read once; its continuations are read after copies of its memory."""
        new = [prompt for prompt in dict.fromkeys(tuple(job.prompt) for job in jobs) if prompt not in self._remembered]
        just_read = dict(zip(new, self._read_prompts([(prompt, len(prompt)) for prompt in new]), strict=True))
        sequences = [just_read.get(tuple(job.prompt)) or self._remembered[tuple(job.prompt)] for job in jobs]
        tails = [
            Piece(read.memory.copy(len(job.prompt), job.room), job.continuation[:-1])
            for read, job in zip(sequences, jobs, strict=True)
        ]
        for job, read, states in zip(jobs, sequences, self._read_whole(tails), strict=True):
            before = np.concatenate([read.last[None], states]) if len(states) else read.last[None]
            likelihoods = self._likelihoods(before, job.continuation, 1)
            job.token_logprobs = [logprob for logprob, _ in likelihoods]
            job.is_greedy = all(logprob >= likeliest[0][1] for logprob, likeliest in likelihoods)

    def _embed(self, jobs: list[Embedding]) -> None:
        """Every state is needed, so no prefix is reused."""
        pieces = [Piece(Memory(self._engine.shape, job.room), job.prompt) for job in jobs]
        for job, states in zip(jobs, self._read_whole(pieces), strict=True):
            job.vector = states.astype(np.float64).mean(axis=0).tolist()

    def _read_prompts(self, wanted: Sequence[tuple[PromptTokens, int]]) -> list[_ReadPrompt]:
        """Read prompts, each into a memory with the given room, from where its longest known prefix ends.

        Of new prompts with the same prefix, one is read first and the others follow.
        """
        prompts: dict[int, _ReadPrompt] = {}
        leaders = self._leaders([prompt for prompt, _ in wanted])
        followers = [number for number in range(len(wanted)) if number not in leaders]
        for wave in (leaders, followers):
            memories = [self._recall(*wanted[number]) for number in wave]
            pieces = [
                Piece(memory, wanted[number][0][memory.length :]) for number, memory in zip(wave, memories, strict=True)
            ]
            hidden = self._read_whole(pieces) if pieces else []
            for number, memory, states in zip(wave, memories, hidden, strict=True):
                prompts[number] = self._remembered[wanted[number][0]] = _ReadPrompt(memory, states[-1].copy())
        self._forget()
        return [prompts[number] for number in range(len(wanted))]

    def _leaders(self, prompts: Sequence[PromptTokens]) -> list[int]:
        """The prompts that gain nothing by waiting for another one."""
        leaders: list[int] = []
        for number, prompt in enumerate(prompts):
            known = max((common_length(prompt, remembered) for remembered in self._remembered), default=0)
            ahead = max((common_length(prompt, prompts[leader]) for leader in leaders), default=0)
            if ahead < known + LEAST_SHARED:
                leaders.append(number)
        return leaders

    def _recall(self, prompt: PromptTokens, room: int) -> Memory:
        """The memory of the longest known prefix; the last token is always read again, because its state is needed."""
        nearest = max(self._remembered, key=lambda remembered: common_length(prompt, remembered), default=())
        shared = min(common_length(prompt, nearest), len(prompt) - 1)
        if shared < LEAST_SHARED:
            return Memory(self._engine.shape, room)
        self._remembered.move_to_end(nearest)
        return self._remembered[nearest].memory.copy(shared, room)

    def _forget(self) -> None:
        while len(self._remembered) > 1 and sum(map(len, self._remembered)) > REMEMBERED_TOKENS:
            self._remembered.popitem(last=False)


class _ReadPrompt(NamedTuple):
    memory: Memory
    """May have more than the prompt by now: the tokens that were generated after it."""
    last: Array
    """The state of the prompt's last token."""


def _passes(pieces: Sequence[Piece]) -> Iterator[list[tuple[int, Piece]]]:
    """Passes over the pieces, chunk by chunk: how a sequence is cut depends only on itself."""
    chunks: list[tuple[int, Piece]] = []
    size = 0
    longest = max(len(piece.tokens) for piece in pieces)
    for begin in range(0, longest, CHUNK_TOKENS):
        for number, piece in enumerate(pieces):
            chunk = piece.tokens[begin : begin + CHUNK_TOKENS]
            if not chunk:
                continue
            if size + len(chunk) > PASS_TOKENS:
                yield chunks
                chunks, size = [], 0
            chunks.append((number, Piece(piece.memory, chunk)))
            size += len(chunk)
        if chunks:  # the next chunk of a sequence comes after this one
            yield chunks
            chunks, size = [], 0


class _Writer:
    """One text being written: its memory and its own random numbers."""

    def __init__(self, job: Writing, memory: Memory) -> None:
        self.job = job
        self.memory = memory
        # random numbers depend on the request, not on the order in which requests are computed
        identity = json.dumps([job.seed, list(job.prompt)]).encode()
        self._rng = np.random.default_rng(int.from_bytes(hashlib.sha256(identity).digest()[:16], "big"))

    def write(self, logits: Array) -> None:
        job = self.job
        if job.most_tokens == 0:
            job.finish_reason = "length"
            return
        token = self._choose(logits)
        if token in job.ends:
            job.finish_reason = "stop"
            if job.alternatives is not None:
                job.end = token, token_likelihood(logits, token, job.alternatives)
            return
        job.tokens.append(token)
        if job.alternatives is not None:
            job.logprobs.append(token_likelihood(logits, token, job.alternatives))
        if job.enough(job.tokens):
            job.finish_reason = "stop"
        elif len(job.tokens) >= job.most_tokens:
            job.finish_reason = "length"

    def _choose(self, logits: Array) -> int:
        if self.job.temperature == 0:
            return int(np.argmax(logits))
        shares = np.exp(log_softmax(logits / np.float32(self.job.temperature)))
        order = np.argsort(-shares, kind="stable")
        reached = np.cumsum(shares[order])
        if self.job.top_p < 1:
            order = order[: int(np.searchsorted(reached, self.job.top_p)) + 1]
            reached = reached[: len(order)]
        place = int(np.searchsorted(reached, self._rng.random() * reached[-1], side="right"))
        return int(order[min(place, len(order) - 1)])
