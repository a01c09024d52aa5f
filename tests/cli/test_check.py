"""`assay check`: YAML tasks proved without a model, every fault with its place, and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay
from tests.results.yaml_runs import EQUALS, write_task

from assay.cli.main import main

ROWS = [{"q": "one?", "a": "1"}, {"q": "two?", "a": "2"}]
TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.q }}"}]
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            return {"right": 1}
      metrics:
        - {type: mean, field: right}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_first_sample_is_shown_with_its_exact_request_and_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, ROWS, [EQUALS])
    code, out, err = said(capsys, "check", "task.yaml")
    assert (code, err) == (0, "")
    assert "t, sample `0`\n  request:\n    user: one?\n  answered for the model:\n    1\n  main: is_correct True" in out
    assert not Path(".assay").exists()


def test_every_fault_of_every_task_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK.replace("sample.q", "sample.p").replace("field: right", "field: rihgt"))
    Path("b.yaml").write_text(TASK.replace("key: t", "key: b").replace("{{ sample.q }}", "{{ smaple.q }}"))
    code, _, err = said(capsys, "check", ".")
    assert code == 2
    first = "a.yaml:10:37: definition.solver.input_builder.input_messages[0].content: sample `0`: `sample.p`: "
    assert f"{first}unknown field of `sample` `p`" in err
    assert "(and 1 more samples)" in err
    assert "b.yaml:10:37: definition.solver.input_builder.input_messages[0].content: the template reads `smaple`" in err


ALL_AT_ONCE = """\
key: t
display_name: T
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: system, content: "{{ sample.topic }} and {{ sample.tone }}"}
        - {role: user, content: "{{ sample.q "}
  scorers:
    - {type: nonsense}
    - type: string_equals
      ground_truth: "{{ sample.b }}"
      metrics: [{type: mean, field: is_corect}]
    - {type: model_as_a_judge_scorer, key: j, model_key: toy, user_prompt: "{{ sample.gold }} {{ messages[3] }}"}
  actions:
    - {key: skip, action: exclude_from_metrics, filter: {op: is_true, expression: "{{ sample.skip }}"}}
"""


def test_faults_of_fields_files_and_rows_are_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text('{"sample_id": 7, "q": "one?", "a": "1"}\n{"sample_id": 7, "q": "two?", "a": "2"}\n')
    Path("a.yaml").write_text(ALL_AT_ONCE)
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    expected = [
        "a.yaml:1:1: a task needs the field `description`",
        "a.yaml:4:13: definition.dataset.key: dataset `rows` in rows.jsonl: row 2: the sample_id `7` is given twice",
        "a.yaml:10:26: definition.solver.input_builder.input_messages[0].content: sample `7`: `sample.topic`: ",
        "a.yaml:11:24: definition.solver.input_builder.input_messages[1].content: line 1 of the template",
        "a.yaml:13:8: definition.scorers[0].type: unknown scorer `nonsense`",
        "a.yaml:15:7: definition.scorers[1].ground_truth: sample `7`: `sample.b`: unknown field",
        "a.yaml:16:30: definition.scorers[1].metrics[0].field: this scorer gives no value `is_corect`",
        "a.yaml:17:63: definition.scorers[2].user_prompt: sample `7`: unknown field `gold`",
        "a.yaml:19:57: definition.actions[0].filter: sample `7`: ",
    ]
    found = [line for line in err.splitlines() if line.startswith("a.yaml:")]
    assert [line[: len(part)] for line, part in zip(found, expected, strict=True)] == expected
    assert "there is no `sample.tone` either" in err


def test_a_metric_of_a_missing_value_has_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK.replace("field: right", "field: rihgt"))
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    assert "a.yaml:17:24: definition.scorers[0].metrics[0].field: no sample has a value `rihgt`" in err
    assert "Did you mean `right`?" in err


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ('{"sample_id": "x", "q": "1"}\n{"sample_id": "x", "q": "2"}\n', "rows.jsonl: row 2: the sample_id `x`"),
        ("", "has no samples"),
    ],
)
def test_repeated_ids_and_empty_datasets(rows: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text(rows)
    Path("a.yaml").write_text(TASK)
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    assert says in err


def test_a_folder_is_checked_as_far_as_it_goes_and_says_what_each_task_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parameters = "[{type: string, key: a, display_name: A}, {type: model, key: judge, display_name: J}]"
    spec = f"config_spec: {parameters}\ndefinition:"
    needy = TASK.replace("key: t", "key: needy").replace("definition:", spec)
    Path("needy.yaml").write_text(needy)
    Path("sound.yaml").write_text(TASK)
    code, out, err = said(capsys, "check", ".")
    assert code == 0
    assert "| t " in out
    assert "the parameter `a` (string) has no value and the parameter `judge` (model) has no value" in err
    assert "give them with --config a=… --config judge=…" in err
    assert said(capsys, "check", "needy.yaml")[0] == 2
    assert said(capsys, "check", "needy.yaml", "--config", "a=1", "--config", "judge=toy")[0] == 0
    Path("needy.yaml").write_text(needy.replace("{{ sample.q }}", "{{ sample.q "))
    code, _, err = said(capsys, "check", ".")
    assert code == 2
    assert "needy.yaml:11:37: " in err


def test_rows_are_tried_in_a_folder_on_every_template_that_needs_no_missing_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = "config_spec: [{type: string, key: col, display_name: C}]\ndefinition:"
    asked = TASK.replace("definition:", spec).replace("{{ sample.q }}", "{{ sample.<< config.col >> }}")
    equal = (
        asked[: asked.index("    - type: python")] + "    - {type: string_equals, ground_truth: '{{ sample.none }}'}\n"
    )
    Path("needy.yaml").write_text(equal)
    Path("sound.yaml").write_text(TASK.replace("key: t", "key: sound"))
    code, _, err = said(capsys, "check", ".")
    assert code == 2
    assert "definition.scorers[0].ground_truth: sample `0`: `sample.none`: unknown field" in err
    assert err.count("needy.yaml:") == 2
    assert "give it with --config col=…" in err
    Path("needy.yaml").write_text(equal.replace("sample.none", "sample.q"))
    assert said(capsys, "check", ".")[0] == 0


JUDGED = TASK[: TASK.index("    - type: python")] + "    - {type: labeler_via_model, model_key: j, user_prompt: x}\n"


def test_a_fault_counts_each_sample_once_however_many_verdicts_were_tried(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(JUDGED.replace("user_prompt: x", 'user_prompt: "{{ sample.b }}", valid_labels: [x, y]'))
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    assert "unknown field of `sample` `b`" in err
    assert "(and 1 more samples)" in err, "of two rows"


def test_a_broken_model_file_is_called_broken(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(JUDGED)
    Path("models").mkdir()
    Path("models/j.yaml").write_text("key: j\ndisplay_name: [\n")
    for command in ("check", "run"):
        code, _, err = said(capsys, command, "a.yaml", *(["--model", "toy"] if command == "run" else []))
        assert code == 2
        assert "models/j.yaml:" in err
        assert "there is no model" not in err
    Path("models/j.yaml").write_text("key: j\ndisplay_name: J\nconfg: {model: toy}\n")
    code, _, err = said(capsys, "check", "a.yaml")
    assert "models/j.yaml:3:8: confg: unknown field of a model. Did you mean `config`?" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("key: set\nsource: [\n", "datasets/set.yaml:3:1: not valid YAML"),
        (
            "key: st\ndisplay_name: S\nsourc: {type: inline, samples: []}\n",
            "datasets/set.yaml:3:8: sourc: unknown field",
        ),
    ],
)
def test_a_broken_dataset_file_is_called_broken(text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK.replace("key: rows", "key: set"))
    Path("datasets").mkdir()
    Path("datasets/set.yaml").write_text(text)
    for command in (["check"], ["run", "--model", "toy"]):
        code, _, err = said(capsys, *command, "a.yaml")
        assert code == 2
        assert says in err
        assert "there is no dataset" not in err


def test_broken_files_of_a_folder_are_reported_though_no_task_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK)
    for folder in ("models", "datasets"):
        Path(folder).mkdir()
        Path(folder, "x.yaml").write_text("key: x\n")
    for command in ("check", "validate"):
        code, out, err = said(capsys, command, ".")
        assert code == 2
        assert "datasets/x.yaml" in out + err
        assert "models/x.yaml" in out + err


def test_one_key_in_two_files_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK)
    Path("rows.csv").write_text("q,a\n1,1\n")
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    assert "the dataset `rows` is given twice: in rows.jsonl and in rows.csv" in err
    Path("a.yaml").write_text(JUDGED.replace("key: rows", "key: set"))
    files = {
        "datasets": "key: set\ndisplay_name: S\nsource: {type: inline, samples: [{q: NAME}]}\n",
        "models": "key: j\ndisplay_name: J\nconfig: {connection_type: assay, model: 'stub:NAME'}\n",
    }
    for folder, text in files.items():
        Path(folder).mkdir()
        for name in ("one", "two"):
            Path(folder, f"{name}.yaml").write_text(text.replace("NAME", name))
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    assert "the dataset `set` is given twice: in datasets/one.yaml and in datasets/two.yaml" in err
    assert "the model `j` is given twice: in models/one.yaml and in models/two.yaml" in err


def test_a_judge_without_a_model_is_an_error_unless_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(JUDGED)
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 2
    assert "no model is set for the key `j`: a run needs --model-for 'j=MODEL'" in err
    assert said(capsys, "check", "a.yaml", "--model-for", "j=toy")[0] == 0


def test_the_usual_judge_is_left_to_whoever_runs_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(JUDGED.replace("model_key: j", "model_key: judge"))
    assert said(capsys, "check", "a.yaml")[0] == 0


def test_findings_as_json_have_place_and_field(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK.replace("sample.q", "sample.p"))
    code, out, _ = said(capsys, "check", "a.yaml", "--json")
    assert code == 2
    [check] = json.loads(out)
    [finding] = [each for each in check["findings"] if each["error"]]
    assert finding["place"] == "a.yaml:10:37"
    assert finding["field"] == "definition.solver.input_builder.input_messages[0].content"
    assert (finding["sample"], finding["samples"]) == ("0", 2)


def test_a_dry_run_renders_what_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(TASK)
    assert said(capsys, "run", "a.yaml", "--model", "toy", "--dry-run")[0] == 0
    Path("a.yaml").write_text(TASK.replace("sample.q", "sample.p"))
    code, out, err = said(capsys, "run", "a.yaml", "--model", "toy", "--dry-run", "--json")
    assert code == 2
    estimate: dict[str, Any] = json.loads(out)["tasks"][0]
    assert (estimate["requests"], estimate["not_rendered"]) == (0, 2)
    assert "2 samples cannot be rendered; the first: task `t`, field" in err


@pytest.mark.parametrize("which", ["2", "1"])
def test_one_sample_of_a_task_is_shown_as_its_exact_request(which: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By id where there is one, else by its number from 1: the ids here are 0 and 1."""
    Path("a.yaml").write_text(TASK)
    code, out, _ = said(capsys, "show", "a.yaml", "--sample", which)
    assert code == 0
    assert out == 'sample 1, its row:\n{"q":"two?","a":"2"}\nrequest:\nuser: two?\n\n'
    [request] = json.loads(said(capsys, "show", "a.yaml", "--sample", which, "--json")[1])["requests"]
    assert request["messages"] == [{"role": "user", "content": "two?"}]
    code, _, err = said(capsys, "show", "a.yaml", "--sample", "3")
    assert code == 2
    assert "no sample `3`, by id or by number from 1 (t has 2)" in err


def test_a_conversation_is_shown_turn_by_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builders = [
        {"type": "chat_message", "role": "user", "content": "{{ sample.q }}"},
        {"type": "generate"},
        {"type": "chat_message", "role": "user", "content": "Sure? {{ messages[1].content }}"},
        {"type": "generate"},
    ]
    write_task(tmp_path, ROWS, [EQUALS], solver={"type": "multi_turn_solver", "message_builders": builders})
    out = said(capsys, "show", "task.yaml", "--sample", "1")[1]
    assert "request 1:\nuser: two?\nrequest 2:" in out
    assert "user: Sure? ‹the model's answer›" in out


def test_conversations_with_one_placeholder_for_a_prompt_do_not_contradict_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(name: str, question: str) -> str:
        extras = {"messages": [{"role": "user", "content": question}]}
        sample = {"id": name, "prompt": "-", "targets": [name], "metric": "exact_match", "extras": extras}
        return json.dumps(sample) + "\n"

    task = tmp_path / "chats.jsonl"
    task.write_text(line("a", "first?") + line("b", "second?") + line("c", "first?"))
    _, out, _ = said(capsys, "check", str(task), "--json")
    assert [(each["sample"], each["problem"]) for each in json.loads(out)[0]["findings"]] == [("c", "contradiction")]


def test_check_finds_a_gold_answer_that_does_not_score_and_an_empty_one_that_does(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    lines = [
        {"id": "fine", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "multiple_choice"},
        {"id": "never", "prompt": "choose: B or C", "targets": ["bee"], "metric": "multiple_choice"},
        {"id": "twice", "prompt": "choose: B or C", "targets": ["B"], "metric": "multiple_choice"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = json.loads(assay("check", path, "--json", cwd=tmp_path).stdout)[0]["findings"]
    assert {finding["problem"] for finding in found} >= {"contradiction"}
    assert assay("check", "starter", cwd=tmp_path).returncode == 0


def test_a_scorer_without_a_gold_answer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(tmp_path, ROWS, [EQUALS, {"key": "hard", "type": "regex", "value": "(?=a)b"}])
    code, _, err = said(capsys, "check", "task.yaml")
    told = (
        "t: no gold answer can be made for the scorer `hard` (2 of 2 samples); the answer of another scorer, '1', gets "
        "score 0.0, passed 0.0 (does not hold: regex) on sample `0`; the empty one was tried\n"
    )
    assert (code, err) == (0, told)


def test_a_broken_model_file_hides_nothing_and_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models").mkdir()
    Path("models/judge.yaml").write_text("key: judge\ndisplay_name: J\nconfig: {connection_type: assay, modl: toy}\n")
    judge = "{type: labeler_via_model, model_key: judge, user_prompt: '{{ sample.gold }}'}"
    Path("a.yaml").write_text(TASK.replace("  scorers:\n", f"  scorers:\n    - {judge}\n"))
    code, _, err = said(capsys, "check", ".")
    assert code == 2
    assert err.count("models/judge.yaml:3:34: config.modl: unknown field") == 1
    assert "definition.scorers[0].user_prompt: sample `0`: `sample.gold`: unknown field" in err


CHOICES = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: rows}
  solver: {type: choice_likelihood_solver, prompt: "{{ sample.q }}", choices: '["1", "3"]'}
  scorers:
    - {type: choice_likelihood, ground_truth_choice: "{{ sample.a }}"}
"""
METRIC = """\
      metrics:
        - type: python
          compute_metrics_snippet: |
            def compute_metrics(scores):
                return {"x": sum(score.values["is_corect"] for score in scores)}
"""
EXCLUDED = """\
  actions:
    - {key: all, action: exclude_from_metrics, filter: {op: exists, expression: "{{ sample.q }}"}}
"""
EQUAL = TASK[: TASK.index("    - type: python")] + '    - type: string_equals\n      ground_truth: "{{ sample.a }}"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (CHOICES, "task.yaml:8:7: definition.scorers[0]: sample `1`: bad_request: the targets ['2'] are not among"),
        (EQUAL + METRIC, "definition.scorers[0].metrics[0].compute_metrics_snippet: KeyError"),
        (EQUAL + EXCLUDED, "definition.actions[0].filter: every sample is excluded: no sample would be scored"),
        (EQUAL.replace("key: rows", "key: typed"), "typed.yaml:3:54: source.dtypes.b: unknown column `b`"),
        (EQUAL.replace("key: rows", "key: rowss"), "there is no dataset `rowss`. Did you mean `rows`? Looked"),
    ],
    ids=["choices", "metric", "excluded", "dtypes", "dataset"],
)
def test_what_only_rows_scores_or_files_show_has_its_place_too(
    text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("typed.csv").write_text("q,a\none?,1\n")
    Path("typed.yaml").write_text(
        "key: typed\ndisplay_name: T\nsource: {type: local, file_path: typed.csv, dtypes: {b: string}}\n"
    )
    Path("task.yaml").write_text(text)
    code, _, err = said(capsys, "check", "task.yaml")
    assert code == 2
    assert says in err


def test_what_a_template_does_to_every_row_hides_no_other_fault(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text("".join(json.dumps({"q": f'say "{n}"', "a": n}) + "\n" for n in range(60)))
    generic = """{type: generic, template: '{"messages": [{"role": "user", "content": "{{ sample.q }}"}]}'}"""
    chat = EQUAL[EQUAL.index("input_builder:") : EQUAL.index("  scorers:")]
    text = EQUAL.replace(chat, f"input_builder: {generic}\n").replace("sample.a }}", "sample.b }}")
    Path("task.yaml").write_text(text)
    code, _, err = said(capsys, "check", "task.yaml")
    assert code == 2
    assert "definition.scorers[0].ground_truth: sample `0`: `sample.b`: unknown field" in err
    assert err.count("the template must render to JSON") == 3
    assert "t: … and 57 more like these (--all shows them)" in err


def test_nulls_are_remarked_where_they_are_prompted_and_errors_where_they_are_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("rows.jsonl").write_text('{"q": "one?", "n": 1, "a": "yes"}\n{"q": "two?", "n": null, "a": null}\n')
    Path("task.yaml").write_text(EQUAL.replace("{{ sample.q }}", "{{ sample.q }} {{ sample.n }}"))
    code, _, err = said(capsys, "check", "task.yaml")
    assert code == 2
    assert "definition.solver: sample `1`: the column `n` is null, so the prompt contains the text `None`" in err
    assert "definition.scorers[0].ground_truth: sample `1`: there is no expected text: `sample.a` is null" in err


def test_faults_of_a_run_file_have_their_places(capsys: pytest.CaptureFixture[str]) -> None:
    Path("task.yaml").write_text(EQUAL)
    rule = "{key: r, definition: {type: threshold, metric: acuracy, operator: '>', threshold: 0.5}}"
    rule += f", {rule.replace('key: r', 'key: s').replace('acuracy', 'is_corect_mean')}"
    run = (
        "models: [toy]\ntasks: [{$ref: task.yaml}]\n"
        "evaluation: {key: e, display_name: E, task_specifications: [{task_key: t, model_key: nobody}]}\n"
        f"policies: [{{key: p, display_name: P, rules: [{rule}]}}]\n"
    )
    Path("run.yaml").write_text(run)
    code, _, err = said(capsys, "check", "run.yaml")
    assert code == 2
    policies = [
        "run.yaml:4:85: policies[0].rules[0].definition.metric: no task in its scope has a number `acuracy`.",
        "policies[0].rules[1].definition.metric: no task in its scope has a number `is_corect_mean`.",
    ]
    assert all(each in err for each in policies)
    assert "no model is set for the key `nobody`" in err
    Path("run.yaml").write_text(run.replace("toy]", "{$ref: no.yaml}]"))
    code, _, err = said(capsys, "check", "run.yaml")
    assert all(each in err for each in ("run.yaml:1:11: models[0]: $ref: there is no file no.yaml", *policies))
    Path("run.yaml").write_text(
        run.replace("toy]", "{$ref: no.yaml}]").replace("task.yaml}", "task.yaml}, {$ref: x.yaml}")
    )
    code, _, err = said(capsys, "check", "run.yaml")
    assert code == 2
    assert "run.yaml:1:11: models[0]: $ref: there is no file no.yaml" in err
    assert "run.yaml:2:29: tasks[1]: $ref: there is no file x.yaml" in err
    assert "policies[0]" not in err, "the task that is not there may have that number"


def test_a_judge_that_never_sees_the_answer_is_remarked_and_a_broken_prompt_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("models").mkdir()
    Path("models/j.yaml").write_text("key: j\ndisplay_name: J\nconfig: {connection_type: assay, model: stub}\n")
    judge = '    - {type: model_as_a_judge_scorer, model_key: j, user_prompt: "PROMPT"}\n'
    text = EQUAL[: EQUAL.index("    - type: string_equals")] + judge
    remarked = "definition.scorers[0].user_prompt: the judge is shown nothing of the answer"
    for prompt, code, is_said in (
        ("{{ sample.q }}?", 0, True),
        ("{{ sample.q }} {{ messages[-1].content }}", 0, False),
        ("{{ outptu }}", 2, False),
    ):
        Path("task.yaml").write_text(text.replace("PROMPT", prompt))
        found, _, err = said(capsys, "check", "task.yaml")
        assert (found, remarked in err) == (code, is_said), err


def test_a_task_without_a_number_is_remarked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("task.yaml").write_text(EQUAL + "      purpose: qa\n")
    code, _, err = said(capsys, "check", "task.yaml")
    assert code == 0
    assert "task.yaml:12:5: definition.scorers: no scorer has metrics, so the task has no score" in err


def test_a_parameter_that_no_task_has_is_refused_as_a_run_refuses_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("task.yaml").write_text(EQUAL)
    code, _, err = said(capsys, "check", "task.yaml", "--config", "stile=wild")
    assert (code, "--config stile: task `" in err, "there is no parameter `stile`" in err) == (2, True, True)


def test_a_margin_that_the_samples_cannot_reach_is_a_remark_with_the_one_they_can(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"prompt": "compute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
    lines = [{**row, "id": f"s{n}", "prompt": f"compute: {n} + 1", "targets": [str(n + 1)]} for n in range(60)]
    Path("sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["check", "sums.jsonl", "--gate", "no-drop-beyond 0.02"]) == 0
    printed = " ".join(capsys.readouterr().err.split())
    assert "even if no score changes, 60 samples rule out no drop below 0.060" in printed
    assert main(["check", "sums.jsonl", "--gate", "no-drop-beyond 0.07"]) == 0
    assert "rule out" not in capsys.readouterr().err
    grouped = [{**line, "metadata": {"group": str(n // 10)}} for n, line in enumerate(lines)]
    Path("sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in grouped))
    main(["check", "sums.jsonl", "--gate", "no-drop-beyond 0.07"])
    assert "6 groups rule out no drop below" in " ".join(capsys.readouterr().err.split())


def test_the_first_request_is_shown_of_one_task_and_of_all_where_that_is_asked(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("q,a\n1 + 1,2\n")
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(OF_ROWS.format(key=name))
    shown = {words: assay("check", *words, cwd=tmp_path).stdout for words in (("one.yaml",), (".",), (".", "--all"))}
    assert [text.count("sample `0`") for text in shown.values()] == [1, 0, 2]


OF_ROWS = """
key: {key}
display_name: T
description: d
definition:
  dataset: {{key: few}}
  solver:
    type: single_turn_solver
    input_builder: {{type: chat_completion, input_messages: [{{role: user, content: "{{{{ sample.q }}}}"}}]}}
  scorers: [{{type: string_equals, ground_truth: "{{{{ sample.a }}}}"}}]
"""


def test_of_several_tasks_the_verdict_comes_first_and_what_is_alike_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("one", "two", "three"):
        Path(f"{name}.yaml").write_text(TASK.replace("key: t\n", f"key: {name}\n", 1))
    code, out, err = said(capsys, "check", ".")
    assert code == 0
    assert out.startswith("nothing is wrong with 3 tasks: ")
    assert err.count("no gold answer") == 1
    assert "; also for three, two" in err
    assert said(capsys, "check", ".", "--all")[2].count("no gold answer") == 3
