"""`re.search` that cannot hang: patterns that might backtrack run in a helper process with a limit on its CPU time.

Python's `re` keeps the meaning of every pattern (a linear-time engine such as RE2 reads `\\w`, `\\b` and `$`
differently, which would change verdicts silently), but a pattern like `(\\w+\\s?)+$` can take years on an unlucky
text. Patterns that visibly cannot backtrack are searched right here. All others go to one helper process, this same
file run as a program; when the limit is over the operating system ends it, and the caller gets an error, not a verdict.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import threading

CPU_SECONDS = 1.0
MEMORY_BYTES = 1 << 30


class PatternTimeoutError(TimeoutError):
    """A search that used up its time: whether the pattern occurs is unknown."""


def pattern_found(pattern: str, text: str) -> bool:
    """Whether the regular expression is found anywhere in the text."""
    compiled = checked_pattern(pattern)
    if _CANNOT_BACKTRACK.fullmatch(pattern):
        return compiled.search(text) is not None
    return _helper.search(pattern, text)


def checked_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern compiled; a `ValueError` that names it when it is none."""
    if not isinstance(pattern, str):
        raise ValueError(f"a pattern must be a string, not {type(pattern).__name__}: {_short(pattern)}")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"bad regular expression {_short(pattern)}: {error}") from error


def _short(pattern: object) -> str:
    text = repr(pattern)
    return text if len(text) <= 200 else f"{text[:200]}…"


# Flags, then only literals, escapes, classes, anchors and top-level alternatives: no repetition and no group, so that
# the engine walks each alternative at most once from each position.
_CANNOT_BACKTRACK = re.compile(
    r"(?:\(\?[aimsux]+\))?"
    r"(?:[^\\*+?{(\[]|\\[^0-9A-Za-z]|\\[bBdDsSwWAZnrt]|\[\^?+\]?+[^\]\\\[]*+\])*+",
    re.DOTALL,
)


class _Helper:
    """The helper process: started when first needed, replaced when it had to be ended, gone with its parent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def search(self, pattern: str, text: str) -> bool:
        with self._lock:
            try:
                answer = self._ask(pattern, text)
            except BaseException:  # Ctrl-C, for one: an answer left unread would be taken for the next one's
                if self._process is not None:
                    self._process.kill()
                self.stop()
                raise
            if answer in (b"0", b"1"):
                return answer == b"1"
            status = self.stop()
        if status == -signal.SIGPROF:
            raise PatternTimeoutError(
                f"the pattern {_short(pattern)} took more than {CPU_SECONDS:g} s of CPU time on a text of {len(text)} "
                "characters; rewrite it without a repetition inside a repetition"
            )
        raise RuntimeError(f"searching for the pattern {_short(pattern)} failed: {_what_happened(answer, status)}")

    def _ask(self, pattern: str, text: str) -> bytes:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process = _start()
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None  # noqa: S101 (both are pipes, see _start)
        assert answers is not None  # noqa: S101
        parts = [part.encode("utf-8", "surrogatepass") for part in (pattern, text)]
        try:
            requests.write(b"%d %d\n" % (len(parts[0]), len(parts[1])) + b"".join(parts))
            requests.flush()
        except BrokenPipeError:
            return b""
        return answers.read(1)

    def stop(self) -> int | None:
        """End the helper; its exit status when it had already ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return None
        _close_pipes(process)
        try:
            return process.wait(timeout=1)  # it reads the end of its input
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def forget(self) -> None:
        """After a fork: the helper belongs to the parent, whose answers are not ours to read."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            _close_pipes(process)
            process.returncode = 0


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdout, process.stdin):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            pass  # it ended with part of a request unread


def _start() -> subprocess.Popen[bytes]:
    # No secret of ours is in its environment; some interpreters need these two to find their library.
    environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def _what_happened(answer: bytes, status: int | None) -> str:
    return "out of memory" if answer == b"m" else f"its helper process ended with status {status}"


_helper = _Helper()
atexit.register(_helper.stop)
os.register_at_fork(after_in_child=_helper.forget)


def _serve() -> None:
    """The helper's side: `<bytes of pattern> <bytes of text>`, a newline, both; answered by one byte."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    except (ValueError, OSError):
        pass  # not every system limits address space
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := requests.readline():
        pattern, text = (requests.read(int(size)).decode("utf-8", "surrogatepass") for size in header.split())
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # nobody handles its signal, so it ends the process
        try:
            answer = b"1" if re.search(pattern, text) else b"0"
        except MemoryError:
            answer = b"m"
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(answer)
        answers.flush()


if __name__ == "__main__":
    _serve()
