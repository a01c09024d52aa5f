"""`assay check`: YAML tasks proved without a model, every fault with its place, and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay
from tests.reports.yaml_runs import EQUALS, write_task

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


def test_the_first_sample_is_shown_as_it_is_asked_and_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, ROWS, [EQUALS])
    code, out, err = said(capsys, "check", "task.yaml")
    assert (code, err) == (0, "")
    assert "t, sample `0`\n  asked:\n    user: one?\n  answered for the model:\n    1\n  main: is_correct True" in out
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


def test_a_metric_of_a_value_that_nobody_gives_has_its_place(capsys: pytest.CaptureFixture[str]) -> None:
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
    assert said(capsys, "check", "needy.yaml", "--config", "a=1", "--config", "judge=x")[0] == 0
    Path("needy.yaml").write_text(needy.replace("{{ sample.q }}", "{{ sample.q "))
    code, _, err = said(capsys, "check", ".")
    assert code == 2
    assert "needy.yaml:11:37: " in err


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


def test_a_judge_without_a_model_is_remarked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(JUDGED)
    code, _, err = said(capsys, "check", "a.yaml")
    assert code == 0
    assert "no model stands behind the key `j`: a run needs --model-for 'j=MODEL'" in err


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
def test_one_sample_of_a_task_is_shown_exactly_as_it_is_asked(which: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By id where there is one, else by its number from 1: the ids here are 0 and 1."""
    Path("a.yaml").write_text(TASK)
    code, out, _ = said(capsys, "show", "a.yaml", "--sample", which)
    assert code == 0
    assert out == 'sample 1, its row:\n{"q":"two?","a":"2"}\nas it is asked:\nuser: two?\n\n'
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
    assert "turn 1 is asked:\nuser: two?\nturn 2 is asked:" in out
    assert "user: Sure? ‹the model's answer›" in out


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
    told = "t: no gold answer can be made for the scorer `hard` (2 of 2 samples); the empty one was tried\n"
    assert (code, err) == (0, told)
