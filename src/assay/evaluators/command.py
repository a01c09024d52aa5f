"""Command evaluators: the payload on stdin, one JSON object on stdout, any language.

By default a new process is started for each evaluation. It may also be kept running, and be sent several at once.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import UsageError
from assay.evaluators.batches import Batches, Results, check_batch
from assay.evaluators.kept_programs import KeptPrograms
from assay.evaluators.payload import (
    Evaluation,
    EvaluatorError,
    ScoreRange,
    build_batch,
    build_payload,
    check_score_range,
    check_task_model,
    check_timeout,
    encode_payload,
    failed,
    read_answer,
    read_batch,
    shortened,
    shortened_end,
)
from assay.processes.capped import Finished, run_capped
from assay.processes.child import Child, OnLine
from assay.processes.environment import caller_environment
from assay.processes.service import EndedError
from assay.reading.env_file import key_names, refuse_unset
from assay.text.redaction import Redactor, is_credential_variable, redactor_of_given

TASK_MODEL_VARIABLE = "OPTIMIZE_ANYTHING_TASK_MODEL"
MAX_STDOUT_BYTES = 4 * 1024 * 1024
MAX_STDERR_BYTES = 64 * 1024
_INTERPRETERS = {"bash", "sh", "zsh", "python", "python3", "node", "ruby", "perl"}
MAX_SCRIPT_BYTES = 1024 * 1024
"""Of a script, read to see which variables it names."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_VARIABLE = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*\b")


class _Answer(NamedTuple):
    """What a program wrote, without the keys it was given."""

    stdout: bytes
    stderr: str


class CommandEvaluator:
    """An evaluator that is a program: an argument list, never a shell line.

    Words such as `NAME=value` before the program are its variables. It gets the caller's environment without
    credentials; `pass_env` names those that it gets all the same. `persistent`: it is kept
    running, reads a payload from each line and answers with a line. `batch`: it is sent up to so many evaluations at
    once, and has so many times its time limit for them.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout_seconds: float = 30.0,
        cwd: Path | str | None = None,
        score_range: ScoreRange = "unit",
        task_model: str | None = None,
        pass_env: Sequence[str] = (),
        persistent: bool = False,
        batch: int | None = None,
        max_stdout_bytes: int = MAX_STDOUT_BYTES,
    ) -> None:
        if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
            raise UsageError(
                f"an evaluator command is a list of words such as ['python3', 'score.py'], not {command!r}"
            )
        given = tuple(itertools.takewhile(_ASSIGNMENT.match, command))
        self.command = tuple(command[len(given) :])
        if not self.command or not self.command[0] or any("\0" in word for word in (*command, task_model or "")):
            raise UsageError("an evaluator command needs a program, and none of its words may hold a NUL character")
        self.variables = dict(word.split("=", 1) for word in given)
        """Set in front of the program."""
        self.name = f"evaluator `{shortened(shlex.join((*map(_shown, given), *self.command)), 120)}`"
        self.cwd = None if cwd is None else Path(cwd).expanduser().absolute()
        self.score_range = check_score_range(score_range)
        self.pass_env = frozenset(pass_env)
        self.batch = check_batch(batch)
        self.kept = KeptPrograms(self.name, self._start) if persistent else None
        self._timeout_seconds = check_timeout(timeout_seconds)
        self._task_model = check_task_model(task_model)
        self._max_stdout_bytes = max_stdout_bytes
        self._batches = None if batch is None else Batches(batch, self.send_batch)

    @property
    def identity(self) -> dict[str, Any]:
        """The command, the range, and the content of every file the command names; not how it is called."""
        hidden = {
            name: hashlib.sha256(value.encode()).hexdigest() if is_credential_variable(name, value) else value
            for name, value in self.variables.items()
        }
        return {
            "command": list(self.command),
            **({"variables": hidden} if hidden else {}),
            "score_range": self.score_range,
            "files": {word: _sha256(path) for word in self.command if (path := self._file(word)) is not None},
        }

    @property
    def ways(self) -> list[str]:
        """How it is called, in words, where that is not the default."""
        kept = ["kept running"] if self.kept is not None else []
        return kept if self.batch is None else [*kept, f"sent up to {self.batch} evaluations at once"]

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation:
        payload = self.payload(candidate, example, task_model)
        encode_payload(self.name, payload)  # what cannot be written fails alone
        if self._batches is not None:
            return await self._batches.evaluate(payload)
        answer = await self._ask(payload, self._timeout_seconds, payload.get("task_model"))
        with _with_stderr(answer.stderr):
            evaluation = read_answer(answer.stdout, self.score_range, self.name, "stdout")
        if self.kept is not None:
            evaluation.side_info.pop("_id", None)
        return evaluation

    def payload(self, candidate: str, example: Mapping[str, Any] | None, task_model: str | None) -> dict[str, Any]:
        return build_payload(candidate, example, self._task_model if task_model is None else task_model)

    async def close(self) -> None:
        """End whatever is kept or under way."""
        if self._batches is not None:
            await self._batches.close()
        if self.kept is not None:
            await self.kept.close()

    def check(self) -> None:
        """Check without running it: variables, folder, program and script exist. `UsageError` names what is missing."""
        refuse_unset("pass_env", self.pass_env)
        if self.cwd is not None and not self.cwd.is_dir():
            problem = "is not a folder" if self.cwd.exists() else "does not exist"
            raise UsageError(f"{self.name}: its working directory {self.cwd} {problem}")
        program = self.command[0]
        if "/" in program:
            path = (self.cwd or Path()) / program
            if not path.is_file():
                raise UsageError(f"{self.name}: program not found: {path}")
            if not os.access(path, os.X_OK):
                raise UsageError(
                    f"{self.name}: {path} is not executable; try `chmod +x`, or name its interpreter first"
                )
        elif shutil.which(program) is None:
            raise UsageError(f"{self.name}: program not found on PATH: {program}")
        if Path(program).name in _INTERPRETERS and len(self.command) > 1 and not self.command[1].startswith("-"):
            script = (self.cwd or Path()) / self.command[1]
            if not script.is_file():
                raise UsageError(f"{self.name}: script not found: {script}")

    async def send_batch(self, payloads: Sequence[dict[str, Any]]) -> Results:
        """A result for each payload; what is wrong with all of them is raised."""
        count = len(payloads)
        answer = await self._ask(build_batch(payloads), self._timeout_seconds * count, payloads[0].get("task_model"))
        with _with_stderr(answer.stderr):
            return read_batch(answer.stdout, count, self.score_range, self.name, "stdout")

    async def _ask(self, payload: Mapping[str, Any], timeout_seconds: float, task_model: str | None) -> _Answer:
        try:
            if self.kept is not None:
                return await self._ask_kept(self.kept, payload, timeout_seconds, task_model)
            finished = await run_capped(
                self.command,
                stdin=encode_payload(self.name, payload),
                timeout_seconds=timeout_seconds,
                cwd=self.cwd,
                env=self._environment(task_model),
                max_stdout_bytes=self._max_stdout_bytes,
                max_stderr_bytes=MAX_STDERR_BYTES,
            )
        except (OSError, ValueError) as error:
            raise self._not_started(error) from error
        self._refuse_unfinished(finished, timeout_seconds)
        return self._without_keys(finished.stdout, finished.stderr)

    async def _ask_kept(
        self, kept: KeptPrograms, payload: Mapping[str, Any], timeout_seconds: float, task_model: str | None
    ) -> _Answer:
        try:
            line, child = await kept.ask(payload, timeout_seconds, task_model)
        except TimeoutError as error:
            raise failed(self.name, "timeout", f"timed out after {timeout_seconds:g} s and was stopped") from error
        except EndedError as error:
            child = error.child
            if child.overflow:
                raise self._too_long(bytes(child.stderr)) from error
            how = "ended without an answer" if child.status == 0 else _how_it_ended(child.status or 0)
            raise self._broken("exit_code", how, bytes(child.stderr)) from error
        return self._without_keys(line, bytes(child.stderr))

    def _start(self, task_model: str | None, on_line: OnLine) -> Child:
        return Child(
            self.command,
            env=self._environment(task_model),
            on_line=on_line,
            max_bytes=self._max_stdout_bytes,
            cwd=self.cwd,
            max_stderr_bytes=MAX_STDERR_BYTES,
            ends_with_us=True,
        )

    def _environment(self, task_model: str | None) -> dict[str, str]:
        """The caller's without credentials; the task model's variable is in it exactly when a task model is given."""
        environment = {**caller_environment(_is_withheld, self.pass_env), **self.variables}
        environment.pop(TASK_MODEL_VARIABLE, None)
        return environment if task_model is None else {**environment, TASK_MODEL_VARIABLE: task_model}

    def _refuse_unfinished(self, finished: Finished, timeout_seconds: float) -> None:
        if finished.timed_out:
            raise self._broken("timeout", f"timed out after {timeout_seconds:g} s", finished.stderr)
        if finished.stdout_too_long:
            raise self._too_long(finished.stderr)
        if finished.exit_code != 0:
            raise self._broken("exit_code", _how_it_ended(finished.exit_code), finished.stderr)

    def _too_long(self, stderr: bytes) -> EvaluatorError:
        limit = self._max_stdout_bytes
        return self._broken("bad_output", f"stdout is longer than {limit} bytes, the limit", stderr)

    def _broken(self, kind: str, message: str, stderr: bytes) -> EvaluatorError:
        text = self._without_keys(b"", stderr).stderr
        written = f". It wrote to stderr: {shortened_end(text, 300)}" if text else ""
        return failed(self.name, kind, f"{message}{written}{self._not_passed(text)}", _seen(text))

    def _without_keys(self, stdout: bytes, stderr: bytes) -> _Answer:
        redactor = self._redactor()
        return _Answer(redactor.body(stdout), redactor.text(stderr.decode("utf-8", "backslashreplace").strip()))

    def _redactor(self) -> Redactor:
        """Knows the credentials that the program gets: those that were passed, and those in front of it."""
        passed = self._environment(None).items()
        return redactor_of_given(value for name, value in passed if name in self.pass_env or _is_withheld(name, value))

    def _not_passed(self, stderr: str) -> str:
        """Variables that its stderr names and that are set here, but were not passed to it."""
        missing = self._withheld_in(stderr[-2000:])
        return f". {_not_passed_in_words(missing)}" if missing else ""

    def withheld_in_words(self) -> str | None:
        """Variables that a file of the command names and that are withheld, in a sentence; None when there is none."""
        named: dict[str, str] = {}
        for word in self.command:
            path = self._file(word)
            if path is not None:
                named |= dict.fromkeys(self._withheld_in(_beginning_of(path)), word)
        if not named:
            return None
        return f"{self.name}: {_not_passed_in_words(list(named))}; named in {', '.join(dict.fromkeys(named.values()))}"

    def _withheld_in(self, text: str) -> list[str]:
        passed = self._environment("")
        named = dict.fromkeys(_VARIABLE.findall(text))
        return [name for name in named if name in os.environ and name not in passed and not name.startswith("_")]

    def _not_started(self, error: OSError | ValueError) -> EvaluatorError:
        if isinstance(error, FileNotFoundError):
            if self.cwd is not None and not self.cwd.is_dir():
                return failed(self.name, "not_started", f"working directory not found: {self.cwd}")
            if (missing := self._missing_interpreter()) is not None:
                return failed(self.name, "not_started", missing)
            return failed(self.name, "not_started", f"program not found: {self.command[0]}")
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return failed(self.name, "not_started", f"cannot be started: {self.command[0]}: {reason or error}")

    def _missing_interpreter(self) -> str | None:
        """What is wrong with a script that is there and cannot be started because its first line names no program."""
        path = self._file(self.command[0]) or (Path(found) if (found := shutil.which(self.command[0])) else None)
        first = _beginning_of(path).partition("\n")[0].strip() if path is not None else ""
        if not first.startswith("#!"):
            return None
        return f"cannot be started: the interpreter in the first line of {self.command[0]} is not there: {first}"

    def _file(self, word: str) -> Path | None:
        path = (self.cwd or Path()) / word
        try:
            return path if path.is_file() else None
        except OSError:  # a word too long to be a file's name
            return None


command_evaluator = CommandEvaluator
"""What the protocol calls it."""


def _is_withheld(name: str, value: str) -> bool:
    return name in key_names or is_credential_variable(name, value)


def _shown(assignment: str) -> str:
    name, _, value = assignment.partition("=")
    return f"{name}=…" if is_credential_variable(name, value) else assignment


def _not_passed_in_words(names: Sequence[str]) -> str:
    flag = f"--evaluator-env {names[0]} passes it (`pass_env` in a task file)"
    if len(names) == 1:
        return f"{names[0]} is a credential and was not passed to it: {flag}"
    return f"{', '.join(names)} are credentials and were not passed to it: {flag}"


def _beginning_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_SCRIPT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


@contextmanager
def _with_stderr(stderr: str) -> Iterator[None]:
    """Add what was written to stderr to whatever is wrong with the answer."""
    try:
        yield
    except EvaluatorError as error:
        error.side_info = {**_seen(stderr), **error.side_info}
        raise


def _seen(stderr: str) -> dict[str, Any]:
    return {"stderr": shortened_end(stderr, 4000)} if stderr else {}


def _how_it_ended(status: int) -> str:
    return f"ended with exit code {status}" if status > 0 else f"ended with signal {-status}"


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"
