"""What listeners receive from a search as it happens: its start, each line of its journal, each step, its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.runs.listeners import Listener, Listeners, SearchEvent, find_listeners


class Events:
    """The listeners of one search."""

    def __init__(
        self, listeners: Sequence[Listener], warn: Callable[[str], None], *, folder: Path, fingerprint: str, budget: int
    ) -> None:
        self._listeners = Listeners(listeners, warn)
        self._of: dict[str, Any] = {"folder": str(folder), "fingerprint": fingerprint, "budget": budget}

    def notify(self, event: Any, **facts: Any) -> None:
        if self._listeners:
            self._listeners.search_event(SearchEvent(event=event, **self._of, **facts))

    async def drain(self) -> None:
        await self._listeners.drain()


class CallbackListener:
    """Your own function, called with each event."""

    def __init__(self, callback: Callable[[SearchEvent], object]) -> None:
        self.search_event = callback


class EventStream:
    """Each event as a line of JSON in a file, as it happens: for `tail -f`, or a program that follows the search."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.fdopen(os.open(path, flags, 0o644), "ab", buffering=0)
        except OSError as error:
            raise UsageError(f"--events {path}: cannot be written: {error.strerror}") from error

    def search_event(self, event: SearchEvent) -> None:
        self._file.write(_encode(event) + b"\n")
        if event.event == "finished":
            self._file.close()


_encode = msgspec.json.Encoder(enc_hook=repr).encode


def listeners_of(listeners: Sequence[object], callback: Callable[[SearchEvent], object] | None) -> list[Listener]:
    """Listeners as they were given, objects or names, and a function."""
    return [*find_listeners(listeners), *([CallbackListener(callback)] if callback is not None else [])]
