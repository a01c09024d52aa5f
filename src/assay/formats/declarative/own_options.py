"""The options of a part of the author's own, checked against its source: nothing is imported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from inspect import Signature

from assay.catalog import OFFERED, OTHER_MODELS, SAID_BY_TASKS, OptionFault, option_faults, source_name
from assay.core.errors import UsageError
from assay.formats.declarative.yaml_reader import Plain
from assay.formats.own_source import signature_of


def own_option_faults(
    kind: str, name: str, options: Mapping[str, Plain], awaited: Collection[str] = ()
) -> list[OptionFault]:
    """Everything that is wrong with the options, as far as the source of the part shows it.

    `awaited` are options whose values are not known yet, or are checked as our own parts' are.
    """
    signature = own_signature(kind, name)
    if signature is None:
        return []
    given = _given(kind, options)
    parameters = signature.parameters
    hints = {
        option: parameter.annotation
        for option, parameter in parameters.items()
        if parameter.annotation is not parameter.empty and option in options and option not in awaited
    }
    if kind == "aggregate":
        given = {
            option: value for option, value in given.items() if option in parameters or option not in SAID_BY_TASKS
        }
    return list(option_faults(kind, name, parameters, hints, given, OFFERED.get(kind, ())))


def own_signature(kind: str, name: str) -> Signature | None:
    """How the part is made, as far as its source shows it; one that cannot be found is refused where it is imported."""
    try:
        return signature_of(source_name(kind, name))
    except UsageError:
        return None


def _given(kind: str, options: Mapping[str, Plain]) -> dict[str, Plain]:
    """The options as the part is given them."""
    if kind == "dataset":
        return dict(options)
    given: dict[str, Plain] = {option: value for option, value in options.items() if value is not None}
    if kind == "solver":
        given.pop("postprocessor", None)  # it stands between the solver and the scorers, and is part of those
    if kind == "scorer" and any(option in given for option in OTHER_MODELS):
        given.setdefault("model", {})  # what is behind the key
    return given
