"""Command evaluators: the payload on stdin, one JSON object on stdout, any language."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.env_file import refuse_unset
from assay.evaluators.capped_process import Finished, run_capped
from assay.evaluators.payload import (
    Evaluation,
    EvaluatorError,
    ScoreRange,
    check_score_range,
    check_timeout,
    encode_payload,
    failed,
    read_answer,
    shortened,
)
from assay.processes.environment import child_environment

TASK_MODEL_VARIABLE = "OPTIMIZE_ANYTHING_TASK_MODEL"
MAX_STDOUT_BYTES = 4 * 1024 * 1024
MAX_STDERR_BYTES = 64 * 1024
_INTERPRETERS = {"bash", "sh", "zsh", "python", "python3", "node", "ruby", "perl"}


def command_evaluator(
    command: Sequence[str],
    *,
    timeout_seconds: float = 30.0,
    cwd: Path | str | None = None,
    score_range: ScoreRange = "unit",
    task_model: str | None = None,
    pass_env: Sequence[str] = (),
    max_stdout_bytes: int = MAX_STDOUT_BYTES,
) -> CommandEvaluator:
    """An evaluator that is a program: an argument list, never a shell line.

    `pass_env` names variables that the program gets besides those that every child inherits.
    """
    if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
        raise UsageError(f"an evaluator command is a list of words such as ['python3', 'score.py'], not {command!r}")
    if not command[0] or any("\0" in word for word in (*command, task_model or "")):
        raise UsageError("an evaluator command needs a program, and none of its words may hold a NUL character")
    return CommandEvaluator(
        command=tuple(command),
        timeout_seconds=check_timeout(timeout_seconds),
        cwd=None if cwd is None else Path(cwd).expanduser().absolute(),
        score_range=check_score_range(score_range),
        task_model=task_model,
        pass_env=frozenset(pass_env),
        max_stdout_bytes=max_stdout_bytes,
    )


class CommandEvaluator:
    """Starts the program anew for every evaluation."""

    def __init__(
        self,
        *,
        command: tuple[str, ...],
        timeout_seconds: float,
        cwd: Path | None,
        score_range: ScoreRange,
        task_model: str | None,
        pass_env: frozenset[str],
        max_stdout_bytes: int,
    ) -> None:
        self.name = f"evaluator `{shortened(shlex.join(command), 120)}`"
        self.score_range: ScoreRange = score_range
        self._command = command
        self._timeout_seconds = timeout_seconds
        self._cwd = cwd
        self._task_model = task_model
        self._pass_env = pass_env
        self._max_stdout_bytes = max_stdout_bytes

    @property
    def identity(self) -> dict[str, Any]:
        """The command, the range, and the content of every file the command names."""
        return {
            "command": list(self._command),
            "score_range": self.score_range,
            "files": {word: _sha256(path) for word in self._command if (path := self._file(word)) is not None},
        }

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation:
        task_model = self._task_model if task_model is None else task_model
        payload = encode_payload(self.name, candidate, example, task_model)
        try:
            finished = await run_capped(
                self._command,
                stdin=payload,
                timeout_seconds=self._timeout_seconds,
                cwd=self._cwd,
                env=self._environment(task_model),
                max_stdout_bytes=self._max_stdout_bytes,
                max_stderr_bytes=MAX_STDERR_BYTES,
            )
        except (OSError, ValueError) as error:
            raise self._not_started(error) from error
        return self._read(finished)

    async def close(self) -> None:
        """Nothing is kept between evaluations."""

    def check(self) -> None:
        """Look without running: variables, folder, program and script must be there. `UsageError` says what is not."""
        refuse_unset("pass_env", self._pass_env)
        if self._cwd is not None and not self._cwd.is_dir():
            what = "is not a folder" if self._cwd.exists() else "does not exist"
            raise UsageError(f"{self.name}: its working directory {self._cwd} {what}")
        program = self._command[0]
        if "/" in program:
            path = (self._cwd or Path()) / program
            if not path.is_file():
                raise UsageError(f"{self.name}: program not found: {path}")
            if not os.access(path, os.X_OK):
                raise UsageError(
                    f"{self.name}: {path} is not executable; try `chmod +x`, or name its interpreter first"
                )
        elif shutil.which(program) is None:
            raise UsageError(f"{self.name}: program not found on PATH: {program}")
        if Path(program).name in _INTERPRETERS and len(self._command) > 1 and not self._command[1].startswith("-"):
            script = (self._cwd or Path()) / self._command[1]
            if not script.is_file():
                raise UsageError(f"{self.name}: script not found: {script}")

    def with_timeout(self, timeout_seconds: float) -> CommandEvaluator:
        """The same evaluator with a shorter patience."""
        return CommandEvaluator(
            command=self._command,
            timeout_seconds=min(timeout_seconds, self._timeout_seconds),
            cwd=self._cwd,
            score_range=self.score_range,
            task_model=self._task_model,
            pass_env=self._pass_env,
            max_stdout_bytes=self._max_stdout_bytes,
        )

    def _environment(self, task_model: str | None) -> dict[str, str]:
        """That of every child; the task model's variable is in it exactly when a task model is given."""
        environment = child_environment(self._pass_env)
        environment.pop(TASK_MODEL_VARIABLE, None)
        return environment if task_model is None else {**environment, TASK_MODEL_VARIABLE: task_model}

    def _read(self, finished: Finished) -> Evaluation:
        stderr = finished.stderr.decode("utf-8", "backslashreplace").strip()
        seen = {"stderr": shortened(stderr, 4000)} if stderr else {}
        said = f". It wrote to stderr: {shortened(stderr, 300)}" if stderr else ""
        if finished.timed_out:
            raise failed(self.name, "timeout", f"timed out after {self._timeout_seconds:g} s{said}", seen)
        if finished.stdout_too_long:
            limit = self._max_stdout_bytes
            raise failed(
                self.name, "bad_output", f"stdout is longer than {limit} bytes, which is all we read{said}", seen
            )
        if finished.exit_code != 0:
            how = f"exit code {finished.exit_code}" if finished.exit_code > 0 else f"signal {-finished.exit_code}"
            raise failed(self.name, "exit_code", f"ended with {how}{said}", seen)
        try:
            return read_answer(finished.stdout, self.score_range, self.name, "stdout")
        except EvaluatorError as error:
            raise EvaluatorError(error.failure, {**seen, **error.side_info}) from error

    def _not_started(self, error: OSError | ValueError) -> EvaluatorError:
        if isinstance(error, FileNotFoundError):
            if self._cwd is not None and not self._cwd.is_dir():
                return failed(self.name, "not_started", f"working directory not found: {self._cwd}")
            return failed(self.name, "not_started", f"program not found: {self._command[0]}")
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return failed(self.name, "not_started", f"cannot be started: {self._command[0]}: {reason or error}")

    def _file(self, word: str) -> Path | None:
        path = (self._cwd or Path()) / word
        try:
            return path if path.is_file() else None
        except OSError:  # a word too long to be a file's name
            return None


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"
