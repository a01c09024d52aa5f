"""Objects passed as models that assay cannot tell apart, so that the score of one is not taken for that of another.

An object is known by its class and the arguments that it keeps. One that loads something and keeps only that looks like
every other of its class: two in one call are refused, and one that resumes the run of another is warned of.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.seams import Model, identity_of
from assay.own_functions import opaque_parts
from assay.text.printable import one_line

_made_here: dict[Path, list[Callable[[], object]]] = {}
"""By run folder: the objects that answered in this process, where they differ in more than can be seen."""


def refuse_twins(models: Sequence[Model]) -> None:
    """`UsageError` when two of the models would be one run."""
    known: set[str] = set()
    for model in models:
        identity = identity_of(model)
        key = fingerprint(identity)
        if key in known:
            code = f" (`{identity['object']}`)" if "object" in identity else ""
            raise UsageError(
                f"two of the models are called `{one_line(model.name, 80)}`{code} and cannot be told apart: give each "
                "a `name` of its own, or let it keep what it was made with under the names of the parameters"
            )
        known.add(key)


def warn_of_a_twin(folder: Path, given: object, warn: Callable[[str], None], *, resumed: bool) -> None:
    """Say when a run is resumed with another object than it was begun with in this process."""
    parts = opaque_parts(given)
    before = _made_here.get(folder.resolve()) if resumed else None
    _made_here[folder.resolve()] = [_reference(part) for part in parts]
    others = [] if before is None else [part for part in parts if all(reference() is not part for reference in before)]
    if others:
        warn(
            f"{folder}: another `{type(others[0]).__name__}` answered here before, and assay cannot tell them apart, "
            "because it does not keep what it was made with. If they differ, give each model a `name` of its own, or "
            "pass `fresh=True` or another folder"
        )


def _reference(part: Any) -> Callable[[], object]:
    try:
        return weakref.ref(part)
    except TypeError:  # it cannot be watched, so the next one counts as another
        return lambda: None
