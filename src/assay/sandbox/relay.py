"""Between a verifier and a candidate: carries the calls of a test across, and checks all that comes back."""

from __future__ import annotations

from typing import Any

from assay.sandbox.assertions import Plan
from assay.sandbox.clean_text import clean
from assay.sandbox.compare import check_shape
from assay.sandbox.inside.values import MalformedError
from assay.sandbox.programs import Check
from assay.sandbox.session import Child
from assay.sandbox.trial import Trial, Verdict, sendable, unusable
from assay.sandbox.zygote import ZygoteError

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


def verify(trial: Trial, plan: Plan) -> tuple[Check, ...]:
    """Run the checks in a verifier, carrying its calls to the candidate and the answers back."""
    verifier = trial.session.start("verifier", cpu_seconds=2 * trial.limits.cpu_seconds + 1)
    request = {
        "prelude": sendable(plan.setup),
        "names": list(plan.names),
        "checks": [sendable(source) for source in plan.sources],
        "mode": plan.mode,
    }
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
        self.together = plan.may_run_together

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
                raise unusable(clean(str(message.get("message")), 500))
            else:
                ending = self.carry(message)
                if ending is not None:
                    return self.cut_short(ending)

    def note(self, message: dict[str, Any]) -> None:
        outcome, detail = message["outcome"], clean(str(message.get("detail", "")), 500)
        if outcome == "unsupported":
            raise unusable(f"{detail}, which cannot be split from it", kind="unsupported")
        if isinstance(message.get("own"), str):
            if self.together:
                raise unusable(f"{message['own']}, which cannot be split from it", kind="unsupported")
            detail = f"{detail} ({message['own']}; `unsplittable: weak` lets them answer)"
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
        except MalformedError as error:
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
                raise MalformedError("changed arguments are no list")
            for tree in changed:
                check_shape(tree)
        return {"value": value, "changed": changed}

    def names_shape(self, message: dict[str, Any], reply: dict[str, Any]) -> list[dict[str, Any]]:
        found = reply.get("values")
        if not isinstance(found, list) or len(found) != len(message["args"]):
            raise MalformedError("not an answer for every name")
        for entry in found:
            if not isinstance(entry, dict):
                raise MalformedError("not an answer for a name")
            if not entry.get("missing"):
                check_shape(entry.get("tree"))
                tree = entry["tree"]
                self.data_names |= not (isinstance(tree, list) and tree[0] in ("h", "o"))
            ancestry = entry.get("exception", [])
            if not isinstance(ancestry, list) or not all(isinstance(name, str) for name in ancestry):
                raise MalformedError("no ancestry of an exception")
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
        if verifier.stopped == "memory":
            return self.cut_short(("memory", "program and test together used too much memory"))
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
        raise MalformedError("an error that is none")
    types, message, arguments = error.get("types"), error.get("message"), error.get("args")
    if not isinstance(types, list) or not all(isinstance(name, str) for name in types):
        raise MalformedError("an error without a type")
    if arguments is not None:
        if not isinstance(arguments, list):
            raise MalformedError("an error whose arguments are no list")
        for tree in arguments:
            check_shape(tree)
    return {"types": types[:20], "message": str(message)[:2_000], "args": arguments}
