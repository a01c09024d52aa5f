"""How a contract is shown to be able to fail: for each of its clauses, a part that breaks that one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from assay.testing import BrokenContractError
from assay.testing.contract import words

LEFT_OPEN: list[int] = []


def leave_open() -> None:
    """What a part does that forgets to close a file."""
    LEFT_OPEN.append(os.open(os.devnull, os.O_RDONLY))


def broken_by(check: Callable[[], None]) -> BrokenContractError:
    try:
        with pytest.raises(BrokenContractError) as caught:
            check()
    finally:
        while LEFT_OPEN:
            os.close(LEFT_OPEN.pop())
    return caught.value


def clauses(functions: Sequence[Callable[..., Any]]) -> set[str]:
    return {words(clause) for clause in functions}
