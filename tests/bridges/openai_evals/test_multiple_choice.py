"""A `MultipleChoice` eval sends what the class of that name sends: options shuffled per question, one token wanted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.bridges.openai_evals.openai_evals_source import read_openai_eval
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.types import Sample
from assay.results.board.leaderboard import read_leaderboard
from assay.tasks.built_tasks import build_dataset

EVALS = """
stories: {id: stories.val.ab-v1, metrics: [accuracy]}
stories.val.ab-v1:
  class: evals.elsuite.multiple_choice:MultipleChoice
  args: {dataset: "hf://hellaswag?split=validation", instructions: Continue the story.}
facts.val.v0:
  class: evals.elsuite.multiple_choice:MultipleChoice
  args: {dataset: "hf://hendrycks_test?name=astronomy&split=validation"}
other.val.v0:
  class: evals.elsuite.multiple_choice:MultipleChoice
  args: {dataset: "hf://glue?split=validation"}
bare: {class: "evals.elsuite.multiple_choice:MultipleChoice", args: {dataset: "hf://hellaswag?split=validation"}}
m.dev.v0: {class: "evals.elsuite.basic.match:Match", args: {samples_jsonl: s.jsonl}}
"""
STORIES = [
    {"ctx": f"She {n} walks {{in}}", "endings": [f"e{n}{at}" for at in range(4)], "label": str(n % 4)} for n in range(7)
]
FACTS = [{"question": f"q{n}", "choices": ["one", "two", "three"], "answer": n} for n in range(3)]


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reg/evals").mkdir(parents=True)
    Path("reg/evals/mine.yaml").write_text(EVALS)
    for name, rows in (("stories", STORIES), ("facts", FACTS)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def samples_of(name: str, file: str) -> list[Sample]:
    return list(build_dataset(read_openai_eval(f"openai-evals:{name}", "reg", data={"validation": file})))


def test_a_question_has_the_options_in_the_order_of_the_original() -> None:
    Path("reg/evals/mine.yaml").write_text(EVALS.replace("stories", "hellaswag"))
    sample = samples_of("hellaswag", "stories.jsonl")[5]
    # what MultipleChoice of evals 3.0.1 sends for this row, as `hellaswag.val.ab-v1`
    assert sample.prompt == (
        "Continue the story.\nPlease answer with the letter of the correct answer.\n\nShe 5 walks {in}\n"
        "A) e52\nB) e53\nC) e51\nD) e50"
    )
    assert sample.targets == ("C",)
    assert sample.extras["generation"] == {"temperature": 0.0, "max_tokens": 1}


def test_questions_of_mmlu_keep_their_number_of_options() -> None:
    samples = samples_of("facts.val.v0", "facts.jsonl")
    assert [(each.prompt or "").count(") ") for each in samples] == [3, 3, 3]
    for number, sample in enumerate(samples):
        assert f"{sample.targets[0]}) {FACTS[0]['choices'][number]}" in (sample.prompt or "")


def test_the_eval_runs_by_name_over_a_local_file_and_scores_the_letter() -> None:
    right = sum(sample.targets == ("B",) for sample in samples_of("stories", "stories.jsonl"))
    typed = ["run", "openai-evals:stories", "--registry", "reg", "--data", "validation=stories.jsonl"]
    assert main([*typed, "--model", "stub:B", "--run-dir", "r", "--quiet"]) == 0
    (task,) = read_leaderboard(Path("r")).tasks
    assert (task.score, task.total) == (pytest.approx(right / 7), 7)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("other.val.v0", {"validation": "stories.jsonl"}, "`hf://glue.*` is not supported; hf://hellaswag"),
        ("bare", {"validation": "stories.jsonl"}, "the name of the eval needs a split"),
        ("stories", {"test": "stories.jsonl"}, "reads the split `validation`: --data validation=FILE"),
        ("stories", {"validation": "gone.jsonl"}, "gone.jsonl"),
        ("stories", {"validation": "facts.jsonl"}, "row 1: a question of `hellaswag` has `ctx`, `endings`, `label`"),
        ("m.dev.v0", {"validation": "stories.jsonl"}, "--data: `m.dev.v0` has its samples in the registry"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(name: str, data: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_openai_eval(f"openai-evals:{name}", "reg", data=data)


def test_without_the_hub_the_error_says_how_to_pass_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UsageError, match=r"Or pass its rows as a file: --data validation=FILE$"):
        read_openai_eval("openai-evals:stories", "reg")
