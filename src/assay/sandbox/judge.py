"""Runs a program in its processes and decides, outside of them, what held.

The trust rule: a pass needs a value that only the right computation yields, compared where no candidate code ran.
Exit codes, printed words and anything the candidate says about itself prove nothing.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Sequence
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.sandbox import assertions
from assay.sandbox.assertions import Call, Plan
from assay.sandbox.clean_text import clean
from assay.sandbox.compare import check_shape, same, show
from assay.sandbox.inside.values import Malformed, TooLarge, encode
from assay.sandbox.programs import (
    Check,
    Expressions,
    Grade,
    IoPairs,
    Limits,
    Outcome,
    OutcomeName,
    Program,
    Stdout,
    TestProgram,
    summarize,
)
from assay.sandbox.session import Child, Session
from assay.sandbox.zygote import Zygote, ZygoteError

Verdict = tuple[OutcomeName, str]

_HANDLE_OPERATIONS = {
    "call",
    "getattr",
    "setattr",
    "getitem",
    "setitem",
    "delitem",
    "len",
    "iter",
    "next",
    "bool",
    "str",
    "repr",
    "int",
    "float",
    "instance",
    "enter",
    "exit",
}


def judge(program: Program, limits: Limits, zygote: Zygote, wake: int) -> Outcome:
    """Run one program to its outcome; `ZygoteError` when the sandbox broke, `FailureError` when the test is unusable."""
    if isinstance(program, Stdout):
        return _judge_stdout(program, limits, zygote, wake)
    with Session(zygote, limits, wake) as session:
        trial = Trial(session, limits)
        if isinstance(program, IoPairs):
            checks = _judge_pairs(program, trial)
        else:
            checks = _judge_plan(program, trial)
        trial.close()
        return _outcome(checks, trial)


class Trial:
    """A loaded candidate and what has been learned about it."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self.session = session
        self.limits = limits
        self.candidate: Child = session.start("candidate")
        self.grade: Grade = "strong"
        self.wall_ms = 0.0

    def load(self, prelude: str, source: str) -> Verdict | None:
        """None when the source loaded, otherwise why no check can be made."""
        reply = self.ask({"op": "load", "prelude": _sendable(prelude), "source": _sendable(source)})
        if isinstance(reply, tuple):
            return reply
        if "syntax" in reply:
            return "syntax_error", _told(reply["syntax"])
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
        types = error.get("types")
        is_memory = isinstance(types, list) and "MemoryError" in types
        return ("memory" if is_memory else "runtime_error"), _told(error)

    def value(self, reply: dict[str, Any]) -> Any:
        check_shape(reply["value"])
        return reply["value"]

    def close(self) -> None:
        for child in self.session.children:
            self.session.end(child)
        self.wall_ms = (time.monotonic() - self.session.started) * 1000


def _judge_pairs(program: IoPairs, trial: Trial) -> tuple[Check, ...]:
    calls = []
    for given, expected in program.pairs:
        if program.star and not isinstance(given, list | tuple):
            raise _unusable("io_pairs: with star each input must be a list of arguments")
        arguments = tuple(given) if program.star else (given,)
        calls.append(Call(function=program.function, arguments=arguments, named={}, expected=expected))
    if not calls:
        raise _unusable("io_pairs: there is no pair to check")
    labels = [f"{call.function}({', '.join(repr(a) for a in call.arguments)})"[:120] for call in calls]
    trouble = trial.load("", program.code)
    return _make_calls(trial, calls, labels, trouble, tolerance=program.tolerance, strict=program.strict)


def _judge_plan(program: Expressions | TestProgram, trial: Trial) -> tuple[Check, ...]:
    if isinstance(program, Expressions):
        plan = assertions.plan_expressions(program.targets, program.prelude)
        refuse = True
    else:
        plan = assertions.plan_tests(program.tests, program.prelude, program.entry_points)
        refuse = program.unsplittable == "refuse"
    if not plan.sources:
        raise _unusable("there is nothing to check")
    if not plan.names:
        raise _unusable(f"the tests never use a name of the candidate: {plan.labels[0]}")
    if plan.looks_inside and not refuse:
        return _run_together(program, plan, trial)
    if plan.looks_inside:
        raise _unusable(
            f"the tests use {', '.join(plan.looks_inside)}, so they cannot be kept apart from the candidate; "
            "`unsplittable: weak` runs them together and grades the outcome weak",
            kind="unsupported",
        )
    trouble = trial.load(program.prelude, program.code)
    if plan.calls is not None:
        checks = _make_calls(trial, plan.calls, [assertions_label(call) for call in plan.calls], trouble)
        return _as_one(plan.labels[0], checks) if plan.whole else _relabel(checks, plan.labels)
    if trouble is not None:
        return tuple(Check(label=label, outcome=trouble[0], detail=trouble[1]) for label in plan.labels)
    try:
        return _verify(trial, plan)
    except FailureError as unsplit:
        if refuse or unsplit.failure.kind != "unsupported":
            raise
        return _run_together(program, plan, trial)


def assertions_label(call: Call) -> str:
    return f"{call.function}({', '.join(repr(argument) for argument in call.arguments)})"[:120]


def _relabel(checks: tuple[Check, ...], labels: Sequence[str]) -> tuple[Check, ...]:
    return tuple(
        Check(label=label, outcome=check.outcome, detail=check.detail)
        for label, check in zip(labels, checks, strict=True)
    )


def _as_one(label: str, checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """All or nothing: the first check that does not hold speaks for all."""
    failed = next((check for check in checks if check.outcome != "pass"), None)
    if failed is None:
        return (Check(label=label, outcome="pass"),)
    return (Check(label=label, outcome=failed.outcome, detail=f"{failed.label}: {failed.detail}"),)


def _make_calls(
    trial: Trial,
    calls: Sequence[Call],
    labels: Sequence[str],
    trouble: Verdict | None,
    *,
    tolerance: float | None = None,
    strict: bool = True,
) -> tuple[Check, ...]:
    """One call at a time; what ends the process also ends the checks that are left."""
    checks = []
    for call, label in zip(calls, labels, strict=True):
        if trouble is not None:
            checks.append(Check(label=label, outcome=trouble[0], detail=trouble[1]))
            continue
        verdict, ends = _make_call(trial, call, tolerance, strict)
        checks.append(Check(label=label, outcome=verdict[0], detail=verdict[1]))
        trouble = (verdict[0], f"not reached: {verdict[1]}") if ends else None
    if trial.candidate.replies and trouble is None:
        return tuple(_spoiled(check) for check in checks)
    return tuple(checks)


def _spoiled(check: Check) -> Check:
    return Check(label=check.label, outcome="violation", detail="the reply pipe carried a surplus reply")


def _make_call(trial: Trial, call: Call, tolerance: float | None, strict: bool) -> tuple[Verdict, bool]:
    """The verdict on one call, and whether it was the candidate's last."""
    try:
        arguments = [encode(argument) for argument in call.arguments]
        named = {name: encode(value) for name, value in call.named.items()}
        expected = encode(call.expected)
    except TooLarge as error:
        raise _unusable(f"{call.function}: an argument or expected value: {error}") from None
    reply = trial.ask({"op": "call", "name": call.function, "args": arguments, "kwargs": named})
    if isinstance(reply, tuple):
        return reply, True
    if "value" not in reply:
        return trial.trouble(reply), False
    try:
        actual = trial.value(reply)
    except Malformed as error:
        return ("violation", f"the reply holds no value: {clean(str(error), 100)}"), True
    if same(expected, actual, tolerance=tolerance, strict=strict):
        return ("pass", ""), False
    return ("wrong", clean(f"expected {show(expected)}, got {show(actual)}", 500)), False


def _verify(trial: Trial, plan: Plan) -> tuple[Check, ...]:
    """Run the checks in a verifier, carrying its calls to the candidate and the answers back."""
    verifier = trial.session.start("verifier", cpu_seconds=2 * trial.limits.cpu_seconds + 1)
    request = {"prelude": plan.setup, "names": list(plan.names), "checks": list(plan.sources), "mode": plan.mode}
    trial.session.send(verifier, request)
    relay = Relay(trial, verifier, plan)
    verdicts = relay.run()
    return tuple(
        Check(label=label, outcome=verdict[0], detail=verdict[1])
        for label, verdict in zip(plan.labels, verdicts, strict=True)
    )


class Relay:
    """Carries calls from the verifier to the candidate; checks the shape of everything on the way back."""

    def __init__(self, trial: Trial, verifier: Child, plan: Plan) -> None:
        self.trial = trial
        self.verifier = verifier
        self.count = len(plan.sources)
        self.verdicts: list[Verdict] = []
        self.calls = 0
        self.reached = False
        self.data_names = False

    def run(self) -> list[Verdict]:
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
            elif operation == "broken":
                raise _unusable(clean(str(message.get("message")), 500))
            else:
                ending = self.carry(message)
                if ending is not None:
                    return self.cut_short(ending)

    def note(self, message: dict[str, Any]) -> None:
        outcome, detail = message["outcome"], clean(str(message.get("detail", "")), 500)
        if outcome == "unsupported":
            raise _unusable(f"{detail}, which cannot be split from it", kind="unsupported")
        if outcome == "pass" and not self.reached and not self.data_names:
            outcome, detail = "wrong", "the check never reached the candidate"
        self.verdicts.append((outcome, detail))
        self.reached = False

    def carry(self, message: dict[str, Any]) -> Verdict | None:
        """One question to the candidate and back; a verdict when the candidate is no longer there to ask."""
        self.calls += 1
        if self.calls > self.trial.limits.calls:
            return "timeout", f"the test made more than {self.trial.limits.calls} calls"
        reply = self.trial.ask({**_question(message), "keep": True})
        if isinstance(reply, tuple):
            return reply
        try:
            answer = self.answer(message, reply)
        except Malformed as error:
            return "violation", f"the reply holds no value: {clean(str(error), 100)}"
        self.trial.session.send(self.verifier, answer)
        return None

    def answer(self, message: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        """The part of a reply that the verifier may see, shape-checked."""
        if "limit" in reply:
            return {"error": {"types": ["ValueError"], "message": str(reply["limit"])[:200], "args": None}}
        if "error" in reply:
            self.reached = True
            return {"error": _error_shape(reply["error"])}
        if message["op"] == "names":
            return {"values": self.names_shape(message, reply)}
        self.reached = True
        value = self.trial.value(reply)
        self.judge_strength(message, value)
        changed = reply.get("changed")
        if changed is not None:
            if not isinstance(changed, list):
                raise Malformed("changed arguments are no list")
            for tree in changed:
                check_shape(tree)
        return {"value": value, "changed": changed}

    def names_shape(self, message: dict[str, Any], reply: dict[str, Any]) -> list[dict[str, Any]]:
        found = reply.get("values")
        if not isinstance(found, list) or len(found) != len(message["args"]):
            raise Malformed("not an answer for every name")
        for entry in found:
            if not isinstance(entry, dict):
                raise Malformed("not an answer for a name")
            if not entry.get("missing"):
                check_shape(entry.get("tree"))
                tree = entry["tree"]
                self.data_names |= not (isinstance(tree, list) and tree[0] in ("h", "o"))
            ancestry = entry.get("exception", [])
            if not isinstance(ancestry, list) or not all(isinstance(name, str) for name in ancestry):
                raise Malformed("no ancestry of an exception")
        return found

    def judge_strength(self, message: dict[str, Any], value: Any) -> None:
        """A test that lets the candidate's object say yes or no about itself can be talked to: weak."""
        own_word = message["op"] in ("bool", "instance")
        on_object = message["op"] == "call" and isinstance(value, bool) and message.get("method")
        if own_word or on_object:
            self.trial.grade = "weak"

    def finish(self) -> list[Verdict]:
        """A pass also needs that the verifier left in good order."""
        self.trial.session.wait(self.verifier)
        ended = self.verifier.ended
        if ended is None or ended.status != 0:
            return self.verifier_gone()
        return self.verdicts

    def verifier_gone(self) -> list[Verdict]:
        verifier = self.verifier
        if verifier.stopped in ("cpu", "wall"):
            return self.cut_short(("timeout", "the test ran out of time"))
        if verifier.stopped in ("stdout", "stderr"):
            return self.cut_short(("output_limit", "the test printed too much"))
        self.trial.session.end(verifier)
        self.trial.session.check_setup(verifier)
        status = verifier.ended.status if verifier.ended else -1
        told = bytes(verifier.output["stderr"][:300]).decode("utf-8", "replace").strip()
        raise ZygoteError(f"the verifier ended early (status {status}): {told}")

    def cut_short(self, ending: Verdict) -> list[Verdict]:
        missing = self.count - len(self.verdicts)
        later = (ending[0], f"not reached: {ending[1]}")
        return [*self.verdicts, *([ending] if missing else []), *([later] * (missing - 1))]


def _question(message: dict[str, Any]) -> dict[str, Any]:
    operation = message.get("op")
    if operation not in _HANDLE_OPERATIONS and operation != "names":
        raise ZygoteError(f"the verifier asked for {operation!r}")
    return {key: message[key] for key in ("op", "handle", "args", "kwargs") if key in message}


def _error_shape(error: Any) -> dict[str, Any]:
    if not isinstance(error, dict):
        raise Malformed("an error that is none")
    types, message, arguments = error.get("types"), error.get("message"), error.get("args")
    if not isinstance(types, list) or not all(isinstance(name, str) for name in types):
        raise Malformed("an error without a type")
    if arguments is not None:
        if not isinstance(arguments, list):
            raise Malformed("an error whose arguments are no list")
        for tree in arguments:
            check_shape(tree)
    return {"types": types[:20], "message": str(message)[:2_000], "args": arguments}


def _run_together(program: Expressions | TestProgram, plan: Plan, trial: Trial) -> tuple[Check, ...]:
    """Candidate and tests in one process, where the candidate can forge the result: graded weak."""
    trial.grade = "weak"
    trial.session.end(trial.candidate)
    trial.candidate = trial.session.start("candidate")
    trouble = trial.load(program.prelude, program.code)
    checks = []
    for label, source in zip(plan.labels, plan.sources, strict=True):
        if trouble is None:
            wrapped = f"{plan.setup}\n{source}" if plan.mode == "statements" else f"assert ({source})"
            reply = trial.ask({"op": "together", "source": wrapped})
            trouble = reply if isinstance(reply, tuple) else None
            verdict = reply if isinstance(reply, tuple) else _together_verdict(trial, reply)
        else:
            verdict = (trouble[0], f"not reached: {trouble[1]}")
        checks.append(Check(label=label, outcome=verdict[0], detail=verdict[1]))
    return tuple(checks)


def _together_verdict(trial: Trial, reply: dict[str, Any]) -> Verdict:
    if reply.get("ran") is True:
        return "pass", ""
    outcome, detail = trial.trouble(reply)
    types = reply.get("error", {}).get("types") if isinstance(reply.get("error"), dict) else None
    return ("wrong" if isinstance(types, list) and "AssertionError" in types else outcome), detail


def _judge_stdout(program: Stdout, limits: Limits, zygote: Zygote, wake: int) -> Outcome:
    if isinstance(program.stdin, str):
        runs = [(program.stdin, program.expected)]
    else:
        if len(program.stdin) != len(program.expected):
            raise _unusable(f"{len(program.stdin)} inputs but {len(program.expected)} expected outputs")
        runs = [(given, (wanted,)) for given, wanted in zip(program.stdin, program.expected, strict=True)]
    if not runs or not program.expected:
        raise _unusable("there is no expected output")
    outcomes = [_run_script(program.code, given, wanted, limits, zygote, wake, at) for at, (given, wanted) in enumerate(runs)]
    checks = tuple(outcome.checks[0] for outcome in outcomes)
    name, share = summarize(checks)
    return Outcome(
        outcome=name,
        checks=checks,
        share=share,
        stdout=outcomes[0].stdout,
        stderr=outcomes[0].stderr,
        cpu_ms=sum(outcome.cpu_ms for outcome in outcomes),
        wall_ms=sum(outcome.wall_ms for outcome in outcomes),
        tier=zygote.plan["name"],
    )


def _run_script(
    code: str, stdin: str, expected: Sequence[str], limits: Limits, zygote: Zygote, wake: int, at: int
) -> Outcome:
    with Session(zygote, limits, wake) as session:
        child = session.start("candidate", stdin=stdin.encode("utf-8", "surrogateescape"))
        session.send(child, {"id": "script", "op": "script", "source": _sendable(code)})
        session.wait(child)
        session.end(child)
        frame = session.receive(child)
        session.check_setup(child)
        outcome, detail = _script_verdict(child, frame, expected, limits)
        check = Check(label=f"output {at + 1}", outcome=outcome, detail=detail)
        wall_ms = (time.monotonic() - session.started) * 1000
        cpu = child.ended.cpu_seconds if child.ended else 0.0
        return Outcome(
            outcome=outcome,
            checks=(check,),
            share=float(outcome == "pass"),
            stdout=clean(bytes(child.output["stdout"])),
            stderr=clean(bytes(child.output["stderr"])),
            cpu_ms=cpu * 1000,
            wall_ms=wall_ms,
            tier=zygote.plan["name"],
        )


def _script_verdict(
    child: Child, frame: dict[str, Any] | None, expected: Sequence[str], limits: Limits
) -> Verdict:
    """Needs the end of the stream, exit status 0 and no limit hit: the right answer and then a hang is no pass."""
    if child.stopped is not None or child.ended is None or child.ended.status != 0:
        if frame is not None and isinstance(frame.get("syntax"), dict):
            return "syntax_error", _told(frame["syntax"])
        if frame is not None and isinstance(frame.get("error"), dict):
            types = frame["error"].get("types")
            memory = isinstance(types, list) and "MemoryError" in types
            return ("memory" if memory else "runtime_error"), _told(frame["error"])
        return why_ended(child, limits)
    written = _normal(bytes(child.output["stdout"]).decode("utf-8", "replace"))
    if any(written == _normal(text) for text in expected):
        return "pass", ""
    return "wrong", clean(f"expected {_normal(expected[0])[:200]!r}, got {written[:200]!r}", 500)


def _normal(text: str) -> str:
    """Lines without their trailing whitespace, the whole without trailing newlines."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).rstrip("\n")


def why_ended(child: Child, limits: Limits) -> Verdict:
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


def _outcome(checks: tuple[Check, ...], trial: Trial) -> Outcome:
    name, share = summarize(checks)
    children = trial.session.children
    return Outcome(
        outcome=name,
        checks=checks,
        share=share,
        stdout=clean(bytes(trial.candidate.output["stdout"])),
        stderr=clean(bytes(trial.candidate.output["stderr"])),
        cpu_ms=sum(child.ended.cpu_seconds for child in children if child.ended) * 1000,
        wall_ms=trial.wall_ms,
        grade=trial.grade,
        tier=trial.session.zygote.plan["name"],
    )


def _told(error: Any) -> str:
    """An exception of the candidate's, for a reader."""
    if not isinstance(error, dict):
        return ""
    types = error.get("types")
    name = types[0] if isinstance(types, list) and types and isinstance(types[0], str) else "Exception"
    line = error.get("line")
    where = f" (line {line})" if isinstance(line, int) else ""
    return clean(f"{name}: {error.get('message', '')}{where}", 500)


def _sendable(text: str) -> str:
    """Lone surrogates cannot be encoded; no valid source holds one, and a marked one still fails to compile or run."""
    return text.encode("utf-8", "backslashreplace").decode()


def _unusable(message: str, kind: str = "bad_request") -> FailureError:
    return FailureError(Failure(stage="sandbox", kind=kind, part="code_exec", message=message))
