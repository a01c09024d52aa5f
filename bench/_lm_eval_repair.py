"""Documents that a task could not use are changed by what its errors say, until it takes them or nothing is left."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from bench._lm_eval_shapes import LISTS as NAMES
from bench._lm_eval_shapes import Shape

GUESSES: tuple[Any, ...] = (
    0, "A", "1", "a", 1, "yes", "(A)", "True", 0.5, "['A', 'B', 'C', 'D']", '["A", "B"]', "2020-01-01", True, "", None
)  # fmt: skip
LISTS = "list", "list of numbers", "list of lists"
EMPTY = (
    "out of bounds for size 0",
    "did not find any docs",
    "empty",
    "no validation or test docs",
    "'NoneType' object",
)


def repair(shape: Shape, error: BaseException) -> bool:
    """Change the documents such that this error may not come again; False where nothing is known to help."""
    if isinstance(error, ModuleNotFoundError | ImportError | ConnectionError | FileNotFoundError):
        return False
    text = str(error)
    if _write_a_list(shape, error, text):
        return True
    named = re.search(r"([\w][\w .-]*?)\d*~ made up", text)
    if named and (_from_the_frame(shape, named.group(1), error) or _guess(shape, named.group(1))):
        return True
    if (missing := _missing(error, text)) is not None and _add(shape, missing):
        return True
    if any(each in text for each in EMPTY) and _keep_documents(shape):
        return True
    return any(_from_the_frame(shape, name, error) or _guess(shape, name) for name in _suspects(shape, error))


def _write_a_list(shape: Shape, error: BaseException, text: str) -> bool:
    """A list that the task reads as a text becomes one: what Python would write for it, or any."""
    method = re.search(r"'list' object has no attribute '(\w+)'", text)
    wanted = "written list" if "malformed node or string" in text else "str"
    if wanted == "str" and not (method and hasattr(str, method.group(1)) and not hasattr(list, method.group(1))):
        return False
    lines = text + "".join(line for _, line in list(_frames(error))[:6])
    lists = [
        (name, each) for name, each in shape.walk() if each.kind == "list" or (not each.kind and NAMES.search(name))
    ]
    for _, each in sorted(lists, key=lambda found: f"{found[0]}" not in lines):
        if wanted not in each.tried:
            each.tried.add(wanted)
            each.kind, each.item, each.values = wanted, None, []
            return True
    return False


def _missing(error: BaseException, text: str) -> str | None:
    """The field that the documents lack."""
    if isinstance(error, KeyError) and isinstance(error.args[0], str) and len(error.args[0]) < 60:
        return error.args[0]
    for pattern in (r"KeyError: '(\w[^']*)'", r"'([^']+)' is undefined", r"object'? has no attribute '([^']+)'"):
        if found := re.search(pattern, text):
            return found.group(1) if not hasattr(str, found.group(1)) and not hasattr(dict, found.group(1)) else None
    return None


def _add(shape: Shape, name: str) -> bool:
    if "~ made up" in name or f"+{name}" in shape.tried:
        return False
    shape.tried.add(f"+{name}")
    if name not in shape.fields:
        shape.at(name)
        return True
    others = [each for _, each in shape.walk() if each.kind == "dict" and each is not shape]
    if not others:
        others = [each for key, each in shape.fields.items() if each.kind == "" and key != name and not each.values]
    for each in others:
        each.at(name)
    return bool(others)


def _keep_documents(shape: Shape) -> bool:
    """A task that keeps only some documents: one field after the other holds what its function is bound to."""
    names = sorted(
        shape.fields, key=lambda name: not re.search("sub|cat|lang|type|task|split|domain|topic", name, re.I)
    )
    for name in names:
        each = shape.fields[name]
        if shape.hints and "hints" not in each.tried and each.kind not in ("dict", "list"):
            each.tried.add("hints")
            each.values = [*shape.hints]
            return True
    for name in names:
        if shape.fields[name].values and "no values" not in shape.fields[name].tried:
            shape.fields[name].tried.add("no values")
            shape.fields[name].values = []
            return True
    return False


def _frames(error: BaseException) -> Iterator[tuple[FrameType, str]]:
    """From where it was raised outwards, with the line."""
    found = list(traceback.walk_tb(error.__traceback__))
    lines = traceback.extract_tb(error.__traceback__)
    for (frame, _), summary in zip(reversed(found), reversed(lines), strict=True):
        yield frame, summary.line or ""


def _from_the_frame(shape: Shape, name: str, error: BaseException) -> bool:
    """A value that was looked up in a mapping or a list takes what that holds."""
    if not isinstance(error, KeyError | ValueError | IndexError):
        return False
    for each in _called(shape, name):
        for frame, line in list(_frames(error))[:3]:
            seen = {**frame.f_globals, **frame.f_locals}
            for word in re.findall(r"[A-Za-z_]\w*", line):
                held = seen.get(word)
                keys = [key for key in held if isinstance(key, str | int)] if isinstance(held, dict | list) else []
                if keys and f"as {word}" not in each.tried and not set(keys) & shape.fields.keys():
                    each.tried.add(f"as {word}")
                    each.kind, each.values = "", keys[:6]
                    return True
    return False


def _called(shape: Shape, name: str) -> list[Shape]:
    found = [each for key, each in shape.walk() if key == name and each.kind not in ("dict", "list")]
    bare = name.rstrip("0123456789")
    return found or [each for key, each in shape.walk() if key == bare and each.kind not in ("dict", "list")]


def _guess(shape: Shape, name: str) -> bool:
    """The next of the values and forms that a field of this name has not had."""
    items = {id(each.item) for _, each in shape.walk()}
    for each in _called(shape, name) or [shape.fields[name]] if name in shape.fields else _called(shape, name):
        for guess in (*GUESSES[:3], "list", *GUESSES[3:], "list of numbers", "list of lists"):
            if repr(guess) in each.tried or (guess in LISTS and id(each) in items):  # lists of lists have no end
                continue
            each.tried.add(repr(guess))
            _become(each, guess)
            return True
    return False


def _become(shape: Shape, guess: Any) -> None:
    shape.kind, shape.values, shape.item = "", [], None
    if guess in LISTS:
        item = shape.each()
        if guess == "list of numbers":
            item.be("int")
        elif guess == "list of lists":
            item.each()
    elif guess == 0 and guess is not False:
        shape.kind = "int"
    else:
        shape.values = [guess]


def _suspects(shape: Shape, error: BaseException) -> Iterator[str]:
    """Fields that the failing lines name, then those whose values stand in its variables, then all that say little."""
    seen: set[str] = set()
    frames = list(_frames(error))[:6]
    lines = [line for _, line in frames] + (str(error.args[-1]).splitlines()[::-1] if error.args else [])
    for line in lines:
        for name in re.findall(r"[\"'](\w[\w -]*)[\"']|\b(\w+)\b", line):
            found = name[0] or name[1]
            if found in shape.fields and found not in seen and (name[0] or len(found) > 3):
                seen.add(found)
                yield found
    for frame, _ in frames[:3]:
        for value in frame.f_locals.values():
            for found in re.findall(r"([\w][\w -]*?)\d*~ made up", str(value)[:2000]) if isinstance(value, str) else ():
                if found in shape.fields and found not in seen:
                    seen.add(found)
                    yield found
    yield from (name for name, each in shape.fields.items() if name not in seen and each.kind in ("", "str", "int"))
