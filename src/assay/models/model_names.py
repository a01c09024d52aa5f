"""Builds the `Model` that a user names with `--model`: `toy`, `openai:MODEL`, `command:PROGRAM`, `module:name`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from assay.catalog import arguments_for, is_name, names, resolve, unknown_name
from assay.core.describe import ModelOffers
from assay.core.errors import UsageError
from assay.core.seams import Model, offers_of
from assay.models.adapters.python_callable import as_model, load_model
from assay.text.wording import nearest


def make_model(spec: str, options: Mapping[str, Any] | None = None) -> Model:
    """The model that a spec names. A name in the catalog takes precedence over a module of the same name."""
    options = dict(options or {})
    prefix, colon, argument = spec.partition(":")
    if not colon or is_name("model", prefix):
        return _from_catalog(prefix, argument if colon else None, options)
    try:
        return load_model(spec, options)
    except UsageError as error:
        near = nearest(prefix, names("model"))
        if near is None:
            raise
        raise UsageError(f"{error}. Did you mean the model `{near}:{argument}`?") from error


def known_offers(spec: str, options: Mapping[str, Any] | None = None) -> ModelOffers | None:
    """The offers of the model that a spec names, where they are known without importing the user's Python.

    For a model that cannot be built here, because a package is missing, they are those its class declares.
    """
    prefix = spec.partition(":")[0]
    if not is_name("model", prefix):
        return None
    try:
        return offers_of(make_model(spec, options))
    except UsageError:
        factory = resolve("model", prefix)
        return offers_of(factory) if isinstance(factory, type) else None


def _from_catalog(prefix: str, argument: str | None, options: dict[str, Any]) -> Model:
    if argument is None and not is_name("model", prefix):
        raise UsageError(f"{unknown_name('model', prefix, names('model'))}{_naming_hint(prefix)}")
    factory = resolve("model", prefix)
    _check_options(prefix, factory, options)
    cache = options.pop(CACHE, None)
    model = as_model(_construct(prefix, factory, () if argument is None else (argument,), options))
    return model if cache is None else _with_cache(model, prefix, cache)


CACHE = "cache"
"""An option of every model in the catalog, and of no factory: nothing is sent or built with it."""


def _with_cache(model: Model, prefix: str, cache: bool) -> Model:
    try:
        model.offers = structs.replace(offers_of(model), cache=cache)  # type: ignore[attr-defined]
    except AttributeError as error:
        raise UsageError(f"`{prefix}` has no option `cache`; its own `offers` decide") from error
    return model


def _naming_hint(name: str) -> str:
    """What a bare name that is not a model may have meant: a local module, or a model on a server."""
    if name.isidentifier() and Path(f"{name}.py").is_file():
        return f"\nthere is a file {name}.py: to use a model in it, write `{name}:NAME`"
    return (
        f"\nfor a model on a server write `SERVER:{name}`, such as `openai:{name}`; for your own Python `module:name`; "
        f"for a model file with this key put it into models/, such as models/{name}.yaml"
    )


def check_options(spec: str, options: Mapping[str, Any]) -> None:
    """`UsageError` for options that the model of a spec does not take; the user's own Python checks its own."""
    prefix = spec.partition(":")[0]
    if is_name("model", prefix):
        _check_options(prefix, resolve("model", prefix), options)


def _check_options(spec: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    cache = options.get(CACHE)
    if not isinstance(cache, bool | None):
        raise UsageError(f"cache must be true or false, got {cache!r}")
    options = {name: value for name, value in options.items() if name != CACHE}
    parameters = inspect.signature(factory).parameters.values()
    positional = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    arguments_for("model", spec, factory, options, dict.fromkeys(positional))


def _construct(spec: str, factory: Callable[..., Any], arguments: tuple[str, ...], options: Mapping[str, Any]) -> Any:
    signature = inspect.signature(factory)
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        if arguments:
            raise UsageError(f"the model `{spec}` takes no argument; got `{spec}:{arguments[0]}`") from error
        needed = next(iter(signature.parameters), "argument")
        raise UsageError(f"the model `{spec}` needs more than its name: `{spec}:{needed.upper()}`") from error
    return factory(*arguments, **options)
