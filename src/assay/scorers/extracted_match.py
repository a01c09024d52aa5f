"""Reads an answer out of the prediction by named steps, compares it, and logs what was read."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from assay.core.describe import ScorerInfo, describes, mean_of, share
from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext, Scorer
from assay.core.types import Completion, Failure, Sample, Score, Trace
from assay.part_options import Doc, InFiles, Pattern, part
from assay.patterns.example import example_around
from assay.patterns.matching import PatternTimeoutError, selected_match, substitute
from assay.scorers.over_row import ONE_TARGET, EmptyGold, LookedAt, Target, Targets, over_row

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DIGITS = str.maketrans("", "", string.digits)


class ExtractedMatch:
    """`score` is 1.0 when the extracted text equals a target, both treated alike by the flags of `extras.compare`."""

    only_computes = True
    """Pure computation: any process may run it."""

    def __init__(self, name: str, how: Mapping[str, Any] | None = None) -> None:
        """`how` applies to every sample; without it each sample has its own."""
        self.name = name
        self._how = how

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        how = self._compares(sample)
        try:
            answer, extracted = read_out(trace.prediction, how.get("steps") or [])
            answer_text = treated(answer, how)
            right = any(answer_text == treated(target, how) for target in sample.targets)
        except PatternTimeoutError as error:
            raise FailureError(Failure(stage="scorer", part=self.name, kind="timeout", message=str(error))) from error
        except (KeyError, TypeError, ValueError) as error:
            message = f"extras.compare cannot be used: {type(error).__name__}: {error}"
            raise FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message)) from error
        return Score(name=self.name, values={"score": float(right)}, answer=answer, extracted=extracted)

    def _compares(self, sample: Sample) -> Mapping[str, Any]:
        return (self._how if self._how is not None else sample.extras.get("compare")) or {}

    def gold(self, sample: Sample) -> Completion | None:
        """The first target, with the surrounding words that the patterns look for; None where those are not simple."""
        if not sample.targets:
            return None
        how, target = self._compares(sample), sample.targets[0]
        patterns = [str(step["pattern"]) for step in how.get("steps") or () if step["do"] == "regex"]
        if not patterns:
            return Completion(text=target)
        around = target
        for pattern in reversed(patterns):
            around = example_around(pattern, around)
        try:
            read = {text: treated(read_out(text, how["steps"])[0], how) for text in (target, around)}
            wanted = treated(target, how)
        except PatternTimeoutError:
            return None  # scoring reports it
        return next((Completion(text=text) for text, answer in read.items() if answer == wanted), None)


_PLAIN_STEPS: dict[str, Callable[[str], str]] = {
    "strip": lambda text: text.strip(),
    "strip_start": lambda text: text.lstrip(),
    "lowercase": lambda text: text.lower(),
    "uppercase": lambda text: text.upper(),
}


def read_out(text: str, steps: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
    """The text after every step, and whether each pattern was found."""
    extracted = True
    for step in steps:
        if step["do"] == "regex":
            match = selected_match(str(step["pattern"]), text, int(step.get("select", 0)))
            extracted = extracted and match is not None
            text = str(step.get("fallback", "")) if match is None else match
        else:
            text = _PLAIN_STEPS[step["do"]](text)
    return text, extracted


def treated(text: str, how: Mapping[str, Any]) -> str:
    for pattern in how.get("regexes_to_ignore") or ():
        text = substitute(pattern, "", text)
    if how.get("ignore_case"):
        text = text.lower()
    if how.get("ignore_punctuation"):
        text = text.translate(_PUNCTUATION)
    return text.translate(_DIGITS) if how.get("ignore_numbers") else text


@part(
    "What a pattern finds: its first group, or the whole match.",
    name="an extraction step",
    example='{regex: "#### ([0-9]+)", select: -1, fallback: "[none]"}\n',
)
class ExtractionStep(TypedDict):
    """Reads a part of the text out."""

    regex: Annotated[str, Meta(min_length=1), Pattern(), Doc("The pattern.")]
    select: NotRequired[Annotated[int, Doc("Which match: 0 is the first, -1 the last."), InFiles(0)]]
    fallback: NotRequired[Annotated[str, Doc("Used when nothing matches."), InFiles("")]]


@describes(ScorerInfo(values=(share("score"),), aggregates=(mean_of("score", name="extracted_match"),)))
@part(
    "Equality after an answer is extracted by named steps.",
    one_of=ONE_TARGET,
    example="""\
type: extracted_match
ground_truth: "{{ sample.answer }}"
extract: [{regex: "#### (-?[0-9.,]+)", select: -1, fallback: "[none]"}, strip]
regexes_to_ignore: [","]
""",
)
def extracted_match(
    key: str,
    *,
    ground_truth: Target = None,
    ground_truths: Targets = None,
    value: LookedAt = None,
    empty_gold: EmptyGold = "refused",
    extract: Annotated[
        Sequence[Literal["strip", "strip_start", "lowercase", "uppercase"] | ExtractionStep] | None,
        Doc("What is done to the answer before it is compared, in this order."),
        InFiles([]),
    ] = None,
    ignore_case: Annotated[bool, Doc("Ignore case.")] = False,
    ignore_punctuation: Annotated[bool, Doc("Ignore punctuation.")] = False,
    ignore_numbers: Annotated[bool, Doc("Ignore digits.")] = False,
    regexes_to_ignore: Annotated[
        Sequence[Annotated[str, Pattern()]], Doc("Taken out of answer and expected text.")
    ] = (),
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
) -> Scorer:
    """Equality after reading an answer out by the steps of `extract`, or of the sample's `extras.compare`.

    A step is `strip`, `strip_start`, `lowercase`, `uppercase`, or `{regex: …, select: 0, fallback: …}`; "nothing found"
    has its own count. For samples that are rows, `ground_truth` or `ground_truths` is the template of the targets.
    """
    how: dict[str, Any] | None = None
    if ground_truth is not None or ground_truths is not None:
        how = {
            "steps": [_step(item) for item in extract or ()],
            "ignore_case": ignore_case,
            "ignore_punctuation": ignore_punctuation,
            "ignore_numbers": ignore_numbers,
            "regexes_to_ignore": list(regexes_to_ignore),
        }
    templates = {"target": ground_truth, "targets": ground_truths}
    return over_row(
        ExtractedMatch(key, how), templates, context=context, value=value, has_solver=has_solver, empty_gold=empty_gold
    )


def _step(written: str | ExtractionStep) -> dict[str, Any]:
    if isinstance(written, str):
        return {"do": written}
    return {"do": "regex", "pattern": written["regex"], **{k: v for k, v in written.items() if k != "regex"}}
