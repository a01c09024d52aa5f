"""Imported tasks against lm-evaluation-harness itself: same servers, same 200 questions each, score by score.

Writing is asked of llama.cpp's server with one slot, so that both programs ask it the same questions in the same order;
multiple choice by log-likelihood of `assay model serve`, whose answers do not depend on their company.

With `--all`: tasks by name (`lm-eval:TASK`), seventy of them, against a scripted server; needs only lm_eval in this
environment. With `--served`: some of them against the embedded model behind real servers.

Needs the embedded model's file (`assay model get`) and the other program: `LM_EVAL` names its command (default
`lm_eval`; `pip install 'lm_eval[api]'` into an environment of its own). Writing also needs the package xllamacpp,
multiple choice the benchmark files that `ASSAY_SHARED_DATA` names.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from assay.cli.main import main as assay
from assay.core.journal import read_records
from assay.core.types import Record
from assay.models.embedded.weights import is_here, model_folder

SAMPLES = 200
LONGEST_QUESTION = 100
"""Characters: short questions keep a small processor's patience."""
DATA = Path(os.environ.get("ASSAY_SHARED_DATA", "../shared/data")) / "mmlu" / "test" / "miscellaneous_test.csv"
SUMS = """\
task: parity_sums
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
output_type: generate_until
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n\\n"], do_sample: false, temperature: 0.0, max_gen_toks: 16}
filter_list:
  - name: number
    filter: [{function: regex, group_select: -1, regex_pattern: "(-?[0-9]+)"}, {function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
metadata: {version: 1.0}
"""
CHOICES = """\
task: parity_choices
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
output_type: multiple_choice
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{metric: acc}, {metric: acc_norm}]
metadata: {version: 1.0}
"""


class Judged(NamedTuple):
    """What a program made of one sample: its scores by name, and what it heard from the model."""

    scores: dict[str, float]
    heard: Any


Found = dict[str, Judged]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="tasks by name, against a scripted server")
    parser.add_argument("--served", action="store_true", help="some of them against the embedded model")
    parser.add_argument("names", nargs="*", metavar="TASK", help="only these, with --all")
    options = parser.parse_args()
    if options.all:
        from bench._lm_eval_by_name import main as by_name

        by_name(options.names)
        return
    if options.served:
        from bench._lm_eval_by_name import served

        served()
        return
    command = shutil.which(os.environ.get("LM_EVAL", "lm_eval"))
    if command is None or not is_here(model_folder()):
        print("left out: needs lm_eval (LM_EVAL names its command) and `assay model get`")
        return
    print("| task, measure | lm-evaluation-harness | assay, imported | equal scores | what the model said |")
    print("| --- | ---: | ---: | ---: | --- |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        if importlib.util.find_spec("xllamacpp") is not None:
            for row in sums(command, Path(name) / "sums"):
                print(row, flush=True)
        if DATA.exists():
            for row in choices(command, Path(name) / "choices"):
                print(row, flush=True)


def sums(command: str, folder: Path) -> list[str]:
    rng = random.Random(0)
    pairs = [(rng.randint(1, 60), rng.randint(1, 60)) for _ in range(SAMPLES)]
    write_task(folder, SUMS, [{"question": f"What is {a} + {b}?", "answer": str(a + b)} for a, b in pairs])
    server = ["assay.models.adapters.local_server", str(model_folder() / "model.gguf"), "--slots", "1"]
    with serving(*server) as address:
        logged = ask_them(command, folder, address, "tokenizer_backend=None,num_concurrent=1")
        asked = ask_us(folder, address, "1")
    theirs = {str(each["doc_id"]): Judged({"exact_match": each["exact_match"]}, each["resps"][0][0]) for each in logged}
    ours = {each.sample_id: Judged({"exact_match": value(each, "score")}, prediction(each)) for each in asked}
    same = sum(theirs[key].heard == ours[key].heard for key in theirs)
    return [row("sums, exact_match", "exact_match", theirs, ours, f"{same} of {len(theirs)} answers equal")]


def choices(command: str, folder: Path) -> list[str]:
    with DATA.open(newline="") as file:
        lines = [line for line in csv.reader(file) if len(line[0]) <= LONGEST_QUESTION][:SAMPLES]
    write_task(folder, CHOICES, [{"question": q, "choices": c, "answer": "ABCD".index(a)} for q, *c, a in lines])
    with serving("assay", "model", "serve", "--port", "0") as address:
        logged = ask_them(command, folder, address, "tokenizer_backend=remote,num_concurrent=4")
        asked = ask_us(folder, address, "4")
    theirs = {
        str(each["doc_id"]): Judged(
            {name: each[name] for name in ("acc", "acc_norm")}, [float(resp[0][0]) for resp in each["resps"]]
        )
        for each in logged
    }
    ours = {
        each.sample_id: Judged(
            {"acc": value(each, "raw"), "acc_norm": value(each, "per_character")},
            [item["logprob"] for item in (each.trace.items if each.trace and each.trace.items else [])],
        )
        for each in asked
    }
    far = max(abs(a - b) for key in theirs for a, b in zip(theirs[key].heard, ours[key].heard, strict=True))
    count = sum(len(each.heard) for each in theirs.values())
    said = f"{count} log-likelihoods, largest difference {far:.1e}"
    return [row(f"MMLU miscellaneous, {name}", name, theirs, ours, said) for name in ("acc", "acc_norm")]


def row(title: str, name: str, theirs: Found, ours: Found, said: str) -> str:
    if theirs.keys() != ours.keys():
        raise SystemExit(f"{title}: {len(theirs)} samples there, {len(ours)} here")
    equal = sum(theirs[key].scores[name] == ours[key].scores[name] for key in theirs)
    means = [sum(each.scores[name] for each in found.values()) / len(found) for found in (theirs, ours)]
    return f"| {title} | {means[0]:.3f} | {means[1]:.3f} | {equal} of {len(theirs)} | {said} |"


def write_task(folder: Path, task: str, documents: list[dict[str, Any]]) -> None:
    folder.mkdir()
    (folder / "data.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    (folder / "task.yaml").write_text(task.replace("DATA", str(folder / "data.jsonl")))


@contextmanager
def serving(*module: str) -> Iterator[str]:
    """A server of ours in a process of its own; its first line is its address."""
    command = [sys.executable, "-m", *module]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate()


def ask_them(command: str, folder: Path, address: str, how: str) -> list[dict[str, Any]]:
    model = f"model=embedded,base_url={address}/v1/completions,tokenized_requests={'remote' in how},{how}"
    (task,) = (line.removeprefix("task: ") for line in (folder / "task.yaml").read_text().splitlines()[:1])
    about = ("--model", "local-completions", "--model_args", model, "--tasks", task)
    done = subprocess.run(
        [command, *about, "--include_path", str(folder), "--log_samples", "--output_path", "out"],
        cwd=folder,
        env={**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    (log,) = (folder / "out").rglob(f"samples_{task}*.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def ask_us(folder: Path, address: str, concurrency: str) -> list[Record]:
    assay(["import", "lm-eval", str(folder / "task.yaml"), "--output", str(folder / "tasks")])
    model = ["--model", "openai:embedded", "--model-arg", f"base_url={address}/v1", "--model-arg", "mode=completions"]
    options = ["--concurrency", concurrency, "--no-cache", "--quiet", "--run-dir", str(folder / "run")]
    assay(["run", str(folder / "tasks"), *model, *options])
    return list(read_records(folder / "run" / "journal.jsonl"))


def value(record: Record, name: str) -> float:
    return float(record.scores[0].values[name] or 0)


def prediction(record: Record) -> str:
    assert record.trace is not None
    return record.trace.prediction


if __name__ == "__main__":
    main()
