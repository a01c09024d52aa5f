"""One process of the embedded model: JSON lines in, JSON lines out, in the order in which answers are finished.

    python -m assay.models.embedded.worker FOLDER SLOTS

A request is a `Request` with an `id`; a reply has the same `id` and either a `completion` or a `failure`. With `stream`
set, replies with a `piece` of the text come before. The process ends when its stdin is closed, so it never outlives its
parent.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from tokenizers import Tokenizer

from assay.core.types import Completion, Message, Request
from assay.models.draw_seed import seed_of_draw
from assay.models.embedded.batch import Batch, BatchJob, Embedding, Reading, Writing
from assay.models.embedded.engine import Engine, load_weights
from assay.models.embedded.worker_lines import DOCUMENT_MARK, Question, Reply
from assay.models.likelihood.rolling import window_size, windows
from assay.models.prompt_fit import TooLongError, after_begin, fit_prompt, fit_scored, scored_with_whitespace, sent_text
from assay.prompts.jinja_rules import chat_template_environment


class CannotAnswerError(Exception):
    """Why a request cannot be answered."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Prompted(NamedTuple):
    """The question behind a job, the text that was sent for it, and how many of its tokens were cut."""

    question: Question
    sent: str | None = None
    cut: int = 0

    @property
    def request(self) -> Request:
        return self.question.request


class _Tokens(NamedTuple):
    """A text's tokens, the part of the text that each of its own stands for, and how many come before those."""

    ids: list[int]
    offsets: Sequence[tuple[int, int]]
    added: int


class JobTranslator:
    """Turns requests into jobs of token numbers, and finished jobs into completions."""

    def __init__(self, folder: Path) -> None:
        description = json.loads((folder / "model.json").read_bytes())
        self.engine = Engine(load_weights(folder))
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._end = frozenset({int(description["end_token"])})
        mark = self._tokenizer.token_to_id(DOCUMENT_MARK)
        self._mark = int(description["end_token"]) if mark is None else mark
        self._begin = [] if description.get("begin_token") is None else [int(description["begin_token"])]
        self._template = chat_template_environment().from_string(description["chat_template"] or "")

    def jobs(self, question: Question) -> list[BatchJob]:
        """One job, or one for each window of a text that is read in windows."""
        request = question.request
        if request.tools or request.response_format is not None:
            raise CannotAnswerError("unsupported", "the embedded model takes no tools and no response format")
        try:
            if request.continuation is not None:
                return list(self._reading(question, request.continuation))
            return [self._embedding(question) if request.embed else self._writing(question)]
        except TooLongError as error:
            raise CannotAnswerError("too_long", str(error)) from error

    def _embedding(self, question: Question) -> Embedding:
        text = self.text_of(question.request, chat=False)
        tokens = question.prompt_tokens or self._encode(text).ids or [self._mark]
        self._refuse_unreadable(tokens)
        return Embedding(key=Prompted(question), prompt=tokens)

    def _refuse_unreadable(self, tokens: Sequence[int]) -> None:
        if len(tokens) > self.engine.shape.context:
            raise TooLongError(
                f"the text has {len(tokens):,} tokens, and the model's context is {self.engine.shape.context:,}"
            )

    def text_of(self, request: Request, *, chat: bool) -> str:
        """The text of a request: messages through the model's chat template, a bare prompt unchanged."""
        messages = request.messages
        if messages is None and chat:
            messages = (Message(role="user", content=request.prompt or ""),)
        if messages is None:
            return request.prompt or ""
        if any(not isinstance(message.content, str) for message in messages):
            raise CannotAnswerError("unsupported", "the embedded model reads text; the request has other content")
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if turns[-1]["role"] != "assistant":
            return self._template.render(messages=turns, add_generation_prompt=True)
        # the answer goes on after its beginning: without what the template puts after a turn
        begun = turns[-1]["content"].strip()
        whole = self._template.render(messages=turns, add_generation_prompt=False)
        return whole[: whole.rindex(begun) + len(begun)]

    def _writing(self, question: Question) -> Writing:
        request = question.request
        most = question.max_tokens if request.max_tokens is None else request.max_tokens
        if most < 1 - question.echo:
            raise CannotAnswerError("bad_request", f"max_tokens must be at least 1, got {most}")
        key, prompt = self._prompt(question, most)
        room = self.engine.shape.context - len(prompt)
        stops = request.stop or ()
        return Writing(
            key=key,
            prompt=prompt,
            most_tokens=max(min(most, 1), min(most, room)),
            temperature=request.temperature or 0.0,
            top_p=1.0 if request.top_p is None else request.top_p,
            seed=seed_of_draw(request),
            alternatives=request.logprobs,
            echo=question.echo,
            ends=self._end,
            enough=lambda tokens: bool(stops) and _cut(self._decode(tokens), stops) is not None,
        )

    def _prompt(self, question: Question, most: int) -> tuple[Prompted, list[int]]:
        """The prompt of a text that is written, as far as it fits."""
        request, context = question.request, self.engine.shape.context
        if question.prompt_tokens:
            if question.echo and not most:
                self._refuse_unreadable(question.prompt_tokens)
                return Prompted(question), question.prompt_tokens
            fitted = fit_prompt(question.prompt_tokens, context=context, max_tokens=most, too_long=request.too_long)
            return Prompted(question), fitted.tokens
        text = self.text_of(request, chat=question.chat)
        tokens = self._encode(text)
        fitted = fit_prompt(tokens.ids, context=context, max_tokens=most, too_long=request.too_long)
        return Prompted(question, self._sent(text, tokens, fitted.cut), fitted.cut), fitted.tokens

    def _reading(self, question: Question, continuation: str) -> Iterator[Reading]:
        """The tokens that reach into the continuation, as with servers that echo a prompt; all, or window by window."""
        if not continuation:
            raise CannotAnswerError("bad_request", "an empty continuation has no likelihood")
        request, context = question.request, self.engine.shape.context
        text = self.text_of(request, chat=False)
        if request.messages is not None:  # what a template ends with
            text, continuation = scored_with_whitespace(text, continuation)
        tokens = self._encode(text + continuation)
        begin = tokens.added + sum(1 for _, end in tokens.offsets if end <= len(text))
        if not begin:  # the first token has nothing before it
            begin = 1
            tokens = tokens if tokens.ids[0] == self._mark else self._after_mark(tokens)
        if request.rolling is None:
            row, cut = fit_scored(tokens.ids, begin, context=context, too_long=request.too_long)
            key = Prompted(question, self._sent(text, tokens, cut), cut)
            yield Reading(key=key, prompt=row[: begin - cut], continuation=row[begin - cut :])
            return
        size, stride = request.rolling
        size = window_size(size, context + 1)  # the last token of a window is predicted, not read
        if size < 2 or stride < 0:
            message = f"a window must have at least 2 tokens and a stride of 0 or more, got {size} and {stride}"
            raise CannotAnswerError("bad_request", message)
        key = Prompted(question, self._sent(text, tokens, 0))
        for before, scored in windows(tokens.ids[:begin], tokens.ids[begin:], size=size, stride=stride):
            yield Reading(key=key, prompt=before, continuation=scored)

    def completion(self, jobs: Sequence[BatchJob], seconds: float) -> Completion:
        job = jobs[0]
        if isinstance(job, Reading):
            readings = [reading for reading in jobs if isinstance(reading, Reading)]
            raw: dict[str, Any] = {"continuation_tokens": sum(len(reading.continuation) for reading in readings)}
            if len(readings) > 1:
                raw["windows"] = len(readings)
            return Completion(
                text=job.key.request.continuation,
                logprob=math.fsum(logprob for reading in readings for logprob in reading.token_logprobs),
                is_greedy=all(reading.is_greedy for reading in readings),
                tokens_in=sum(reading.room for reading in readings),
                seconds=seconds,
                sent=job.key.sent,
                cut=job.key.cut,
                raw=raw,
            )
        if isinstance(job, Embedding):
            vector = tuple(job.vector or ())
            return Completion(text="", embedding=vector, tokens_in=len(job.prompt), seconds=seconds)
        text = self._decode(job.tokens)
        cut = _cut(text, job.key.request.stop or ())
        return Completion(
            text=text if cut is None else text[:cut],
            finish_reason=job.finish_reason,
            tokens_in=len(job.prompt),
            tokens_out=len(job.tokens) + (job.finish_reason == "stop" and cut is None),
            seconds=seconds,
            logprobs=self._logprobs(job) if job.alternatives is not None else None,
            sent=job.key.sent,
            cut=job.key.cut,
            raw=_by_number(job) if job.key.question.prompt_tokens is not None else None,
        )

    def settled(self, job: Writing) -> str:
        """The text so far, without an end that the next token may still change: part of a character or of a stop."""
        text = self._decode(job.tokens).rstrip("\ufffd")
        stops = [stop for stop in job.key.request.stop or () if stop]
        open_end = max((n for stop in stops for n in range(1, len(stop)) if text.endswith(stop[:n])), default=0)
        return text[: len(text) - open_end]

    def _logprobs(self, job: Writing) -> list[dict[str, Any]]:
        return [
            {
                "token": self._decode([token]),
                "logprob": logprob,
                "top_logprobs": [{"token": self._decode([likely]), "logprob": value} for likely, value in best],
            }
            for token, (logprob, best) in zip(job.tokens, job.logprobs, strict=True)
        ]

    def _encode(self, text: str) -> _Tokens:
        """The text's tokens after the begin token, where the model has one and the text does not begin with it."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = after_begin(self._begin, encoding.ids)
        tokens = _Tokens(ids, encoding.offsets, len(ids) - len(encoding.ids))
        return tokens if tokens.ids else self._after_mark(tokens)

    def _after_mark(self, tokens: _Tokens) -> _Tokens:
        """After the token between documents, for what has nothing else before it."""
        return _Tokens([self._mark, *tokens.ids], tokens.offsets, 1)

    def _sent(self, text: str, tokens: _Tokens, cut: int) -> str:
        added = str(self._tokenizer.decode(tokens.ids[: tokens.added], skip_special_tokens=False))
        return sent_text(text, tokens.offsets, added=added, added_tokens=tokens.added, cut=cut)

    def _decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))


def _by_number(job: Writing) -> dict[str, Any]:
    """The answer as token numbers, for requests that have token numbers."""
    return {
        "tokens": job.tokens,
        "logprobs": job.logprobs,
        "prompt_logprobs": job.prompt_logprobs,
        "end": job.end,
    }


def _cut(text: str, stops: Sequence[str]) -> int | None:
    """Where the first stop sequence begins; None when there is none."""
    return min((place for stop in stops if stop and (place := text.find(stop)) >= 0), default=None)


def main() -> None:
    folder, slots = Path(sys.argv[1]), int(sys.argv[2])
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_stdin, args=(lines,), daemon=True).start()
    translator = JobTranslator(folder)
    batch = Batch(translator.engine, slots)
    begun: dict[int, tuple[float, list[BatchJob]]] = {}
    remaining: dict[int, int] = {}
    streams: dict[int, str] = {}
    while True:
        for line in _arrived(lines, wait=not batch.busy):
            question = _decoder.decode(line)
            try:
                jobs = translator.jobs(question)
                begun[question.id], remaining[question.id] = (perf_counter(), jobs), len(jobs)
                if question.stream:
                    streams[question.id] = ""
                for job in jobs:
                    batch.add(job)
            except CannotAnswerError as error:
                _send(Reply(id=question.id, failure=str(error), kind=error.kind))
            except Exception as error:
                _send(Reply(id=question.id, failure=f"{type(error).__name__}: {error}"[:500]))
        for job in batch.step():
            number = job.key.question.id
            remaining[number] -= 1
            if not remaining[number]:
                (started, jobs), _ = begun.pop(number), remaining.pop(number)
                streams.pop(number, None)
                _send(Reply(id=number, completion=translator.completion(jobs, perf_counter() - started)))
        for number, sent in streams.items():
            job = begun[number][1][0]
            text = translator.settled(job) if isinstance(job, Writing) else ""
            if len(text) > len(sent):
                _send(Reply(id=number, piece=text[len(sent) :]))
                streams[number] = text


_decoder = msgspec.json.Decoder(Question)
_encoder = msgspec.json.Encoder()


def _read_stdin(lines: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)  # the parent process is gone


def _arrived(lines: queue.SimpleQueue[bytes], *, wait: bool) -> list[bytes]:
    arrived = [lines.get()] if wait else []
    while True:
        try:
            arrived.append(lines.get_nowait())
        except queue.Empty:
            return arrived


def _send(reply: Reply) -> None:
    sys.stdout.buffer.write(_encoder.encode(reply) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
