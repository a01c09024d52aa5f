"""The relay between a verifier and a candidate: forwards the calls of a test, and checks all replies.

The harness decides here which part of a reply the verifier may see and how far a pass can be trusted: the candidate may
have rewritten everything that runs in its own process.
"""

from __future__ import annotations

import builtins
import os
import signal
from typing import Any

import msgspec

from assay.sandbox.assertions import Plan
from assay.sandbox.clean_text import clean
from assay.sandbox.inside.candidate import ACTIONS
from assay.sandbox.inside.values import MalformedError
from assay.sandbox.needs import Needs
from assay.sandbox.programs import Check, OutcomeName
from assay.sandbox.session import SandboxChild
from assay.sandbox.trial import ProgramVerdict, TooCostlyError, Trial, malformed, sendable, text, unusable
from assay.sandbox.zygote import SetupError, ZygoteError

ENDED_ITSELF = "the test ended its process"


def verify(trial: Trial, plan: Plan) -> tuple[Check, ...]:
    """Run the checks in a verifier, forwarding its calls to the candidate and the answers back."""
    verdicts = start_relay(trial, plan).run()
    return tuple(
        Check(label=label, outcome=verdict[0], detail=verdict[1])
        for label, verdict in zip(plan.labels, verdicts, strict=True)
    )


def start_relay(trial: Trial, plan: Plan, needs: Needs | None = None, *, agreeing: bool = False) -> Relay:
    """Start a verifier with the checks; with `needs` it looks for those first, and watches every use of a name.

    An `agreeing` one asks no candidate: answers that agree with everything are made up in the verifier.
    """
    verifier = trial.session.start("verifier", cpu_seconds=2 * trial.limits.cpu_seconds + 1)
    request = {
        "prelude": sendable("\n".join([plan.setup, *plan.guards])),
        "names": [name for name in plan.names if not (agreeing and name in plan.undefined)],
        "checks": [sendable(source) for source in plan.sources],
        "mode": plan.mode,
        "identities": plan.reading.identities or needs is not None,
        "needs": msgspec.to_builtins(needs),
        "agreeing": agreeing,
    }
    trial.session.send(verifier, request)
    return Relay(trial, verifier, plan)


class Relay:
    """Forwards calls from the verifier to the candidate, and checks the shape of every reply."""

    def __init__(self, trial: Trial, verifier: SandboxChild, plan: Plan) -> None:
        self.trial = trial
        self.verifier = verifier
        self.plan = plan
        self.count = len(plan.sources)
        self.verdicts: list[ProgramVerdict] = []
        self.reports: list[dict[str, Any]] = []
        """The verifier's own words about each check."""
        self.calls = 0
        self.asked = False
        """The test has asked the candidate for more than its names."""
        self.gone = ""
        """Why the verifier ended before it had reported every check."""
        self.reached = False
        """The current check has had an answer from the candidate."""
        self.answered = False
        """The candidate has sent something that the test may act on: the candidate may cause what the test does now."""
        self.data_names: set[str] = set()
        self.type_names: set[str] = set()
        self.left_to_python = False
        """A name that could be the candidate's was left to Python's own function of that name."""

    def run(self) -> list[ProgramVerdict]:
        session = self.trial.session
        while True:
            message = session.receive(self.verifier)
            if message is None:
                return self.verifier_gone()
            operation = message.get("op")
            if operation == "done" and len(self.verdicts) == self.count:
                return self.finish()
            if operation == "verdict":
                self.note(message)
            elif operation == "broken" and self.calls == 0:
                raise unusable(clean(str(message.get("message")), 500))
            else:
                ending = self.carry(message)
                if ending is not None:
                    return self.cut_short(ending)

    def note(self, message: dict[str, Any]) -> None:
        self.reports.append(message)
        outcome, detail = message["outcome"], clean(str(message.get("detail", "")), 500)
        if outcome == "unsupported":
            detail = f"{detail}, which cannot be split from it"
            if not self.answered:
                raise unusable(detail, kind="unsupported")
            outcome = "wrong"  # an answer may have caused it, which must not be a way to escape judgement
        if outcome == "wrong" and message.get("operator"):
            detail = f"{detail} (the test {message['own']}; `unsplittable: weak` can let them answer)"
        if outcome == "pass" and not self.proves_something():
            outcome, detail = "wrong", "the check never reached the candidate"
        if outcome == "pass" and (message.get("own") or self.left_to_python):
            self.trial.grade = "weak"
        self.verdicts.append((outcome, detail))
        self.reached = False

    def proves_something(self) -> bool:
        """Whether the check used something that came from the candidate: an answer, or data under its names."""
        check = len(self.verdicts)
        return (
            self.reached
            or (bool(self.data_names) and self.plan.mentions(check, self.data_names, called=False))
            or (bool(self.type_names) and self.plan.mentions(check, self.type_names, called=True))
        )

    def carry(self, message: dict[str, Any]) -> ProgramVerdict | None:
        """Forward one request to the candidate, and its reply; a verdict when the candidate has ended."""
        # counted, because objects of the candidate could keep a loop of the test running
        self.calls += 1
        self.asked = self.asked or message.get("op") != "names"
        if self.calls > self.trial.limits.calls:
            return "timeout", f"the test made more than {self.trial.limits.calls} calls"
        reply = self.trial.ask({**_request(message), "keep": True})
        if isinstance(reply, tuple):
            return reply
        try:
            if message["op"] == "names":
                if "values" not in reply:
                    return self.trial.trouble(reply)
                answer: dict[str, Any] = {"values": self.names(message["args"], reply["values"])}
            else:
                answer = self.answer(message, reply)
        except MalformedError as error:
            return malformed(error)
        self.trial.session.send(self.verifier, answer)
        return None

    def answer(self, message: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        """The part of a reply that the verifier may see, shape-checked."""
        self.answered = True
        if "limit" in reply:
            return {"error": {"types": ["ValueError"], "message": text(reply["limit"])[:200], "args": None}}
        self.reached = True
        if "error" in reply:
            return {"error": self.error(reply["error"])}
        if "value" not in reply:
            raise MalformedError("neither value nor error")
        value = self.trial.read(reply["value"], objects="h")
        self.judge_strength(message, value)
        return {"value": value, "changed": self.changed(message, value, reply.get("changed"))}

    def changed(self, message: dict[str, Any], value: Any, changed: Any) -> list[Any] | None:
        """How a call changed its arguments: accepted only from a call that returned None, and only as plain data."""
        if changed is None:
            return None
        if value is not None or not isinstance(changed, list) or len(changed) != len(message["args"]):
            raise MalformedError("changed arguments that no call left behind")
        if message["op"] != "call":
            return None
        return [tree if self.is_plain(tree) else None for tree in changed]

    def is_plain(self, tree: Any) -> bool:
        """Whether data has no handle in it, which would put an object of the candidate among the test's own values."""
        self.trial.read(tree)
        try:
            self.trial.read(tree, objects="")
        except TooCostlyError:
            raise
        except MalformedError:
            return False
        return True

    def names(self, names: list[str], entries: Any) -> list[dict[str, Any]]:
        if not isinstance(entries, list) or len(entries) != len(names):
            raise MalformedError("not an answer for every name")
        return [self.named(name, entry) for name, entry in zip(names, entries, strict=True)]

    def named(self, name: str, entry: Any) -> dict[str, Any]:
        """What the candidate reports for one of its names: nothing, data, an object, or an exception class."""
        if not isinstance(entry, dict):
            raise MalformedError("not an answer for a name")
        if entry.get("missing"):
            # who defines no `sum` of one's own has the test call Python's, which is right, and is no answer
            self.left_to_python |= hasattr(builtins, name)
            return {"missing": True}
        tree = self.trial.read(entry.get("tree"), objects="h")
        kind = tree[0] if isinstance(tree, list) else None
        if kind != "h":
            self.answered = True
            (self.type_names if kind == "T" else self.data_names).add(name)
        elif "exception" in entry and name in self.plan.reading.exceptions:
            self.answered = True
            return {"tree": tree, "exception": _texts(entry["exception"], "ancestry of an exception")}
        return {"tree": tree}

    def judge_strength(self, message: dict[str, Any], value: Any) -> None:
        """A test that lets the candidate's object answer about itself can be influenced, and is graded weak."""
        # data that comes back is compared here; a truth value of its own object is the verdict of who is judged
        about_itself = message["op"] in ("bool", "instance")
        about_argument = message["op"] in ("call", "getitem") and not message["named"] and _has_arguments(message)
        if about_itself or (about_argument and (isinstance(value, bool) or self.plan.reading.asks_objects)):
            self.trial.grade = "weak"

    def error(self, error: Any) -> dict[str, Any]:
        if not isinstance(error, dict):
            raise MalformedError("not an error")
        arguments = error.get("args")
        plain = isinstance(arguments, list) and all(map(self.is_plain, arguments))
        return {
            "types": _texts(error.get("types"), "type of an error")[:20],
            "message": text(error.get("message")),
            "args": arguments if plain else None,
        }

    def finish(self) -> list[ProgramVerdict]:
        """A pass also requires that the verifier ended normally."""
        self.trial.session.wait(self.verifier)
        ended = self.verifier.ended
        if ended is None or ended.status != 0:
            return self.verifier_gone()
        return self.verdicts

    def verifier_gone(self) -> list[ProgramVerdict]:
        """A verifier that reached a limit is the candidate's outcome: tests that do so by themselves are found when
        they are tried."""
        verifier = self.verifier
        if verifier.stopped in ("stdout", "stderr"):
            return self.stopped("output_limit", "the test printed too much")
        if verifier.stopped in ("frame", "replies"):
            return self.stopped("output_limit", "the test handed the candidate too much")
        if verifier.stopped == "memory":
            return self.stopped("memory", "program and test together used too much memory")
        self.trial.session.end(verifier)
        if verifier.stopped in ("cpu", "wall") or self.used_up_time():
            return self.stopped("timeout", "the test ran out of time")
        self.trial.session.check_setup(verifier)
        status = verifier.ended.status if verifier.ended else signal.SIGKILL
        if (code := os.waitstatus_to_exitcode(status)) != -signal.SIGKILL:
            self.gone = f"{ENDED_ITSELF} with status {code}" if code >= 0 else f"ended by signal {-code}"
        stderr = bytes(verifier.output["stderr"][:300]).decode("utf-8", "replace").strip()
        # one that exited by itself before its first request had received nothing of the candidate
        by_itself = self.calls == 0 and os.waitstatus_to_exitcode(status) >= 0
        raise (SetupError if by_itself else ZygoteError)(f"the verifier ended early (status {status}): {stderr}")

    def stopped(self, outcome: OutcomeName, why: str) -> list[ProgramVerdict]:
        self.gone = why
        return self.cut_short((outcome, why))

    def used_up_time(self) -> bool:
        """Whether the kernel's limit ended it before we read its clock, as happens on a busy machine."""
        ended = self.verifier.ended
        if ended is None or os.waitstatus_to_exitcode(ended.status) not in (-signal.SIGKILL, -signal.SIGXCPU):
            return False
        return ended.cpu_seconds >= 2 * self.trial.limits.cpu_seconds + 1

    def cut_short(self, ending: ProgramVerdict) -> list[ProgramVerdict]:
        missing = self.count - len(self.verdicts)
        later = (ending[0], f"not reached: {ending[1]}")
        return [*self.verdicts, *([ending] if missing else []), *([later] * (missing - 1))]


def _request(message: dict[str, Any]) -> dict[str, Any]:
    operation = message.get("op")
    if operation not in ACTIONS and operation != "names":
        raise ZygoteError(f"the verifier sent an unknown operation {operation!r}")
    return {key: message[key] for key in ("op", "handle", "args", "kwargs") if key in message}


def _has_arguments(message: dict[str, Any]) -> bool:
    return bool(message["args"] or message["kwargs"])


def _texts(names: Any, meaning: str) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MalformedError(f"no {meaning}")
    return names
