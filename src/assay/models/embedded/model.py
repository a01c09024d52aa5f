"""The embedded model: SmolLM2-135M-Instruct on this machine's processor, with no key, no server and no network.

Processes of one thread each (`worker`) do the work, and share one copy of the weights. A request goes to the least busy
process; continuations of one prompt go to the same process, which reads the prompt once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Served
from assay.core.types import Completion, Failure, Message, Request
from assay.models.adapters.options import one_of
from assay.models.embedded import weights as embedded_weights
from assay.models.embedded.worker_lines import Question, Reply
from assay.processes.child import Child, OnLine
from assay.processes.environment import worker_environment
from assay.processes.service import EndedError, Service
from assay.processes.start import cores, how_it_ended
from assay.text.printable import one_line

if TYPE_CHECKING:
    from assay.models.adapters.local_server import ServedModel

MOST_WORKERS = 4
DEFAULT_MAX_TOKENS = 256
_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class EmbeddedModel:
    """Decodes greedily unless a temperature is set; has log-likelihoods of continuations, and embeddings."""

    offers = ModelOffers(
        cacheable=True,
        likelihoods="yes",
        embeddings=True,
        renders_prompts=True,
        applies=("temperature", "top_p", "max_tokens", "stop", "seed", "logprobs", "system", "prefill"),
    )

    def __init__(
        self,
        *,
        mode: Literal["chat", "text"] | None = None,
        system: str | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        workers: int | None = None,
        batch_size: int | None = None,
        folder: str | None = None,
    ) -> None:
        """`mode=text` sends prompts without the chat template; left out, only tasks that say so are sent that way.

        `system` replaces the template's own system message; `workers` and `batch_size` change the speed, not the
        answers.
        """
        self._folder = embedded_weights.model_folder() if folder is None else Path(folder)
        embedded_weights.require(self._folder)
        embedded_weights.require_packages()
        about = embedded_weights.describe(self._folder)
        self.name = f"embedded:{about['name']}"
        self._chat = mode is None or one_of("mode", mode, ("chat", "text")) == "chat"
        self._system = system
        self._max_tokens = _count("max_tokens", max_tokens)
        self._settings = {
            "adapter": "embedded",
            "model": about["name"],
            "sha256": about["sha256"],
            "licence": about["licence"],
            "engine": "numpy-float32",
            "mode": mode,
            "system": system,
            "max_tokens": max_tokens,
        }
        count = _count("workers", workers) if workers is not None else min(MOST_WORKERS, cores())
        self._workers = [_Worker(self.name, self._folder) for _ in range(count)]
        self._batch_size = batch_size
        if batch_size is not None:
            self._set_slots(_count("batch_size", batch_size))
        self._reading: dict[str, tuple[_Worker, int]] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    async def served(self) -> Served:
        """The hash of the published file, which was checked when it was fetched."""
        return Served(strong={"weights sha256": str(self._settings["sha256"])})

    def set_batch_size(self, size: int) -> None:
        """The run's `--batch-size`; a `batch_size` in the model's own options takes precedence."""
        if self._batch_size is None:
            self._set_slots(size)

    async def generate(self, request: Request) -> Completion:
        request = self._with_system(request)
        chat = self._chat and not request.plain
        question = Question(id=0, request=request, chat=chat, max_tokens=self._max_tokens)
        if request.continuation is None:
            return await self._least_busy().complete(question)
        prompt = request.text()
        worker, users = self._reading.get(prompt, (self._least_busy(), 0))
        self._reading[prompt] = (worker, users + 1)
        try:
            return await worker.complete(question)
        finally:
            worker, users = self._reading[prompt]
            if users == 1:
                del self._reading[prompt]
            else:
                self._reading[prompt] = (worker, users - 1)

    async def ask(self, question: Question, on_piece: Callable[[str], None] | None = None) -> Completion:
        """Send a question of the worker protocol: for a server, which uses tokens and streams."""
        return await self._least_busy().complete(question, on_piece)

    async def aclose(self) -> None:
        await asyncio.gather(*(worker.service.aclose() for worker in self._workers))

    def _set_slots(self, count: int) -> None:
        for worker in self._workers:
            worker.slots = count

    def _least_busy(self) -> _Worker:
        return min(self._workers, key=lambda worker: worker.service.load)

    def _with_system(self, request: Request) -> Request:
        if (
            self._system is None
            or request.embed
            or (request.messages is None and (not self._chat or request.plain or request.continuation is not None))
        ):
            return request
        messages = request.messages or (Message(role="user", content=request.prompt or ""),)
        if messages[0].role == "system":
            return request
        system = Message(role="system", content=self._system)
        return msgspec.structs.replace(request, prompt=None, messages=(system, *messages))


def _count(option: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{option} must be a whole number of at least 1, got {value!r}")
    return value


class _Worker:
    """One process, started with its first request, and again if it ends."""

    def __init__(self, part: str, folder: Path) -> None:
        self._part = part
        self._folder = folder
        self.slots = 16
        self._listeners: dict[int, Callable[[str], None]] = {}
        self.service = Service(self._start, self._read)

    async def complete(self, question: Question, on_piece: Callable[[str], None] | None = None) -> Completion:
        numbers: list[int] = []

        def line(number: int) -> bytes:
            numbers.append(number)
            if on_piece is not None:
                self._listeners[number] = on_piece
            return self._line(msgspec.structs.replace(question, id=number, stream=on_piece is not None))

        try:
            reply = await self.service.ask(line)
        except EndedError as error:
            last = error.child.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            message = f"the engine's process {how_it_ended(error.child.status or 0)} {last[:300]}"
            raise self._failed("crashed", " ".join(message.split()), retryable=True) from error
        finally:
            for number in numbers:
                self._listeners.pop(number, None)
        if reply.completion is None:
            raise self._failed(reply.kind, reply.failure or "no reason was given")
        return reply.completion

    def _start(self, on_line: OnLine) -> Child:
        command = [sys.executable, "-P", "-m", "assay.models.embedded.worker", str(self._folder), str(self.slots)]
        return Child(command, env={**worker_environment(), **_ONE_THREAD}, on_line=on_line)

    def _line(self, question: Question) -> bytes:
        try:
            return msgspec.json.encode(question) + b"\n"
        except (UnicodeEncodeError, msgspec.MsgspecError) as error:
            raise self._failed("bad_request", f"the request cannot be sent as JSON: {error}") from error

    def _read(self, child: Child, line: bytes) -> tuple[int, Reply] | None:
        reply = _decode_reply(line)
        if reply.piece is None:
            return reply.id, reply
        if reply.id in self._listeners:  # unless the caller has gone
            self._listeners[reply.id](reply.piece)
        return None

    def _failed(self, kind: str, message: str, *, retryable: bool = False) -> FailureError:
        shown = one_line(message, 1000)
        return FailureError(Failure(stage="model", part=self._part, kind=kind, message=shown, retryable=retryable))


_decode_reply = msgspec.json.Decoder(Reply).decode


def make(
    argument: str | None = None,
    *,
    mode: Literal["chat", "text"] | None = None,
    system: str | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    workers: int | None = None,
    batch_size: int | None = None,
    engine: Literal["numpy", "xllamacpp"] = "numpy",
) -> EmbeddedModel | ServedModel:
    """The model `embedded`: a small real model on this machine, after `assay model get`.

    SmolLM2-135M-Instruct (Apache-2.0), 135 million parameters, English. It decodes greedily unless a temperature is
    set, samples with the run's seed, and computes true log-likelihoods. Its embeddings are the mean of its last hidden
    states: good enough to try a task with, not to measure with. Needs the extra `embedded`.
    `engine=xllamacpp` uses llama.cpp's own server: faster generation, no log-likelihoods.
    """
    if argument:
        raise UsageError(f"`embedded` takes no argument, got `embedded:{argument}`; write `--model embedded`")
    if one_of("engine", engine, ("numpy", "xllamacpp")) == "xllamacpp":
        from assay.models.adapters.local_server import ServedModel

        return ServedModel(embedded_weights.model_folder(), max_tokens=max_tokens)
    return EmbeddedModel(mode=mode, system=system, max_tokens=max_tokens, workers=workers, batch_size=batch_size)
