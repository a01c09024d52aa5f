"""What a judge said, read strictly: the plain word or number, or one JSON object, bare, fenced or inside prose."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

_OPENING = re.compile(r"```[a-zA-Z]*+(?>\s*\n)")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)\Z")
_TRIMMED = " \t\r\n'\"`*."
_MAX_CHARACTERS = 100_000
_MAX_READ = 20 * _MAX_CHARACTERS
"""Characters that may be read in search of an object, some of them repeatedly: each `{` may begin one."""


class VerdictError(Exception):
    """The text holds no verdict."""


def json_object(text: str, needed: Sequence[str]) -> dict[str, Any] | None:
    """The one JSON object with one of the needed fields; None when there is none, an error when several disagree."""
    found = []
    for candidate in _objects(text[:_MAX_CHARACTERS]):
        if any(name in candidate for name in needed) and candidate not in found:
            found.append(candidate)
        if len(found) > 1:
            raise VerdictError("different verdicts in one answer")
    return found[0] if found else None


def _objects(text: str) -> list[dict[str, Any]]:
    whole = _decoded(text.strip())
    if whole is not None:
        return [whole]
    fenced = [value for block in _fenced(text) if (value := _decoded(block.strip())) is not None]
    return fenced or _embedded(text)


def _fenced(text: str) -> Iterator[str]:
    end = 0
    while (opening := _OPENING.search(text, end)) and (closing := text.find("```", opening.end())) >= 0:
        yield text[opening.end() : closing]
        end = closing + len("```")


def _embedded(text: str) -> list[dict[str, Any]]:
    """Objects inside prose, outermost first, each taken once."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.find("{")
    tries = read = 0
    while at >= 0 and tries < 200:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            end = at + 1
            read += (error.pos if isinstance(error, json.JSONDecodeError) else len(text)) - at
            if read > _MAX_READ:
                raise VerdictError("too many objects that have no end") from error
        else:
            if isinstance(value, dict):
                found.append(value)
        at = text.find("{", end)
    return found


def _decoded(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_label(text: str, labels: Sequence[str], fields: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The label and the object it came in (empty for a plain label); any label is legal when none are given."""
    verdict = json_object(text, fields) or {}
    said = next((verdict[name] for name in fields if name in verdict), text if not verdict else None)
    if isinstance(said, bool):
        said = "true" if said else "false"
    if not isinstance(said, (str, int, float)):
        raise VerdictError("the label is not text")
    said = str(said)
    if not said.strip():
        raise VerdictError("the answer is empty")
    if not labels:
        return said.strip(), verdict
    return _matched(said, labels), verdict


def _matched(said: str, labels: Sequence[str]) -> str:
    """Exactly one of the labels: as it is, else trimmed and without regard to case."""
    if said in labels:
        return said
    bare = said.strip(_TRIMMED).casefold()
    same = [label for label in labels if label.strip(_TRIMMED).casefold() == bare]
    if len(same) == 1:
        return same[0]
    raise VerdictError(f"not one of the labels {', '.join(labels)}")


def read_score(text: str, low: float, high: float) -> tuple[float, dict[str, Any]]:
    """The raw number, which must lie in the range, and the object it came in."""
    verdict = json_object(text, ("score",)) or {}
    said = verdict.get("score", text if not verdict else None)
    if isinstance(said, str):
        bare = said.strip(" \t\r\n'\"`*")
        if not bare:
            raise VerdictError("the answer is empty")
        if len(bare) > 40 or not _NUMBER.match(bare):
            raise VerdictError("not a number")
        said = float(bare)
    if isinstance(said, bool) or not isinstance(said, (int, float)) or not math.isfinite(said):
        raise VerdictError("the score is not a number")
    if not low <= said <= high:
        raise VerdictError(f"{said:g} is outside {low:g} to {high:g}")
    return float(said), verdict
