"""An imported task against lm-evaluation-harness itself: same server, same 200 questions, score by score.

Needs the embedded model's file (`assay model get`), the package xllamacpp, and the other program: `LM_EVAL` names its
command (default `lm_eval`, in an environment of its own). The server is llama.cpp's, with one slot, so that both
programs ask it the same questions in the same order.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from assay.cli.main import main as assay
from assay.core.journal import read_records
from assay.models.embedded_weights import is_here, model_folder

SAMPLES = 200
TASK = """\
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


def main() -> None:
    command = shutil.which(os.environ.get("LM_EVAL", "lm_eval"))
    if command is None or not is_here(model_folder()):
        print("left out: needs lm_eval (LM_EVAL names its command) and `assay model get`")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_task(folder)
        server = subprocess.Popen(
            [sys.executable, "-m", "assay.models.local_server", str(model_folder() / "model.gguf"), "--slots", "1"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            theirs, ours = ask_them(command, folder, address), ask_us(folder, address)
        finally:
            server.kill()
            server.communicate()
    print(table(theirs, ours))


def write_task(folder: Path) -> None:
    rng = random.Random(0)
    pairs = [(rng.randint(1, 60), rng.randint(1, 60)) for _ in range(SAMPLES)]
    lines = [json.dumps({"question": f"What is {a} + {b}?", "answer": str(a + b)}) for a, b in pairs]
    (folder / "sums.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "sums.yaml").write_text(TASK.replace("DATA", str(folder / "sums.jsonl")))


def ask_them(command: str, folder: Path, address: str) -> dict[str, tuple[float, str]]:
    arguments = f"model=m,base_url={address}/v1/completions,num_concurrent=1,tokenized_requests=False"
    model = ("--model", "local-completions", "--model_args", f"{arguments},tokenizer_backend=None")
    task = ("--tasks", "parity_sums", "--include_path", str(folder))
    subprocess.run(
        [command, *model, *task, "--log_samples", "--output_path", "out"],
        cwd=folder,
        env={**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"},
        check=True,
        capture_output=True,
    )
    (log,) = (folder / "out").rglob("samples_parity_sums*.jsonl")
    records = map(json.loads, log.read_text().splitlines())
    return {str(each["doc_id"]): (float(each["exact_match"]), each["resps"][0][0]) for each in records}


def ask_us(folder: Path, address: str) -> dict[str, tuple[float, str]]:
    assay(["import", "lm-eval", str(folder / "sums.yaml"), "--out", str(folder / "tasks")])
    model = ["--model", "openai:m", "--model-arg", f"base_url={address}/v1", "--model-arg", "mode=completions"]
    options = ["--concurrency", "1", "--no-cache", "--quiet", "--run-dir", str(folder / "run")]
    assay(["run", str(folder / "tasks"), *model, *options])
    found = {}
    for record in read_records(folder / "run" / "journal.jsonl"):
        assert record.trace is not None
        score = record.scores[0].values["score"]
        found[record.sample_id] = (float(score or 0), record.trace.prediction)
    return found


def table(theirs: dict[str, tuple[float, str]], ours: dict[str, tuple[float, str]]) -> str:
    equal_scores = sum(theirs[key][0] == ours[key][0] for key in theirs)
    equal_texts = sum(theirs[key][1] == ours[key][1] for key in theirs)
    means = [sum(score for score, _ in found.values()) / len(found) for found in (theirs, ours)]
    return "\n".join(
        [
            "| | lm-evaluation-harness | assay, imported |",
            "| --- | ---: | ---: |",
            f"| samples | {len(theirs)} | {len(ours)} |",
            f"| mean score | {means[0]:.3f} | {means[1]:.3f} |",
            f"| equal answers | | {equal_texts} of {len(theirs)} |",
            f"| equal scores | | {equal_scores} of {len(theirs)} |",
        ]
    )


if __name__ == "__main__":
    main()
