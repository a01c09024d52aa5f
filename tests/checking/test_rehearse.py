"""A YAML task gone through without a model: whatever would break a run is found, with its field and its samples."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import EQUALS, python_scorer, write_task

from assay.checking.findings import Finding, TaskCheck
from assay.checking.reference_model import Script
from assay.checking.rehearse import MOST_SAMPLES, rehearse
from assay.run_config import RunConfig
from assay.runs.assemble import assemble_tasks

ROWS = [{"q": "one?", "a": "1"}, {"q": "two?", "a": "2"}]
JUDGE = {"key": "judge", "model_key": "j", "user_prompt": "{{ sample.q }} {{ solver_output.output }}"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rehearsal(path: Path, **settings: Any) -> TaskCheck:
    async def go() -> TaskCheck:
        script = Script()
        definitions = read_yaml_tasks(path, models_needed=False)
        async with assemble_tasks(definitions, RunConfig(**settings), model_for=script.model_for) as parts:
            return await rehearse(parts.tasks[0], script)

    return asyncio.run(go())


def faults(
    folder: Path, scorers: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]] = ROWS, **how: Any
) -> list[Finding]:
    return rehearsal(write_task(folder, rows, scorers, **how)).findings


def says(content: str) -> dict[str, Any]:
    builder = {"type": "chat_completion", "input_messages": [{"role": "user", "content": content}]}
    return {"type": "single_turn_solver", "input_builder": builder}


def test_a_sound_task_is_gone_through_and_its_first_sample_can_be_shown(tmp_path: Path) -> None:
    found = rehearsal(write_task(tmp_path, ROWS, [EQUALS]))
    assert (found.tried, found.gold_checked, found.findings) == (2, 2, [])
    assert found.first_sample is not None
    [request] = found.first_sample.requests
    assert request.messages is not None
    assert [message.content for message in request.messages] == ["one?"]
    assert (found.first_sample.answer, found.first_sample.scores[0].values) == ("1", {"is_correct": True})


def test_what_runs_out_of_time_once_is_not_tried_on_every_sample(tmp_path: Path) -> None:
    body = "with open('called', 'a') as file: file.write('x')\nwhile True: pass"
    path = write_task(tmp_path, ROWS * 20, [python_scorer(body, metrics=[{"type": "mean", "field": "x"}]), EQUALS])
    found = rehearsal(path, timeout_seconds=0.5)
    [fault] = [each for each in found.findings if each.field == "scorers.own.compute_scores_snippet"]
    assert "took longer than 0.5 s" in fault.detail
    assert not Path("called").exists() or Path("called").read_text() == "x"
    assert found.gold_checked == 40


def test_a_missing_column_is_found_on_the_rows_that_lack_it(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, [EQUALS], [*ROWS, {"a": "3"}, {"a": "4"}])
    assert (fault.problem, fault.sample, fault.samples, fault.error) == ("no_request", "2", 2, True)
    assert fault.field == "definition.solver.input_builder.input_messages[0].content"
    assert "unknown field of `sample` `q`" in fault.detail


def test_all_faults_are_found_at_once(tmp_path: Path) -> None:
    scorers = [{**EQUALS, "ground_truth": "{{ sample.b }}"}, python_scorer("{'x': sample['c']}")]
    rule = {"skip": {"op": "greater_than", "expression": "{{ sample.a }}", "value": 4}}
    assert {each.field for each in faults(tmp_path, scorers)} == {
        "scorers.main.ground_truth",
        "scorers.own.compute_scores_snippet",
    }
    [fault] = faults(tmp_path, [EQUALS], [{"q": "q", "a": "text"}], rules=rule)
    assert (fault.problem, fault.field) == ("rule_failed", "actions.skip.filter")
    assert "`greater_than` compares numbers" in fault.detail


def test_an_unknown_filter_fails_where_it_is_used(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, [EQUALS], solver=says("{% if sample.q %}{{ sample.q | to_json }}{% endif %}"))
    assert "there is no filter or test `to_json`. Did you mean `tojson`?" in fault.detail


BROKEN_SNIPPETS = [
    ("{'x': smaple}", "NameError: name 'smaple' is not defined (line 2 of the snippet)"),
    ("import no_such_module\nreturn {}", "ModuleNotFoundError"),
    ("[1]", "compute_scores must return a mapping"),
]


@pytest.mark.parametrize(("body", "says"), BROKEN_SNIPPETS, ids=[each[0] for each in BROKEN_SNIPPETS])
def test_a_snippet_is_loaded_and_tried(tmp_path: Path, body: str, says: str) -> None:
    [fault] = faults(tmp_path, [python_scorer(body)])
    assert fault.error
    assert says in fault.detail


def test_a_snippet_that_wants_more_of_an_answer_than_a_made_up_one_has_is_only_remarked(tmp_path: Path) -> None:
    found = faults(tmp_path, [python_scorer("{'x': int(solver_output.output.choices[0].message.content)}")])
    assert [each.error for each in found] == [False, False]
    assert "the model's answer was made up: 'an answer'" in found[0].detail


def test_a_python_metric_is_tried_on_the_scores(tmp_path: Path) -> None:
    metric = {"type": "python", "key": "m", "compute_metrics_snippet": "def compute_metrics(scores):\n    return {}"}
    [fault] = faults(tmp_path, [{**EQUALS, "metrics": [metric]}])
    assert (fault.problem, fault.field) == ("metric_failed", "scorers.main.metrics.m.compute_metrics_snippet")


def test_a_metric_of_a_value_that_a_snippet_never_gives(tmp_path: Path) -> None:
    scorer = python_scorer("{'right': 1}", metrics=[{"type": "mean", "key": "m", "field": "rigth"}])
    [fault] = faults(tmp_path, [scorer])
    assert (fault.problem, fault.field) == ("metric_reads_nothing", "scorers.own.metrics.m.field")
    assert "Did you mean `right`?" in fault.detail


JUDGES = [
    {"type": "model_as_a_judge_classifier", "correct_labels": ["yes"], "incorrect_labels": ["no"]},
    {"type": "model_as_a_judge_scorer", "score_min": 1, "score_max": 5},
    {"type": "labeler_via_model", "valid_labels": ["a", "b"]},
    {"type": "labeler_via_model"},
    {"type": "model_as_a_judge_scorer", "use_structured_outputs": True},
]


@pytest.mark.parametrize("judge", JUDGES, ids=[each["type"] for each in JUDGES])
def test_a_judge_gives_one_verdict_of_each_kind(tmp_path: Path, judge: dict[str, Any]) -> None:
    found = rehearsal(write_task(tmp_path, ROWS, [{**JUDGE, **judge}]))
    assert found.findings == []
    assert found.first_sample is not None
    assert found.first_sample.judged["judge"]


def test_labels_that_no_verdict_can_tell_apart_are_found(tmp_path: Path) -> None:
    judge = {"type": "model_as_a_judge_classifier", "correct_labels": ["Yes", "yes."], "incorrect_labels": ["YES"]}
    assert faults(tmp_path, [{**JUDGE, **judge}]) == []
    judge = {"type": "labeler_via_model", "valid_labels": [" ", "b"]}
    [fault] = faults(tmp_path, [{**JUDGE, **judge}])
    assert fault.field == "scorers.judge"
    assert "the answer is empty" in fault.detail


def test_a_judge_whose_prompt_reads_a_missing_column(tmp_path: Path) -> None:
    judge = {"type": "labeler_via_model", "user_prompt": "{{ sample.colour }}"}
    [fault] = faults(tmp_path, [{**JUDGE, **judge}])
    assert (fault.field, fault.samples) == ("scorers.judge.user_prompt", len(ROWS))


def test_the_gold_of_a_multiple_choice_question_is_one_character(tmp_path: Path) -> None:
    scorer = {"type": "string_equals_mcqa", "ground_truth_choice": "{{ sample.a }}", "choices": "['A', 'B']"}
    assert faults(tmp_path, [scorer], [{"q": "q", "a": "A"}]) == []
    [fault] = faults(tmp_path, [scorer], [{"q": "q", "a": "(A)"}])
    assert (fault.problem, fault.error) == ("scorer_failed", True)
    assert "the right choice '(A)' is none of the choices (A, B)" in fault.detail


@pytest.mark.parametrize("gold", [None, ""])
def test_a_missing_gold_is_an_error_of_its_sample_alone(tmp_path: Path, gold: str | None) -> None:
    [fault] = faults(tmp_path, [EQUALS], [*ROWS, {"q": "three?", "a": gold}])
    assert (fault.problem, fault.sample, fault.samples, fault.error) == ("scorer_failed", "2", 1, True)
    assert fault.field == "scorers.main.ground_truth"
    assert "`empty_gold: allowed`" in fault.detail


def test_required_calls_are_made_for_the_model(tmp_path: Path) -> None:
    scorer = {"type": "function_call_coverage", "function_calls": "{{ sample.calls | tojson }}", "mode": "in_order"}
    rows = [{"q": "q", "calls": ["a", {"name": "b", "arguments": {"x": 1}}]}]
    assert faults(tmp_path, [scorer], rows) == []


def test_the_empty_answer_is_right_where_no_call_is_required(tmp_path: Path) -> None:
    scorer = {"type": "function_call_coverage", "function_calls": "{{ sample.calls | tojson }}"}
    assert faults(tmp_path, [scorer], [{"q": "q", "calls": []}]) == []


def test_a_function_of_several_arguments_is_called_with_star(tmp_path: Path) -> None:
    scorer = {"type": "code_exec", "function": "add", "io_pairs": "[[[1, 2], 3]]", "star": True}
    rows = [{"q": "Write add.", "solution": "def add(a, b): return a + b"}]
    assert faults(tmp_path, [{**scorer, "solution": "{{ sample.solution }}"}], rows) == []


def test_an_empty_answer_that_scores_is_found(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, [{**EQUALS, "value": "{{ sample.a }}"}])
    assert (fault.problem, fault.samples) == ("empty_answer_scores", 2)


def test_a_conversation_is_gone_through_to_its_maximum_and_to_its_end(tmp_path: Path) -> None:
    loop = {
        "type": "loop",
        "max_iterations": 2,
        "message_builders": [
            {"type": "generate", "terminate_if": {"includes": "DONE"}},
            {
                "type": "generate_message",
                "model_key": "user",
                "extra_input_messages": [{"type": "chat_message", "role": "system", "content": "{{ sample.inner }}"}],
            },
        ],
    }
    after = {"type": "chat_message", "role": "user", "content": "{{ sample.after }}"}
    before = {"type": "chat_message", "role": "user", "content": "Hello."}
    solver = {"type": "multi_turn_solver", "message_builders": [before, loop, after]}
    row = {"a": "1", "inner": "x", "after": "y"}
    assert faults(tmp_path, [EQUALS], [row], solver=solver) == []
    for column in ("inner", "after"):
        without = {name: value for name, value in row.items() if name != column}
        [fault] = faults(tmp_path, [EQUALS], [without], solver=solver)
        assert f"unknown field of `sample` `{column}`" in fault.detail


def test_a_large_dataset_is_tried_from_its_first_sample_to_its_last(tmp_path: Path) -> None:
    rows = [{"q": str(number), "a": str(number)} for number in range(MOST_SAMPLES + 500)]
    del rows[-1]["q"]
    found = rehearsal(write_task(tmp_path, rows, [EQUALS]))
    assert found.tried == MOST_SAMPLES
    assert [fault.sample for fault in found.findings] == [str(MOST_SAMPLES + 499)]


def test_a_recorded_trace_is_scored_as_it_is(tmp_path: Path) -> None:
    trace = {"items": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]}]}
    solver = {"type": "pass_through_solver", "trace_column": "trace"}
    found = rehearsal(write_task(tmp_path, [{"a": "1", "trace": trace}], [EQUALS], solver=solver))
    assert (found.tried, found.gold_checked, found.without_gold, found.findings) == (1, 0, {}, [])
    [fault] = faults(tmp_path, [EQUALS], [{"a": "1", "trace": 7}], solver=solver)
    assert fault.problem == "no_request"


SCHEMA = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer", "minimum": 3}, "tags": {"type": "array", "items": {"enum": ["x", "y"]}}},
}
GOLD_OF_ASSERTIONS = [
    ({"type": "contains", "value": "{{ sample.a }}"}, "1"),
    ({"type": "equals", "value": {"a": 1}}, '{"a": 1}'),
    ({"type": "contains_all", "value": ["a", "b"]}, "a b"),
    ({"type": "icontains_any", "value": ["a", "b"]}, "a"),
    ({"type": "starts_with", "value": "Yes"}, "Yes"),
    ({"type": "regex", "value": r"(?i)^answer: \d+$"}, "answer: 0"),
    ({"type": "is_json"}, "{}"),
    ({"type": "json_schema", "value": SCHEMA}, '{"n": 3, "tags": ["x"]}'),
    ({"type": "contains_json", "value": {"required": ["k"]}}, '{"k": "a"}'),
    ({"type": "similar", "value": "{{ sample.a }}"}, "1"),
    ({"type": "similar", "value": "{{ sample.a }}", "embedding_model": "e"}, "1"),
    ({"type": "word_count", "min": 4, "max": 6}, "word word word word"),
    ({"type": "finish_reason", "value": "length"}, "an answer"),
    ({"type": "latency", "max_seconds": 1}, "an answer"),
    ({"type": "not_contains", "value": "sorry"}, "an answer"),
    ({"type": "not_word_count", "min": 1}, ""),
]


@pytest.mark.parametrize(
    ("assertion", "gold"), GOLD_OF_ASSERTIONS, ids=[each["type"] for each, _ in GOLD_OF_ASSERTIONS]
)
def test_the_gold_answer_of_an_assertion_is_made_of_what_it_says(
    tmp_path: Path, assertion: dict[str, Any], gold: str
) -> None:
    found = rehearsal(write_task(tmp_path, ROWS[:1], [{"key": "main", **assertion}]))
    assert (found.gold_checked, found.without_gold, found.findings) == (1, {}, [])
    assert found.first_sample is not None
    assert (found.first_sample.answer, found.first_sample.scores[0].values["score"]) == (gold, 1.0)


def test_the_gold_answer_of_a_weighted_list_holds_all_of_it(tmp_path: Path) -> None:
    listed: list[dict[str, Any]] = [
        {"type": "contains", "value": "{{ sample.a }}", "weight": 3},
        {"type": "starts_with", "value": "So:"},
        {"type": "not_contains", "value": "sorry"},
        {"type": "latency", "max_seconds": 5},
    ]
    found = rehearsal(write_task(tmp_path, ROWS, [{"key": "main", "type": "assertions", "assertions": listed}]))
    assert (found.gold_checked, found.without_gold, found.findings) == (2, {}, [])
    assert found.first_sample is not None
    assert (found.first_sample.answer, found.first_sample.scores[0].values) == ("So: 1", {"score": 1.0, "passed": 1.0})


def test_assertions_that_no_answer_can_meet_are_found(tmp_path: Path) -> None:
    listed = [{"type": "equals", "value": "{{ sample.a }}"}, {"type": "not_contains", "value": "1"}]
    [fault] = faults(tmp_path, [{"key": "main", "type": "assertions", "assertions": listed}])
    assert (fault.problem, fault.sample, fault.error) == ("gold_not_full_marks", "0", True)
    assert "does not hold: not_contains" in fault.detail


HARD = {"key": "hard", "type": "regex", "value": r"\A(?=\D*7)(?=.*q)\w{4}\Z"}


def test_a_scorer_for_which_no_gold_answer_can_be_made_is_named(tmp_path: Path) -> None:
    found = rehearsal(write_task(tmp_path, ROWS, [HARD, EQUALS, python_scorer("{'x': 1}")]))
    assert (found.gold_checked, found.without_gold, found.findings) == (2, {"hard": 2, "own": 2}, [])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"q": "q", "answer": "Paris"}, "the column `answer`, 'Paris', gets right True on sample `0`"),
        ({"q": "q", "target": 4}, "the column `target`, '4', gets right False on sample `0`"),
        ({"q": "q", "answer": ""}, "a made-up answer, 'an answer', gets right False on sample `0`"),
    ],
)
def test_a_python_scorer_is_tried_on_the_column_that_looks_like_the_answer(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    scorer = python_scorer("{'right': solver_output.output == 'Paris'}")
    assert rehearsal(write_task(tmp_path, [row], [scorer])).tried_instead == {"own": said}


def test_a_reference_solution_of_the_row_is_the_gold_answer_of_code(tmp_path: Path) -> None:
    scorer = {
        "key": "main",
        "type": "code_exec",
        "tests": "assert f(2) == {{ sample.twice }}",
        "solution": "{{ sample.program }}",
    }
    program = "def f(x):\n    return 2 * x"
    rows = [{"q": "a", "twice": 4, "program": program}, {"q": "b", "twice": 5, "program": f"```python\n{program}\n```"}]
    found = rehearsal(write_task(tmp_path, rows, [scorer]))
    assert found.gold_checked == 2
    assert [(fault.problem, fault.sample) for fault in found.findings] == [("gold_not_full_marks", "1")]
    assert "the gold answer" in found.findings[0].detail
    del scorer["solution"]
    assert rehearsal(write_task(tmp_path, rows, [scorer])).without_gold == {"main": 2}


def test_the_expected_column_of_another_scorer_is_tried_where_an_assertion_names_no_answer(tmp_path: Path) -> None:
    rows = [{"q": "q", "a": "q7ab"}, {"q": "r", "a": "8"}]
    assert rehearsal(write_task(tmp_path, rows, [HARD, EQUALS])).without_gold == {"hard": 1}


@pytest.mark.parametrize(
    ("extract", "faults", "without"),
    [
        ([{"regex": r"#### (\-?[0-9\.\,]+)"}, "strip"], [], {}),
        ([{"regex": r"(?i)the answer is:? (\w+)\."}], [], {}),
        ([{"regex": "[5-9]{3}(?=x)(.)"}], [], {"main": 2}),
        (["uppercase"], ["gold_not_full_marks"], {}),
    ],
)
def test_an_expected_text_that_is_extracted_is_given_the_words_around_it(
    tmp_path: Path, extract: list[Any], faults: list[str], without: dict[str, int]
) -> None:
    rows = [{"q": "q", "a": "1"}, {"q": "r", "a": "yes" if faults else "2"}]
    scorer = {"key": "main", "type": "extracted_match", "ground_truth": "{{ sample.a }}", "extract": extract}
    found = rehearsal(write_task(tmp_path, rows, [scorer]))
    assert ([fault.problem for fault in found.findings], found.without_gold) == (faults, without)


def test_likelihoods_have_no_gold_answer_to_miss(tmp_path: Path) -> None:
    solver = {"type": "text_likelihood_solver", "text": "{{ sample.q }}"}
    metrics = [{"type": "bits_per_byte"}]
    found = rehearsal(write_task(tmp_path, ROWS, [{"type": "text_likelihood", "metrics": metrics}], solver=solver))
    assert (found.tried, found.without_gold, found.findings) == (2, {}, [])


def generic(template: str) -> dict[str, Any]:
    return {"type": "single_turn_solver", "input_builder": {"type": "generic", "template": template}}


@pytest.mark.parametrize(
    ("solver", "problem", "says_so"),
    [
        (says("Name a river."), "same_prompt", "all 2 samples get the same prompt"),
        (says("{{ sample.q }} (it is {{ sample.a }})"), "gold_in_prompt", "the prompt prints the column `a`"),
        (
            generic('{"mesages": {{ sample.q | tojson }}}'),
            "no_messages",
            "sent as the text of its JSON. Did you mean `mesages`?",
        ),
        (
            generic('{"mesages": [{"role": "user", "content": {{ sample.q | tojson }}}]}'),
            "no_request",
            "a chat is under `messages`, and this one is under `mesages`",
        ),
        (says("{{ sample.q }}"), None, ""),
        (generic('{"messages": [{"role": "user", "content": {{ sample.q | tojson }}}]}'), None, ""),
        (generic("{{ sample.q | tojson }}"), None, ""),
    ],
)
def test_a_prompt_that_asks_something_else_than_its_author_meant(
    tmp_path: Path, solver: dict[str, Any], problem: str | None, says_so: str
) -> None:
    found = faults(tmp_path, [EQUALS], solver=solver)
    assert {each.problem for each in found} == ({problem} if problem else set())
    assert all(says_so in each.detail for each in found)
