"""Solvers: how the model is called."""

from __future__ import annotations

from assay.catalog import CATALOG, resolve
from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.records import PostprocessorEntry
from assay.formats.declarative.shape import Field, ObjectOf, PartTypes, Tagged, Text
from assay.part_options import info_of

LIKELIHOOD_SOLVERS = {"choice_likelihood_solver": "choice_likelihood", "text_likelihood_solver": "text_likelihood"}
"""A solver that asks for likelihoods -> its name in the catalog, and that of the scorer that reads what it found."""
_FORMAT = Field(Text(words=("latticeflow", "open_responses")), "latticeflow", "Both views are always available.")
_POSTPROCESSOR = Field(object_of(PostprocessorEntry), None, "Splits answers into parts, each scored separately.")
_IN_ADDITION: dict[str, dict[str, Field]] = {
    "single_turn_solver": {"message_format": _FORMAT, "postprocessor": _POSTPROCESSOR},
    "multi_turn_solver": {"message_format": _FORMAT, "postprocessor": _POSTPROCESSOR},
    "pass_through_solver": {"message_format": _FORMAT, "postprocessor": _POSTPROCESSOR},
    "python": {"postprocessor": _POSTPROCESSOR},
}
"""Fields of a solver that are no options of it: what is done to its answers, and what does nothing here."""


def _solver(name: str) -> ObjectOf | None:
    called = an(name if name.endswith("solver") else f"{name} solver")
    factory = resolve("solver", LIKELIHOOD_SOLVERS.get(name, name))
    if info_of(factory) is None:
        return None
    return object_of(factory, called, word=word(name), common=_IN_ADDITION.get(name))


_TYPES = (*(name for name in CATALOG["solver"] if name not in LIKELIHOOD_SOLVERS.values()), *LIKELIHOOD_SOLVERS)
SOLVER = Tagged(
    "solver",
    PartTypes(_TYPES, _solver),
    kind="solver",
    own=ObjectOf("a solver", "A solver of an installed package or your own.", {"type": Field(Text())}),
)
