"""`rag_checker`: claims of the answer and of the expected answer, checked against each other and against the chunks.

A judge splits both texts into claims, then decides for every claim and text whether the text entails it. The eleven
numbers are shares of those claims; an empty denominator gives 0, as the open RAGChecker project defines them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

from assay.core.describe import ScorerInfo, describes, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import JUDGE_RETRIES, NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Score, ScoreValue, Trace
from assay.evaluators.usable_answers import Read, UnusableError, json_object
from assay.part_options import Doc, Words, part
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


@dataclass(slots=True)
class Checked:
    """Which claims hold where: the matrix that all eleven numbers are computed from."""

    answer_in_target: list[bool]
    target_in_answer: list[bool]
    answer_in_chunks: list[list[bool]] = field(default_factory=list)
    """Per chunk, per claim of the answer."""
    target_in_chunks: list[list[bool]] = field(default_factory=list)


class RagChecker:
    """Asks the judge for claims and entailment, and counts."""

    def __init__(
        self,
        key: str,
        model: Model,
        query: str,
        target: str,
        scores: Sequence[str],
        retries: int = JUDGE_RETRIES,
        contexts: str | None = None,
    ) -> None:
        self.name = key
        self._model = model
        self._retries = retries
        self._query_column = query
        self._target_column = target
        self._scores = tuple(scores)
        self._contexts_column = contexts

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        row = sample.row or {}
        query, target = (self._column(row, name, sample) for name in (self._query_column, self._target_column))
        chunks = self._chunks(trace, sample) if _ABOUT_CHUNKS & set(self._scores) else []
        completions: list[Completion] = []
        answer_claims = await self._claims(query, trace.prediction, completions, sample)
        target_claims = await self._claims(query, target, completions, sample)
        checked = Checked(
            answer_in_target=await self._entailed(answer_claims, target, completions, sample),
            target_in_answer=await self._entailed(target_claims, trace.prediction, completions, sample),
        )
        for chunk in chunks:
            checked.answer_in_chunks.append(await self._entailed(answer_claims, chunk, completions, sample))
            checked.target_in_chunks.append(await self._entailed(target_claims, chunk, completions, sample))
        values = rag_scores(checked)
        return Score(
            name=self.name,
            values={name: values[name] for name in self._scores},
            metadata={
                "answer_claims": answer_claims,
                "target_claims": target_claims,
                "chunks": len(chunks),
                "expected": {self._target_column: target[:MOST_EXPECTED]},
                "judge": usage(self._model, *completions),
            },
        )

    def verdicts(self) -> list[Verdict]:
        """A judge that finds one claim in every text, and it holds everywhere or nowhere."""
        return [Verdict(_scripted(holds=holds), {}) for holds in (True, False)] + [NO_VERDICT]

    def _chunks(self, trace: Trace, sample: Sample) -> list[str]:
        if self._contexts_column is not None:
            self._column(sample.row or {}, self._contexts_column, sample)
            return passages((sample.row or {})[self._contexts_column])
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

    def _column(self, row: dict[str, Any], name: str, sample: Sample) -> str:
        if name not in row:
            raise self._failure("bad_input", f"there is no column `{name}`; columns: {', '.join(row)}", sample)
        return str(row[name])

    async def _claims(self, query: str, text: str, completions: list[Completion], sample: Sample) -> list[str]:
        if not text.strip():
            return []

        def claims(verdict: Any) -> list[str]:
            if not isinstance(verdict, list):
                raise UnusableError("`claims` is not a list")
            return [_claim(entry) for entry in verdict]

        return await self._ask(_EXTRACT, f"Question: {query}\n\nText: {text}", "claims", claims, completions, sample)

    async def _entailed(
        self, claims: list[str], text: str, completions: list[Completion], sample: Sample
    ) -> list[bool]:
        if not claims:
            return []
        numbered = "\n".join(f"{at}. {claim}" for at, claim in enumerate(claims, 1))

        def answers(verdict: Any) -> list[bool]:
            if isinstance(verdict, list) and len(verdict) == len(claims) and all(type(x) is bool for x in verdict):
                return verdict
            raise UnusableError(f"`entailed` must be {len(claims)} true/false values, got {json.dumps(verdict)[:200]}")

        return await self._ask(
            _ENTAIL, f"Text: {text}\n\nClaims:\n{numbered}", "entailed", answers, completions, sample
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
    names = [str(name) for name in computed] if computed and isinstance(computed, list | tuple) else ALL_SCORES
    return ScorerInfo(
        values=tuple(share(name, lower_is_better=name in _FAULTS) for name in names),
        aggregates=tuple(mean_of(name, key=name) for name in names),
        needs_answer=True,
        calls="4 calls and 2 for each passage",
    )


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
)
def rag_checker(
    key: str,
    *,
    judge_model_key: JudgeKey,
    query_column: Annotated[str, Doc("Column of the question.")] = "query",
    target_column: Annotated[str, Doc("Column of the expected answer.")] = "target",
    contexts_column: Annotated[
        str | None, Doc("Column of the retrieved passages, a list or one text; the model's own when absent.")
    ] = None,
    scores_to_compute: Annotated[
        Sequence[Annotated[str, Words(ALL_SCORES)]] | None, Doc("All eleven when absent.")
    ] = None,
    has_solver: bool = True,
    model: Mapping[str, Any] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> RagChecker:
    """Eleven numbers about an answer, the expected answer and the retrieved chunks, by claims that a judge checks."""
    if not has_solver:
        raise UsageError(f"scorer `{key}`: a task without a solver has no answer to check")
    judge = judge_model(judge_model_key, model, context)
    scores = scores_to_compute or ALL_SCORES
    return RagChecker(key, judge, query_column, target_column, scores, context.judge_retries, contexts_column)


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
_ABOUT_CHUNKS = frozenset(ALL_SCORES) - {"precision", "recall", "f1_score"}


def _scripted(*, holds: bool) -> Callable[[Request], str]:
    def answer(request: Request) -> str:
        if _ENTAIL in request.text():
            return json.dumps({"entailed": [holds]})
        return json.dumps({"claims": [{"subject": "it", "predicate": "is", "object": "so"}]})

    return answer


def _claim(entry: Any) -> str:
    if isinstance(entry, dict):
        return " ".join(str(entry.get(name, "")) for name in ("subject", "predicate", "object")).strip()
    return str(entry)
