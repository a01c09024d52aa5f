"""From what a user writes after `--model` to a `Model`: `toy`, `openai:MODEL`, `command:PROGRAM`, `module:name`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.catalog import names, resolve, unknown_name
from assay.core.errors import UsageError
from assay.core.seams import Model
from assay.models.python_callable import as_model, load_model


def make_model(spec: str, options: Mapping[str, Any] | None = None) -> Model:
    """The model a spec names. A name of the catalog wins over a module of the same name."""
    options = dict(options or {})
    prefix, colon, argument = spec.partition(":")
    if not colon or prefix in names("model"):
        return _from_catalog(prefix, argument if colon else None, options)
    try:
        return load_model(spec, options)
    except UsageError as error:
        nearest = difflib.get_close_matches(prefix, names("model"), n=1, cutoff=0.7)
        if not nearest:
            raise
        raise UsageError(f"{error}. Did you mean the model `{nearest[0]}:{argument}`?") from error


def _from_catalog(prefix: str, argument: str | None, options: dict[str, Any]) -> Model:
    if argument is None and prefix not in names("model"):
        raise UsageError(f"{unknown_name('model', prefix, names('model'))}{_how_to_name(prefix)}")
    factory = resolve("model", prefix)
    _check_options(prefix, factory, options)
    return as_model(_made(prefix, factory, () if argument is None else (argument,), options))


def _how_to_name(name: str) -> str:
    """What a bare name that is no model may have been meant as: a module here, or a model of some server."""
    if name.isidentifier() and Path(f"{name}.py").is_file():
        return f"\n{name}.py is here: name what is in it too, `{name}:NAME`"
    return f"\na model of a server is written `SERVER:{name}`, such as `openai:{name}`; your own Python `module:name`"


def _check_options(spec: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    for option in options:
        if not known:
            raise UsageError(f"the model `{spec}` takes no options, and `{option}` was given")
        if option not in known:
            raise UsageError(unknown_name(f"option of the model `{spec}`", option, known))


def _made(spec: str, factory: Callable[..., Any], arguments: tuple[str, ...], options: Mapping[str, Any]) -> Any:
    signature = inspect.signature(factory)
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        if arguments:
            raise UsageError(f"the model `{spec}` takes nothing after its name, not `{arguments[0]}`") from error
        needed = next(iter(signature.parameters), "argument")
        raise UsageError(f"the model `{spec}` needs more than its name: `{spec}:{needed.upper()}`") from error
    return factory(*arguments, **options)
