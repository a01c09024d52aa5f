"""The parent's side of the helper process, which matches patterns that may take long."""

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
    """A process that is started when first needed, replaced after a timeout, and ends with its parent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None

    def ask(self, seconds: float, operation: str, *arguments: Any) -> tuple[str, Any]:
        """The outcome (`answer`, `refused`, `timeout` or `broken`), and the result or the reason."""
        request = worker.line_of([seconds, operation, *arguments])
        with self._lock:
            try:
                line = self._send(request)
            except BaseException:  # such as Ctrl-C: an unread answer would be taken for the next one
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

    def _send(self, request: bytes) -> bytes:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = start([sys.executable, "-I", "-S", worker.__file__], env=bare_environment())
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None  # noqa: S101 (both are pipes)
        assert answers is not None  # noqa: S101
        try:
            requests.write(request)
            requests.flush()
        except BrokenPipeError:
            return b""
        return answers.readline()

    def stop(self) -> int | None:
        """End the helper; return its exit status if it had already ended."""
        process, self._process = self._process, None
        if process is None:
            return None
        close_pipes(process)
        return wait_or_kill(process, grace_seconds=1.0)  # it ends when its stdin is closed

    def forget(self) -> None:
        """Called in a forked child: the helper and its answers belong to the parent."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            close_pipes(process)
            process.returncode = 0


helper = Helper()
atexit.register(helper.stop)
os.register_at_fork(after_in_child=helper.forget)
