"""A loaded candidate: asked one thing at a time, and why it ended if it stops answering."""

from __future__ import annotations

import os
import secrets
import signal
import time
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.sandbox.clean_text import clean
from assay.sandbox.compare import check_shape
from assay.sandbox.inside.imports import is_refusal
from assay.sandbox.programs import Grade, Limits, OutcomeName
from assay.sandbox.session import Child, Session
from assay.sandbox.zygote import ZygoteError

Verdict = tuple[OutcomeName, str]
"""An outcome and its detail."""


class Trial:
    """A loaded candidate and what has been learned about it."""

    def __init__(self, session: Session, limits: Limits, imports: tuple[str, ...] | None) -> None:
        self.session = session
        self.limits = limits
        self.imports = imports
        self.candidate: Child = session.start("candidate")
        self.grade: Grade = "strong"
        self.wall_ms = 0.0

    def load(self, prelude: str, source: str) -> Verdict | None:
        """None when the source loaded, otherwise why no check can be made."""
        request = {"op": "load", "prelude": sendable(prelude), "source": sendable(source), "imports": self.imports}
        reply = self.ask(request)
        if isinstance(reply, tuple):
            return reply
        if "syntax" in reply:
            return "syntax_error", told(reply["syntax"])
        return self.trouble(reply) if "loaded" not in reply else None

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | Verdict:
        """One request, one reply with the same fresh id; a verdict when there is no such reply."""
        identity = secrets.token_hex(8)
        self.session.send(self.candidate, {"id": identity, **request})
        reply = self.session.receive(self.candidate)
        if reply is None:
            return self.silence()
        if reply.pop("id", None) != identity:
            return "violation", "the reply pipe carried something that was not asked for"
        return reply

    def silence(self) -> Verdict:
        """Why the candidate gave no answer."""
        child = self.candidate
        if child.bad_frame or child.stopped == "frame":
            return "violation", "the reply pipe carried something that is no frame"
        self.session.end(child)
        self.session.check_setup(child)
        return why_ended(child, self.limits)

    def trouble(self, reply: dict[str, Any]) -> Verdict:
        """What a reply without a value amounts to."""
        if "limit" in reply:
            return "output_limit", clean(str(reply["limit"]), 200)
        error = reply.get("error")
        if not isinstance(error, dict):
            return "violation", "the reply has neither value nor error"
        return outcome_of(error), told(error)

    def value(self, reply: dict[str, Any]) -> Any:
        check_shape(reply["value"])
        return reply["value"]

    def close(self) -> None:
        for child in self.session.children:
            self.session.end(child)
        self.wall_ms = (time.monotonic() - self.session.started) * 1000


def why_ended(child: Child, limits: Limits) -> Verdict:  # noqa: PLR0911 -- a list of reasons
    """The outcome of a candidate that ended without an answer."""
    if child.stopped == "cpu":
        return "timeout", f"more than {limits.cpu_seconds:g} s of processor time"
    if child.stopped == "wall":
        return "timeout", f"more than {limits.wall():g} s on the clock"
    if child.stopped == "memory":
        return "memory", f"more than {limits.memory_mb} MB"
    if child.stopped in ("stdout", "stderr"):
        return "output_limit", f"more than {limits.output_bytes} bytes on {child.stopped}"
    if child.stopped == "frame":
        return "violation", "the reply pipe was flooded"
    if child.ended is None:
        raise ZygoteError("a candidate neither runs nor ended")
    code = os.waitstatus_to_exitcode(child.ended.status)
    if code >= 0:
        return "runtime_error", f"exited with status {code} before it answered"
    if -code == signal.SIGSYS:
        return "violation", "made a system call that no honest program makes"
    if -code in (signal.SIGKILL, signal.SIGXCPU) and child.ended.cpu_seconds >= limits.cpu_seconds:
        return "timeout", f"more than {limits.cpu_seconds:g} s of processor time"
    return "crash", f"ended by signal {-code}"


def outcome_of(error: dict[str, Any]) -> OutcomeName:
    """What an exception of the candidate's amounts to."""
    types = error.get("types")
    if isinstance(types, list) and "MemoryError" in types:
        return "memory"
    return "wrong" if is_refusal(error) else "runtime_error"


def told(error: Any) -> str:
    """An exception of the candidate's, for a reader."""
    if not isinstance(error, dict):
        return ""
    types = error.get("types")
    name = types[0] if isinstance(types, list) and types and isinstance(types[0], str) else "Exception"
    line = error.get("line")
    where = f" (line {line})" if isinstance(line, int) else ""
    return clean(f"{name}: {error.get('message', '')}{where}", 500)


def sendable(text: str) -> str:
    """Lone surrogates cannot be encoded; no valid source holds one, and a marked one still fails to compile or run."""
    return text.encode("utf-8", "backslashreplace").decode()


def unusable(message: str, kind: str = "bad_request") -> FailureError:
    return FailureError(Failure(stage="sandbox", kind=kind, part="code_exec", message=message))
