"""Records made in the published shape of benchmarks whose files are not at hand."""

from __future__ import annotations

import base64
import csv
import io
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

from assay.core.types import Sample
from assay.recipes.recipe import find_recipe, write_tasks
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


def arc(number: int, labels: str = "ABCD") -> dict[str, Any]:
    choices = [{"text": text, "label": label} for text, label in zip(("sun", "moon", "star", "D"), labels, strict=True)]
    question = {"stem": f"What shines, {number}?", "choices": choices}
    return {"id": f"q{number}", "question": question, "answerKey": labels[1]}


def hellaswag(number: int) -> dict[str, Any]:
    return {
        "ind": number,
        "activity_label": "Cooking",
        "ctx_a": "A man cuts an onion [step] fast.",
        "ctx_b": "he",
        "endings": ["weeps.", "flies [title] up.", "sleeps.", "sings."],
        "label": 0,
    }


def winogrande(number: int) -> dict[str, Any]:
    sentence = "Ann thanked Eve because _ had helped."
    return {"qID": f"w{number}", "sentence": sentence, "option1": "Ann", "option2": "Eve", "answer": "2"}


def mmlu_pro(number: int, category: str) -> dict[str, Any]:
    options = [f"choice {n}" for n in range(9)] + ["N/A"]
    cot = "A: Let's think step by step. It is so. The answer is (I)."
    return {
        "question_id": number,
        "question": f"Which, {number}?",
        "options": options,
        "answer": "I",
        "category": category,
        "cot_content": cot,
        "src": "made",
    }


def gpqa() -> str:
    text = io.StringIO()
    header = ["Record ID", "Question", "Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3)), "Subdomain"]
    writer = csv.writer(text)
    writer.writerows([header, ["r1", "Why, 你好?", "because\n", "no", "yes", "perhaps", "Optics"]])
    return text.getvalue()


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def drop() -> str:
    date = {"day": "", "month": "", "year": ""}
    none: dict[str, Any] = {"number": "", "date": date, "spans": []}
    answers: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({**none, "number": "3"}, [{**none, "number": "three"}, {**none, "number": "3"}]),
        ({**none, "spans": ["the Bears", "Jets, Inc."]}, []),
        ({**none, "date": {"day": "12", "month": "May", "year": "1998"}}, [none]),
    ]
    pairs = [
        {"question": f"Which, {number}?", "query_id": f"d{number}", "answer": answer, "validated_answers": others}
        for number, (answer, others) in enumerate(answers)
    ]
    return json.dumps({"nfl_1": {"passage": "The Bears beat the Jets.", "qa_pairs": pairs, "wiki_url": ""}})


def packed(tests: list[dict[str, str]]) -> str:
    """As the published files hold their hidden tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def livecodebench(number: int, *, functional: bool = False) -> dict[str, Any]:
    kind = "functional" if functional else "stdin"
    cases = [("[1, 2]\n3", "6"), ("[]\n0", "0")] if functional else [("1 2\n", "3\n"), ("2 2\n", "4.0\n")]
    tests = [{"input": given, "output": wanted, "testtype": kind} for given, wanted in cases]
    return {
        "question_title": "Sum",
        "question_content": "Add.",
        "platform": "leetcode" if functional else "atcoder",
        "question_id": f"p{number}",
        "contest_id": "c",
        "contest_date": "2025-01-04T00:00:00",
        "starter_code": "class Solution:\n    def add(self, xs: List[int], y: int) -> int:\n        "
        if functional
        else "",
        "difficulty": "easy",
        "public_test_cases": json.dumps(tests[:1]),
        "private_test_cases": packed(tests[1:]),
        "metadata": json.dumps({"func_name": "add"} if functional else {}),
    }


MATH = {
    "problem": "Compute $\\frac12+\\frac14$.",
    "solution": "It is $\\boxed{\\frac{3}{4}}$.",
    "answer": "\\frac{3}{4}",
    "subject": "Algebra",
    "level": 1,
    "unique_id": "test/algebra/1.json",
}
MC = {
    "question": "Is it so?",
    "mc1_targets": {"Yes, it is.": 1, "No.": 0, "Perhaps.": 0},
    "mc2_targets": {"Yes, it is.": 1, "It is.": 1, "No.": 0, "": 0},
}
FILES: dict[str, dict[str, str]] = {
    "arc": {"ARC-Challenge-Test.jsonl": lines(arc(1), arc(2, "1234")), "ARC-Challenge-Train.jsonl": lines(arc(3))},
    "hellaswag": {"hellaswag_val.jsonl": lines(hellaswag(1)), "hellaswag_train.jsonl": lines(hellaswag(2))},
    "winogrande": {"dev.jsonl": lines(winogrande(1)), "train_xl.jsonl": lines(winogrande(2))},
    "mmlu-pro": {
        "test.jsonl": lines(mmlu_pro(1, "law"), mmlu_pro(2, "computer science")),
        "validation.jsonl": lines(mmlu_pro(3, "law"), mmlu_pro(4, "computer science")),
    },
    "gpqa": {"gpqa_diamond.csv": gpqa()},
    "aime": {"aime_2024.jsonl": lines({"ID": "2024-I-1", "Problem": "Count.", "Answer": "033", "Year": 2024})},
    "drop": {"drop_dataset_dev.json": drop(), "drop_dataset_train.json": drop()},
    "math-500": {"test.jsonl": lines(MATH)},
    "livecodebench": {"test6.jsonl": lines(livecodebench(1), livecodebench(2, functional=True))},
    "truthfulqa": {"mc_task.json": json.dumps([MC]), "qa_primer.txt": "Q: One?\nA: One.\n"},
}


def tasks_made(name: str, folder: Path, **options: Any) -> list[Any]:
    data = folder / "data"
    data.mkdir()
    for file, text in FILES[name].items():
        (data / file).write_text(text, encoding="utf-8")
    write_tasks(
        find_recipe(name), data, folder / "tasks", **{"variant": None, "shots": None, "accept_unknown": True, **options}
    )
    return [build_task(definition) for definition in load_tasks([str(folder / "tasks")])]


def last_sample(name: str, folder: Path) -> Sample:
    return [sample for task in tasks_made(name, folder) for sample in task.dataset][-1]
