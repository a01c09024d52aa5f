"""The answers of another program's process as it gives them, for what is made of them where it is not installed.

That they are what it answers is for `make test-peers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RecordedLibrary:
    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.orders: list[tuple[str, dict[str, Any]]] = []

    def ask(self, order: str, **about: Any) -> Any:
        self.orders.append((order, about))
        return self.answers[order]
