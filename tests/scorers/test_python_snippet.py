"""`python`, `python_all_samples` and system evidence: what snippets return becomes scores."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.scripted import Context

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Message, Sample, Score, Trace
from assay.datasets.inline import Inline
from assay.scorers.python_snippet import AllSamplesScorer, PythonScorer, SystemEvidence, score_of

TRACE = Trace(
    prediction="Rome",
    messages=(Message(role="user", content="Capital?"), Message(role="assistant", content="Rome")),
    completions=(Completion(text="Rome"),),
)


def run(make: Any, *samples: Sample) -> list[Score]:
    async def all_of() -> list[Score]:
        scorer = make()
        try:
            return [await scorer(sample, TRACE) for sample in samples]
        finally:
            await scorer.aclose()

    return asyncio.run(all_of())


def test_a_model_task_passes_sample_and_solver_output() -> None:
    source = (
        "def compute_scores(sample, solver_output):\n"
        "    assert solver_output.output.choices[0].message.content == str(solver_output.output)\n"
        "    assert solver_output.messages[0]['content'] == 'Capital?'\n"
        "    return {'right': sample['gt'] in solver_output.output, 'kind': 'city', 'n': 2}\n"
    )
    (score,) = run(
        lambda: PythonScorer("p", compute_scores_snippet=source, context=Context()), Sample(id="1", row={"gt": "Rome"})
    )
    assert score.values == {"right": True, "kind": "city", "n": 2}


def test_a_dataset_task_passes_the_sample_alone_and_async_works() -> None:
    source = (
        "async def compute_scores(sample):\n    return {'scores': {'ok': True}, 'metadata': {'why': sample['a']}}\n"
    )
    (score,) = run(
        lambda: PythonScorer("p", compute_scores_snippet=source, context=Context(), has_solver=False),
        Sample(id="1", row={"a": 5}),
    )
    assert score.values == {"ok": True}
    assert score.metadata == {"why": 5}


def test_a_sample_score_object_is_its_values_and_metadata() -> None:
    source = (
        "from latticeflow.core.dtypes import SampleScore\n"
        "def compute_scores(sample):\n    return SampleScore({'ok': True}, {'why': 'five'})\n"
    )
    (score,) = run(
        lambda: PythonScorer("p", compute_scores_snippet=source, context=Context(), has_solver=False),
        Sample(id="1", row={}),
    )
    assert score.values == {"ok": True}
    assert score.metadata == {"why": "five"}


@pytest.mark.parametrize(
    ("result", "values", "metadata"),
    [
        ({"a": 1, "b": "x", "c": None}, {"a": 1, "b": "x", "c": None}, None),
        ({"scores": {"a": 1}}, {"a": 1}, None),
        ({"scores": {"a": 1}, "metadata": {"m": [1]}}, {"a": 1}, {"m": [1]}),
        ({"scores": 0.5, "metadata": 1}, {"scores": 0.5, "metadata": 1}, None),  # then they are scores
        ({"a": [1, 2], "b": 1}, {"b": 1}, {"a": [1, 2]}),  # what cannot be aggregated is evidence
        ({"scores": {}, "metadata": {"a": [1, 2]}}, {}, {"a": [1, 2]}),
    ],
)
def test_flat_and_structured_results(result: Any, values: Any, metadata: Any) -> None:
    score = score_of("p", result, "sample `1`")
    assert (score.values, score.metadata) == (values, metadata)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"scores": {"a": 1}, "metadata": {"b": 2}, "v": 3}, "returned `v` beside `scores`"),
        ({"scores": {"a": 1}, "metadata": 5}, "must return a mapping as `metadata`, it returned int"),
        ({"v": [1, 2]}, "returned no score: `v` holds a list or a mapping"),
        ({"v": {"a": 1}}, "returned no score: `v` holds a list or a mapping"),
    ],
)
def test_what_would_be_dropped_is_a_failure(result: Any, why: str) -> None:
    with pytest.raises(FailureError, match=why):
        score_of("p", result, "sample `s`")


def test_half_a_character_is_a_failure_of_its_sample_that_says_so() -> None:
    source = r"def compute_scores(sample): return {'v': '\ud800' if sample['bad'] else 'ä'}"
    make = lambda: PythonScorer("p", compute_scores_snippet=source, context=Context(), has_solver=False)  # noqa: E731
    assert run(make, Sample(id="1", row={"bad": False}))[0].values == {"v": "ä"}
    with pytest.raises(FailureError, match="returned a text with half a character"):
        run(make, Sample(id="2", row={"bad": True}))


def test_a_result_that_is_not_a_mapping_is_a_failure() -> None:
    with pytest.raises(FailureError, match="must return a mapping"):
        score_of("p", [1], "sample `1`")


UNIQUE = (
    "from collections import Counter\n"
    "def compute_scores(samples):\n"
    "    seen = Counter(s['v'] for s in samples)\n"
    "    return [{'is_unique': seen[s['v']] == 1} for s in samples]\n"
)


def test_all_samples_are_scored_in_one_call() -> None:
    dataset = Inline(samples=[{"v": "a"}, {"v": "b"}, {"v": "a"}])
    context = Context(dataset=dataset)
    scores = run(lambda: AllSamplesScorer("u", compute_scores_snippet=UNIQUE, context=context), *dataset)
    assert [score.values["is_unique"] for score in scores] == [False, True, False]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{'v': float('nan')}", "NaN or infinity, which is no score"),
        ("{'v': [1e999]}", "NaN or infinity, which is no score"),
        ("{'v': print}", "what is not JSON"),
        ("None", "must return a mapping, it returned NoneType"),
    ],
)
def test_an_entry_that_is_no_score_fails_its_own_sample_alone(entry: str, why: str) -> None:
    dataset = Inline(samples=[{"v": "a"}, {"v": "b"}, {"v": "c"}])
    source = f"def compute_scores(samples): return [{{'v': 1}}, {entry}, {{'v': 3}}]"
    make = lambda: AllSamplesScorer("u", compute_scores_snippet=source, context=Context(dataset=dataset))  # noqa: E731
    good, bad, other = dataset
    assert [score.values for score in run(make, good, other)] == [{"v": 1}, {"v": 3}]
    with pytest.raises(FailureError, match=why):
        run(make, bad)


def test_another_number_of_entries_is_a_failure() -> None:
    dataset = Inline(samples=[{"v": "a"}, {"v": "b"}])
    source = "def compute_scores(samples): return [{}]"
    with pytest.raises(FailureError, match="a list of 2 entries, it returned 1 entries"):
        run(lambda: AllSamplesScorer("u", compute_scores_snippet=source, context=Context(dataset=dataset)), *dataset)
    with pytest.raises(UsageError, match="needs the task's dataset"):
        AllSamplesScorer("u", compute_scores_snippet=source)


def test_evidence_is_numbers_with_reasons() -> None:
    found = "{'metrics': {'m': {'value': 3, 'reason': 'because'}, 'n': {'value': 0.5}, 'holds': {'value': True}}}"
    source = f"def compute_evidence():\n    return {found}\n"
    (score,) = run(
        lambda: SystemEvidence("e", compute_evidence_snippet=source, context=Context()), Sample(id="0", row={})
    )
    assert score.values == {"m": 3, "n": 0.5, "holds": 1.0}
    assert score.metadata == {"reasons": {"m": "because"}}


@pytest.mark.parametrize("result", ["{}", "{'metrics': {}}", "{'metrics': {'m': {'value': 'x'}}}", "3"])
def test_evidence_without_numbers_is_a_failure(result: str) -> None:
    source = f"async def compute_evidence(): return {result}"
    with pytest.raises(FailureError):
        run(lambda: SystemEvidence("e", compute_evidence_snippet=source, context=Context()), Sample(id="0", row={}))


def test_code_of_strangers_does_not_run() -> None:
    context = Context(own_code=False)
    source = "open('/tmp/assay-should-not-exist', 'w')\ndef compute_scores(sample): return {}"
    with pytest.raises(FailureError, match="--trust"):
        run(lambda: PythonScorer("p", compute_scores_snippet=source, context=context), Sample(id="1", row={}))


def test_an_integer_beyond_every_number_is_a_failure_and_no_line_that_cannot_be_read() -> None:
    with pytest.raises(FailureError, match="an integer beyond what a number can hold"):
        score_of("p", {"v": 10**400}, "sample `1`")


def test_the_time_that_the_user_allows_holds_for_snippets() -> None:
    source = "import time\ndef compute_scores(sample):\n    time.sleep(30)\n"
    context = replace(Context(), timeout_seconds=0.2)
    with pytest.raises(FailureError, match=r"took longer than 0\.2 s"):
        run(lambda: PythonScorer("p", compute_scores_snippet=source, context=context), Sample(id="1", row={}))
