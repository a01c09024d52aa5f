"""What the aggregates say of themselves, from their options and the described values of their scorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from assay.core.describe import Mean, Shares, Value, Whole, share
from assay.core.errors import UsageError
from assay.stats.score_table import as_text
from assay.task_records import FormulaOfSums, QuantileOf, RatioOfSums

Options = Mapping[str, Any]
Values = Mapping[str, Value]


def value_read(options: Options, values: Values) -> Value:
    """The value of the scorer that the option `field` names."""
    name = name_in(options, "field", "score")
    return values.get(name) or Value(name=name)


def name_in(options: Options, option: str, default: str | None = None) -> str:
    """The options of a run file are untrusted."""
    name = options.get(option, default)
    if not isinstance(name, str):
        raise UsageError(f"the option `{option}` of an aggregate must be a name")
    return name


def of_mean(options: Options, values: Values) -> Mean:
    return Mean(value=value_read(options, values))


def of_extreme(options: Options, values: Values) -> Whole:
    value = value_read(options, values)
    return Whole(lower_is_better=value.lower_is_better, range=value.range, smooth=False, rises_with=value)


def of_median(options: Options, values: Values) -> Whole:
    return of_quantile({**options, "q": 0.5}, values)


def of_quantile(options: Options, values: Values) -> Whole:
    q, value = options.get("q"), value_read(options, values).name
    made_of = None  # another `q` is refused where the aggregate is computed
    if isinstance(q, float | int) and 0.0 < q < 1.0:
        made_of = QuantileOf(value=value, q=float(q))
    return replace(of_extreme(options, values), smooth=True, made_of=made_of)


def of_spread(options: Options, values: Values) -> Whole:
    """Neither a wide nor a narrow spread is better."""
    return Whole()


def of_frequency(options: Options, values: Values) -> Mean | Shares:
    field, label = name_in(options, "field"), options.get("label")
    if label is None:
        return Shares(numbers=(f"*{field}_*",))
    return Mean(value=share(field), weights={as_text(label): 1.0}, other=0.0)


def of_weights(options: Options, values: Values) -> Mean:
    try:
        weights = {as_text(label): float(weight) for label, weight in options["weights"].items()} or {"": 0.0}
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise UsageError("the aggregate's `weights` must be numbers by label") from error
    within = min(weights.values()), max(weights.values())
    return Mean(value=Value(name=name_in(options, "field"), range=within), weights=weights)


def of_classes(options: Options, values: Values) -> Mean:
    """The accuracy; of several classes, with a precision and a recall for each."""
    answers = tuple(as_text(options[name]) for name in ("positive_answer", "negative_answer") if name in options)
    return Mean(
        value=share("accuracy"),
        same_as=(name_in(options, "field_gt"), name_in(options, "field_pred")),
        answers=answers,
        rising=("accuracy",),
        numbers=() if answers else ("*_precision", "*_recall"),
    )


def of_agreement(options: Options, values: Values) -> Whole:
    return Whole(lower_is_better=False, range=(-1.0, 1.0))


def of_counts(options: Options, values: Values) -> Whole:
    """True positives over them and what was missed or invented; where it is both, true positives count twice: F1."""
    names = [name_in(options, option) for option in _COUNTS if option in options]
    made_of = None
    if len({*names}) == len(names) > 1:
        right, *wrong = names
        made_of = RatioOfSums(of={right: len(wrong)}, over={right: len(wrong), **dict.fromkeys(wrong, 1.0)})
    return Whole(lower_is_better=False, range=(0.0, 1.0), made_of=made_of)


def of_corpus_bleu(options: Options, values: Values) -> Whole:
    return _of_formula(FormulaOfSums(formula="bleu"))


def of_corpus_chrf(options: Options, values: Values) -> Whole:
    return _of_formula(FormulaOfSums(formula="chrf"))


def _of_formula(made_of: FormulaOfSums) -> Whole:
    return Whole(lower_is_better=False, range=(0.0, 1.0), made_of=made_of)


_COUNTS = ("num_true_positives_field", "num_false_positives_field", "num_false_negatives_field")


def of_likelihood(options: Options, values: Values) -> Whole:
    proxy = Value(name="bits_per_byte", lower_is_better=True)
    return Whole(lower_is_better=True, proxy=proxy)


def of_repetitions(options: Options, values: Values) -> Mean:
    """How consistent attempts are need not rise with their scores."""
    rising = ("mean", *(f"{name}@*" for name in ("pass", "majority", "best", "worst")), "pass^*")
    return replace(of_mean(options, values), rising=rising)
