"""What a worker answers when it cannot do what was requested: one sentence for the user."""

from __future__ import annotations

import importlib.util

UNREACHABLE = {"ConnectionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectError", "MaxRetryError"}


class BridgeError(Exception):
    """Something that the user can fix, in one sentence."""


def not_loaded(name: str, error: BaseException) -> str:
    """Why a task cannot be loaded, and what to do about it."""
    message = " ".join(str(error).split())[:400]
    kinds = {item.__name__ for item in _chain(error)}
    if kinds & UNREACHABLE or "Couldn't reach" in message or "offline" in message.lower():
        return (
            f"`{name}`: its documents are on the hub, which cannot be reached, and they are not cached "
            f"here. Pass them as files: --data SPLIT=FILE. ({type(error).__name__}: {message})"
        )
    if isinstance(error, ModuleNotFoundError):
        if not error.name:  # raised by the task itself, in its own words
            return f"`{name}` needs a package: {message}"
        package = error.name.partition(".")[0]
        if importlib.util.find_spec(package) is not None:
            return f"`{name}` needs `{error.name}`, which the installed version of {package} does not have"
        return f"`{name}` needs the package `{package}`: pip install {package}"
    return f"`{name}` cannot be loaded: {type(error).__name__}: {message}"


def _chain(error: BaseException | None) -> list[type]:
    """The types of an error and of its causes, which may refer to each other in a circle."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return [kind for exception in seen for kind in type(exception).__mro__]
