"""Task parameters: what a `config_spec` allows, what was given, and the replacement of every `<< config.x >>`."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.formats.declarative.parameter_types import PARAMETER_TYPES
from assay.formats.declarative.records import Options, Parameter
from assay.formats.declarative.shape import PLACEHOLDER, PLACEHOLDER_INSIDE, Report
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain, hint_here, inside
from assay.text.wording import nearest, shortened

_LIKE_ONE = re.compile(r"<<\s*([A-Za-z][\w-]*)\s*(?:([.|\[])\s*([^<>\n]{0,200}?))?\s*>>")
"""What looks like a placeholder: `<< conf.x >>`, `<< config.x | upper >>`, `<< secrets.KEY >>`."""
_UNCLOSED = re.compile(r"<<\s*config\s*\.\s*[\w-]+(?![\w-]|[^<>\n]*>>)")
_DTYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "float": (int, float), "boolean": (bool,)}


def resolve_config(
    spec: Iterable[Parameter],
    given: Mapping[str, Plain],
    *,
    task: str,
    warnings: list[str] | None = None,
) -> Options:
    """The value of every parameter: given, else its default, else null where allowed, else an error."""
    parameters = {parameter.key: parameter for parameter in spec}
    for name in given:
        if name not in parameters and warnings is not None:
            warnings.append(
                f"task `{task}`: {no_parameter(name)}; the value is ignored. {known_here(name, parameters)}"
            )
    values = {**values_known(parameters.values()), **{name: given[name] for name in parameters if name in given}}
    checked: Options = {
        name: None if value is None and name not in given else _value(parameters[name], value, task)
        for name, value in values.items()
    }
    if needs := parameters_needed(parameters.values(), given):
        raise NoValueError(task, needs)
    return {name: checked[name] for name in parameters}


def refuse_unused(given: Iterable[str], definitions: Iterable[TaskDefinition]) -> None:
    """A parameter may be meant for one task of several, but one that no task has is a mistake."""
    definitions = list(definitions)
    for name in given:
        warned = _warned_of(name, definitions)
        if all(warned):
            text = next((text for text in warned if text), f"{no_parameter(name)}: only YAML tasks have parameters")
            raise UsageError(f"--config {name}: {text.replace('; the value is ignored', '')}")


def warnings_about_others(given: Iterable[str], definitions: Iterable[TaskDefinition]) -> set[str]:
    """The warnings of tasks without a parameter that was given, where another task has it: it was meant for that."""
    definitions = list(definitions)
    warned = [_warned_of(name, definitions) for name in given]
    return {text for texts in warned if not all(texts) for text in texts if text}


def _warned_of(name: str, definitions: Iterable[TaskDefinition]) -> list[str | None]:
    """The message of each task with parameters that lacks this one; None for one that has it.

    An Inspect task has them all: its function takes the parameters, or fails.
    """
    texts = [definition.provenance.warnings for definition in definitions if definition.provenance.config is not None]
    return [next((text for text in warnings if no_parameter(name) in text), None) for warnings in texts]


def refuse_unknown(given: Iterable[str], spec: Iterable[Parameter], document: Document, where: FieldPath) -> None:
    """A file gives its values to one task, so that one which the task does not have is a mistake."""
    known = [parameter.key for parameter in spec]
    for name in given:
        if name not in known:
            raise document.error((*where, name), f"{no_parameter(name)}. {known_here(name, known)}")


def no_parameter(name: str) -> str:
    return f"there is no parameter `{name}`"


def known_here(name: str, parameters: Collection[str]) -> str:
    return hint_here(name, parameters) if parameters else "It has none."


class Need(NamedTuple):
    """Something that a task must be given before it can be run."""

    lacks: str
    """The beginning of a message about it."""
    flag: str
    """What gives it."""
    parameter: str | None = None


def parameters_needed(spec: Iterable[Parameter], given: Collection[str]) -> list[Need]:
    """The parameters that have no value: neither given nor by default."""
    spec = list(spec)
    known = {*values_known(spec), *given}
    return [
        Need(
            f"the parameter `{parameter.key}` ({parameter.type}) has no value{_to_fill_in(parameter)}",
            f"--config {parameter.key}={'…' if parameter.default_file_content is None else '@FILE'}",
            parameter.key,
        )
        for parameter in spec
        if parameter.key not in known
    ]


def _to_fill_in(parameter: Parameter) -> str:
    """What the author wants to be filled in, for a value that is a file of its own."""
    text = parameter.default_file_content
    return "" if text is None else f" (a file to fill in: {shortened(' '.join(text.split()), 200)!r})"


class NoValueError(UsageError):
    """What must be given was not: nothing is wrong with the file."""

    def __init__(self, task: str, needs: Sequence[Need], place: str = "") -> None:
        self.task = task
        self.parameters = [need.parameter for need in needs if need.parameter is not None]
        self.flags = " ".join(need.flag for need in needs)
        lacking = " and ".join(need.lacks for need in needs)
        pronoun = "it" if len(needs) == 1 else "them"
        super().__init__(f"{place}task `{task}`: {lacking}; give {pronoun} with {self.flags}")


def values_known(spec: Iterable[Parameter]) -> Options:
    """The parameters that have a value when none is given."""
    return {
        parameter.key: parameter.default_value
        for parameter in spec
        if parameter.default_value is not None or parameter.nullable
    }


def _value(parameter: Parameter, value: Plain, task: str) -> Plain:
    if problem := value_problem(parameter, value):
        raise UsageError(f"task `{task}`: the parameter `{parameter.key}` {problem}")
    return float(value) if parameter.type == "float" and isinstance(value, int) else value


def value_problem(parameter: Parameter, value: Plain) -> str | None:  # noqa: PLR0911 - one line per kind of parameter
    """Why a value is not valid for this parameter, as the end of a sentence."""
    kind = parameter.type
    if value is None:
        return None if parameter.nullable else f"must not be null; its type is {kind}"
    if kind in ("float", "int"):
        return _number_problem(parameter, kind, value)
    if kind == "boolean":
        return None if isinstance(value, bool) else f"must be true or false, got {value!r}"
    if kind == "list":
        return _items_problem(parameter.dtype, value) if isinstance(value, list) else _no_list(parameter, value)
    if kind == "dict" and isinstance(value, dict):
        return _items_problem(parameter.value_dtype, value.values())
    if kind == "dict":
        return f"must be a mapping, got {value!r}"
    if kind == "categorical":
        return _category_problem(parameter, value)
    return None if isinstance(value, str) else f"must be text, got {value!r}"


def _number_problem(parameter: Parameter, kind: str, value: Plain) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return f"must be a number, got {value!r}"
    if kind == "int" and not isinstance(value, int):
        return f"must be a whole number, got {value!r}"
    low, high = parameter.min, parameter.max
    if low is not None and value < low:
        return f"must be at least {low:g}, got {value!r}"
    if high is not None and value > high:
        return f"must be at most {high:g}, got {value!r}"
    return None


def _no_list(parameter: Parameter, value: Plain) -> str:
    texts = parameter.dtype == "string"
    examples = ("a,b", '["a","b"]') if texts else ("1,2", "[1,2]")
    on_line = f"; on the command line {parameter.key}={examples[0]} or '{parameter.key}={examples[1]}'"
    return f"must be a list, got {value!r}{on_line}"


def _items_problem(dtype: str, items: Iterable[Plain]) -> str | None:
    for item in items:
        if not isinstance(item, _DTYPES[dtype]) or isinstance(item, bool) != (dtype == "boolean"):
            return f"must hold {dtype} values only, got {item!r}"
    return None


def _category_problem(parameter: Parameter, value: Plain) -> str | None:
    allowed = parameter.allowed_values
    if parameter.multiple and not isinstance(value, list):
        return f"takes several values; write a list, such as {parameter.key}={','.join(allowed[:2])}, got {value!r}"
    if not parameter.multiple and not isinstance(value, str):
        return f"takes one of {', '.join(allowed)}, got {value!r}"
    chosen = value if isinstance(value, list) else [value]
    bad = [item for item in chosen if item not in allowed]
    return f"must be among the allowed values, got `{bad[0]}`. {hint_here(str(bad[0]), allowed)}" if bad else None


def typed_config(given: Mapping[str, Plain], spec: Iterable[Parameter]) -> Options:
    """Values for these parameters: a text, as the command line gives it, is read by the kind of its parameter."""
    kinds = {parameter.key: parameter for parameter in spec}
    return {name: _as_parameter(value, kinds.get(name)) for name, value in given.items()}


def _as_parameter(value: Plain, parameter: Parameter | None) -> Plain:
    if parameter is None:
        return value
    if isinstance(value, str):
        return _typed(value, parameter)
    if PARAMETER_TYPES[parameter.type].values in ("string", None) and isinstance(value, (int, float)):
        return msgspec.json.encode(value).decode()
    return value


def _typed(text: str, parameter: Parameter) -> Plain:
    kind = parameter.type
    if text == "null" and parameter.nullable:
        return None
    several = kind == "list" or (kind == "categorical" and parameter.multiple)
    if several and not text.lstrip().startswith("["):
        items = [item.strip() for item in text.split(",") if item.strip()]
        return [item if parameter.dtype == "string" else _json(item) for item in items]
    if several or PARAMETER_TYPES[kind].values not in ("string", None):
        return _json(text)
    return text


def _json(text: str) -> Plain:
    try:
        value: Plain = msgspec.json.decode(text.strip().lower() if text.strip() in ("True", "False") else text)
        return value
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text


def substitute(
    value: Plain,
    config: Mapping[str, Plain],
    document: Document,
    where: FieldPath = (),
    *,
    awaited: Collection[str] = (),
) -> Plain:
    """Every `<< config.x >>` replaced, once: a whole value keeps its type, inside text it becomes its Python form.

    A text with an `awaited` parameter, whose value is not known yet, stays as it is.
    """
    if isinstance(value, str):
        if "<<" not in value or any(match[1] in awaited for match in PLACEHOLDER_INSIDE.finditer(value)):
            return value
        return _substituted(value, config, document, where)
    if isinstance(value, dict):
        return {
            name: substitute(item, config, document, (*where, name), awaited=awaited) for name, item in value.items()
        }
    if isinstance(value, list):
        return [substitute(item, config, document, (*where, at), awaited=awaited) for at, item in enumerate(value)]
    return value


def _substituted(text: str, config: Mapping[str, Plain], document: Document, where: FieldPath) -> Plain:
    def named(name: str) -> Plain:
        if name not in config:
            raise document.error(where, _no_such_parameter(name, config))
        return config[name]

    whole = PLACEHOLDER.match(text)
    if whole and whole[1] == "config":
        return named(whole[2])
    return PLACEHOLDER_INSIDE.sub(lambda match: str(named(match[1])), text)


def check_placeholders(value: Plain, names: Collection[str], report: Report, where: FieldPath = ()) -> None:
    """Report every placeholder of an undeclared parameter, and everything that looks like a misspelt placeholder."""
    if isinstance(value, str):
        for match in PLACEHOLDER_INSIDE.finditer(value):
            if match[1] not in names:
                report.wrong_content(where, _no_such_parameter(match[1], names))
        for match in _LIKE_ONE.finditer(value):
            is_code = bool(where) and str(where[-1]).endswith("_snippet")
            if not PLACEHOLDER_INSIDE.fullmatch(match[0]) and (message := _why_no_placeholder(match, names, is_code)):
                report.wrong_content(where, message)
        for match in _UNCLOSED.finditer(value):
            report.wrong_content(where, f"`{match[0].rstrip()}` is not closed: write `<< config.NAME >>`")
    for at, item in inside(value, where):
        check_placeholders(item, names, report, at)


def _why_no_placeholder(match: re.Match[str], names: Collection[str], is_code: bool) -> str | None:
    """What is wrong with a text that looks like a placeholder; None where it may well be what it says."""
    head, link, rest = match[1], match[2], match[3] or ""
    if head == "secrets":
        return f"`{match[0]}`: a task holds no secrets; a model file names the variable of its key: `api_key: $NAME`"
    if link is None and head in names:
        return f"`{match[0]}` is not a placeholder: write `<< config.{head} >>`"
    meant = nearest(head, ("config",)) is not None
    if meant and (link is not None or head.startswith("conf")):
        return f"`{match[0]}` is not a placeholder: write `<< config.NAME >>`, without filters"
    if link == "." and (rest in names or not is_code):  # `a << b.c >> d` is Python
        return (
            f"`{match[0]}` is not a placeholder, and would stay as it is: write `<< config.NAME >>`, or "
            f"`{{{{ '<<' }}}} {head}.{rest} >>` for the text itself"
        )
    return None


def _no_such_parameter(name: str, known: Collection[str]) -> str:
    hint = hint_here(name, known) if known else "The task declares no parameters (`config_spec`)."
    return f"`<< config.{name} >>` names no parameter. {hint}"
