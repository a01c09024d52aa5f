"""The metrics of a scorer: what is computed over all samples."""

from __future__ import annotations

from assay.formats.declarative.schema.fields import USER_KEY, kind, kinds, mapping, snippet, text
from assay.formats.declarative.shape import Field, MapOf, Number, Scalar, Tagged, Text

_COMMON = {"key": Field(USER_KEY, None, "Unique within the scorer.")}
FIELDS_READ = (
    *("field", "field_gt", "field_pred"),
    *("num_true_positives_field", "num_false_positives_field", "num_false_negatives_field"),
)
"""The options that name a score value."""
_FIELD = text("The score value it reads.", min_length=1)
_NAME = text("What the number is called.", None)
_METRICS = {
    "python": kind(
        "The author's `compute_metrics(scores)`.",
        compute_metrics_snippet=snippet("compute_metrics", "Returns a mapping of names to numbers."),
    ),
    "binary-classification": kind(
        "Accuracy, precision, recall and F1 of two answers.",
        field_gt=_FIELD,
        field_pred=_FIELD,
        positive_answer=Field(Scalar(), doc="The value that counts as positive."),
        negative_answer=Field(Scalar(), doc="The other one."),
    ),
    "multiclass-classification": kind(
        "Accuracy, and precision and recall per class.",
        field_gt=_FIELD,
        field_pred=_FIELD,
    ),
    **{
        name: kind(f"The {word} of a score value.", field=_FIELD, name=_NAME)
        for name, word in (("mean", "mean"), ("max", "maximum"), ("min", "minimum"), ("std_dev", "deviation"))
    },
    "frequency": kind(
        "The share of each distinct value, or of one.",
        field=_FIELD,
        label=Field(Scalar(), None, "The value whose share is the number; without it there is no score."),
        name=_NAME,
    ),
    "recall": kind(
        "TP / (TP + FN), summed over samples.",
        num_true_positives_field=_FIELD,
        num_false_negatives_field=_FIELD,
        name=_NAME,
    ),
    "precision": kind(
        "TP / (TP + FP), summed over samples.",
        num_true_positives_field=_FIELD,
        num_false_positives_field=_FIELD,
        name=_NAME,
    ),
    "f1_score": kind(
        "2TP / (2TP + FP + FN), summed over samples.",
        num_true_positives_field=_FIELD,
        num_false_positives_field=_FIELD,
        num_false_negatives_field=_FIELD,
        name=_NAME,
    ),
    "bits_per_byte": kind("Bits that the texts cost over their bytes.", name=_NAME),
    "perplexity": kind(
        "exp of the nats that the texts cost over their words, tokens or bytes.",
        unit=Field(Text(words=("word", "token", "byte")), "word", "`token` is for models with the same tokens."),
        name=_NAME,
    ),
    "weighted_average": kind(
        "The mean weight of the labels.",
        field=_FIELD,
        weights=Field(MapOf(Number(), least=1), doc="The weight of each label."),
        name=_NAME,
    ),
}
METRIC = Tagged(
    "metric",
    kinds("{} metric", _METRICS, **_COMMON),
    kind="aggregate",
    own=mapping("a metric", "An aggregate of an installed package or your own.", **_COMMON, type=Field(Text())),
)
