"""Task parameters: what a `config_spec` allows, what was given, and `<< config.x >>` put in everywhere, once."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.tasks.declarative.shape import PLACEHOLDER
from assay.tasks.declarative.yaml_reader import Document, FieldPath, dotted, nearest

_INSIDE = re.compile(r"<<\s*config\.([A-Za-z0-9_\-]+)\s*>>")
_DTYPES: dict[str, str] = {"string": "string", "integer": "int", "float": "float", "boolean": "boolean"}


def resolve_config(
    spec: Iterable[Mapping[str, Any]],
    given: Mapping[str, Any],
    *,
    task: str,
    models: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    warnings: list[str] | None = None,
) -> dict[str, Any]:
    """The value of every parameter: given, else default, else null where allowed, else an error before anything runs.

    `models` and `datasets` are the keys that exist; None leaves the check to whoever resolves the key.
    """
    parameters = {str(parameter["key"]): parameter for parameter in spec}
    for name in given:
        if name not in parameters and warnings is not None:
            hint = nearest(name, parameters) if parameters else "It has none."
            warnings.append(f"task `{task}`: {no_parameter(name)}; the value is ignored. {hint}")
    known = {"model": models, "dataset": datasets}
    return {
        name: _value(parameter, given[name], task, known) if name in given else _default(parameter, task, known)
        for name, parameter in parameters.items()
    }


def refuse_unused(given: Iterable[str], definitions: Iterable[TaskDefinition]) -> None:
    """A parameter may be meant for one task of several, but one that no task has is a mistake."""
    warned = [each.metadata.get("warnings", ()) for each in definitions if each.format == "declarative"]
    for name in given:
        told = [next((text for text in texts if no_parameter(name) in text), None) for texts in warned]
        if all(told):
            text = next((text for text in told if text), f"{no_parameter(name)}: only YAML tasks have parameters")
            raise UsageError(f"--config {name}: {text.replace('; the value is ignored', '')}")


def no_parameter(name: str) -> str:
    return f"there is no parameter `{name}`"


def _default(parameter: Mapping[str, Any], task: str, known: Mapping[str, Collection[str] | None]) -> Any:
    if parameter["default_value"] is not None:
        return _value(parameter, parameter["default_value"], task, known)
    if parameter["nullable"]:
        return None
    raise UsageError(
        f"task `{task}`: the parameter `{parameter['key']}` ({parameter['type']}) has no value; "
        f"give it with --config {parameter['key']}=…"
    )


def _value(parameter: Mapping[str, Any], value: Any, task: str, known: Mapping[str, Collection[str] | None]) -> Any:
    problem = _problem(parameter, value, known)
    if problem:
        raise UsageError(f"task `{task}`: the parameter `{parameter['key']}` {problem}")
    return float(value) if parameter["type"] == "float" and value is not None else value


def _problem(  # noqa: PLR0911 - one line per kind of parameter
    parameter: Mapping[str, Any], value: Any, known: Mapping[str, Collection[str] | None]
) -> str | None:
    kind = parameter["type"]
    if value is None:
        return None if parameter["nullable"] else f"must not be null; it is a {kind}"
    if kind in ("float", "int"):
        return _number_problem(parameter, kind, value)
    if kind == "boolean":
        return None if isinstance(value, bool) else f"must be true or false, got {value!r}"
    if kind == "list":
        return _list_problem(parameter["dtype"], value)
    if kind == "dict":
        return _dict_problem(parameter["value_dtype"], value)
    if kind == "categorical":
        return _category_problem(parameter, value)
    if not isinstance(value, str):
        return f"must be text, got {value!r}"
    keys = known.get(kind)
    if keys is not None and value not in keys and not PLACEHOLDER.match(value):
        return f"names the {kind} `{value}`, which does not exist. {nearest(value, keys)}"
    return None


def _number_problem(parameter: Mapping[str, Any], kind: str, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"must be a number, got {value!r}"
    if kind == "int" and not isinstance(value, int):
        return f"must be a whole number, got {value!r}"
    low, high = parameter["min"], parameter["max"]
    if low is not None and value < low:
        return f"must be at least {low:g}, got {value!r}"
    if high is not None and value > high:
        return f"must be at most {high:g}, got {value!r}"
    return None


def _item_problem(dtype: str, value: Any) -> bool:
    kind = _DTYPES[dtype]
    if kind == "string":
        return not isinstance(value, str)
    if kind == "boolean":
        return not isinstance(value, bool)
    if isinstance(value, bool):
        return True
    return not isinstance(value, int) if kind == "int" else not isinstance(value, (int, float))


def _list_problem(dtype: str, value: Any) -> str | None:
    if not isinstance(value, list):
        return f"must be a list, got {value!r}"
    bad = [item for item in value if _item_problem(dtype, item)]
    return f"must hold {dtype} values only, got {bad[0]!r}" if bad else None


def _dict_problem(dtype: str, value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"must be a mapping, got {value!r}"
    bad = [item for item in value.values() if _item_problem(dtype, item)]
    return f"must hold {dtype} values only, got {bad[0]!r}" if bad else None


def _category_problem(parameter: Mapping[str, Any], value: Any) -> str | None:
    allowed = parameter["allowed_values"]
    if parameter["multiple"] and not isinstance(value, list):
        return f"takes several values; write a list, got {value!r}"
    if not parameter["multiple"] and not isinstance(value, str):
        return f"takes one of {', '.join(allowed)}, got {value!r}"
    chosen = value if isinstance(value, list) else [value]
    bad = [item for item in chosen if item not in allowed]
    return f"must be among the allowed values, got `{bad[0]}`. {nearest(str(bad[0]), allowed)}" if bad else None


def typed_config(given: Mapping[str, Any], spec: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Values for these parameters: a text, as the command line gives it, is read by the kind of its parameter."""
    kinds = {str(parameter["key"]): parameter for parameter in spec}
    return {name: _as_parameter(value, kinds.get(name)) for name, value in given.items()}


def _as_parameter(value: Any, parameter: Mapping[str, Any] | None) -> Any:
    if parameter is None:
        return value
    if isinstance(value, str):
        return _typed(value, parameter)
    texts = parameter["type"] in ("string", "model", "dataset", "dataset_column", "categorical", "task_result")
    if texts and isinstance(value, (int, float)):
        return msgspec.json.encode(value).decode()
    return value


def _typed(text: str, parameter: Mapping[str, Any] | None) -> Any:
    kind = parameter["type"] if parameter is not None else "string"
    if text == "null" and parameter is not None and parameter["nullable"]:
        return None
    several = kind == "list" or (kind == "categorical" and parameter is not None and parameter["multiple"])
    if several and not text.lstrip().startswith("["):
        items = [item.strip() for item in text.split(",") if item.strip()]
        texts = kind == "categorical" or (parameter is not None and parameter["dtype"] == "string")
        return items if texts else [_json(item) for item in items]
    if several or kind in ("float", "int", "boolean", "dict"):
        return _json(text)
    return text


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text.strip().lower() if text.strip() in ("True", "False") else text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text


def substitute(value: Any, config: Mapping[str, Any], document: Document, where: FieldPath = ()) -> Any:
    """Every `<< config.x >>` replaced, once: a whole value keeps its type, inside text it becomes its Python form."""
    if isinstance(value, str):
        return _substituted(value, config, document, where) if "<<" in value else value
    if isinstance(value, dict):
        return {name: substitute(item, config, document, (*where, name)) for name, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, config, document, (*where, at)) for at, item in enumerate(value)]
    return value


def _substituted(text: str, config: Mapping[str, Any], document: Document, where: FieldPath) -> Any:
    def named(name: str) -> Any:
        if name not in config:
            hint = nearest(name, config) if config else "The task declares no parameters (`config_spec`)."
            raise document.error(where, f"`<< config.{name} >>` names no parameter. {hint}")
        return config[name]

    whole = PLACEHOLDER.match(text)
    if whole and whole[1] == "config":
        return named(whole[2])
    return _INSIDE.sub(lambda found: str(named(found[1])), text)


def placeholders_in(value: Any, where: FieldPath = ()) -> Iterable[tuple[FieldPath, str]]:
    """Every parameter name used in a value, with the field that uses it."""
    if isinstance(value, str):
        for found in _INSIDE.finditer(value):
            yield where, found[1]
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from placeholders_in(item, (*where, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from placeholders_in(item, (*where, at))


def check_placeholders(value: Any, names: Collection[str], document: Document, where: FieldPath = ()) -> None:
    """Refuse a placeholder of an undeclared parameter even before the configuration is known."""
    for at, name in placeholders_in(value, where):
        if name not in names:
            hint = nearest(name, names) if names else "The task declares no parameters (`config_spec`)."
            raise document.error(at, f"`<< config.{name} >>` names no parameter ({dotted(at)}). {hint}")
