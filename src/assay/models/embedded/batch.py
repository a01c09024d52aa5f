"""What the embedded model is asked to do, many at a time: texts are written and read in a batch that refills.

New jobs are let in as others leave, prompts that begin alike are read once, and chance belongs to the request: what
comes out does not depend on what else is in the batch.

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
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from assay.models.embedded.engine import Array, Engine, Memory, Piece, log_softmax

PromptTokens = tuple[int, ...]

CHUNK_TOKENS = 512
"""A long prompt is fed in pieces, which bounds the memory that attention needs."""

PASS_TOKENS = 2048
"""As many tokens of several sequences go through the layers together."""

SCORED_TOKENS = 128
"""For so many tokens at once the scores of the whole vocabulary are held: they are a hundred times their states."""

KEPT_TOKENS = 8192
"""Sequences in flight hold at most about this many tokens."""

REMEMBERED_TOKENS = 4096
"""As many tokens of prompts are remembered, for other continuations and for prompts that begin in the same way."""

LEAST_SHARED = 16
"""A shorter common beginning is read again: that is quicker than copying."""


TokenLikelihood = tuple[float, list[tuple[int, float]]]
"""The log-probability of a token, and the likeliest tokens in its place with theirs."""


def token_likelihood(logits: Array, token: int, alternatives: int) -> TokenLikelihood:
    """Of one token, by one row of scores."""
    scores = log_softmax(logits)
    if not alternatives:
        return float(scores[token]), []
    if alternatives == 1:
        best = int(np.argmax(scores))
        return float(scores[token]), [(best, float(scores[best]))]
    least = np.partition(scores, -alternatives)[-alternatives] if alternatives < len(scores) else scores.min()
    near = np.flatnonzero(scores >= least)  # sorting the whole vocabulary would cost more than the scores
    ranked = near[np.argsort(-scores[near], kind="stable")][:alternatives]
    return float(scores[token]), [(int(other), float(scores[other])) for other in ranked]


@dataclass(kw_only=True)
class Writing:
    """Go on after the prompt, token by token."""

    key: Any
    prompt: Sequence[int]
    most_tokens: int
    temperature: float = 0.0
    """0 takes the likeliest token."""
    top_p: float = 1.0
    seed: int = 0
    attempt: int = 1
    alternatives: int | None = None
    """How many alternatives to keep with each token; None keeps no log-probabilities."""
    echo: bool = False
    """Whether log-probabilities of the prompt's own tokens are wanted too."""
    ends: frozenset[int] = frozenset()
    """Tokens that end the text and are not part of it."""
    enough: Callable[[list[int]], bool] = lambda tokens: False
    """Whether the text so far holds all that is wanted."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLikelihood] = field(default_factory=list)
    prompt_logprobs: list[TokenLikelihood] = field(default_factory=list)
    """From the second token on: before the first there is nothing that could make it likely."""
    end: tuple[int, TokenLikelihood] | None = None
    """The token that ended the text, where log-probabilities are kept."""
    finish_reason: str | None = None

    @property
    def room(self) -> int:
        return len(self.prompt) + self.most_tokens


@dataclass(kw_only=True)
class Reading:
    """How likely is this continuation after the prompt?"""

    key: Any
    prompt: Sequence[int]
    continuation: Sequence[int]

    logprob: float | None = None
    token_logprobs: list[float] = field(default_factory=list)
    is_greedy: bool | None = None

    @property
    def room(self) -> int:
        return len(self.prompt) + len(self.continuation)


@dataclass(kw_only=True)
class Embedding:
    """Where does this text lie? The mean of its tokens' last hidden states."""

    key: Any
    prompt: Sequence[int]

    vector: list[float] | None = None

    @property
    def room(self) -> int:
        return len(self.prompt)


BatchJob = Writing | Reading | Embedding


class Batch:
    """Jobs on their way: new ones are let in as others leave."""

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
        """Read what newcomers bring, write one token for each of the others; the jobs that are finished now."""
        newcomers = self._admitted()
        readings = [job for job in newcomers if isinstance(job, Reading)]
        writings = [job for job in newcomers if isinstance(job, Writing)]
        embeddings = [job for job in newcomers if isinstance(job, Embedding)]
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

    def _admitted(self) -> list[BatchJob]:
        """The next jobs for which there is a slot and memory; at least one when nothing else goes on."""
        taken: list[BatchJob] = []
        held = sum(writer.job.room for writer in self._writing)
        while self._waiting and len(taken) + len(self._writing) < self._slots:
            room = self._waiting[0].room
            if held + room > KEPT_TOKENS and (taken or self._writing):
                break
            held += room
            taken.append(self._waiting.pop(0))
        return taken

    def _begin(self, jobs: list[Writing]) -> None:
        read = self._read_prompts([(tuple(job.prompt), job.room) for job in jobs if not job.echo])
        read += [self._read_aloud(job) for job in jobs if job.echo]
        begun = [*(job for job in jobs if not job.echo), *(job for job in jobs if job.echo)]
        writers = [_Writer(job, each.memory) for job, each in zip(begun, read, strict=True)]
        self._choose(writers, np.stack([each.last for each in read]))
        self._writing += writers

    def _read_aloud(self, job: Writing) -> _ReadPrompt:
        """Read a prompt with log-probabilities of its own tokens: every state is needed, so nothing is recalled."""
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
        """Of each token, by the state before it."""
        found: list[TokenLikelihood] = []
        for begin in range(0, len(tokens), SCORED_TOKENS):
            rows = self._engine.logits(states[begin : begin + SCORED_TOKENS])
            found += [
                token_likelihood(row, token, alternatives) for row, token in zip(rows, tokens[begin:], strict=False)
            ]
        return found

    def _read_whole(self, pieces: Sequence[Piece]) -> list[Array]:
        """Read whole sequences; for each the hidden states of all its tokens."""
        parts: list[list[Array]] = [[] for _ in pieces]
        for together in _passes(pieces):
            hidden = self._engine.read([piece for _, piece in together])
            for (number, _), states in zip(together, hidden, strict=True):
                parts[number].append(states)
        return [np.concatenate(each) if each else np.empty((0, 0), np.float32) for each in parts]

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
            found = self._likelihoods(before, job.continuation, 1)
            job.token_logprobs = [logprob for logprob, _ in found]
            job.is_greedy = all(logprob >= likeliest[0][1] for logprob, likeliest in found)
            job.logprob = float(np.sum(job.token_logprobs))

    def _embed(self, jobs: list[Embedding]) -> None:
        """Every state is wanted, so nothing is recalled."""
        pieces = [Piece(Memory(self._engine.shape, job.room), job.prompt) for job in jobs]
        for job, states in zip(jobs, self._read_whole(pieces), strict=True):
            job.vector = [float(each) for each in states.astype(np.float64).mean(axis=0)]

    def _read_prompts(self, wanted: Sequence[tuple[PromptTokens, int]]) -> list[_ReadPrompt]:
        """Read prompts, each into a memory with so much room, from where its longest known beginning ends.

        Of newcomers that begin in the same way, one leads and the others follow when it has been read.
        """
        found: dict[int, _ReadPrompt] = {}
        leaders = self._leaders([prompt for prompt, _ in wanted])
        followers = [number for number in range(len(wanted)) if number not in leaders]
        for wave in (leaders, followers):
            memories = [self._recalled(*wanted[number]) for number in wave]
            pieces = [
                Piece(memory, wanted[number][0][memory.length :]) for number, memory in zip(wave, memories, strict=True)
            ]
            hidden = self._read_whole(pieces) if pieces else []
            for number, memory, states in zip(wave, memories, hidden, strict=True):
                found[number] = self._remembered[wanted[number][0]] = _ReadPrompt(memory, states[-1].copy())
        self._forget()
        return [found[number] for number in range(len(wanted))]

    def _leaders(self, prompts: Sequence[PromptTokens]) -> list[int]:
        """Those that gain nothing by waiting for another one."""
        leaders: list[int] = []
        for number, prompt in enumerate(prompts):
            known = max((_common(prompt, other) for other in self._remembered), default=0)
            ahead = max((_common(prompt, prompts[leader]) for leader in leaders), default=0)
            if ahead < known + LEAST_SHARED:
                leaders.append(number)
        return leaders

    def _recalled(self, prompt: PromptTokens, room: int) -> Memory:
        """What is known of the prompt already; its last token is always read again, for its state is wanted."""
        nearest = max(self._remembered, key=lambda other: _common(prompt, other), default=())
        shared = min(_common(prompt, nearest), len(prompt) - 1)
        if shared < LEAST_SHARED:
            return Memory(self._engine.shape, room)
        self._remembered.move_to_end(nearest)
        return self._remembered[nearest].memory.copy(shared, room)

    def _forget(self) -> None:
        while len(self._remembered) > 1 and sum(map(len, self._remembered)) > REMEMBERED_TOKENS:
            self._remembered.popitem(last=False)


def _common(one: PromptTokens, other: PromptTokens) -> int:
    """How many tokens two prompts begin with alike."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in alike)


class _ReadPrompt(NamedTuple):
    memory: Memory
    """It may hold more by now: what a text's writer has added."""
    last: Array
    """The state of the prompt's last token."""


def _passes(pieces: Sequence[Piece]) -> Iterator[list[tuple[int, Piece]]]:
    """Rounds of pieces, chunk after chunk of each: how a sequence is cut depends on nothing but itself."""
    together: list[tuple[int, Piece]] = []
    size = 0
    longest = max(len(piece.tokens) for piece in pieces)
    for begin in range(0, longest, CHUNK_TOKENS):
        for number, piece in enumerate(pieces):
            chunk = piece.tokens[begin : begin + CHUNK_TOKENS]
            if not chunk:
                continue
            if size + len(chunk) > PASS_TOKENS:
                yield together
                together, size = [], 0
            together.append((number, Piece(piece.memory, chunk)))
            size += len(chunk)
        if together:  # the next chunk of a sequence comes after this one
            yield together
            together, size = [], 0


class _Writer:
    """One text being written: its memory and its own source of chance."""

    def __init__(self, job: Writing, memory: Memory) -> None:
        self.job = job
        self.memory = memory
        # chance belongs to the request, not to the order in which requests were computed
        identity = json.dumps([job.seed, job.attempt, list(job.prompt)]).encode()
        self._rng = np.random.default_rng(int.from_bytes(hashlib.sha256(identity).digest()[:16], "big"))

    def write(self, logits: Array) -> None:
        job = self.job
        if job.most_tokens == 0:
            job.finish_reason = "length"
            return
        token = self._chosen(logits)
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

    def _chosen(self, logits: Array) -> int:
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
