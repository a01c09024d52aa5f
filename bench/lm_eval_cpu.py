"""Processor seconds beside lm-evaluation-harness: the same tasks by name over one server, and a model in the process.

The server's own time is not counted. `--tasks` or `--model` measures one of the two.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench._lm_eval_documents import SHARED, tasks
from bench._lm_eval_setting import Setting, setting

from assay.core.journal import read_records

SUBJECTS = (
    "astronomy", "computer_security", "elementary_mathematics", "global_facts", "high_school_geography", "miscellaneous"
)  # fmt: skip
SHIFTING = "gpqa_main_n_shot"
"""lm_eval shuffles its choices again between asking and scoring, so that its numbers are not those of its questions."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", action="store_true", help="only the tasks by name")
    parser.add_argument("--model", action="store_true", help="only the model in the process")
    options = parser.parse_args()
    both = options.tasks == options.model
    print("| what | lm_eval, CPU s | assay, CPU s | share | largest difference |")
    print("| --- | ---: | ---: | ---: | ---: |", flush=True)
    if options.tasks or both:
        by_name()
    if options.model or both:
        by_model()


def by_name() -> None:
    """Both programs once over all tasks, start-up included; assay before and after it has kept lm_eval's names.

    lm_eval makes no bootstrap here, which by default takes it longer than everything else; assay does.
    """
    names = [task for task in tasks() if task != SHIFTING]
    with tempfile.TemporaryDirectory() as folder, setting(Path(folder), names) as here:
        plans = [json.dumps({"task": name}) for name in names]
        where = [here.address, str(here.tokenizer), str(here.folder / "theirs.json")]
        their_seconds = here.theirs("each", *where, *plans)
        first = here.ours(names, "long", here.folder / "first")
        again = here.ours(names, "long", here.folder / "again")
    for what, seconds in ((f"{len(names)} tasks, first run", first), (f"{len(names)} tasks, later runs", again)):
        print(f"| {what} | {their_seconds:.1f} | {seconds:.1f} | {seconds / their_seconds:.2f} | |", flush=True)


def by_model() -> None:
    """Five-shot MMLU on a small model with random weights, in the process."""
    if not SHARED.is_dir():
        print("left out: needs the benchmark files that `ASSAY_SHARED_DATA` names")
        return
    names = [f"mmlu_{subject}" for subject in SUBJECTS]
    with tempfile.TemporaryDirectory() as folder, setting(Path(folder), names) as here:
        model = _model(here)
        out = here.folder / "results"
        how = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--batch_size", "16"]
        flags = ["--num_fewshot", "5", "--log_samples", "--output_path", str(out), "--device", "cpu"]
        their_seconds = here.theirs("command", "run", *how, *flags, "--tasks", ",".join(names))
        run = here.folder / "run"
        many = ("--num-fewshot", "5", "--batch-size", "64", "--concurrency", "32")
        seconds = here.ours_local(names, f"transformers:{model}", run, *many)
        ours = dict(_our_likelihoods(run))
        far = max(abs(ours[key] - value) for key, value in _their_likelihoods(out))
    count = f"{len(ours):,} log-likelihoods"
    what = f"five-shot MMLU, {len(names)} subjects, {count}"
    print(f"| {what} | {their_seconds:.1f} | {seconds:.1f} | {seconds / their_seconds:.2f} | {far:.0e} |", flush=True)


def _model(here: Setting) -> Path:
    import torch
    import transformers

    folder = here.folder / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(here.tokenizer)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=512, intermediate_size=1024, num_hidden_layers=6,
        num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=4096, eos_token_id=0, bos_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def _their_likelihoods(out: Path) -> Iterator[tuple[tuple[str, str, int], float]]:
    for path in out.rglob("samples_*.jsonl"):
        task = path.stem.removeprefix("samples_").rpartition("_")[0]
        for line in path.read_text().splitlines():
            sample = json.loads(line)
            for place, response in enumerate(sample["filtered_resps"]):
                yield (task, str(sample["doc_id"]), place), float(response[0])


def _our_likelihoods(run: Path) -> Iterator[tuple[tuple[str, str, int], float]]:
    for record in read_records(run / "journal.jsonl"):
        for place, completion in enumerate(record.trace.completions if record.trace else ()):
            assert completion.logprob is not None
            yield (record.task, record.sample_id, place), completion.logprob


if __name__ == "__main__":
    main()
