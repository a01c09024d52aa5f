"""`rag_checker`: claims of the answer and of the expected answer, checked against each other and against the chunks.

A judge splits both texts into claims, then decides for every claim and text whether the text entails it. The eleven
numbers are shares of those claims; an empty denominator gives 0, as the open RAGChecker project defines them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import compress
from typing import Annotated, Any, Literal

from assay.core.describe import ScorerInfo, describes, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import JUDGE_RETRIES, NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Score, ScoreValue, Trace
from assay.evaluators.usable_answers import Read, UnusableError, json_object
from assay.part_options import Doc, Problem, Words, part
from assay.prompts.written_text import as_written
from assay.reading.strict_json import decode_strictly
from assay.scorers.expected import MOST_EXPECTED
from assay.scorers.judging.judge import NO_VERDICT, JudgeKey, ask_judge, judge_model, usage
from assay.scorers.judging.rehearsed import Verdict

_EXTRACT = (
    "Take the text apart into its factual claims. Answer with a JSON object "
    '{"claims": [{"subject": "…", "predicate": "…", "object": "…"}]}; an empty list if it claims nothing.'
)
_ENTAIL = (
    "For each numbered claim say whether the text entails it. Answer with a JSON object "
    '{"entailed": [true, false, …]}, one entry per claim, in their order.'
)
_LABEL = (
    "For each numbered claim say whether an answer to the question has to make it (REQUIRED) or may leave it out "
    '(OPTIONAL). Answer with a JSON object {"labels": ["REQUIRED", "OPTIONAL", …]}, one entry per claim, in order.'
)
_CLAIMS = "Claims:\n"
_LABELS = ("REQUIRED", "OPTIONAL")
Mode = Literal["all_claims", "required_only", "required_and_optional"]
_REQUIRED = "required_"
"""What the names of numbers over required claims begin with, where there are those over all too."""


@dataclass(slots=True)
class Checked:
    """Which claims hold where: the matrix that all eleven numbers are computed from."""

    answer_in_target: list[bool]
    target_in_answer: list[bool]
    answer_in_chunks: list[list[bool]] = field(default_factory=list)
    """Per chunk, per claim of the answer."""
    target_in_chunks: list[list[bool]] = field(default_factory=list)

    def only(self, answer: Sequence[bool], target: Sequence[bool]) -> Checked:
        """The same for some of the claims: those of the answer and of the target that are marked."""
        return Checked(
            answer_in_target=list(compress(self.answer_in_target, answer)),
            target_in_answer=list(compress(self.target_in_answer, target)),
            answer_in_chunks=[list(compress(claims, answer)) for claims in self.answer_in_chunks],
            target_in_chunks=[list(compress(claims, target)) for claims in self.target_in_chunks],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RagColumns:
    """The columns that are read; None for what the judge says, or what nothing needs."""

    query: str
    target: str | None
    contexts: str | None = None
    target_claims: str | None = None
    response_claims: str | None = None
    target_labels: str | None = None
    response_labels: str | None = None


class RagChecker:
    """Asks the judge for claims and entailment, and counts."""

    def __init__(
        self,
        key: str,
        model: Model,
        columns: RagColumns,
        scores: Sequence[str],
        retries: int = JUDGE_RETRIES,
        *,
        mode: Mode = "all_claims",
        extraction: str | None = None,
        labeling: str | None = None,
    ) -> None:
        """`extraction` and `labeling` are instructions for the judge, after ours."""
        self.name = key
        self._model = model
        self._retries = retries
        self._columns = columns
        self._scores = tuple(scores)
        self._mode = mode
        self._extract = "\n\n".join(filter(None, (_EXTRACT, extraction)))
        self._label = "\n\n".join(filter(None, (_LABEL, labeling)))

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        columns = self._columns
        query = self._text(columns.query, sample)
        target = None if columns.target is None else self._target(columns.target, sample)
        chunks = self._chunks(trace, sample) if _ABOUT_CHUNKS & set(self._scores) else []
        asked: list[Completion] = []
        answer_claims = await self._claims(query, trace.prediction, columns.response_claims, asked, sample)
        target_claims = (
            [] if target is None else await self._claims(query, target, columns.target_claims, asked, sample)
        )
        checked = Checked(
            # without a target there is no number that would need it
            answer_in_target=[False] * len(answer_claims)
            if target is None
            else await self._entailed(answer_claims, target, asked, sample),
            target_in_answer=await self._entailed(target_claims, trace.prediction, asked, sample),
        )
        for chunk in chunks:
            checked.answer_in_chunks.append(await self._entailed(answer_claims, chunk, asked, sample))
            checked.target_in_chunks.append(await self._entailed(target_claims, chunk, asked, sample))
        labels: dict[str, list[str]] = {}
        if self._mode != "all_claims":
            labels["answer_labels"] = await self._labels(query, answer_claims, columns.response_labels, asked, sample)
            labels["target_labels"] = await self._labels(query, target_claims, columns.target_labels, asked, sample)
        return Score(
            name=self.name,
            values=self._values(checked, labels),
            metadata={
                "answer_claims": answer_claims,
                "target_claims": target_claims,
                **labels,
                "chunks": len(chunks),
                "expected": {} if target is None else {str(columns.target): target[:MOST_EXPECTED]},
                "judge": usage(self._model, *asked),
            },
        )

    def _values(self, checked: Checked, labels: Mapping[str, list[str]]) -> dict[str, ScoreValue]:
        every = rag_scores(checked)
        if self._mode == "all_claims":
            return {name: every[name] for name in self._scores}
        marked = ([label == "REQUIRED" for label in labels[name]] for name in ("answer_labels", "target_labels"))
        required = rag_scores(checked.only(*marked))
        if self._mode == "required_only":
            return {name: required[name] for name in self._scores}
        beside = {_REQUIRED + name: required[name] for name in self._scores}
        return {**{name: every[name] for name in self._scores}, **beside}

    def verdicts(self) -> list[Verdict]:
        """A judge that finds one claim in every text, and it holds everywhere or nowhere."""
        return [Verdict(_scripted(holds=holds), {}) for holds in (True, False)] + [NO_VERDICT]

    def _chunks(self, trace: Trace, sample: Sample) -> list[str]:
        if self._columns.contexts is not None:
            return passages(self._column(self._columns.contexts, sample))
        chunks = references(trace)
        if chunks is None:
            message = (
                "the answer came without `references`, so nothing about retrieved passages can be scored. If "
                "an OpenAI-compatible server sends them, add --model-arg keep_raw=true; if a column has them, name it "
                "with `contexts_column`; for a model that retrieves nothing, limit `scores_to_compute` to precision, "
                "recall and f1_score"
            )
            raise self._failure("bad_input", message, sample)
        return chunks

    def _column(self, name: str, sample: Sample) -> Any:
        row = as_written(sample)
        if name not in row:
            raise self._failure("bad_input", f"there is no column `{name}`; columns: {', '.join(row)}", sample)
        return row[name]

    def _text(self, name: str, sample: Sample) -> str:
        value = self._column(name, sample)
        if value is None:
            raise self._failure("bad_input", f"the column `{name}` is empty", sample)
        return str(value)

    def _target(self, name: str, sample: Sample) -> str:
        value = self._column(name, sample)
        if value is None or not str(value).strip():
            raise self._failure("missing_gold", f"there is no expected answer: `sample.{name}` is empty", sample)
        return str(value)

    def _listed(self, name: str, sample: Sample) -> list[Any]:
        """A list in a column, or the JSON of one."""
        value = self._column(name, sample)
        if isinstance(value, str):
            with suppress(ValueError):
                value = decode_strictly(value.encode())
        if not isinstance(value, list):
            raise self._failure("bad_input", f"the column `{name}` must hold a list, got {str(value)[:100]!r}", sample)
        return value

    async def _labels(
        self, query: str, claims: list[str], column: str | None, completions: list[Completion], sample: Sample
    ) -> list[str]:
        """Whether each claim is required: as the column says, else as the judge does."""
        if not claims:
            return []

        def labels(verdict: Any) -> list[str]:
            given = [str(each).strip().upper() for each in verdict] if isinstance(verdict, list) else []
            if len(given) == len(claims) and set(given) <= set(_LABELS):
                return given
            raise UnusableError(f"`labels` must be {len(claims)} of REQUIRED and OPTIONAL, got {str(verdict)[:200]}")

        if column is not None:
            try:
                return labels(self._listed(column, sample))
            except UnusableError as error:
                raise self._failure("bad_input", f"the column `{column}`: {error}", sample) from error
        user = f"Question: {query}\n\n{_CLAIMS}{_numbered(claims)}"
        return await self._ask(self._label, user, "labels", labels, completions, sample)

    async def _claims(
        self, query: str, text: str, column: str | None, completions: list[Completion], sample: Sample
    ) -> list[str]:
        """The claims of a text: those of a column, else as the judge takes them from it."""
        if column is not None:
            return [_claim(entry) for entry in self._listed(column, sample)]
        if not text.strip():
            return []

        def claims(verdict: Any) -> list[str]:
            if not isinstance(verdict, list):
                raise UnusableError("`claims` is not a list")
            return [_claim(entry) for entry in verdict]

        user = f"Question: {query}\n\nText: {text}"
        return await self._ask(self._extract, user, "claims", claims, completions, sample)

    async def _entailed(
        self, claims: list[str], text: str, completions: list[Completion], sample: Sample
    ) -> list[bool]:
        if not claims:
            return []

        def answers(verdict: Any) -> list[bool]:
            if isinstance(verdict, list) and len(verdict) == len(claims) and all(type(x) is bool for x in verdict):
                return verdict
            raise UnusableError(f"`entailed` must be {len(claims)} true/false values, got {json.dumps(verdict)[:200]}")

        return await self._ask(
            _ENTAIL, f"Text: {text}\n\n{_CLAIMS}{_numbered(claims)}", "entailed", answers, completions, sample
        )

    async def _ask(
        self,
        system: str,
        user: str,
        name: str,
        check: Callable[[Any], Read],
        completions: list[Completion],
        sample: Sample,
    ) -> Read:
        def read(completion: Completion) -> Read:
            verdict = json_object(completion.text, (name,))
            if verdict is None:
                raise UnusableError(f"no JSON object with `{name}`")
            return check(verdict[name])

        messages = (Message(role="system", content=system), Message(role="user", content=user))
        answers, result = await ask_judge(
            self._model, Request(messages=messages), self.name, read, retries=self._retries, sample=sample
        )
        completions += answers
        return result

    def _failure(self, kind: str, message: str, sample: Sample) -> FailureError:
        return FailureError(
            Failure(stage="scorer", part=self.name, kind=kind, message=f"sample `{sample.id}`: {message}")
        )


_FAULTS = ("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant", "hallucination")


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    computed = options.get("scores_to_compute")
    names = [str(name) for name in computed] if computed and isinstance(computed, list | tuple) else list(ALL_SCORES)
    if options.get("mode") == "required_and_optional":
        names += [_REQUIRED + name for name in names]
    return ScorerInfo(
        values=tuple(share(name, lower_is_better=name.removeprefix(_REQUIRED) in _FAULTS) for name in names),
        aggregates=tuple(mean_of(name, key=name) for name in names),
        needs_answer=True,
        calls="4 calls and 2 for each passage",
    )


def _unused(options: Mapping[str, Any]) -> list[Problem]:
    """Options that would have no effect, and numbers that would have nothing to be computed from."""
    problems: list[Problem] = []
    scores = options["scores_to_compute"]
    computed = set(scores) if isinstance(scores, list | tuple) else set(ALL_SCORES)
    if options["target_column"] is None and not computed <= _WITHOUT_TARGET:
        needs = ", ".join(name for name in ALL_SCORES if name in computed - _WITHOUT_TARGET)
        problems.append((("target_column",), f"is needed for {needs}; without it, only `faithfulness` is computed"))
    if options["target_column"] is None and options["target_claims_column"] is not None:
        problems.append((("target_claims_column",), "needs a `target_column`"))
    of_modes = ("target_labels_column", "response_labels_column", "claim_labeling_instructions")
    if options["mode"] == "all_claims":
        problems += [
            ((name,), "has no effect with the mode `all_claims`") for name in of_modes if options[name] is not None
        ]
    return problems


@describes(lambda options, _: _described(options))
@part(
    "Claims of answer, target and retrieved chunks, checked against each other by a judge.",
    example="""\
type: rag_checker
judge_model_key: judge
query_column: question
target_column: answer
scores_to_compute: [f1_score, precision, recall]
""",
    check=_unused,
)
def rag_checker(
    key: str,
    *,
    judge_model_key: JudgeKey,
    query_column: Annotated[str, Doc("Column of the question.")] = "query",
    target_column: Annotated[
        str | None, Doc("Column of the expected answer; null for `faithfulness`, which needs none.")
    ] = "target",
    contexts_column: Annotated[
        str | None, Doc("Column of the retrieved passages, a list or one text; the model's own when absent.")
    ] = None,
    scores_to_compute: Annotated[
        Sequence[Annotated[str, Words(ALL_SCORES)]] | None, Doc("All eleven when absent.")
    ] = None,
    target_claims_column: Annotated[
        str | None, Doc("Column of the expected answer's claims, mappings of `subject`, `predicate` and `object`.")
    ] = None,
    response_claims_column: Annotated[str | None, Doc("Column of the claims of the answer, the same way.")] = None,
    claim_extraction_instructions: Annotated[
        str | None, Doc("For the judge, when it takes claims from a text.")
    ] = None,
    mode: Annotated[
        Mode,
        Doc("Over which claims: all, the required ones, or both, of which those are called `required_…`."),
    ] = "all_claims",
    target_labels_column: Annotated[
        str | None,
        Doc("Column that says REQUIRED or OPTIONAL of each claim of the expected answer; else the judge does."),
    ] = None,
    response_labels_column: Annotated[str | None, Doc("The same of each claim of the answer.")] = None,
    claim_labeling_instructions: Annotated[str | None, Doc("For the judge, when it says what is required.")] = None,
    has_solver: bool = True,
    model: Mapping[str, Any] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> RagChecker:
    """Eleven numbers about an answer, the expected answer and the retrieved chunks, by claims that a judge checks."""
    if not has_solver:
        raise UsageError(f"scorer `{key}`: a task without a solver has no answer to check")
    judge = judge_model(judge_model_key, model, context)
    columns = RagColumns(
        query=query_column,
        target=target_column,
        contexts=contexts_column,
        target_claims=target_claims_column,
        response_claims=response_claims_column,
        target_labels=target_labels_column,
        response_labels=response_labels_column,
    )
    return RagChecker(
        key,
        judge,
        columns,
        scores_to_compute or ALL_SCORES,
        context.judge_retries,
        mode=mode,
        extraction=claim_extraction_instructions,
        labeling=claim_labeling_instructions,
    )


def _numbered(claims: Sequence[str]) -> str:
    return "\n".join(f"{at}. {claim}" for at, claim in enumerate(claims, 1))


def passages(value: Any) -> list[str]:
    """The passages in a cell: a list of texts or of mappings with `content`, the JSON of one, or one passage."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = decode_strictly(value.encode())
    if not isinstance(value, list | tuple):
        return [str(value)] if value is not None and str(value).strip() else []
    return [str(entry.get("content", entry) if isinstance(entry, dict) else entry) for entry in value]


def references(trace: Trace) -> list[str] | None:
    """The retrieved chunks: `choices[0].references[].content` of the last answer; None when it does not say."""
    raw = (trace.completions[-1].raw if trace.completions else None) or {}
    choices = raw.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else raw
    chunks = first.get("references", raw.get("references")) if isinstance(first, dict) else None
    return passages(chunks) if isinstance(chunks, list) else None


def rag_scores(checked: Checked) -> dict[str, ScoreValue]:
    """The eleven numbers, from which claims hold where."""
    right, covered = checked.answer_in_target, checked.target_in_answer
    in_any = _any_chunk(checked.answer_in_chunks, len(right))
    target_in_any = _any_chunk(checked.target_in_chunks, len(covered))
    relevant = [any(claims) for claims in checked.target_in_chunks]
    chunks = list(zip(relevant, checked.answer_in_chunks, strict=True))
    in_relevant = _any_chunk([claims for is_relevant, claims in chunks if is_relevant], len(right))
    in_irrelevant = _any_chunk([claims for is_relevant, claims in chunks if not is_relevant], len(right))
    precision, recall = _share(right), _share(covered)
    used = [in_answer for in_answer, in_chunk in zip(covered, target_in_any, strict=True) if in_chunk]
    each = list(zip(right, in_any, in_relevant, in_irrelevant, strict=True))
    return {
        "precision": precision,
        "recall": recall,
        "f1_score": 2 * precision * recall / (precision + recall) if precision and recall else 0.0,
        "claim_recall": _share(target_in_any),
        "context_precision": _share(relevant),
        "context_utilization": _share(used),
        "noise_sensitivity_in_relevant": _share([not ok and rel for ok, _, rel, _ in each]),
        "noise_sensitivity_in_irrelevant": _share([not ok and irr and not rel for ok, _, rel, irr in each]),
        "hallucination": _share([not ok and not found for ok, found, _, _ in each]),
        "self_knowledge": _share([ok and not found for ok, found, _, _ in each]),
        "faithfulness": _share(in_any),
    }


def _any_chunk(chunks: list[list[bool]], claims: int) -> list[bool]:
    return [any(chunk[at] for chunk in chunks) for at in range(claims)]


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


ALL_SCORES = tuple(rag_scores(Checked(answer_in_target=[], target_in_answer=[])))
_WITHOUT_TARGET = frozenset({"faithfulness"})
_ABOUT_CHUNKS = frozenset(ALL_SCORES) - {"precision", "recall", "f1_score"}


def _scripted(*, holds: bool) -> Callable[[Request], str]:
    def answer(request: Request) -> str:
        asked = request.text()
        claims = len(asked.partition(_CLAIMS)[2].splitlines())
        if _LABEL in asked:
            return json.dumps({"labels": [_LABELS[0]] * claims})
        if _ENTAIL in asked:
            return json.dumps({"entailed": [holds] * claims})
        return json.dumps({"claims": [{"subject": "it", "predicate": "is", "object": "so"}]})

    return answer


def _claim(entry: Any) -> str:
    if isinstance(entry, dict):
        return " ".join(str(entry.get(name, "")) for name in ("subject", "predicate", "object")).strip()
    return str(entry)
