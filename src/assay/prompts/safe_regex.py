"""Regular expressions of strangers: simple ones run here, suspicious ones in a process that can be stopped.

Python's engine cannot be interrupted from a thread, and a pattern such as `(a+)+$` takes for ever on thirty letters.
A pattern whose parse shows no way to go back and forth runs in place; any other runs in a helper process that is
killed when it takes longer than a second.
"""

from __future__ import annotations

import atexit
import json
import re
import select
import subprocess
import sys
import threading
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_PATTERN = 2_000
TIME_LIMIT_SECONDS = 1.0


class RegexError(Exception):
    """The pattern is bad, or it took too long."""


def substitute(pattern: str, replacement: str, text: str, flags: int = 0, count: int = 0) -> str:
    """`re.sub` with a time limit."""
    if len(pattern) > MAX_PATTERN:
        raise RegexError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed")
    try:
        if _harmless(pattern, flags):
            return re.sub(pattern, replacement, text, count=count, flags=flags)
    except (re.error, IndexError, OverflowError, RecursionError) as error:
        raise RegexError(f"bad pattern `{pattern[:60]}`: {error}") from error
    return _elsewhere(pattern, replacement, text, flags, count)


@lru_cache(maxsize=1024)
def _harmless(pattern: str, flags: int) -> bool:
    """Whether the pattern has at most one open-ended repeat, and none inside another."""
    return _open_repeats(parser.parse(pattern, flags)) <= 1


def _open_repeats(tree: Any) -> int:
    """How many open-ended repeats a pattern has; a repeat of anything variable counts as many."""
    total = 0
    for code, argument in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, getattr(codes, "POSSESSIVE_REPEAT", None)):
            low, high, body = argument
            inner = _open_repeats(body)
            variable = inner + _branches(body)
            if high - low > 16:
                total += 1 + 10 * variable
            else:
                total += variable * max(1, min(int(high), 16))
        elif code is codes.SUBPATTERN:
            total += _open_repeats(argument[-1])
        elif code is codes.BRANCH:
            total += sum(_open_repeats(branch) for branch in argument[1])
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            total += _open_repeats(argument[1])
        elif code in (codes.GROUPREF_EXISTS, codes.GROUPREF, getattr(codes, "ATOMIC_GROUP", None)):
            total += 10
    return total


def _branches(tree: Any) -> int:
    found = 0
    for code, argument in tree:
        if code is codes.BRANCH:
            found += 1
        elif code is codes.SUBPATTERN:
            found += _branches(argument[-1])
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            found += 1
    return found


_PROGRAM = """
import json, re, sys
for line in sys.stdin:
    pattern, replacement, text, flags, count = json.loads(line)
    try:
        answer = {"text": re.sub(pattern, replacement, text, count=count, flags=flags)}
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
"""
_turn = threading.Lock()
_helper: subprocess.Popen[str] | None = None


def _elsewhere(pattern: str, replacement: str, text: str, flags: int, count: int) -> str:
    with _turn:
        return _asked(json.dumps([pattern, replacement, text, flags, count]), pattern)


def _asked(order: str, pattern: str) -> str:
    helper = _started()
    assert helper.stdin is not None  # noqa: S101 - both are pipes
    assert helper.stdout is not None  # noqa: S101
    try:
        helper.stdin.write(order + "\n")
        helper.stdin.flush()
        ready, _, _ = select.select([helper.stdout], [], [], TIME_LIMIT_SECONDS)
        line = helper.stdout.readline() if ready else ""
    except BrokenPipeError:
        line = ""
    if not line:
        stop_helper()
        raise RegexError(
            f"the pattern `{pattern[:60]}` took longer than {TIME_LIMIT_SECONDS:g} s; write it more simply"
        )
    answer = json.loads(line)
    if "error" in answer:
        raise RegexError(f"bad pattern `{pattern[:60]}`: {answer['error']}")
    return str(answer["text"])


def _started() -> subprocess.Popen[str]:
    global _helper  # noqa: PLW0603 - one helper per process, started when first needed
    if _helper is None or _helper.poll() is not None:
        _helper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={},
            start_new_session=True,
        )
        atexit.register(stop_helper)
    return _helper


def stop_helper() -> None:
    """End the helper process, if there is one."""
    global _helper  # noqa: PLW0603
    if _helper is None:
        return
    _helper.kill()
    _helper.communicate()
    _helper = None
