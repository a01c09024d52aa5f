"""What a setting applies to, as a fact on its field: `temperature: Annotated[float | None, ANSWERS] = None`.

`runs/effects.py` refuses a setting that nothing in the planned run applies, and reads only these marks: there is no
table of names. A flag with another name than its field says so here too: `Annotated[…, CALLS.as_flag("--rpm")]`.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Annotated, NamedTuple, get_args, get_origin, get_type_hints


class AppliesTo(Enum):
    """What must be part of a run for a setting to have an effect."""

    EVERY_RUN = "every run"
    CALLS = "calls of a model: the evaluated one or a judge"
    EVALUATED_CALLS = "calls of the evaluated model"
    JUDGES = "judges and other models that tasks call"
    REQUESTS = "requests to the evaluated model, if it applies the setting"
    ANSWERS = "answers that the evaluated model writes, if it applies the setting and the task leaves it open"
    SERVERS = "models on a server"
    RENDERED = "a model whose prompts assay renders"
    CACHE = "answers that are kept for other runs"
    BATCHES = "models that take several requests at once"
    SCORER_PROCESSES = "scorers that can run in processes of their own"
    SAMPLE_KEYS = "samples with this key"
    TASK_FILES = "task files, whose readers refuse what none of them takes"
    LIMIT = "a limit or a permission: it holds, also where there is nothing to limit or to permit"
    PLANNING = "set while the run is planned, not by the user"


class Setting(NamedTuple):
    """The mark on a field."""

    applies_to: AppliesTo
    flag: str = ""
    """Its name on the command line, where that is not the field's."""

    def as_flag(self, flag: str) -> Setting:
        return self._replace(flag=flag)


EVERY_RUN = Setting(AppliesTo.EVERY_RUN)
CALLS = Setting(AppliesTo.CALLS)
EVALUATED_CALLS = Setting(AppliesTo.EVALUATED_CALLS)
JUDGES = Setting(AppliesTo.JUDGES)
REQUESTS = Setting(AppliesTo.REQUESTS)
ANSWERS = Setting(AppliesTo.ANSWERS)
SERVERS = Setting(AppliesTo.SERVERS)
RENDERED = Setting(AppliesTo.RENDERED)
CACHE = Setting(AppliesTo.CACHE)
BATCHES = Setting(AppliesTo.BATCHES)
SCORER_PROCESSES = Setting(AppliesTo.SCORER_PROCESSES)
SAMPLE_KEYS = Setting(AppliesTo.SAMPLE_KEYS)
TASK_FILES = Setting(AppliesTo.TASK_FILES)
LIMIT = Setting(AppliesTo.LIMIT)
PLANNING = Setting(AppliesTo.PLANNING)


@cache
def settings_of(record: type) -> dict[str, Setting]:
    """The mark of each field that has one, by the field's name."""
    hints = get_type_hints(record, include_extras=True)
    marked = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}
    return {name: mark for name, marks in marked.items() for mark in marks if isinstance(mark, Setting)}


def flag_of(record: type, name: str) -> str:
    """What the command line calls a field."""
    mark = settings_of(record).get(name)
    return (mark.flag if mark else "") or f"--{name.replace('_', '-')}"
