"""The metrics of a scorer: what is computed over all samples."""

from __future__ import annotations

from assay.catalog import CATALOG, resolve
from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.records import MetricEntry
from assay.formats.declarative.shape import Boolean, Field, Number, ObjectOf, PartTypes, Tagged, Text, ValueText
from assay.part_options import info_of

_COMMON = {
    **object_of(MetricEntry).fields,
    "lower_is_better": Field(Boolean(), None, "Whether a lower number is better."),
    "largest_loss": Field(
        Number(above=0.0, most=1.0),
        None,
        "Of graded scores: the most that the score of a sample can change from one model to another. Comparisons need "
        "fewer samples, and refuse a larger change.",
    ),
}


def _metric(name: str) -> ObjectOf | None:
    factory = resolve("aggregate", name)
    if info_of(factory) is None:
        return None
    return object_of(factory, an(f"{name} metric"), word=word(name), common=_COMMON)


METRIC = Tagged(
    "metric",
    PartTypes(CATALOG["aggregate"], _metric),
    kind="aggregate",
    own=ObjectOf("a metric", "An aggregate of an installed package or your own.", {**_COMMON, "type": Field(Text())}),
)


def needs_number(name: str, field: str) -> bool:
    """Whether what an aggregate reads by this option has to be a number."""
    shape = METRIC.choices[name].fields[field].shape if name in METRIC.choices else None
    return isinstance(shape, ValueText) and shape.numeric


def fields_read(name: str) -> tuple[str, ...]:
    """The options of an aggregate that name a score value."""
    if name not in METRIC.choices:
        return ("field",)  # of your own: what it is called in ours
    return tuple(key for key, entry in METRIC.choices[name].fields.items() if isinstance(entry.shape, ValueText))
