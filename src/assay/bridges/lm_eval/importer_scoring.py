"""How an lm-evaluation-harness task generates and scores: limits, stops, filters and metrics."""

from __future__ import annotations

from typing import Any

from assay.bridges.lm_eval.importer_fields import Function
from assay.formats.imported import Imported, shaped

CHOICE_METRICS = {
    "acc": "choice_likelihood",
    "acc_norm": "choice_likelihood_per_character",
    "acc_bytes": "choice_likelihood_per_byte",
    "acc_mutual_info": "choice_likelihood_unconditional",
}
DEFAULT_MAX_TOKENS = 256
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the limit; the first one present is used."""
_ABOUT_A_METRIC = ("metric", "aggregation", "higher_is_better", "hf_evaluate")
_COMPARISON_FLAGS = ("ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore")


def choice_metric(config: dict[str, Any], imported: Imported) -> str:
    """The first supported metric; further ones do not affect the score."""
    metrics = config.get("metric_list") or [{"metric": "acc"}]
    known = [each for each in metrics if each.get("metric") in CHOICE_METRICS]
    headline = known[0] if known else {"metric": "acc"}
    if not known or metrics[0] is not headline:
        imported.lose("scoring", f"metric {metrics[0].get('metric')}: has no counterpart for multiple choice")
    for metric in metrics:
        if metric is not headline and metric.get("metric") != metrics[0].get("metric"):
            imported.leave(f"metric {metric.get('metric')}: a task file has one metric; the first is kept")
    _check_aggregation(headline, imported)
    return CHOICE_METRICS[str(headline["metric"])]


def generation_of(config: dict[str, Any], imported: Imported) -> dict[str, Any]:
    """The token limit, temperature and stop sequences."""
    kwargs = dict(config.get("generation_kwargs") or {})
    until = kwargs.pop("until", [str(config.get("fewshot_delimiter", "\n\n"))])
    limits = [kwargs.pop(name, None) for name in _LIMITS]
    limit = next((each for each in limits if each is not None), DEFAULT_MAX_TOKENS)
    sampled, temperature = kwargs.pop("do_sample", None), float(kwargs.pop("temperature", None) or 0.0)
    for name in kwargs:
        imported.lose("prompt", f"generation_kwargs.{name}: has no counterpart here")
    return {
        "stop": [] if until is None else [until] if isinstance(until, str) else list(until),
        "max_tokens": int(limit),
        "temperature": 0.0 if sampled is False else temperature,
    }


def comparison_of(config: dict[str, Any], where: str, imported: Imported) -> dict[str, Any]:
    """How an answer is extracted and compared: the first filter pipeline, the first metric."""
    pipelines = config.get("filter_list") or []
    for extra in pipelines[1:]:
        imported.leave(f"filter {extra.get('name')}: a task reads answers out in one way; the first is kept")
    first = pipelines[0].get("filter") or [] if pipelines else []
    steps = [made for step in first for made in _step(step, where, imported)]
    metrics = config.get("metric_list") or [{"metric": "exact_match"}]
    headline = metrics[0]
    if headline.get("metric") != "exact_match":
        imported.lose("scoring", f"metric {headline.get('metric')}: scored by exact_match instead")
    for metric in metrics[1:]:
        imported.leave(f"metric {metric.get('metric')}: a task file has one metric; the first is kept")
    _check_aggregation(headline, imported)
    for name in headline.keys() - {*_ABOUT_A_METRIC, *_COMPARISON_FLAGS}:
        imported.lose("scoring", f"metric {headline.get('metric')}: {name}: has no counterpart here")
    return {"steps": steps, **{name: headline[name] for name in _COMPARISON_FLAGS if headline.get(name)}}


def _check_aggregation(metric: dict[str, Any], imported: Imported) -> None:
    if (aggregation := metric.get("aggregation", "mean")) != "mean":
        name = f"!function {aggregation}" if isinstance(aggregation, Function) else aggregation
        imported.lose("scoring", f"metric {metric.get('metric')}: aggregation {name}: the mean is taken instead")


def _step(step: dict[str, Any], where: str, imported: Imported) -> list[dict[str, Any]]:
    function = step.get("function")
    if function in _STEPS:
        return [{"do": action} for action in _STEPS[function]]
    if function == "regex":
        return [
            {
                "do": "regex",
                "pattern": step.get("regex_pattern", r"#### (\-?[0-9\.\,]+)"),
                "select": shaped(step.get("group_select", 0), int, f"{where}group_select"),
                "fallback": step.get("fallback", "[invalid]"),
            }
        ]
    imported.lose("scoring", f"filter function {function}: has no counterpart here")
    return []


_STEPS: dict[Any, tuple[str, ...]] = {
    "take_first": (),
    "remove_whitespace": ("strip",),
    "lowercase": ("lowercase",),
    "uppercase": ("uppercase",),
}
