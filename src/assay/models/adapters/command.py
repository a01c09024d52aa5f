"""A program as a model: JSON lines in, JSON lines out, no shell.

Each line on the program's standard input is one request, with an `id`, `prompt` or `messages`, and the parameters that
are set; each line on its standard output answers one of them, in any order:

    {"id": "1", "prompt": "compute: 2 + 3", "max_tokens": 8}
    {"id": "1", "text": "5"}        also: "finish_reason", "tokens_in", "tokens_out", "reasoning", "logprob"
    {"id": "1", "error": "no"}      also: "retryable": true

`CommandModel` starts the program once per batch and checks its exit status. `ServingCommandModel` keeps it running, and
starts it again when it has ended. Standard error is for logs; its end is shown when something breaks. Anything else on
standard output is an error. The program gets a clean environment: the variables it needs must be named.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Failure, Request
from assay.core.usage import token_count
from assay.models.adapters.chat_messages import message_body
from assay.models.adapters.options import USUAL_TIMEOUT_SECONDS, checked_timeout, longer_than_usual
from assay.overriding import override
from assay.processes.capped import run_capped
from assay.processes.child import GRACE_SECONDS, STDERR_TAIL_BYTES, Child, OnLine, last_words
from assay.processes.environment import child_environment, names_in
from assay.processes.service import EndedError, Service
from assay.processes.start import how_it_ended
from assay.reading.env_file import refuse_unset
from assay.text.printable import one_line
from assay.text.wording import HALF_A_CHARACTER, shortened

MAX_OUTPUT_BYTES = 64 * 1024 * 1024


def make(
    program: str,
    *,
    persistent: bool = False,
    name: str | None = None,
    pass_env: str | Iterable[str] = (),
    timeout_seconds: float | None = USUAL_TIMEOUT_SECONDS,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> CommandModel | ServingCommandModel:
    """The model `command:PROGRAM ARGUMENTS…`; the words are split as in a shell, and nothing is expanded."""
    try:
        argv = shlex.split(program)
    except ValueError as error:
        raise UsageError(f"`command:{program}` cannot be split into words: {error}") from error
    kind = ServingCommandModel if persistent else CommandModel
    return kind(
        argv,
        name=name,
        pass_env=names_in(pass_env) if isinstance(pass_env, str) else tuple(pass_env),
        timeout_seconds=timeout_seconds,
        max_output_bytes=max_output_bytes,
    )


class _Command:
    """What both kinds share: the program, its environment, and the failures."""

    persistent = False

    def __init__(
        self,
        argv: Sequence[str],
        *,
        name: str | None = None,
        pass_env: Sequence[str] = (),
        timeout_seconds: float | None = USUAL_TIMEOUT_SECONDS,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        self.offers = ModelOffers(applies=(*_PARAMETERS, "system", "prefill"))
        self._argv = list(argv)
        refuse_unset("pass_env", pass_env)
        self._environment = child_environment(pass_env)
        if not self._argv:
            raise UsageError("`command` needs a program: `command:PROGRAM ARGUMENTS…`")
        if shutil.which(self._argv[0], path=self._environment.get("PATH")) is None:
            raise UsageError(f"there is no program `{self._argv[0]}` to run, neither as a path nor in PATH")
        self.name = name or _usual_name(self._argv)
        self._pass_env = sorted(pass_env)
        self._timeout_seconds = checked_timeout(timeout_seconds)
        self._max_output_bytes = max_output_bytes

    def allow_seconds(self, seconds: float) -> None:
        self._timeout_seconds = longer_than_usual(self._timeout_seconds, seconds)

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._argv!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """What the answers depend on. A file on the command line counts by its content: an edited script is another
        model."""
        return {
            "adapter": "command",
            "argv": self._argv,
            "persistent": self.persistent,
            "pass_env": self._pass_env,
            "files": _files_sha256(self._argv),
        }

    def _line(self, request_id: str, request: Request) -> bytes:
        body: dict[str, Any] = {"id": request_id}
        if request.messages is not None:
            body["messages"] = [message_body(message) for message in request.messages]
        else:
            body["prompt"] = request.prompt or ""
        for field in _PARAMETERS:
            value = getattr(request, field)
            if value is not None:
                body[field] = value
        try:
            return msgspec.json.encode(body) + b"\n"
        except UnicodeEncodeError as error:
            raise self._failed("bad_request", HALF_A_CHARACTER) from error

    def _completion(self, answer: _Answer, request: Request, seconds: float) -> Completion:
        if answer.error is not None:
            raise self._failed("exception", f"the program reported: {answer.error}", retryable=answer.retryable)
        if answer.text is None:
            raise self._failed("bad_output", "the program's answer has neither `text` nor `error`")
        if request.continuation is not None and answer.logprob is None:
            raise self._failed("unsupported", "the program returned no `logprob` for the continuation")
        return Completion(
            text=answer.text,
            finish_reason=answer.finish_reason,
            tokens_in=token_count(answer.tokens_in),
            tokens_out=token_count(answer.tokens_out),
            reasoning=answer.reasoning,
            logprob=answer.logprob,
            seconds=seconds,
        )

    def _too_much(self) -> FailureError:
        return self._failed("bad_output", f"the program wrote more than {self._max_output_bytes:,} bytes")

    def _not_started(self, error: OSError) -> FailureError:
        return self._failed("exception", f"cannot start `{self._argv[0]}`: {error.strerror}")

    def _timed_out(self, stderr: str) -> FailureError:
        message = f"the program did not answer within {self._timeout_seconds:g} s and was killed{stderr}"
        return self._failed("timeout", message, retryable=True)

    def _failed(self, kind: str, message: str, *, retryable: bool = False) -> FailureError:
        return FailureError(
            Failure(stage="model", part=self.name, kind=kind, message=one_line(message, 1000), retryable=retryable)
        )


class CommandModel(_Command):
    """Starts the program once per batch; an exit status other than 0 fails the whole batch."""

    batched = True

    async def generate(self, request: Request) -> Completion:
        (answer,) = await self.generate_batch([request])
        if isinstance(answer, FailureError):
            raise answer
        return answer

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion | FailureError]:
        """One process for all. A bad answer fails only itself; a broken program fails all."""
        started = perf_counter()
        lines = [self._line_or_failure(str(number), request) for number, request in enumerate(requests)]
        sent = [line for line in lines if isinstance(line, bytes)]
        if not sent:
            return [line for line in lines if isinstance(line, FailureError)]
        try:
            finished = await run_capped(
                self._argv,
                stdin=b"".join(sent),
                timeout_seconds=self._timeout_seconds,
                env=self._environment,
                max_stdout_bytes=self._max_output_bytes,
                max_stderr_bytes=STDERR_TAIL_BYTES,
            )
        except OSError as error:
            raise self._not_started(error) from error
        stderr = last_words(finished.stderr)
        if finished.timed_out:
            raise self._timed_out(stderr)
        if finished.stdout_too_long:
            raise self._too_much()
        if finished.exit_code:
            raise self._failed("exception", f"the program {how_it_ended(finished.exit_code)}{stderr}")
        answers = self._by_id(finished.stdout, stderr)
        share = (perf_counter() - started) / max(1, len(requests))
        return [
            line if isinstance(line, FailureError) else self._only(answers.get(str(number), []), request, share, stderr)
            for number, (request, line) in enumerate(zip(requests, lines, strict=True))
        ]

    def _line_or_failure(self, request_id: str, request: Request) -> bytes | FailureError:
        try:
            return self._line(request_id, request)
        except FailureError as error:
            return error

    def _by_id(self, output: bytes, stderr: str) -> dict[str, list[_Answer]]:
        answers: dict[str, list[_Answer]] = {}
        for line in filter(bytes.strip, output.split(b"\n")):
            answer = _read_line(line)
            if answer is None:
                raise self._failed("bad_output", f"{_GARBAGE} {_shown(line)}{stderr}")
            answers.setdefault(str(answer.id), []).append(answer)
        return answers

    def _only(self, answers: list[_Answer], request: Request, seconds: float, stderr: str) -> Completion | FailureError:
        """The one answer to a request."""
        if len(answers) != 1:
            problem = "did not answer this request" if not answers else f"answered this request {len(answers)} times"
            return self._failed("bad_output", f"the program {problem}{stderr}")
        try:
            return self._completion(answers[0], request, seconds)
        except FailureError as error:
            return error


class ServingCommandModel(_Command):
    """Keeps the program running; requests are sent concurrently and matched to their answers by id."""

    persistent = True

    def __init__(self, argv: Sequence[str], **options: Any) -> None:
        super().__init__(argv, **options)
        self._service = Service(self._start, self._answer)

    async def generate(self, request: Request) -> Completion:
        started = perf_counter()
        try:
            child = await self._service.running()
        except OSError as error:
            raise self._not_started(error) from error
        try:
            answer = await self._service.ask_of(
                child, lambda number: self._line(str(number), request), self._timeout_seconds
            )
        except TimeoutError as error:
            raise self._timed_out(last_words(child.stderr)) from error
        except EndedError as error:
            raise self._ended(child) from error
        return self._completion(answer, request, perf_counter() - started)

    async def aclose(self) -> None:
        """Give the program a moment to end by itself, then kill its process group."""
        await self._service.aclose(GRACE_SECONDS)

    def _start(self, on_line: OnLine) -> Child:
        return Child(
            self._argv,
            env=self._environment,
            on_line=on_line,
            max_bytes=self._max_output_bytes,
            ends_with_us=True,
        )

    def _answer(self, child: Child, line: bytes) -> tuple[int, _Answer]:
        answer = _read_line(line)
        number = "" if answer is None else str(answer.id)[:20]
        if answer is None or not (number.isascii() and number.isdigit() and 0 < int(number) <= self._service.issued):
            raise self._failed("bad_output", f"{_GARBAGE} {_shown(line)}")
        return int(number), answer

    def _ended(self, child: Child) -> FailureError:
        if child.overflow:
            return self._too_much()
        message = f"the program {how_it_ended(child.status or 0)} before it answered{last_words(child.stderr)}"
        return self._failed("exception", message, retryable=True)


class _Answer(Struct, frozen=True):
    id: str | int
    text: str | None = None
    error: str | None = None
    retryable: bool = False
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning: str | None = None
    logprob: float | None = None


_PARAMETERS = (
    *("temperature", "top_p", "max_tokens", "stop", "seed", "logprobs"),
    *("response_format", "tools", "extra", "continuation"),
)
_GARBAGE = (
    "the program wrote something other than an answer to its standard output (log messages belong on standard error):"
)
_decode_line = msgspec.json.Decoder(_Answer).decode


def _read_line(line: bytes) -> _Answer | None:
    try:
        return _decode_line(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _usual_name(argv: Sequence[str]) -> str:
    """The command line as a name: one line, short enough for a table."""
    name = one_line(f"command:{shlex.join(argv)}", 1000)
    return name if len(name) <= 80 else name[:79] + "…"


def _files_sha256(argv: Sequence[str]) -> dict[str, str]:
    paths = [(word, Path(word)) for word in argv]
    return {word: hashlib.sha256(path.read_bytes()).hexdigest() for word, path in paths if _is_small_file(path)}


def _is_small_file(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= 16 * 1024 * 1024
    except (OSError, ValueError):
        return False


def _shown(line: bytes) -> str:
    return shortened(line[:1000].decode("utf-8", "replace"), 200)
