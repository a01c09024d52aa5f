"""The embedded model: SmolLM2-135M-Instruct on this machine's processor, with no key, no server and no network.

The work is done by processes of one thread each (`embedded_worker`), which share one copy of the weights. Requests go
to the process with the least to do; continuations of one prompt go to the same process, which reads the prompt once.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Failure, Message, Request
from assay.models import embedded_weights
from assay.models.embedded_worker_lines import LINE_BYTES, Question, Reply
from assay.models.options import one_of
from assay.printable import one_line
from assay.processes.environment import worker_environment

if TYPE_CHECKING:
    from assay.models.local_server import ServedModel

MOST_WORKERS = 4
DEFAULT_MAX_TOKENS = 256
_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class EmbeddedModel:
    """Writes greedily unless a temperature is asked for, and tells the log-likelihood of a given continuation."""

    cacheable = True
    scores_continuations = True

    def __init__(
        self,
        *,
        mode: Literal["chat", "text"] = "chat",
        system: str | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        workers: int | None = None,
        batch_size: int | None = None,
        folder: str | None = None,
    ) -> None:
        """`mode=text` gives prompts to the model without its chat template; `system` replaces the template's own
        system message; `workers` and `batch_size` change how fast it is, not what it says."""
        self._folder = embedded_weights.model_folder() if folder is None else Path(folder)
        embedded_weights.require(self._folder)
        embedded_weights.require_packages()
        about = embedded_weights.describe(self._folder)
        self.name = f"embedded:{about['name']}"
        self._chat = one_of("mode", mode, ("chat", "text")) == "chat"
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
        count = _count("workers", workers) if workers is not None else usual_workers()
        self._workers = [_Worker(self.name, self._folder) for _ in range(count)]
        self._batch_size = batch_size
        if batch_size is not None:
            self._set_slots(_count("batch_size", batch_size))
        self._reading: dict[str, tuple[_Worker, int]] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    def take_batch_size(self, size: int) -> None:
        """The run's `--batch-size`; a `batch_size` among the model's own options goes before it."""
        if self._batch_size is None:
            self._set_slots(size)

    async def generate(self, request: Request) -> Completion:
        request = self._with_system(request)
        question = Question(id=0, request=request, chat=self._chat, max_tokens=self._max_tokens)
        if request.continuation is None:
            return await self._least_busy().ask(question)
        prompt = request.text()
        worker, users = self._reading.get(prompt, (self._least_busy(), 0))
        self._reading[prompt] = (worker, users + 1)
        try:
            return await worker.ask(question)
        finally:
            worker, users = self._reading[prompt]
            if users == 1:
                del self._reading[prompt]
            else:
                self._reading[prompt] = (worker, users - 1)

    async def ask(self, question: Question, on_piece: Callable[[str], None] | None = None) -> Completion:
        """A question in the words of the engine's processes: for a server, which knows tokens and streams."""
        return await self._least_busy().ask(question, on_piece)

    async def aclose(self) -> None:
        await asyncio.gather(*(worker.aclose() for worker in self._workers))

    def _set_slots(self, count: int) -> None:
        for worker in self._workers:
            worker.slots = count

    def _least_busy(self) -> _Worker:
        return min(self._workers, key=lambda worker: worker.load)

    def _with_system(self, request: Request) -> Request:
        if self._system is None or (request.messages is None and (not self._chat or request.continuation is not None)):
            return request
        messages = request.messages or (Message(role="user", content=request.prompt or ""),)
        if messages[0].role == "system":
            return request
        system = Message(role="system", content=self._system)
        return msgspec.structs.replace(request, prompt=None, messages=(system, *messages))


def usual_workers() -> int:
    """One process per processor, up to four."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, available)


def _count(option: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{option} must be a whole number of at least 1, not {value!r}")
    return value


class _Worker:
    """One process, started with its first request and again if it should die."""

    def __init__(self, part: str, folder: Path) -> None:
        self._part = part
        self._folder = folder
        self.slots = 16
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._answers: dict[int, asyncio.Future[Completion]] = {}
        self._listeners: dict[int, Callable[[str], None]] = {}
        self._asked = 0

    @property
    def load(self) -> int:
        return len(self._answers)

    async def ask(self, question: Question, on_piece: Callable[[str], None] | None = None) -> Completion:
        self._asked += 1
        number = self._asked
        if on_piece is not None:
            self._listeners[number] = on_piece
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            process = await self._running()
            assert process.stdin is not None  # noqa: S101 - it was started with a pipe
            try:
                line = msgspec.json.encode(msgspec.structs.replace(question, id=number, stream=on_piece is not None))
            except (UnicodeEncodeError, msgspec.MsgspecError) as error:
                raise self._failed("bad_request", f"the request cannot be sent as JSON: {error}") from error
            process.stdin.write(line + b"\n")
            return await answer
        finally:
            self._answers.pop(number, None)
            self._listeners.pop(number, None)

    async def aclose(self) -> None:
        process, self._process = self._process, None
        listening, self._listening = self._listening, None
        if process is None or self._loop is not asyncio.get_running_loop():
            return
        if process.stdin is not None:
            process.stdin.close()
        if process.returncode is None:
            try:
                process.kill()
            except ProcessLookupError:
                pass  # it was quicker
        await process.wait()
        if listening is not None:
            await asyncio.gather(listening, return_exceptions=True)

    async def _running(self) -> asyncio.subprocess.Process:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # pipes belong to the loop they were opened in
            self._loop, self._process, self._starting = loop, None, asyncio.Lock()
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "assay.models.embedded_worker",
                    str(self._folder),
                    str(self.slots),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    limit=LINE_BYTES,
                    env={**worker_environment(), **_ONE_THREAD},
                )
                self._listening = asyncio.ensure_future(self._listen(self._process))
        return self._process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101 - it was started with a pipe
        assert process.stderr is not None  # noqa: S101 - likewise
        said = asyncio.ensure_future(process.stderr.read())
        async for line in process.stdout:
            reply = _decode_reply(line)
            answer = self._answers.get(reply.id)
            if answer is None or answer.done():
                continue  # whoever asked has gone
            if reply.piece is not None:
                self._listeners[reply.id](reply.piece)
            elif reply.completion is not None:
                answer.set_result(reply.completion)
            else:
                answer.set_exception(self._failed(reply.kind, reply.failure or "no reason was given"))
        code = await process.wait()
        last = (await said).decode("utf-8", "replace").strip().rpartition("\n")[2]
        message = " ".join(f"the engine's process ended with code {code} {last[:300]}".split())
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(self._failed("crashed", message, retryable=True))

    def _failed(self, kind: str, message: str, *, retryable: bool = False) -> FailureError:
        told = one_line(message, 1000)
        return FailureError(Failure(stage="model", part=self._part, kind=kind, message=told, retryable=retryable))


_decode_reply = msgspec.json.Decoder(Reply).decode


def make(
    argument: str | None = None,
    *,
    mode: Literal["chat", "text"] = "chat",
    system: str | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    workers: int | None = None,
    batch_size: int | None = None,
    engine: Literal["numpy", "xllamacpp"] = "numpy",
) -> EmbeddedModel | ServedModel:
    """The model behind `embedded`: a small real model on this machine, after `assay model get`.

    SmolLM2-135M-Instruct (Apache-2.0), 135 million parameters, English. It writes greedily unless a temperature is
    set, samples with the run's seed, and tells true log-likelihoods. Needs the extra `embedded`.
    `engine=xllamacpp` lets llama.cpp's own server do the work: quicker at writing, no log-likelihoods.
    """
    if argument:
        raise UsageError(f"`embedded` stands alone; `embedded:{argument}` says nothing to it")
    if one_of("engine", engine, ("numpy", "xllamacpp")) == "xllamacpp":
        from assay.models.local_server import ServedModel

        return ServedModel(embedded_weights.model_folder(), max_tokens=max_tokens)
    return EmbeddedModel(mode=mode, system=system, max_tokens=max_tokens, workers=workers, batch_size=batch_size)
