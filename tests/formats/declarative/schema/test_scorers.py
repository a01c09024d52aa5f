"""Everything assay can score, by name in YAML: metrics, extraction, assertions, programs, instructions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import run_task, write_task

from assay.catalog import CATALOG
from assay.core.errors import UsageError
from assay.core.seams import close_part
from assay.core.types import Completion, Sample, Score, Trace
from assay.formats.declarative.load import check_yaml_file
from assay.formats.declarative.schema.scorers import METRIC_TYPES
from assay.scorers.assertions.assertion_kinds import ASSERTION_TYPES
from assay.tasks.built_tasks import build_task

ROW = {"q": "q", "a": "Paris", "all": ["Paris", "Lutetia"], "n": 42}
GOLD = {"ground_truth": "{{ sample.a }}"}
SHAPE = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def scored(folder: Path, scorer: dict[str, Any], answer: str, **completion: Any) -> Score:
    """The score that a scorer of a YAML task gives an answer."""
    [definition] = read_yaml_tasks(write_task(folder, [ROW], [{"key": "s", **scorer}]))
    task = build_task(definition)
    trace = Trace(prediction=answer, completions=(Completion(text=answer, **completion),))

    async def score() -> Score:
        try:
            return await task.scorers["s"](Sample(id="0", row=ROW), trace)
        finally:
            await close_part(task.scorers["s"])

    return asyncio.run(score())


CASES: list[tuple[dict[str, Any], str, float]] = [
    ({"type": "exact_match", **GOLD}, " Paris ", 1.0),
    ({"type": "exact_match", **GOLD}, "paris", 0.0),
    ({"type": "normalized_exact_match", **GOLD}, "paris", 1.0),
    ({"type": "exact_match", "ground_truths": "{{ sample.all | tojson }}"}, "Lutetia", 1.0),
    ({"type": "f1", **GOLD}, "Paris France", 2 / 3),
    ({"type": "rouge_l", **GOLD}, "Paris", 1.0),
    ({"type": "bleu_4", **GOLD}, "Paris", 1.0),
    ({"type": "exact_match", "ground_truth": "{{ sample.n }}", "post_process": "extract_final_number"}, "so 42.", 1.0),
    ({"type": "exact_match", **GOLD, "value": "{{ input_prompt | upper }}"}, "Paris", 0.0),
    ({"type": "metric", "metric": "contains", **GOLD}, "it is PARIS", 1.0),
    ({"type": "label_in_set", "allowed": ["yes", "no"]}, "yes", 1.0),
    ({"type": "forbidden_patterns", "patterns": ["(?i)as an ai"]}, "As an AI, no", 0.0),
    ({"type": "contains", "value": "{{ sample.a }}"}, "It is Paris.", 1.0),
    ({"type": "contains", "value": "{{ sample.a }}"}, "it is paris", 0.0),
    ({"type": "not_contains", "value": "{{ sample.a }}"}, "Rome", 1.0),
    ({"type": "icontains_any", "value": ["rome", "{{ sample.a }}"]}, "PARIS", 1.0),
    ({"type": "starts_with", "value": "It"}, "It is", 1.0),
    ({"type": "regex", "value": r"\bP\w+s\b"}, "Paris", 1.0),
    ({"type": "is_json"}, '{"a": 1}', 1.0),
    ({"type": "not_is_json"}, "{", 1.0),
    ({"type": "json_schema", "value": SHAPE}, '{"city": "Paris"}', 1.0),
    ({"type": "json_schema", "value": SHAPE}, '{"city": 1}', 0.0),
    ({"type": "similar", "value": "{{ sample.a }}"}, "Pariss", 1.0),
    ({"type": "similar", "value": "{{ sample.a }}", "threshold": 0.95}, "Pariss", 0.0),
    ({"type": "word_count", "max": 2}, "one two three", 0.0),
    ({"type": "equals", "value": "{{ sample.a }}"}, "Paris", 1.0),
    ({"type": "extracted_match", **GOLD, "extract": [{"regex": "#### (.*)"}, "strip"]}, "x #### Paris ", 1.0),
    ({"type": "extracted_match", **GOLD, "ignore_case": True, "ignore_punctuation": True}, "paris!", 1.0),
    ({"type": "instructions", "instructions": [{"id": "punctuation:no_comma"}]}, "a, b", 0.0),
    ({"type": "instructions", "instructions": '[{"id": "punctuation:no_comma"}]'}, "a b", 1.0),
]


@pytest.mark.parametrize(("scorer", "answer", "score"), CASES, ids=[f"{each[0]['type']}-{each[1]}" for each in CASES])
def test_a_scorer_by_name(tmp_path: Path, scorer: dict[str, Any], answer: str, score: float) -> None:
    assert scored(tmp_path, scorer, answer).values["score"] == pytest.approx(score)


def test_what_was_extracted_is_kept(tmp_path: Path) -> None:
    scorer = {"type": "extracted_match", **GOLD, "extract": [{"regex": "#### (.*)", "fallback": "none"}]}
    found = scored(tmp_path, scorer, "no mark")
    assert (found.answer, found.extracted) == ("none", False)


def test_a_program_is_run_in_the_sandbox(tmp_path: Path) -> None:
    scorer = {"type": "code_exec", "expressions": "['double({{ sample.n }}) == 84', 'double(1) == 3']"}
    found = scored(tmp_path, scorer, "```python\ndef double(x):\n    return 2 * x\n```")
    assert found.values["score"] == 0.5


def test_the_default_aggregates_are_called_by_the_scorer(tmp_path: Path) -> None:
    scorers = [{"type": "exact_match", **GOLD}, {"type": "assertions", "assertions": [{"type": "is_json"}]}]
    board = run_task(write_task(tmp_path, [ROW], scorers), lambda prompt: "Paris")
    assert (board.tasks[0].metric, board.tasks[0].score) == ("exact_match", 1.0)
    assert {each.name for each in board.tasks[0].aggregates} >= {"exact_match", "all_hold", "passed"}


def test_the_cost_of_an_answer_needs_a_price(tmp_path: Path) -> None:
    path = write_task(tmp_path, [ROW], [{"type": "cost", "max_cost": 0.001}])
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "Paris"

    with pytest.raises(UsageError, match=r"the scorer `cost` asks what answers of .* no price is known for it: add it"):
        run_task(path, answer)
    assert not asked


LABELER = {"type": "labeler_via_model", "model_key": "m", "user_prompt": "u", "valid_labels": ["answer", "refusal"]}
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"type": "exact_match"}, "needs one of `ground_truth` and `ground_truths`; got neither"),
    ({"type": "exact_mach", **GOLD}, "unknown scorer `exact_mach`. Did you mean `exact_match`?"),
    ({"type": "f1", **GOLD, "post_process": "extract_leter"}, "Did you mean `extract_letter`?"),
    ({"type": "regex", "value": "("}, "value: "),
    ({"type": "extracted_match", **GOLD, "extract": [{"regex": "("}]}, "extract[0].regex: "),
    ({"type": "extracted_match", **GOLD, "extract": ["stripp"]}, "Did you mean `strip`"),
    ({"type": "contains", "value": "{{ smaple.a }}"}, "reads `smaple`"),
    ({"type": "contains_all", "value": ["a", "{{ sample.a "]}, "value[1]: line 1 of the template"),
    ({"type": "assertions", "assertions": [{"type": "contain", "value": "x"}]}, "Did you mean `contains`"),
    ({"type": "assertions", "assertions": []}, "needs at least 1 item"),
    ({"type": "json_schema", "value": {"dependencies": {}}}, "`dependencies` is not supported in a schema here"),
    ({"type": "word_count"}, "needs `min`, `max` or both"),
    ({"type": "word_count", "min": 5, "max": 2}, "no text has at least 5 and at most 2 words"),
    ({"type": "similar", "value": "x", "threshold": 7}, "must be at most 1, got 7"),
    (
        {"type": "assertions", "threshold": 1.5, "assertions": [{"type": "contains", "value": "x"}]},
        "must be at most 1, got 1.5",
    ),
    ({"type": "code_exec"}, "needs one of `tests`, `io_pairs`, `expressions` and `expected_stdout`; got none of them"),
    ({"type": "instructions", "instructions": [{"id": "punctuation:no_coma"}]}, "Did you mean `punctuation:no_comma`"),
    ({"type": "latency"}, "needs the field `max_seconds`"),
    ({"type": "similar", "value": "x", "treshold": 1}, "Did you mean `threshold`"),
    ({"type": "rouge_l", **GOLD, "metrics": [{"type": "mean", "field": "rouge"}]}, "gives no value `rouge`"),
    ({"type": "metric", "metric": "exact_mach", **GOLD}, "unknown metric `exact_mach`. Did you mean `exact_match`?"),
    ({"type": "not_contains_any", "value": []}, "value: the list is empty: no text is looked for"),
    ({"type": "json_schema", "value": "an object"}, "a schema that is not an object but str"),
    (
        {**LABELER, "metrics": [{"type": "frequency", "field": "label", "label": "refussal"}]},
        "metrics[0].label: `refussal` is not among `valid_labels`. Did you mean `refusal`?",
    ),
    (
        {**LABELER, "metrics": [{"type": "weighted_average", "field": "label", "weights": {"answer": 1}}]},
        "metrics[0].weights: no weight for the valid label `refusal`",
    ),
]


@pytest.mark.parametrize(("scorer", "says"), FAULTS, ids=[f"{each[0]['type']}-{each[1][:20]}" for each in FAULTS])
def test_options_are_checked(tmp_path: Path, scorer: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_yaml_file(write_task(tmp_path, [ROW], [scorer]))
    assert says in str(caught.value)
    assert "definition.scorers[0]" in str(caught.value)


OPTIONS: dict[str, dict[str, Any]] = {
    "label_in_set": {"allowed": ["Paris"]},
    "forbidden_patterns": {"patterns": ["x"]},
    "metric": {"metric": "exact_match", **GOLD},
    "contains_all": {"value": ["a"]},
    "contains_any": {"value": ["a"]},
    "icontains_all": {"value": ["a"]},
    "icontains_any": {"value": ["a"]},
    "is_json": {},
    "contains_json": {},
    "json_schema": {"value": {"type": "object"}},
    "word_count": {"max": 3},
    "cost": {"max_cost": 1},
    "latency": {"max_seconds": 1},
}


def test_every_metric_and_assertion_of_the_catalog_is_a_type_that_can_be_built(tmp_path: Path) -> None:
    asserted = {kind: OPTIONS.get(kind.removeprefix("not_"), {"value": "Paris"}) for kind in ASSERTION_TYPES}
    metrics = {name: OPTIONS.get(name, GOLD) for name in (*METRIC_TYPES, "metric")}
    assert set(CATALOG["metric"]) | set(asserted) <= {*metrics, *asserted}
    scorers = [
        {"key": f"k{at}", "type": name, **options} for at, (name, options) in enumerate({**metrics, **asserted}.items())
    ]
    [task] = read_yaml_tasks(write_task(tmp_path, [ROW], scorers))
    assert len(build_task(task).scorers) == len(scorers)


def test_texts_of_a_dataset_are_scored_without_a_model(tmp_path: Path) -> None:
    scorer = {"type": "contains", "value": "ari", "text": "{{ sample.a }}"}
    board = run_task(write_task(tmp_path, [ROW], [scorer], solver=None))
    assert board.tasks[0].score == 1.0
    with pytest.raises(UsageError, match="has no answer to score; give `text`"):
        check_yaml_file(write_task(tmp_path, [ROW], [{"type": "contains", "value": "ari"}], solver=None))
