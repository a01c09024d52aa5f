"""The judged metrics: each a definition; how they ask and read is in `instrument.py`, what they say to the judge in
`prompts/`. Whether one agrees with people on your answers is to be measured: `assay agreement`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.describe import DefaultAggregate, Value, count, mean_of, share
from assay.core.types import ScoreValue
from assay.evaluators.usable_answers import UnusableError
from assay.scorers.judging.instrument import (
    PASSAGES,
    THE_ANSWER,
    Answer,
    Given,
    Input,
    Instrument,
    Judgement,
    MadeUpReply,
    items_in,
    list_of,
    mark_in,
    reasoning_in,
    scaled,
    text_field,
    word_in,
)

QUESTION = Input("question", "The question.", "{{ sample.question }}")
NO_QUESTION = Input("question", "The question, where it helps to understand the answer.", None)
ANSWERED = Input("answer", "The text that is judged.", THE_ANSWER)
SHOWN_PASSAGES = Input(
    PASSAGES,
    "The retrieved passages, a list of texts or one text; without it the `references` that the model returned.",
    None,
)
REFERENCE = Input("reference", "The expected answer.")
_BOOLEAN = {"type": "boolean"}


def _marks(lowest: int = 1, highest: int = 5) -> dict[str, Any]:
    return {"type": "integer", "minimum": lowest, "maximum": highest}


# -- statements, and whether each holds -----------------------------------------------------------------------------


def _supported(answers: Sequence[Answer], given: Given) -> Judgement:
    return _share_of(answers[0]["statements"], "supported", "faithful", "the answer states nothing that can be checked")


def _found(answers: Sequence[Answer], given: Given) -> Judgement:
    return _share_of(answers[0]["statements"], "found", "complete", "the expected answer states nothing")


def _share_of(items: Sequence[Mapping[str, Any]], flag: str, all_of_them: str, nothing: str) -> Judgement:
    """The share that holds, and whether all of them do; of no statements neither is known."""
    if not items:
        return Judgement({"score": None, all_of_them: None, "statements": 0}, nothing)
    held = [bool(each[flag]) for each in items]
    missing = [str(each.get("statement", "")) for each, holds in zip(items, held, strict=True) if not holds]
    reason = f"not {flag}: {'; '.join(missing)}" if missing else f"every statement is {flag}"
    values = {"score": sum(held) / len(held), all_of_them: all(held), "statements": len(held)}
    return Judgement(values, reason, {"statements": [*items]})


def _statement(flag: str, *, holds: bool) -> MadeUpReply:
    name = {"supported": "faithful", "found": "complete"}[flag]
    says = {"statements": [{"statement": "It is so.", flag: holds}]}
    return MadeUpReply(says, {"score": float(holds), name: holds, "statements": 1})


FAITHFULNESS = Instrument(
    name="faithfulness",
    version=1,
    doc="The share of an answer's statements that its sources support.",
    about="""\
The judge splits the answer into statements and decides for each whether the passages state it. `faithful` is whether
all of them are supported, which is what people label. An answer that states nothing has no score.

Misleads: support is not truth, and an answer that says little is easily faithful. Long answers have more statements to
lose, and a judge that knows the subject tends to accept what is true and not in the passages.
Failures: statements are split unevenly from one call to the next, so that shares differ by a statement.""",
    inputs=(SHOWN_PASSAGES, NO_QUESTION, ANSWERED),
    properties=lambda options: {"statements": list_of(statement=text_field(), supported=_BOOLEAN)},
    check=lambda answer, given: {"statements": items_in(answer, "statements", "supported")},
    result=_supported,
    replies=lambda options: [
        *(_statement("supported", holds=holds) for holds in (True, False)),
        MadeUpReply({"statements": []}, {"score": None, "statements": 0}),
    ],
    without_asking=lambda given: (
        None if given["answer"].strip() else _share_of([], "", "faithful", "the answer is empty")
    ),
    values=(share("score"), share("faithful"), count("statements")),
    verdict="faithful",
    aggregates=(mean_of("score", key="faithfulness", name="faithfulness"), mean_of("faithful", name="faithful")),
    example="""\
type: faithfulness
key: faithfulness
model_key: judge
passages: "{{ sample.passages }}"
""",
)


def _nothing_retrieved(given: Given) -> Judgement | None:
    if given[PASSAGES]:
        return None
    return Judgement({"score": 0.0, "complete": False, "statements": None}, "nothing was retrieved")


CONTEXT_RECALL = Instrument(
    name="context_recall",
    version=1,
    doc="The share of the expected answer's statements that the retrieved passages hold.",
    about="""\
Measures the search, not the answer: whether what a right answer needs was retrieved. `complete` is whether all of it
was. Where nothing was retrieved the recall is 0 and no judge is called.

Misleads: the expected answer decides what is needed; one that says more than the question asks lowers the recall of a
good search, and other passages that would do as well do not count.
Failures: a judge that knows the subject finds in passages what they only suggest.""",
    inputs=(REFERENCE, QUESTION, SHOWN_PASSAGES),
    properties=lambda options: {"statements": list_of(statement=text_field(), found=_BOOLEAN)},
    check=lambda answer, given: {"statements": items_in(answer, "statements", "found")},
    result=_found,
    replies=lambda options: [_statement("found", holds=holds) for holds in (True, False)],
    without_asking=_nothing_retrieved,
    values=(share("score"), share("complete"), count("statements")),
    verdict="complete",
    aggregates=(mean_of("score", key="context_recall", name="context_recall"),),
    example="""\
type: context_recall
key: recall
model_key: judge
passages: "{{ sample.passages }}"
reference: "{{ sample.answer }}"
""",
)


def _passages_judged(answer: Answer, given: Given) -> Answer:
    items, wanted = items_in(answer, "passages", "useful"), range(1, len(given[PASSAGES]) + 1)
    numbers = [each.get("number") for each in items]
    if numbers != [*wanted]:
        raise UnusableError(
            f"`passages` must have the numbers 1 to {len(wanted)} in their order, got {json.dumps(numbers)[:200]}"
        )
    return {"useful": [each["useful"] for each in items]}


def _precision(answers: Sequence[Answer], given: Given) -> Judgement:
    useful: list[bool] = answers[0]["useful"]
    above = [sum(useful[: at + 1]) / (at + 1) for at, is_useful in enumerate(useful) if is_useful]
    values = {
        "score": sum(above) / len(above) if above else 0.0,
        "share": sum(useful) / len(useful),
        "any": any(useful),
    }
    numbers = ", ".join(str(at) for at, is_useful in enumerate(useful, 1) if is_useful)
    return Judgement(values, f"useful: {numbers or 'none'} of {len(useful)}", {"useful": useful})


def _no_passages(given: Given) -> Judgement | None:
    if given[PASSAGES]:
        return None
    return Judgement({"score": None, "share": None, "any": False}, "nothing was retrieved")


def _all_passages(useful: bool) -> MadeUpReply:
    def says(prompt: str) -> Answer:
        numbers = re.findall(r'<passage number="(\d+)">', prompt)
        return {"passages": [{"number": int(number), "useful": useful} for number in numbers]}

    return MadeUpReply(says, {"score": float(useful), "share": float(useful), "any": useful})


CONTEXT_PRECISION = Instrument(
    name="context_precision",
    version=1,
    doc="How far up the useful passages stand among those that were retrieved: their average precision.",
    about="""\
The judge decides for each passage whether it is useful for the question. `score` is the mean, over the useful ones, of
the share of useful passages down to them: 1 where all useful ones come first, 0 where none is useful. `share` is the
share that is useful, whatever the order, and `any` whether one is, which is what people label. Where nothing was
retrieved there is no score.

Misleads: it says nothing of useful passages that were not retrieved (`context_recall` does). Without a `reference` the
judge decides itself what an answer needs.
Failures: passages about the same subject are called useful; those in the middle of many are read less well.""",
    inputs=(QUESTION, SHOWN_PASSAGES, Input("reference", "The expected answer, where it is known.", None)),
    properties=lambda options: {"passages": list_of(number={"type": "integer"}, useful=_BOOLEAN)},
    check=_passages_judged,
    result=_precision,
    replies=lambda options: [_all_passages(True), _all_passages(False)],
    without_asking=_no_passages,
    values=(share("score"), share("share"), share("any")),
    verdict="any",
    aggregates=(mean_of("score", key="context_precision", name="context_precision"),),
    example="""\
type: context_precision
key: precision
model_key: judge
passages: "{{ sample.passages }}"
reference: "{{ sample.answer }}"
""",
)


# -- marks ----------------------------------------------------------------------------------------------------------


def _rated(answer: Answer, given: Given) -> Answer:
    lowest, highest = _scale_of(given)
    return {**answer, "rating": mark_in(answer, "rating", lowest, highest)}


def _rating(answers: Sequence[Answer], given: Given) -> Judgement:
    rating = answers[0]["rating"]
    return Judgement({"score": scaled(rating, *_scale_of(given)), "rating": rating}, reasoning_in(answers[0]))


def _scale_of(options: Mapping[str, Any]) -> tuple[int, int]:
    return int(options.get("lowest", 1)), int(options.get("highest", 5))


def _both_ends(options: Mapping[str, Any]) -> list[MadeUpReply]:
    lowest, highest = _scale_of(options)
    return [
        MadeUpReply({"reasoning": "", "rating": highest}, {"score": 1.0}),
        MadeUpReply({"reasoning": "", "rating": lowest}, {"score": 0.0}),
    ]


_RATING = Value(name="rating", kind="count", lower_is_better=False)
ANSWER_RELEVANCE = Instrument(
    name="answer_relevance",
    version=1,
    doc="How well an answer addresses its question, whether or not it is true.",
    about="""\
The judge gives a mark from 1 (about something else, evasive or empty) to 5 (everything that the question wants
and nothing else), by five levels that the prompt describes. `score` is the mark scaled to [0, 1]; people label the
`rating`.

Misleads: a wrong answer can be perfectly relevant, and so can a made-up one. Levels are an order, not a measure: the
mean of marks treats their steps as equal.
Failures: judges prefer long answers and seldom use the middle of the scale.""",
    inputs=(QUESTION, ANSWERED),
    properties=lambda options: {"reasoning": text_field(), "rating": _marks()},
    check=_rated,
    result=_rating,
    replies=_both_ends,
    values=(share("score"), _RATING),
    verdict="rating",
    aggregates=(mean_of("score", key="answer_relevance", name="answer_relevance"),),
    example="""\
type: answer_relevance
key: relevance
model_key: judge
question: "{{ sample.question }}"
""",
)


def _scale_problems(options: Mapping[str, Any]) -> list[str]:
    lowest, highest = options.get("lowest"), options.get("highest")
    if not isinstance(lowest, int) or not isinstance(highest, int):
        return []  # still to be configured, or reported as no number
    if not lowest < highest:
        return [f"`highest` must be above `lowest` ({lowest}), got {highest}"]
    unknown = [mark for mark in options.get("levels") or {} if str(mark) not in map(str, range(lowest, highest + 1))]
    return [f"`levels` describes `{unknown[0]}`, which is no mark from {lowest} to {highest}"] if unknown else []


RUBRIC = Instrument(
    name="rubric",
    version=1,
    doc="A mark by criteria of your own, with the steps to take and what each mark means.",
    about="""\
In the style of G-Eval: criteria, evaluation steps, and a mark at the end, in one call. `score` is the mark scaled to
[0, 1]; people label the `rating`. With `levels` that say what a mark means, marks of different judges, and of one judge
on different days, are closer to each other.

Misleads: a mark is worth what the criteria are worth; two qualities in one rubric give a number that is neither. Unlike
the published G-Eval, marks are not weighted by their probabilities, which few servers return.
Failures: judges prefer long answers, their own style, and marks near the top.
Reference: Liu et al. 2023, G-Eval: NLG evaluation using GPT-4 with better human alignment.""",
    inputs=(
        Input("criteria", "What a good answer is."),
        Input("steps", "What to look at, one after the other.", (), Sequence[str]),
        Input("levels", "What marks mean, such as `5: every claim has a source`.", None, Mapping[str, str] | None),
        Input("lowest", "The worst mark, which becomes 0.", 1, int),
        Input("highest", "The best mark, which becomes 1.", 5, int),
        NO_QUESTION,
        Input("reference", "The expected answer, where the criteria need one.", None),
        ANSWERED,
    ),
    properties=lambda options: {"reasoning": text_field(), "rating": _marks(*_scale_of(options))},
    check=_rated,
    result=_rating,
    replies=_both_ends,
    problems=_scale_problems,
    values=(share("score"), _RATING),
    verdict="rating",
    aggregates=(mean_of("score", key="rubric", name="rubric"),),
    example="""\
type: rubric
key: tone
model_key: judge
criteria: The answer is polite, and says what happens next.
steps: [Look for a greeting and a closing., Look for a next step with a date.]
levels: {"1": rude or without a next step, "5": polite with a next step and its date}
""",
)
_RESPECTS = ("faithfulness", "coverage", "coherence", "concision")


def _graded(answer: Answer, given: Given) -> Answer:
    return {**answer, **{name: mark_in(answer, name, 1, 5) for name in _RESPECTS}}


def _summary(answers: Sequence[Answer], given: Given) -> Judgement:
    marks = {name: scaled(answers[0][name], 1, 5) for name in _RESPECTS}
    values = {"score": sum(marks.values()) / len(marks), **marks}
    return Judgement(values, reasoning_in(answers[0]), {"marks": {name: answers[0][name] for name in _RESPECTS}})


SUMMARISATION = Instrument(
    name="summarisation",
    version=1,
    doc="Faithfulness, coverage, coherence and concision of a summary.",
    about="""\
Four marks from 1 to 5, each by itself and scaled to [0, 1]; `score` is their mean. People label the `score`, or one of
the four with `fields` of the `agreement` metric.

Misleads: the mean hides which of the four is bad; gate on `faithfulness` where made-up facts matter. A short document
needs no summary, and concision is then low for good ones.
Failures: of long documents judges read the beginning best; coherence is nearly always called high.""",
    inputs=(Input("document", "The text that was summarised."), ANSWERED),
    properties=lambda options: {"reasoning": text_field(), **{name: _marks() for name in _RESPECTS}},
    check=_graded,
    result=_summary,
    replies=lambda options: [
        MadeUpReply({"reasoning": "", **dict.fromkeys(_RESPECTS, mark)}, {"score": scaled(mark, 1, 5)})
        for mark in (5, 1)
    ],
    values=(share("score"), *(share(name) for name in _RESPECTS)),
    verdict="score",
    aggregates=(
        mean_of("score", key="summarisation", name="summarisation"),
        *(mean_of(name, key=name, name=name) for name in _RESPECTS),
    ),
    example="""\
type: summarisation
key: summary
model_key: judge
document: "{{ sample.article }}"
""",
)


# -- labels ---------------------------------------------------------------------------------------------------------


_TOXICITY = {"none": 0.0, "mild": 1 / 3, "toxic": 2 / 3, "severe": 1.0}


def _labelled(words: Mapping[str, float]) -> Any:
    return lambda answer, given: {**answer, "label": word_in(answer, "label", [*words])}


def _toxic(answers: Sequence[Answer], given: Given) -> Judgement:
    label = answers[0]["label"]
    values = {"score": _TOXICITY[label], "toxic": label in ("toxic", "severe"), "label": label}
    return Judgement(values, reasoning_in(answers[0]))


TOXICITY = Instrument(
    name="toxicity",
    version=1,
    doc="How toxic a text is: none, mild, toxic or severe.",
    about="""\
`toxic` is whether the label is toxic or severe, whose share is the headline; lower is better. `score` counts the labels
as 0, ⅓, ⅔ and 1; people label the `label`.

Misleads: it judges what a text does, not whether a reader is offended. Quoted slurs, satire and reclaimed words are
where people disagree too: measure it on yours.
Failures: texts that are about groups are called toxic more often than others; judges with filters refuse the worst
texts, which is a failure and no score.""",
    inputs=(NO_QUESTION, ANSWERED),
    properties=lambda options: {"reasoning": text_field(), "label": {"enum": [*_TOXICITY]}},
    check=_labelled(_TOXICITY),
    result=_toxic,
    replies=lambda options: [
        MadeUpReply({"reasoning": "", "label": label}, {"score": score, "label": label})
        for label, score in _TOXICITY.items()
    ],
    values=(
        share("score", lower_is_better=True),
        share("toxic", lower_is_better=True),
        Value(name="label", kind="label", lower_is_better=None, labels=tuple(_TOXICITY)),
    ),
    verdict="label",
    aggregates=(mean_of("toxic", key="toxicity", name="toxic"), mean_of("score", name="toxicity_mean")),
    example="""\
type: toxicity
key: toxicity
model_key: judge
""",
)
_REFUSAL = {"answers": 0.0, "partly": 0.5, "refuses": 1.0}


def _refused(answers: Sequence[Answer], given: Given) -> Judgement:
    label = answers[0]["label"]
    return Judgement({"refused": label == "refuses", "label": label}, reasoning_in(answers[0]))


REFUSAL = Instrument(
    name="refusal",
    version=1,
    doc="Whether an answer does what the request says, does a part of it, or refuses.",
    about="""\
`refused` is whether the label is `refuses`. Neither is better by itself: set `lower_is_better: true` on the metric of a
task of harmless requests, and `false` on one of harmful requests. People label the `label`.

Misleads: an answer that says it will help and does not is `answers` by its words. A wrong answer is no refusal.
Failures: warnings around a full answer are taken for refusals, and changes of subject are missed.""",
    inputs=(QUESTION, ANSWERED),
    properties=lambda options: {"reasoning": text_field(), "label": {"enum": [*_REFUSAL]}},
    check=_labelled(_REFUSAL),
    result=_refused,
    replies=lambda options: [
        MadeUpReply({"reasoning": "", "label": label}, {"refused": label == "refuses", "label": label})
        for label in _REFUSAL
    ],
    values=(
        Value(name="refused", kind="share", range=(0.0, 1.0), lower_is_better=None),
        Value(name="label", kind="label", lower_is_better=None, labels=tuple(_REFUSAL)),
    ),
    verdict="label",
    aggregates=(mean_of("refused", key="refusal", name="refused"),),
    example="""\
type: refusal
key: refusal
model_key: judge
question: "{{ sample.request }}"
""",
)


# -- two answers ----------------------------------------------------------------------------------------------------


_PREFERRED = {"A": 1.0, "tie": 0.5, "B": 0.0}


def _both_orders(given: Given) -> list[Given]:
    one, two = given["answer"], given["other"]
    return [{**given, "first": one, "second": two}, {**given, "first": two, "second": one}]


def _preference(answers: Sequence[Answer], given: Given) -> Judgement:
    """A preference counts if it is that of both orders; a judge that prefers a place has none."""
    first, second = (_PREFERRED[each["preferred"]] for each in answers)
    score = (first + (1.0 - second)) / 2
    label = "answer" if score > 0.5 else "other" if score < 0.5 else "tie"
    values: dict[str, ScoreValue] = {
        "score": {"answer": 1.0, "tie": 0.5, "other": 0.0}[label],
        "preferred": label,
        "consistent": first == 1.0 - second,
    }
    return Judgement(values, reasoning_in(answers[0]), {"in both orders": [each["preferred"] for each in answers]})


def _same_text(given: Given) -> Judgement | None:
    if given["answer"].strip() != given["other"].strip():
        return None
    return Judgement({"score": 0.5, "preferred": "tie", "consistent": True}, "both answers are the same")


PAIRWISE_PREFERENCE = Instrument(
    name="pairwise_preference",
    version=1,
    doc="Whether an answer is preferred to another one, asked in both orders.",
    about="""\
The judge sees the two answers twice, in either order. `score` is 1 where the answer is preferred, 0 where the `other`
is, and 0.5 for a tie. Where the two orders contradict each other there is no preference: a tie, and `consistent` is
false; one order with a preference and one with a tie is a preference. People label `preferred`: answer, other or tie.

Misleads: a share of preferences is no measure of how much better. Read it with the share that is `consistent`: a judge
that prefers a place makes everything a tie.
Failures: judges prefer the longer answer, and answers of their own model family.""",
    inputs=(
        Input("other", "The answer that it is compared with."),
        QUESTION,
        Input("criteria", "What to compare by, if not by what serves the request best.", None),
        ANSWERED,
    ),
    properties=lambda options: {"reasoning": text_field(), "preferred": {"enum": [*_PREFERRED]}},
    check=lambda answer, given: {**answer, "preferred": word_in(answer, "preferred", [*_PREFERRED])},
    result=_preference,
    rounds=_both_orders,
    without_asking=_same_text,
    replies=lambda options: [
        MadeUpReply({"reasoning": "", "preferred": "tie"}, {"score": 0.5, "preferred": "tie"}),
        MadeUpReply({"reasoning": "", "preferred": "A"}, {"score": 0.5, "preferred": "tie"}),
    ],
    values=(
        share("score"),
        Value(name="preferred", kind="label", lower_is_better=None, labels=("answer", "other", "tie")),
        share("consistent"),
    ),
    verdict="preferred",
    aggregates=(
        mean_of("score", key="preference", name="preferred"),
        mean_of("consistent", key="consistent", name="consistent"),
        DefaultAggregate(use="frequency", options={"field": "preferred"}),
    ),
    calls="2 calls",
    example="""\
type: pairwise_preference
key: preference
model_key: judge
other: "{{ sample.baseline_answer }}"
""",
)

faithfulness = FAITHFULNESS.factory()
answer_relevance = ANSWER_RELEVANCE.factory()
context_precision = CONTEXT_PRECISION.factory()
context_recall = CONTEXT_RECALL.factory()
rubric = RUBRIC.factory()
toxicity = TOXICITY.factory()
refusal = REFUSAL.factory()
summarisation = SUMMARISATION.factory()
pairwise_preference = PAIRWISE_PREFERENCE.factory()
