"""Judges whole programs by what they print."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from assay.sandbox.clean_text import clean
from assay.sandbox.programs import Check, Limits, Outcome, Stdout, summarize
from assay.sandbox.session import SandboxChild, Session
from assay.sandbox.trial import ProgramVerdict, attributed, error_message, outcome_of, sendable, unusable, why_ended
from assay.sandbox.zygote import Zygote


def runs_of(program: Stdout) -> list[tuple[str, tuple[str, ...]]]:
    """Each input with the outputs that are right for it."""
    if not program.expected or not (isinstance(program.stdin, str) or program.stdin):
        raise unusable("there is no expected output")
    if isinstance(program.stdin, str):
        return [(program.stdin, program.expected)]
    if len(program.stdin) != len(program.expected):
        raise unusable(f"{len(program.stdin)} inputs but {len(program.expected)} expected outputs")
    return [(stdin, (expected,)) for stdin, expected in zip(program.stdin, program.expected, strict=True)]


def judge_stdout(program: Stdout, limits: Limits, zygote: Zygote, wake: int) -> Outcome:
    runs = runs_of(program)
    outcomes: list[Outcome] = []
    for number, (stdin, expected) in enumerate(runs, start=1):
        session = Session(zygote, limits, wake)
        with attributed(session), session:
            outcomes.append(_run_script(program, stdin, expected, session, f"output {number}"))
        if program.all_or_nothing and outcomes[-1].outcome != "pass":
            break
    checks = (*(outcome.checks[0] for outcome in outcomes), *_not_tried(outcomes[-1], len(outcomes), len(runs)))
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


def _not_tried(last: Outcome, tried: int, runs: int) -> Iterator[Check]:
    for number in range(tried + 1, runs + 1):
        yield Check(label=f"output {number}", outcome=last.outcome, detail="not tried: an output before it was wrong")


def _run_script(program: Stdout, stdin: str, expected: Sequence[str], session: Session, label: str) -> Outcome:
    child = session.start("candidate", stdin=stdin.encode("utf-8", "surrogatepass"))
    session.send(child, {"id": "script", "op": "script", "source": sendable(program.code), "imports": program.imports})
    session.wait(child)
    session.end(child)
    frame = session.receive(child)
    session.check_setup(child)
    outcome, detail = _script_verdict(child, frame, expected, session.limits, lenient=program.lenient)
    return Outcome(
        outcome=outcome,
        checks=(Check(label=label, outcome=outcome, detail=detail),),
        share=float(outcome == "pass"),
        stdout=clean(bytes(child.output["stdout"])),
        stderr=clean(bytes(child.output["stderr"])),
        cpu_ms=child.ended.cpu_seconds * 1000 if child.ended else 0.0,
        wall_ms=(time.monotonic() - session.started) * 1000,
    )


def _script_verdict(
    child: SandboxChild, frame: dict[str, Any] | None, expected: Sequence[str], limits: Limits, *, lenient: bool
) -> ProgramVerdict:
    """A pass needs exit status 0 and no limit reached: the right answer followed by a hang is not a pass."""
    if child.stopped is not None or child.ended is None or child.ended.status != 0:
        if frame is not None and isinstance(frame.get("syntax"), dict):
            return "syntax_error", error_message(frame["syntax"])
        if frame is not None and isinstance(frame.get("error"), dict):
            return outcome_of(frame["error"]), error_message(frame["error"])
        return why_ended(child, limits)
    written = _normal(bytes(child.output["stdout"]).decode("utf-8", "replace"))
    if any(written == _normal(text) or (lenient and _alike(written, text)) for text in expected):
        return "pass", ""
    return "wrong", clean(f"expected {_normal(expected[0])[:200]!r}, got {written[:200]!r}", 500)


def _alike(written: str, expected: str) -> bool:
    """Line by line, without the blanks around each; a line that differs must have the same numbers."""
    lines, wanted = ([line.strip() for line in text.strip().split("\n")] for text in (written, expected))
    return len(lines) == len(wanted) and all(
        line == target or _same_numbers(line, target) for line, target in zip(lines, wanted, strict=True)
    )


def _same_numbers(line: str, target: str) -> bool:
    words, wanted = line.split(), target.split()
    if len(words) != len(wanted):
        return False
    try:
        return all(Decimal(word) == Decimal(number) for word, number in zip(words, wanted, strict=True))
    except InvalidOperation:  # not a number, or a signalling NaN
        return False


def prints_nothing(expected: str) -> bool:
    """Whether a program that prints nothing has the expected output."""
    return not _normal(expected)


def _normal(text: str) -> str:
    """Lines without their trailing whitespace, the whole without trailing newlines."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).rstrip("\n")
