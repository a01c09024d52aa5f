"""Imports: tasks of other programs become task folders that run, and what is left behind is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.types import Completion, Request
from assay.evaluation import run_evaluation
from assay.reports.board import TaskRow
from assay.reports.leaderboard import read_leaderboard
from assay.task_imports.imported import write_imported
from assay.task_imports.lm_eval import import_lm_eval
from assay.task_imports.openai_evals import import_openai_evals
from assay.task_imports.promptfoo import import_promptfoo
from assay.tasks.load import load_tasks


class Script:
    """Says what the table says for a prompt's last line, and finds a continuation as likely as the table says."""

    name = "script"
    scores_continuations = True

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = answers
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        last = request.text().strip().rpartition("\n")[2]
        if request.continuation is not None:
            return Completion(text="", logprob=-0.1 if request.continuation.strip() == self._answers[last] else -9.0)
        return Completion(text=self._answers.get(last, ""))


def run(folder: Path, model: Script) -> dict[str, TaskRow]:
    config = RunConfig(include_per_example=True)
    board = run_evaluation(load_tasks([str(folder)]), config, model=model, folder=folder / "run").leaderboard
    return {row.task: row for row in board.tasks}


SUMS = """
task: my_sums
dataset_path: json
dataset_kwargs:
  data_files: {test: sums.jsonl, train: train.jsonl}
output_type: generate_until
test_split: test
fewshot_split: train
num_fewshot: 1
description: "Work it out.\\n\\n"
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer.split('####')[-1].strip()}}"
generation_kwargs: {until: ["Question:", "</s>"], do_sample: false, max_gen_toks: 32}
filter_list:
  - name: strict-match
    filter:
      - {function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}
      - {function: take_first}
  - name: flexible
    filter: [{function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, regexes_to_ignore: [","]}
  - {metric: bleu}
"""


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    rows = [{"question": f"{n} + {n}?", "answer": f"It is {2 * n}.\n#### {2 * n}"} for n in (1, 2, 500)]
    (tmp_path / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "train.jsonl").write_text(json.dumps({"question": "0 + 0?", "answer": "Nothing.\n#### 0"}))
    (tmp_path / "task.yaml").write_text(SUMS)
    return tmp_path


def test_an_lm_eval_generation_task_asks_and_scores_as_it_did(sums: Path) -> None:
    found = import_lm_eval(sums / "task.yaml")
    write_imported(found, sums / "task.yaml", sums / "out")
    first = found.tasks["my_sums"][0]
    assert first["prompt"] == "Work it out.\n\nQuestion: 0 + 0?\nAnswer: 0\n\nQuestion: 1 + 1?\nAnswer:"
    model = Script({"Answer:": "So\n#### 1,000"})
    row = run(sums / "out", model)["my_sums"]
    assert row.score == pytest.approx(1 / 3)
    assert isinstance(row.per_example, list)
    assert row.per_example[2].answer == "1,000"
    assert (model.asked[0].stop, model.asked[0].max_tokens, model.asked[0].temperature) == (
        ("Question:", "</s>"),
        32,
        0.0,
    )


def test_what_has_no_part_in_the_score_is_listed(sums: Path) -> None:
    found = import_lm_eval(sums / "task.yaml")
    assert [sentence.partition(":")[0] for sentence in found.left_behind] == ["filter flexible", "metric bleu"]
    assert not found.losses


def test_nothing_read_out_has_its_own_count(sums: Path) -> None:
    write_imported(import_lm_eval(sums / "task.yaml"), sums / "task.yaml", sums / "out")
    row = run(sums / "out", Script({}))["my_sums"]
    assert (row.score, row.nothing_extracted) == (0.0, 3)


CHOICE = """
task: capitals
dataset_path: some/hub-dataset
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: "{{choices}}"
doc_to_target: label
metric_list: [{metric: acc}, {metric: acc_norm}]
"""


def test_an_lm_eval_choice_task_is_scored_by_likelihood(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(CHOICE)
    rows = [
        {"q": "France?", "choices": ["Rome", "Paris"], "label": 1},
        {"q": "Italy?", "choices": ["Rome", "Bern"], "label": 0},
    ]
    (tmp_path / "data.json").write_text(json.dumps({"rows": rows}))
    with pytest.raises(UsageError, match=r"some/hub-dataset.*--data FILE"):
        import_lm_eval(tmp_path / "task.yaml")
    found = import_lm_eval(tmp_path / "task.yaml", tmp_path / "data.json")
    write_imported(found, tmp_path / "task.yaml", tmp_path / "out")
    row = run(tmp_path / "out", Script({"France?": "Paris", "Italy?": "Bern"}))["capitals"]
    assert (row.score, row.metric) == (0.5, "choice_likelihood")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n", "mapping of fields"),
        ("output_type: loglikelihood\n", "cannot be carried over"),
        ("task: t\ndataset_kwargs: {data_files: gone.jsonl}\n", "gone.jsonl is not there"),
        ("task: t\ndataset_kwargs: {data_files: d.jsonl}\ndoc_to_text: '{{x}}'\ndoc_to_target: a\n", "does not fit"),
        ("task: t\ndataset_kwargs: {data_files: d.jsonl}\ndoc_to_text: !function u.f\ndoc_to_target: a\n", "u.f"),
        ("task: [", "not valid YAML"),
    ],
)
def test_a_bad_lm_eval_file_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "task.yaml").write_text(text)
    (tmp_path / "d.jsonl").write_text('{"a": "b"}')
    with pytest.raises(UsageError, match=says):
        import_lm_eval(tmp_path / "task.yaml")


def test_a_template_cannot_reach_python(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"a": "b"}')
    escape = "{{ a.__class__.__mro__[1].__subclasses__() }}"
    text = f"task: t\ndataset_kwargs: {{data_files: d.jsonl}}\ndoc_to_text: '{escape}'\ndoc_to_target: a\n"
    (tmp_path / "task.yaml").write_text(text)
    with pytest.raises(UsageError, match="does not fit"):
        import_lm_eval(tmp_path / "task.yaml")


EVALS: list[dict[str, Any]] = [
    {"input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "France?"}], "ideal": "Paris"},
    {"input": "Italy?", "ideal": ["Rome", "Roma"], "note": "x"},
    {"input": "nothing"},
]


@pytest.mark.parametrize(
    ("template", "answers", "score"),
    [
        ("match", {"France?": "Paris.", "Italy?": "It is Rome"}, 0.5),
        ("match", {"France?": " Paris", "Italy?": "Roma!"}, 0.5),
        ("includes", {"France?": "Paris.", "Italy?": "It is Roma"}, 1.0),
        ("includes", {"France?": "paris.", "Italy?": "an aroma"}, 0.0),
        ("includes_ignore_case", {"France?": "paris.", "Italy?": "an aroma"}, 1.0),
        ("fuzzy_match", {"France?": "the PARIS!", "Italy?": "Ro"}, 1.0),
    ],
)
def test_openai_evals_are_scored_by_their_template(
    tmp_path: Path, template: str, answers: dict[str, str], score: float
) -> None:
    path = tmp_path / "capitals.jsonl"
    path.write_text("\n".join(map(json.dumps, EVALS)))
    found = import_openai_evals(path, template)
    assert found.left_behind == ["field note: has no counterpart here"]
    assert found.losses == ["documents: line 3: has no ideal"]
    write_imported(found, path, tmp_path / "out", partial=True)
    model = Script(answers)
    assert run(tmp_path / "out", model)["capitals-partial"].score == score
    roles = [[message.role for message in request.messages or ()] for request in model.asked]
    assert sorted(roles) == [[], ["system", "user"]]


FOO = """
description: greetings
providers: [openai:gpt-4o]
prompts:
  - "Say hello in {{language}}"
  - file://formal.txt
  - file://prompt.js
defaultTest:
  assert: [{type: not-contains, value: "sorry"}]
tests:
  - vars: {language: [German, Swiss German]}
    assert:
      - {type: icontains, value: "hallo"}
      - {type: llm-rubric, value: "is polite"}
      - {type: regex, value: "^[A-Z]", weight: 2}
  - description: json
    vars: {language: JSON}
    assert: [{type: is-json}, {type: contains, value: "{{language}}"}]
    options: {transform: "output.trim()"}
  - vars: {language: Klingon}
    assert: [{type: javascript, value: "output.length > 3"}]
sharing: true
"""


def test_promptfoo_prompts_are_asked_with_every_test(tmp_path: Path) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(FOO)
    (tmp_path / "formal.txt").write_text("Please greet me in {{ language }}")
    found = import_promptfoo(tmp_path / "promptfooconfig.yaml")
    write_imported(found, tmp_path / "promptfooconfig.yaml", tmp_path / "out", partial=True)
    answers = {
        "Say hello in German": "Hallo!",
        "Say hello in Swiss German": "sorry, hallo",
        "Say hello in JSON": '"JSON"',
        "Please greet me in German": "Hallo",
        "Please greet me in Swiss German": "Hallo",
        "Please greet me in JSON": "JSON",
    }
    rows = run(tmp_path / "out", Script(answers))
    scores = {}
    for task, row in rows.items():
        assert isinstance(row.per_example, list)
        scores[task] = [each.score for each in row.per_example]
    # German, Swiss German, JSON, and Klingon, of whose assertions only the default one could come along
    assert scores == {"prompt-1-partial": [1.0, 0.0, 1.0, 1.0], "prompt-2-partial": [1.0, 1.0, 0.0, 1.0]}
    for what in ("prompt file://prompt.js", "llm-rubric", "javascript", "options"):
        assert what in " ".join(found.losses)
    for what in ("weight", "sharing"):
        assert what in " ".join(found.left_behind)


def test_the_command_tells_what_it_wrote_and_what_it_left(sums: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "lm-eval", str(sums / "task.yaml"), "--out", str(sums / "out")]) == 0
    said = capsys.readouterr()
    assert "my_sums.jsonl  3 samples" in said.out
    assert "left behind: metric bleu" in said.err
    assert json.loads((sums / "out" / "import.json").read_text())["left_behind"]
    assert main(["import", "promptfoo", str(sums / "gone.yaml")]) == 2


def test_a_partial_import_says_so_wherever_its_scores_stand(sums: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (sums / "task.yaml").open("a") as file:
        file.write("process_results: !function utils.process\nrepeats: 3\n")
    typed = ["import", "lm-eval", str(sums / "task.yaml"), "--out", str(sums / "out")]
    assert main(typed) == 2
    assert not (sums / "out").exists()
    assert "process_results: !function utils.process" in capsys.readouterr().err
    assert main([*typed, "--partial"]) == 0
    assert "not carried over: scoring: process_results" in capsys.readouterr().err
    head = (sums / "out" / "my_sums-partial.jsonl").read_text().splitlines()[:3]
    assert head[1].startswith("# not carried over: scoring: process_results: !function utils.process")
    assert head[2].startswith("# not carried over: scoring: repeats")
    record = json.loads((sums / "out" / "import.json").read_text())
    assert (record["partial"], len(record["losses"]), list(record["tasks"])) == (True, 2, ["my_sums-partial"])
    assert main(["run", str(sums / "out"), "--model", "stub:2", "--run-dir", str(sums / "run")]) == 0
    assert "my_sums-partial: a partial import" in capsys.readouterr().err
    assert "my_sums-partial: a partial import" in (sums / "run" / "report.md").read_text()
    (notice,) = read_leaderboard(sums / "run").notices
    assert "process_results: !function utils.process" in notice
    assert main(["leaderboard", str(sums / "run")]) == 0
    assert "my_sums-partial: a partial import" in capsys.readouterr().out


def test_partial_changes_nothing_where_nothing_is_lost(sums: Path) -> None:
    assert main(["import", "lm-eval", str(sums / "task.yaml"), "--out", str(sums / "out"), "--partial"]) == 0
    assert [path.name for path in (sums / "out").glob("*.jsonl")] == ["my_sums.jsonl"]
