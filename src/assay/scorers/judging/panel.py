"""Several judges in one scorer, and what people said of the answer, which is an option of scorers without a judge too.

`judges` in place of `model_key` builds the scorer once for each; a `rule` makes one score of theirs, and how far they
agree is a value of its own. `labels` puts the label that people gave next to the verdict. One judge that fails is a
failure of the scorer.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal

import msgspec

from assay.catalog import JUDGES, PANEL
from assay.core.describe import DefaultAggregate, ScorerInfo, Value, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext, Preparable, Scorer, close_part
from assay.core.types import Completion, Failure, Sample, Score, ScoreValue, Trace
from assay.part_options import ANSWER, Doc, ModelKey, TemplateOption
from assay.prompts.written_text import ALLOWED
from assay.scorers.judging.rehearsed import Judged, KnowsGold, Verdict
from assay.scorers.judging.variables import gold_field, scorer_variables

Rule = Literal["majority", "all", "mean"]
_, RULE, LABELS = PANEL
PEOPLE = "people"
"""The value that holds what people said."""
AGREEMENT = "judges_agree"
_SCORE = "score"
_JUDGED = ("correct_labels", "incorrect_labels")
_TRUE, _FALSE = ("true", "1", "1.0", "yes", "y"), ("false", "0", "0.0", "no", "n")
_GOOD = ("good", "right", "correct", "pass", "passed", "thumbs up", "up")
_BAD = ("bad", "wrong", "incorrect", "fail", "failed", "thumbs down", "down")
"""Words for an answer, whatever it is judged by: good is true where more is better."""
_ALSO = ("1.0", "y", "n", "passed", "failed", "thumbs up", "thumbs down", "up", "down")
"""Spellings that are read, and that no sentence lists."""


class PanelOptions(msgspec.Struct, kw_only=True):
    """What files may give to a scorer with a judge, whatever it asks."""

    judges: Annotated[
        Sequence[Annotated[str, ModelKey("The key of a model that judges.")]] | None,
        msgspec.Meta(min_length=2),
        Doc("The keys of several models that judge, in place of `model_key`."),
    ] = None
    rule: Annotated[
        Rule | None,
        Doc("One verdict of several judges: `majority` (the default), `all` (the worst one counts), or their `mean`."),
    ] = None
    labels: Annotated[
        str | None, TemplateOption("What people said: compared with the verdict, and never shown to the judge.", ANSWER)
    ] = None


Options = Mapping[str, Any]


def verdict_of(info: ScorerInfo) -> Value | None:
    """What people could say of an answer too: a judge's verdict, or else the share that a scorer averages."""
    values = {value.name: value for value in info.values}
    if info.verdict is not None:
        return values.get(info.verdict)
    means = (mean_of(_SCORE),) if info.aggregates is None else info.aggregates
    averaged = {str(mean.options["field"]) for mean in means if "field" in mean.options}
    name = _SCORE if _SCORE in averaged else averaged.pop() if len(averaged) == 1 else None
    only = values.get(name) if name is not None and not info.sees_all else None
    return only if only is not None and only.kind == "share" else None


def with_panel(
    key: str, options: Options, info: ScorerInfo, build: Callable[[Options], Scorer], context: BuildContext
) -> Scorer:
    """The scorer that these options ask for; `build` makes it for one judge, without the options of this module."""
    own = {name: value for name, value in options.items() if name not in PANEL}
    judges, labels = options.get(JUDGES), options.get(LABELS)
    scorer = build(own) if judges is None else _panel(key, judges, options.get(RULE) or "majority", own, info, build)
    if labels is None:
        return scorer
    verdict = verdict_of(info)
    if verdict is None:
        raise UsageError(f"scorer `{key}`: {problems(info, options)[0]}")
    kind = (
        _LabelledJudge
        if isinstance(scorer, Judged)
        else _LabelledStarted
        if isinstance(scorer, Preparable)
        else _Labelled
    )
    return kind(scorer, gold_field(key, LABELS, labels, context, ALLOWED), verdict, own)


def described(info: ScorerInfo, options: Options) -> ScorerInfo:
    """What a scorer says of itself with these options."""
    if not options.get(JUDGES) and options.get(LABELS) is None:
        return info  # one that says no aggregate may have none: it is not for a panel to give it a mean
    values, aggregates = info.values, info.aggregates or (mean_of(_SCORE),)
    verdict = verdict_of(info)
    calls = info.calls
    if judges := options.get(JUDGES):
        rule = options.get(RULE) or "majority"
        values = tuple(_of_rule(value, rule) for value in values)
        numbered = [] if verdict is None else [*_numbered(verdict, len(judges))]
        values = (*values, *numbered, share(AGREEMENT))
        fields = [value.name for value in numbered]
        if verdict is None or _is_scale(verdict):
            aggregates = (*aggregates, mean_of(AGREEMENT, name=AGREEMENT))
        else:
            aggregates = (*aggregates, _agreement(fields, JUDGES, verdict))
        calls = f"{len(judges)} × {calls}" if calls else calls
    if options.get(LABELS) is not None and verdict is not None:
        values = (*values, msgspec.structs.replace(verdict, name=PEOPLE))
        aggregates = (*aggregates, _agreement([verdict.name, PEOPLE], PEOPLE, verdict))
    return msgspec.structs.replace(info, values=values, aggregates=aggregates, calls=calls)


def problems(info: ScorerInfo | None, options: Options) -> list[str]:
    """What is wrong with the options of this module, a sentence each."""
    found = []
    judges, rule = options.get(JUDGES), options.get(RULE) or "majority"
    verdict = verdict_of(info) if info else None
    if isinstance(judges, list | tuple):
        names = [str(each.get("model_key") if isinstance(each, Mapping) else each) for each in judges]
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            found.append(f"`judges` names `{twice[0]}` twice: a judge has one voice")
        if rule == "majority" and len(judges) % 2 == 0:
            found.append(
                f"{len(judges)} judges can be split evenly: name an odd number, or choose the rule `all` or `mean`"
            )
        labels = [value.name for value in info.values if value.kind == "label"] if info else []
        if rule != "majority" and labels:
            found.append(f"the rule `{rule}` makes no label of several: `{labels[0]}` needs `majority`")
    if options.get(LABELS) is not None and info is not None and verdict is None:
        found.append("`labels` has no effect: this scorer has no verdict that people could give")
    return found


def _agreement(fields: Sequence[str], key: str, verdict: Value) -> DefaultAggregate:
    """Marks that are near each other agree more than those that are far apart."""
    weights = {"weights": "quadratic"} if len(fields) == 2 and (verdict.kind == "count" or _is_scale(verdict)) else {}
    return DefaultAggregate(use="agreement", key=key, options={"fields": [*fields], **weights})


def _of_rule(value: Value, rule: str) -> Value:
    return value if rule != "mean" or value.kind != "count" else msgspec.structs.replace(value, kind="number")


def _numbered(verdict: Value, judges: int) -> list[Value]:
    return [msgspec.structs.replace(verdict, name=f"{verdict.name}_{number}") for number in range(1, judges + 1)]


def _is_scale(value: Value) -> bool:
    """Whether it is a share of many levels, of which two judges seldom give the same."""
    return value.name == _SCORE


def _panel(
    key: str,
    judges: Sequence[Mapping[str, Any]],
    rule: str,
    options: Options,
    info: ScorerInfo,
    build: Callable[[Options], Scorer],
) -> Scorer:
    if found := problems(info, {JUDGES: judges, RULE: rule}):
        raise UsageError(f"scorer `{key}`: {found[0]}")
    members = [build({**options, **each}) for each in judges]
    return Panel(key, members, [str(each["model_key"]) for each in judges], rule, info)


class Panel:
    """Asks every judge, and makes one score of theirs."""

    def __init__(self, key: str, members: Sequence[Scorer], names: Sequence[str], rule: str, info: ScorerInfo) -> None:
        self.name = key
        self._members, self._names, self._rule = members, names, rule
        self._values = {value.name: value for value in info.values}
        self._verdict = info.verdict

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        # to the end of all of them: a failure leaves none in flight
        given = await asyncio.gather(*(each(sample, trace) for each in self._members), return_exceptions=True)
        if broken := next((each for each in given if isinstance(each, BaseException)), None):
            raise broken
        scores = [score for score in given if isinstance(score, Score)]
        values = {name: self._combined(name, [score.values.get(name) for score in scores]) for name in self._values}
        if self._verdict is not None:
            said = [score.values.get(self._verdict) for score in scores]
            values |= {f"{self._verdict}_{number}": value for number, value in enumerate(said, 1)}
            values[AGREEMENT] = agree(said)
        reasons = zip(self._names, scores, strict=True)
        return Score(
            name=self.name,
            values=values,
            reason="\n".join(f"{name}: {score.reason}" for name, score in reasons if score.reason) or None,
            metadata={JUDGES: [_member(name, score) for name, score in zip(self._names, scores, strict=True)]},
        )

    def _combined(self, name: str, given: Sequence[ScoreValue]) -> ScoreValue:
        known = [value for value in given if value is not None]
        if not known:
            return None
        value = self._values[name]
        if value.kind == "label" or self._rule == "majority":
            return self._majority(name, given)
        numbers = [float(each) for each in known if not isinstance(each, str)]
        if self._rule == "mean":
            return sum(numbers) / len(numbers)
        worst = max(numbers) if value.lower_is_better else min(numbers)
        return bool(worst) if all(isinstance(each, bool) for each in known) else _as_kind(value, worst)

    def _majority(self, name: str, given: Sequence[ScoreValue]) -> ScoreValue:
        """What more than half say; of a number the one in the middle, which as many are above as below."""
        numbers = [each for each in given if isinstance(each, int | float) and not isinstance(each, bool)]
        if len(numbers) == len(given):
            return sorted(numbers)[len(numbers) // 2]
        said, times = Counter(given).most_common(1)[0]
        if times * 2 > len(given):
            return said
        if name != self._verdict:
            return None
        verdicts = ", ".join(f"{judge} {value}" for judge, value in zip(self._names, given, strict=True))
        raise FailureError(
            Failure(stage="scorer", part=self.name, kind="no_majority", message=f"the judges do not agree: {verdicts}")
        )

    async def aclose(self) -> None:
        for each in self._members:
            await close_part(each)

    def verdicts(self) -> list[Verdict]:
        """Those of one judge: in a rehearsal all say the same."""
        first = self._members[0]
        return [*first.verdicts()] if isinstance(first, Judged) else []


def agree(given: Sequence[ScoreValue]) -> float | None:
    """The share of pairs of judges that say the same; of numbers, how close they are on their scale from 0 to 1."""
    pairs = [*combinations([value for value in given if value is not None], 2)]
    return sum(map(_same, pairs)) / len(pairs) if pairs else None


def _same(pair: tuple[ScoreValue, ScoreValue]) -> float:
    a, b = pair
    close = isinstance(a, float) and isinstance(b, float) and 0 <= a <= 1 and 0 <= b <= 1
    return 1.0 - abs(a - b) if close else float(a == b)  # type: ignore[operator]  # both are numbers


def as_verdict(verdict: Value, text: str, options: Options) -> ScoreValue:
    """The label that a person gave as the judge's value; `ValueError` where the judge could not give it.

    It is what the judge is asked for: one of its labels, a mark on its scale, or whether something holds.
    """
    text = text.strip()
    if verdict.kind == "label":
        if not verdict.labels or text in verdict.labels:
            return text
        raise ValueError(f"`{text}` is none of {', '.join(verdict.labels)}")
    low, high = (options.get(name) for name in ("score_min", "score_max"))
    right: Sequence[str] = ()
    scale = (float(low), float(high)) if isinstance(low, int | float) and isinstance(high, int | float) else None
    if verdict.kind == "share" and scale is None:
        right, wrong = _words(verdict, options)
        if text.casefold() in (*right, *wrong):
            return text.casefold() in right if not _is_scale(verdict) else float(text.casefold() in right)
        if not _is_scale(verdict):
            raise ValueError(f"`{text}` is neither true nor false; {_two_of(right, wrong)}")
    try:
        number = float(text)
    except ValueError:
        words = f", and no word for right or wrong; {_two_of(right, wrong)}" if right else ""
        raise ValueError(f"`{text}` is not a number{words}") from None
    least, most = scale or verdict.range or (-math.inf, math.inf)
    if not least <= number <= most:
        raise ValueError(f"`{text}` is not from {least:g} to {most:g}")
    if scale is not None:
        return (number - least) / (most - least)
    return int(number) if verdict.kind == "count" and number.is_integer() else number


def _words(verdict: Value, options: Options) -> tuple[Sequence[str], Sequence[str]]:
    """The words for true and for false."""
    right, wrong = ([str(label).casefold() for label in options.get(name) or ()] for name in _JUDGED)
    if verdict.lower_is_better is None:
        return (*right, *_TRUE), (*wrong, *_FALSE)
    good, bad = (_BAD, _GOOD) if verdict.lower_is_better else (_GOOD, _BAD)
    said = {*right, *wrong}
    return (
        (*right, *(word for word in (*_TRUE, *good) if word not in said)),
        (*wrong, *(word for word in (*_FALSE, *bad) if word not in said)),
    )


def _two_of(right: Sequence[str], wrong: Sequence[str]) -> str:
    pairs = ", ".join(f"{a} or {b}" for a, b in zip(right, wrong, strict=False) if a not in _ALSO)
    return f"labels of two classes are {pairs}; those of several need a scorer that gives them (labeler_via_model)"


def _as_kind(value: Value, number: float) -> ScoreValue:
    return int(number) if value.kind == "count" else number


def _member(name: str, score: Score) -> dict[str, Any]:
    return {"key": name, "values": score.values, **(score.metadata or {})}


class _Labelled:
    """A judge, and what people said."""

    def __init__(self, scorer: Scorer, field: Any, verdict: Value, options: Options) -> None:
        self.name = scorer.name
        self._scorer, self._field, self._verdict, self._options = scorer, field, verdict, options
        self._has_solver = bool(options.get("has_solver", True))

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        # before the judge is called: its verdict would be paid for and lost
        people = self._people(sample, trace)
        score = await self._scorer(sample, trace)
        if isinstance(score.values.get(self._verdict.name), bool) and isinstance(people, float):
            people = people if people % 1 else bool(people)
        return msgspec.structs.replace(score, values={**score.values, PEOPLE: people})

    def _people(self, sample: Sample, trace: Trace) -> ScoreValue:
        text = self._field.render(scorer_variables(sample, trace, has_solver=self._has_solver), sample)
        try:
            return as_verdict(self._verdict, text, self._options) if text.strip() else None
        except ValueError as error:
            raise self._field.failure("bad_label", str(error), sample) from error

    def gold(self, sample: Sample) -> Completion | None:
        return self._scorer.gold(sample) if isinstance(self._scorer, KnowsGold) else None

    async def aclose(self) -> None:
        await close_part(self._scorer)


class _LabelledStarted(_Labelled):
    def start_here(self) -> Any:
        return self._scorer.start_here() if isinstance(self._scorer, Preparable) else None


class _LabelledJudge(_Labelled):
    def verdicts(self) -> Sequence[Verdict]:
        return self._scorer.verdicts() if isinstance(self._scorer, Judged) else ()
