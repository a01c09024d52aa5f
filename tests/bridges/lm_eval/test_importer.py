"""lm-evaluation-harness tasks are prompted and scored here as they are there: on real files, and by its own answers.

`cases/lm_eval_answers.json` is what lm_eval 0.4.13 makes of `cases/lm_eval_tasks.json`; where that program is installed
(`LM_EVAL` names its command), it is run again. Record again with `python -m tests.bridges.lm_eval.test_importer`.
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from assay.bridges.lm_eval.importer import import_lm_eval
from assay.core.errors import UsageError
from assay.core.types import Completion, Sample, Trace
from assay.formats.imported import Imported, Row, write_imported
from assay.scorers.extracted_match import ExtractedMatch

CASES = Path(__file__).parent / "cases"
TASKS: dict[str, dict[str, Any]] = json.loads((CASES / "lm_eval_tasks.json").read_text())
DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))


def real(name: str) -> Path:
    if not (path := DATA / name).exists():
        pytest.skip(f"{name} of the published data is not here")
    return path


def peer() -> Path | None:
    """The Python of an installed lm_eval."""
    command = shutil.which(os.environ.get("LM_EVAL", "lm_eval"))
    python = Path(command).parent / "python" if command else None
    return python if python is not None and python.exists() else None


def ask_peer(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("lm_eval_peer.py")
    done = subprocess.run(
        [str(peer()), str(script)], input=json.dumps(cases), stdout=subprocess.PIPE, text=True, check=True
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return answers


def written(folder: Path, case: dict[str, Any]) -> tuple[Path, Path, Path | None]:
    """The task file, its documents, and those of its few-shot examples."""
    (folder / "task.yaml").write_text(case["task"])
    (folder / "test.json").write_text(json.dumps(case["test"]))
    if "dev" not in case:
        return folder / "task.yaml", folder / "test.json", None
    (folder / "dev.json").write_text(json.dumps(case["dev"]))
    return folder / "task.yaml", folder / "test.json", folder / "dev.json"


def splits(case: dict[str, Any]) -> dict[str, Any]:
    tested = "v" if "validation_split: v" in case["task"] else "test"
    return {tested: case["test"], **({"dev": case["dev"]} if "dev" in case else {})}


def scored(row: Row, answer: str) -> float:
    """What an answer scores, cut where generation would have ended."""
    sample = Sample(id="0", prompt=row["prompt"], targets=tuple(row["targets"]), extras=row["extras"])
    trace = Trace(prediction=answer, prompt="", completions=(Completion(text=answer),))
    return float(asyncio.run(ExtractedMatch("m")(sample, trace)).values["score"])  # type: ignore[arg-type]


def as_there(found: Imported, answers: list[str] | None) -> dict[str, Any]:
    """The rows in the peer's words."""
    (rows,) = found.tasks.values()
    prompts = [row["prompt"] for row in rows]
    if answers is None:
        choices = [row["extras"]["choices"] for row in rows]
        return {
            "prompts": prompts,
            "choices": choices,
            "continuations": [[row["extras"]["separator"] + each for each in row["extras"]["choices"]] for row in rows],
            "golds": [[row["extras"]["choices"].index(target) for target in row["targets"]] for row in rows],
        }
    return {
        "prompts": prompts,
        **rows[0]["extras"]["generation"],
        "scores": [scored(row, answer) for row, answer in zip(rows, answers, strict=True)],
    }


def in_one_form(answer: dict[str, Any]) -> dict[str, Any]:
    """Golds as lists of places: there a text is one, too."""
    if "golds" not in answer:
        return answer
    pairs = zip(answer["golds"], answer["choices"], strict=True)
    golds = [
        gold if isinstance(gold, list) else [choices.index(gold) if isinstance(gold, str) else gold]
        for gold, choices in pairs
    ]
    return {**answer, "golds": golds}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_prompted_and_scored_as_lm_eval_does(tmp_path: Path, name: str) -> None:
    case = TASKS[name]
    file, test, dev = written(tmp_path, case)
    found = import_lm_eval(file, test, shots_data=dev)
    recorded = json.loads((CASES / "lm_eval_answers.json").read_text())
    assert as_there(found, case.get("answers")) == in_one_form(recorded[name])
    assert not found.losses


@pytest.mark.skipif(peer() is None, reason="lm_eval is not installed (LM_EVAL names its command)")
def test_what_lm_eval_says_is_what_was_recorded() -> None:
    assert recording() == json.loads((CASES / "lm_eval_answers.json").read_text())


def recording() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        asked = []
        for number, case in enumerate(TASKS.values()):
            (folder := Path(name) / str(number)).mkdir()
            file, *_ = written(folder, case)
            asked.append({"file": str(file), "splits": splits(case), "answers": case.get("answers")})
        return dict(zip(TASKS, ask_peer(asked), strict=True))


def test_examples_of_the_files_own_are_not_replaced_as_lm_eval_would_not(tmp_path: Path) -> None:
    case = TASKS["few-shot examples of the file's own, and a begun answer"]
    file, test, _ = written(tmp_path, case)
    with pytest.raises(UsageError, match=r"has few-shot examples of its own .* leave --fewshot-data out"):
        import_lm_eval(file, test, shots_data=test)


NQ_OPEN = r"""
task: nq_open
dataset_path: google-research-datasets/nq_open
output_type: generate_until
training_split: train
validation_split: validation
description: "Answer these questions:\n\n"
doc_to_text: "Q: {{question}}?\nA:"
doc_to_target: "{{answer}}"
fewshot_delimiter: "\n"
generation_kwargs: {until: ["\n", ".", ","], do_sample: false, temperature: 0.0}
filter_list: [{name: remove_whitespace, filter: [{function: remove_whitespace}, {function: take_first}]}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, ignore_punctuation: true,
     regexes_to_ignore: ["\\b(?:The |the |An |A |The |a |an )"]}
"""


def test_every_right_answer_of_nq_open_is_right(tmp_path: Path) -> None:
    data = real("nq-open/NQ-open.dev.jsonl")
    (tmp_path / "nq_open.yaml").write_text(NQ_OPEN)
    found = import_lm_eval(tmp_path / "nq_open.yaml", data)
    documents = [json.loads(line) for line in data.read_text().splitlines()]
    rows = found.tasks["nq_open"]
    assert [row["targets"] for row in rows] == [document["answer"] for document in documents]
    assert all(scored(row, row["targets"][-1]) == 1.0 for row in rows[:200])
    assert rows[0]["extras"]["generation"] == {"stop": ["\n", ".", ","], "max_tokens": 256, "temperature": 0.0}
    assert (found.losses, found.left_behind) == ([], [])


CONTINUATION = r"""
task: mmlu_continuation
dataset_path: cais/mmlu
output_type: multiple_choice
test_split: test
fewshot_split: dev
fewshot_config: {sampler: first_n}
doc_to_text: "Question: {{question.strip()}}\nAnswer:"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
"""
SUBJECTS = ("elementary_mathematics", "miscellaneous", "astronomy", "computer_security")


def mmlu(subject: str) -> list[dict[str, Any]]:
    with real(f"mmlu/test/{subject}_test.csv").open(newline="", encoding="utf-8") as file:
        return [{"question": q, "choices": c, "answer": "ABCD".index(a)} for q, *c, a in csv.reader(file)]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_gold_and_choice_of_mmlu_is_the_published_one(tmp_path: Path, subject: str) -> None:
    documents = mmlu(subject)
    (tmp_path / "task.yaml").write_text(CONTINUATION)
    (tmp_path / "test.json").write_text(json.dumps(documents))
    (rows,) = import_lm_eval(tmp_path / "task.yaml", tmp_path / "test.json").tasks.values()
    assert [row["extras"]["choices"] for row in rows] == [each["choices"] for each in documents]
    assert [row["targets"] for row in rows] == [[each["choices"][each["answer"]]] for each in documents]


@pytest.mark.skipif(peer() is None, reason="lm_eval is not installed (LM_EVAL names its command)")
def test_its_own_task_files_are_read_as_lm_eval_reads_them(tmp_path: Path) -> None:
    python = peer()
    assert python is not None
    (tasks,) = python.parent.parent.glob("lib/python3*/site-packages/lm_eval/tasks")
    answers = [json.loads(line) for line in real("nq-open/NQ-open.dev.jsonl").read_text().splitlines()[:60]]
    worked = [json.loads(line) for line in real("gsm8k/test.jsonl").read_text().splitlines()[:30]]
    shown = [json.loads(line) for line in real("gsm8k/train-first-200.jsonl").read_text().splitlines()]
    maths, geography = mmlu("elementary_mathematics"), mmlu("high_school_geography")[:40]
    cases: list[dict[str, Any]] = [
        {
            "file": "nq_open/nq_open.yaml",
            "splits": {"validation": answers, "train": answers[:20]},
            "shots": 3,
            "answers": [each["answer"][0] for each in answers],
        },
        {
            "file": "gsm8k/gsm8k.yaml",
            "splits": {"test": worked, "train": shown},
            "shots": 5,
            "answers": [each["answer"] if at % 3 else "#### 1,5" for at, each in enumerate(worked)],
        },
        {
            "file": "gsm8k/gsm8k-cot.yaml",
            "splits": {"test": worked},
            "shots": 8,
            "answers": [f"The answer is {each['answer'].rpartition('#### ')[2]}." for each in worked],
        },
        {
            "file": "mmlu/continuation/mmlu_elementary_mathematics.yaml",
            "splits": {"test": maths, "dev": geography},
            "shots": 2,
        },
        {
            "file": "mmlu/default/mmlu_high_school_geography.yaml",
            "splits": {"test": geography, "dev": maths},
            "shots": 5,
        },
    ]
    for case, theirs in zip(
        cases, ask_peer([{**case, "file": str(tasks / case["file"])} for case in cases]), strict=True
    ):
        tested = "test" if "test" in case["splits"] else "validation"
        for split, documents in case["splits"].items():
            (tmp_path / f"{split}.json").write_text(json.dumps(documents))
        pool = next((tmp_path / f"{split}.json" for split in case["splits"] if split != tested), None)
        found = import_lm_eval(tasks / case["file"], tmp_path / f"{tested}.json", shots=case["shots"], shots_data=pool)
        assert as_there(found, case.get("answers")) == in_one_form(theirs), case["file"]
        assert not found.losses


ANSWER = "output_type: generate_until\ndoc_to_text: '{{a}}'\ndoc_to_target: a\n"
CHOICE = "output_type: multiple_choice\ndoc_to_text: '{{a}}'\ndoc_to_target: a\ndoc_to_choice: [b, c]\n"


@pytest.mark.parametrize(
    ("task", "loss"),
    [
        (ANSWER + "process_docs: !function u.f\n", "documents: process_docs: !function u.f"),
        (ANSWER + "custom_dataset: !function u.f\n", "documents: custom_dataset: !function u.f"),
        (ANSWER + "process_results: !function u.f\n", "scoring: process_results: !function u.f"),
        (ANSWER + "metric_list: [{metric: bleu}]\n", "scoring: metric bleu"),
        (ANSWER + "metric_list: [{metric: exact_match, stemmed: true}]\n", "scoring: metric exact_match: stemmed"),
        (ANSWER + "metric_list: [{metric: exact_match, aggregation: median}]\n", "aggregation median"),
        (ANSWER + "filter_list: [{name: f, filter: [{function: majority_vote}]}]\n", "filter function majority_vote"),
        (ANSWER + "repeats: 4\n", "scoring: repeats"),
        (ANSWER + "generation_kwargs: {top_p: 0.9}\n", "prompt: generation_kwargs.top_p"),
        (ANSWER + "use_prompt: promptsource\n", "prompt: use_prompt"),
        (ANSWER + "num_fewshot: 2\ntraining_split: train\n", "prompt: 2 few-shot examples out of the split `train`"),
        (ANSWER + "num_fewshot: 2\nfewshot_config: {sampler: balanced}\n", "prompt: fewshot_config.sampler"),
        (CHOICE + "metric_list: [{metric: f1}, {metric: acc}]\n", "scoring: metric f1"),
        (CHOICE.replace("[b, c]", "[d, c]"), "documents: doc_to_target is none of the choices in 1 of 2"),
    ],
)
def test_what_would_measure_something_else_is_a_loss(tmp_path: Path, task: str, loss: str) -> None:
    (tmp_path / "task.yaml").write_text(task)
    (tmp_path / "test.jsonl").write_text('{"a": "b"}\n{"a": "c"}\n')
    found = import_lm_eval(tmp_path / "task.yaml", tmp_path / "test.jsonl")
    assert len(found.losses) == 1
    assert loss in found.losses[0]
    with pytest.raises(UsageError, match="nothing was written"):
        write_imported(found, tmp_path / "task.yaml", tmp_path / "out")
    assert not (tmp_path / "out").exists()


if __name__ == "__main__":
    (CASES / "lm_eval_answers.json").write_text(json.dumps(recording(), indent=1, ensure_ascii=False) + "\n")
