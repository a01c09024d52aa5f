"""What a setting is, said once, on its field: `Annotated[int, Setting(Purpose.RESULT, bound=AT_LEAST_1), Flag(…)]`.

The marks of a field say what it is for, what it applies to, which values it takes, and how the command line calls and
explains it. Everything else follows from them: the fingerprint of a run (`RunConfig.identity`), the flags and their
help (`cli/setting_flags.py`), the keywords of Python, and the refusal of a setting that nothing in the planned run
applies (`runs/effects.py`). There is no table of names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from math import isfinite, isnan
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class Purpose(Enum):
    """What a setting is for; the value is the heading of its flags in `--help`."""

    CHOICE = "model and tasks"
    """What is measured. The identities of models and tasks are in the fingerprint themselves."""
    RESULT = "asking (scores depend on it)"
    """What identifies a result: exactly these settings are in `RunConfig.identity()`."""
    EXECUTION = "requests (no effect on scores)"
    SPENDING = "budget (all sessions together)"
    SHOWN = "reporting"
    PERMISSION = "permissions"

    PROPOSER = "proposer"
    DATA = "data"
    SEARCH = "search"
    ENGINE = "engine"


class AppliesTo(Enum):
    """What must be part of a run for a setting to have an effect."""

    EVERY_RUN = "every run"
    CALLS = "calls of a model: the evaluated one or a judge"
    EVALUATED_CALLS = "calls of the evaluated model"
    JUDGES = "judges and other models that tasks call"
    REPEATS = "attempts that may come out differently"
    REQUESTS = "requests to the evaluated model, if it applies the setting"
    ANSWERS = "answers that the evaluated model writes, if it applies the setting and the task leaves it open"
    SERVERS = "models on a server"
    RENDERED = "a model whose prompts assay renders"
    CACHE = "answers that are kept for other runs"
    BATCHES = "models that take several requests at once"
    SCORER_PROCESSES = "scorers that can run in processes of their own"
    PROGRAMS = "scorers that run model-written code in the sandbox; one task of the command is enough"
    SAMPLE_KEYS = "samples with this key"
    TASK_FILES = "task files, whose readers refuse what none of them takes"
    LIMIT = "a limit or a permission: it holds, also where there is nothing to limit or to permit"


class Bound(NamedTuple):
    """Which values a setting takes, in words as they follow "must be"."""

    words: str
    holds: Callable[[Any], bool]
    finite: bool = True


AT_LEAST_1 = Bound("at least 1", lambda value: value >= 1)
ZERO_OR_MORE = Bound("0 or more", lambda value: value >= 0)
ABOVE_0 = Bound("above 0", lambda value: value > 0)
SHARE = Bound("between 0 and 1", lambda value: 0 <= value <= 1)
NUMBER = Bound("a number", lambda value: not isnan(value), finite=False)
LEVEL = Bound("between 0 and 1, such as 0.95", lambda value: 0 < value < 1)
NOT_EMPTY = Bound(
    "a text that is not empty: an empty one has no effect, leave it out",
    lambda value: all(value if isinstance(value, tuple) else (value,)),
)


class Flag(NamedTuple):
    """How the command line calls a setting, and what `--help` and the reference say of it."""

    words: str
    """Its name and what its value is called, such as `--limit N`; a yes or no has only a name."""
    meaning: str
    """One phrase; `{default}` is the default of the field, `{choices}` the words that it takes."""
    everyday: bool = False
    """Whether a short help shows it."""
    unit: float = 1
    """How many of the field's units one of the flag's is: 60 for minutes of a field in seconds."""
    separator: str | None = None
    """What separates several values of one flag; None: the flag is repeated."""
    choices: tuple[str, ...] | None = None
    """What the command line accepts, where the field itself takes other texts too."""
    none_word: str | None = None
    """The word that stands for None, where None is a value of its own."""
    opposite: tuple[str, str] | None = None
    """The flag for False, and what it means, where False is not the default."""

    @property
    def name(self) -> str:
        return self.words.partition(" ")[0]

    @property
    def metavar(self) -> str | None:
        return self.words.partition(" ")[2] or None


class Setting(NamedTuple):
    """What a field is, apart from its name and type."""

    purpose: Purpose
    applies_to: AppliesTo = AppliesTo.EVERY_RUN
    bound: Bound | None = None


class SettingField(NamedTuple):
    """A field of a record of settings, with its marks."""

    name: str
    type: Any
    setting: Setting
    flag: Flag | None


@cache
def settings_of(record: type) -> dict[str, SettingField]:
    """The fields that are marked as settings, by their names."""
    fields = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        for setting in (mark for mark in marks if isinstance(mark, Setting)):
            flag = next((mark for mark in marks if isinstance(mark, Flag)), None)
            fields[name] = SettingField(name, kind, setting, flag)
    return fields


def flag_of(record: type, name: str) -> str:
    """What the command line calls a field."""
    field = settings_of(record).get(name)
    return field.flag.name if field and field.flag else f"--{name.replace('_', '-')}"


def problems_of(settings: Any, called: Callable[[str], str] = str) -> Iterator[str]:
    """What is wrong with the values of a record, a sentence each; `called` gives the name of a setting as it was given.

    Under a flag's name a number is in the unit of the flag.
    """
    record: type = type(settings)
    for name, field in settings_of(record).items():
        value, bound = getattr(settings, name), field.setting.bound
        given = value
        if field.flag and field.flag.unit != 1 and called(name) == field.flag.name:
            given = value / field.flag.unit
        if value is not None and bound is not None and not bound.holds(value):
            yield f"{called(name)} must be {bound.words}" + ("" if bound is NOT_EMPTY else f", got {given}")
        elif isinstance(value, float) and not isfinite(value) and (bound is None or bound.finite):
            yield f"{called(name)} must be a finite number, got {given}"
