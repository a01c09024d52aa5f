"""What a contract is: clauses, each a function whose name says what must hold, run over one part in turn.

A clause calls the part inside `given(…)`, so that whatever breaks is reported with the input that shows it.
"""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import msgspec

from assay.event_loop import run_anywhere

CLAUSE_SECONDS = 600.0
"""A part that waits longer than this for something that never comes breaks the clause it is in."""
CPU_SECONDS = 10.0
"""For one text of 100,000 characters: a thousand times what reading it once takes, and a fraction of what reading it
once for each of its characters does."""
_SHOWN = 400

Subject = TypeVar("Subject")
Clause = Callable[[Subject], None] | Callable[[Subject], Awaitable[None]]


class BrokenContractError(AssertionError):
    """A part does not do what every part of its kind must."""

    def __init__(self, part: str, clause: str, problem: str, given: str | None) -> None:
        shown = f"\n  given: {given}" if given else ""
        super().__init__(f"{part} breaks its contract: it {clause}{shown}\n  but: {problem}")
        self.clause = clause
        """The name of the clause, as words."""
        self.given = given
        """The input that shows it."""


class Deviation(Exception):  # noqa: N818 - becomes a BrokenContractError, and never leaves `hold_to`
    """What `expect` raises: the problem, and the input that shows it once `given` has added it."""

    def __init__(self, problem: str, given: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.given = given


class TooMuchWork(BaseException):
    """The part computes for longer than reading its input could take."""


def hold_to(kind: str, part: object, clauses: Sequence[Clause[Subject]], subject: Subject) -> None:
    """Run every clause; `BrokenContractError` for the first that does not hold. Messages call the part by its name."""
    name = getattr(part, "__name__", "") or type(part).__name__
    label = f"the {kind}" if name == "<lambda>" else f"the {kind} `{name}`"
    for clause in clauses:
        try:
            outcome = clause(subject)
            if inspect.isawaitable(outcome):
                run_anywhere(asyncio.wait_for(outcome, CLAUSE_SECONDS))
        except Deviation as broken:
            raise BrokenContractError(label, words(clause), broken.problem, broken.given) from broken.__cause__
        except TimeoutError as error:
            raise BrokenContractError(label, words(clause), f"no result after {CLAUSE_SECONDS:g} s", None) from error
        except Exception as error:
            raise BrokenContractError(label, words(clause), raised(error), None) from error


def clauses_about(subject: str, module: dict[str, Any]) -> tuple[Callable[..., Any], ...]:
    """The functions of a module that look at a subject and nothing else, in their order: each is a clause."""
    functions = [value for name, value in module.items() if inspect.isfunction(value) and not name.startswith("check_")]
    return tuple(function for function in functions if [*function.__annotations__.values()] == [subject, "None"])


def words(clause: Callable[..., Any]) -> str:
    """The clause as it stands in messages: the name of its function."""
    return clause.__name__.replace("_", " ")


def expect(holds: bool, problem: str) -> None:
    if not holds:
        raise Deviation(problem)


@contextmanager
def given(*inputs: str) -> Iterator[None]:
    """What breaks inside, or is raised there, is about these inputs."""
    try:
        yield
    except Deviation as broken:
        broken.given = broken.given or ", ".join(inputs)
        raise
    except TooMuchWork as error:
        raise Deviation(f"it was still computing after {CPU_SECONDS:g} s of CPU time", ", ".join(inputs)) from error
    except Exception as error:
        raise Deviation(raised(error), ", ".join(inputs)) from error


def shown(value: object) -> str:
    """A value as Python, short enough for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def raised(error: BaseException) -> str:
    return f"raised {type(error).__name__}: {str(error)[:_SHOWN]}"


def same(first: object, second: object, what: str) -> None:
    """Two values that must be equal."""
    expect(first == second, f"{what}: {shown(first)} and {shown(second)}")


def is_name(value: object) -> bool:
    """Whether it is a text that a table can show."""
    return isinstance(value, str) and value != "" and value.isprintable()


def plain_data(value: Any, kind: Any) -> None:
    """What goes into the journal must come out of it as it was."""
    try:
        back = msgspec.json.decode(msgspec.json.encode(value), type=kind)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Deviation(f"JSON cannot hold {shown(value)}: {error}") from error
    expect(back == value, f"{shown(value)} came back from JSON as {shown(back)}")


def picture(value: Any) -> bytes:
    """A value as it is now, to be compared with what it is later."""
    return msgspec.json.encode(value, enc_hook=repr)


@contextmanager
def bounded_work() -> Iterator[None]:
    """`TooMuchWork` in code that computes for too long; in the main thread only, and where there are timers."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooMuchWork

    before = signal.signal(signal.SIGVTALRM, stop)
    timer_before = signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer_before)
        signal.signal(signal.SIGVTALRM, before)
