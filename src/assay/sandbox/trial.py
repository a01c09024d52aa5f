"""A loaded candidate: one request at a time, and why it ended if it stops answering."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.sandbox.clean_text import clean
from assay.sandbox.compare import check_shape
from assay.sandbox.inside.imports import is_refusal
from assay.sandbox.inside.values import SMALL, MalformedError
from assay.sandbox.programs import BROKEN_TEST, Grade, Limits, OutcomeName
from assay.sandbox.session import MAX_REPLIES, SandboxChild, Session
from assay.sandbox.zygote import SetupError, ZygoteError

ProgramVerdict = tuple[OutcomeName, str]
"""An outcome and its detail."""

MAX_WORK = 10_000_000
"""The total cost of reading one candidate's values, in the units of `check_shape`: about a second."""
REPLY_KEYS = {"value", "changed", "error", "limit", "values", "loaded", "syntax", "ran"}


class BrokenUnderCandidateError(ZygoteError):
    """The sandbox broke after a candidate had received its source: the candidate may have caused it."""


@contextlib.contextmanager
def attributed(session: Session) -> Iterator[None]:
    """Mark an error of the sandbox that a candidate may have caused; one before its source was sent is unchanged."""
    try:
        yield
    except SetupError:
        raise
    except ZygoteError as error:
        if session.exposed:
            raise BrokenUnderCandidateError(str(error)) from error
        raise


class TooCostlyError(MalformedError):
    """Well-formed, but reading all that a candidate sends would cost the harness too much."""


class Trial:
    """A loaded candidate, and the grade and cost so far."""

    def __init__(self, session: Session, limits: Limits, imports: tuple[str, ...] | None) -> None:
        self.session = session
        self.limits = limits
        self.imports = imports
        self.candidate: SandboxChild = session.start("candidate")
        self.grade: Grade = "strong"
        self.wall_ms = 0.0
        self.work = 0
        """The cost of reading its values so far."""

    def load(self, prelude: str, source: str) -> ProgramVerdict | None:
        """None when the source loaded, otherwise why no check can be made."""
        request = {"op": "load", "prelude": sendable(prelude), "source": sendable(source), "imports": self.imports}
        reply = self.ask(request)
        if isinstance(reply, tuple):
            return reply
        if "syntax" in reply:
            return "syntax_error", error_message(reply["syntax"])
        return self.trouble(reply) if "loaded" not in reply else None

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | ProgramVerdict:
        """Send one request and return the reply with the same new id; a verdict when there is no such reply."""
        identity = secrets.token_hex(8)
        self.session.send(self.candidate, {"id": identity, **request})
        reply = self.session.receive(self.candidate)
        if reply is None:
            return self.silence()
        if reply.pop("id", None) != identity or not reply.keys() <= REPLY_KEYS:
            return "violation", "the reply pipe carried something other than the reply"
        return reply

    def silence(self) -> ProgramVerdict:
        """Why the candidate gave no answer."""
        child = self.candidate
        if child.bad_frame or child.stopped == "frame":
            return "violation", "the reply pipe carried an invalid frame"
        self.session.end(child)
        self.session.check_setup(child)
        return why_ended(child, self.limits)

    def trouble(self, reply: dict[str, Any]) -> ProgramVerdict:
        """The verdict on a reply without a value."""
        if "limit" in reply:
            return "output_limit", clean(text(reply["limit"]), 200)
        error = reply.get("error")
        if not isinstance(error, dict):
            return "violation", "the reply has neither value nor error"
        return outcome_of(error), error_message(error)

    def read(self, tree: Any, *, objects: str = "ho") -> Any:
        """The tree, if it is well-formed and does not cost too much to read; `MalformedError` otherwise."""
        self.work += check_shape(tree, objects=objects)
        if self.work > MAX_WORK:
            raise TooCostlyError("the values it sends cost too much to read")
        return tree

    def close(self) -> None:
        for child in self.session.children:
            self.session.end(child)
        self.wall_ms = (time.monotonic() - self.session.started) * 1000


def why_ended(child: SandboxChild, limits: Limits) -> ProgramVerdict:  # noqa: PLR0911 -- a list of reasons
    """The outcome of a candidate that ended without an answer."""
    if child.stopped == "cpu":
        return "timeout", f"more than {limits.cpu_seconds:g} s of CPU time"
    if child.stopped == "wall":
        return "timeout", f"more than {limits.wall():g} s of wall time"
    if child.stopped == "memory":
        return "memory", f"more than {limits.memory_mb} MB"
    if child.stopped in ("stdout", "stderr"):
        return "output_limit", f"more than {limits.output_bytes} bytes on {child.stopped}"
    if child.stopped == "frame":
        return "violation", "the reply pipe was flooded"
    if child.stopped == "replies":
        return "output_limit", f"more than {MAX_REPLIES} bytes of replies"
    if child.ended is None:
        raise ZygoteError("a candidate is neither running nor ended")
    code = os.waitstatus_to_exitcode(child.ended.status)
    if code >= 0:
        return "runtime_error", f"exited with status {code} before it answered"
    if -code == signal.SIGSYS:
        return "violation", "made a system call that no legitimate program makes"
    if -code in (signal.SIGKILL, signal.SIGXCPU) and child.ended.cpu_seconds >= limits.cpu_seconds:
        return "timeout", f"more than {limits.cpu_seconds:g} s of CPU time"
    return "crash", f"ended by signal {-code}"


def outcome_of(error: dict[str, Any]) -> OutcomeName:
    """The outcome that an exception of the candidate means."""
    types = error.get("types")
    if isinstance(types, list) and "MemoryError" in types:
        return "memory"
    return "wrong" if is_refusal(error) else "runtime_error"


def error_message(error: Any) -> str:
    """An exception of the candidate, for a reader."""
    if not isinstance(error, dict):
        return ""
    types = error.get("types")
    name = types[0] if isinstance(types, list) and types and isinstance(types[0], str) else "Exception"
    line = error.get("line")
    where = f" (line {line})" if isinstance(line, int) and 0 <= line < SMALL else ""
    return clean(f"{name}: {text(error.get('message'))}{where}", 500)


def text(value: Any) -> str:
    """The value if it is a text, else "": converting anything else that a candidate sent could fail, or take long."""
    return value[:2_000] if isinstance(value, str) else ""


def malformed(error: MalformedError) -> ProgramVerdict:
    """The verdict on a reply that could not be read."""
    if isinstance(error, TooCostlyError):
        return "output_limit", str(error)
    return "violation", f"the reply has no valid value: {clean(str(error), 100)}"


def unreadable(error: Exception) -> ProgramVerdict:
    """The verdict on data that our own code failed on: a gap in its checks must not be a way to escape judgement."""
    return "violation", f"what it sent could not be judged: {type(error).__name__}: {clean(str(error), 200)}"


def sendable(source: str) -> str:
    """Escape lone surrogates, which cannot be encoded. No valid source has one; an escaped one still fails to run."""
    return source.encode("utf-8", "backslashreplace").decode()


def unusable(message: str, kind: str = BROKEN_TEST) -> FailureError:
    return FailureError(Failure(stage="sandbox", kind=kind, part="code_exec", message=message))
