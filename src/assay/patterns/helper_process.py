"""The helper process that matches patterns which may take long: the parent's side."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import Any

from assay.patterns import worker
from assay.processes.environment import bare_environment
from assay.processes.start import Process, close_pipes, start, wait_or_kill


class Helper:
    """Started when first needed, replaced when it had to be ended, gone with its parent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None

    def ask(self, seconds: float, operation: str, *arguments: Any) -> tuple[str, Any]:
        """`answer`, `refused`, `timeout` or `broken`, and what there is to say about it."""
        question = worker.line_of([seconds, operation, *arguments])
        with self._lock:
            try:
                line = self._line_for(question)
            except BaseException:  # Ctrl-C, for one: an answer left unread would be taken for the next one's
                if self._process is not None:
                    self._process.kill()
                self.stop()
                raise
            if line:
                outcome, value = worker.value_of(line)
                return outcome, value
            status = self.stop()
        if status == -signal.SIGPROF:
            return "timeout", None
        return "broken", f"its helper process ended with status {status}"

    def _line_for(self, question: bytes) -> bytes:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = start([sys.executable, "-I", "-S", worker.__file__], env=bare_environment())
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None  # noqa: S101 (both are pipes)
        assert answers is not None  # noqa: S101
        try:
            questions.write(question)
            questions.flush()
        except BrokenPipeError:
            return b""
        return answers.readline()

    def stop(self) -> int | None:
        """End the helper; its exit status when it had already ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return None
        close_pipes(process)
        return wait_or_kill(process, grace_seconds=1.0)  # it reads the end of its input

    def forget(self) -> None:
        """After a fork: the helper belongs to the parent, whose answers are not ours to read."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            close_pipes(process)
            process.returncode = 0


helper = Helper()
atexit.register(helper.stop)
os.register_at_fork(after_in_child=helper.forget)
