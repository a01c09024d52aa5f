"""Makes a run folder of any size for measuring the viewer: five tasks, every outcome, words as texts have them."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec

from assay.core.types import Completion, DatasetSpec, Failure, PartSpec, Record, Score, TaskDefinition, Trace
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile

TASKS = ("arithmetic", "capitals", "choices", "summaries", "entities")
TOPICS = [f"topic-{number}" for number in range(40)]
LEVELS = ("easy", "medium", "hard")


def make_run(folder: Path, samples: int, *, model: str = "bench-model", skill: float = 0.7, seed: int = 0) -> Path:
    """Write `run.json` and a journal with this many lines."""
    folder.mkdir(parents=True, exist_ok=True)
    each = samples // len(TASKS)
    (folder / "run.json").write_bytes(msgspec.json.encode(run_file(each, model)))
    encode = msgspec.json.Encoder().encode
    chance = random.Random(seed)
    vocabulary = words(chance)
    with open(folder / "journal.jsonl", "wb", buffering=1 << 20) as file:
        for number in range(samples):
            file.write(encode(record(number, samples, chance, vocabulary, skill)) + b"\n")
    return folder


def words(chance: random.Random) -> list[str]:
    """Text whose words are as unevenly common as words are."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    known = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(20_000)]
    return chance.choices(known, weights=[1 / (rank + 1) for rank in range(len(known))], k=1_000_000)


def record(number: int, samples: int, chance: random.Random, vocabulary: list[str], skill: float) -> Record:
    task, index = number * len(TASKS) // samples, number % max(1, samples // len(TASKS))
    start = (number * 7919) % (len(vocabulary) - 40)
    prompt = f"Question {number}: {' '.join(vocabulary[start : start + 12])}?"
    answer = " ".join(vocabulary[start + 14 : start + 20])
    dice = chance.random()
    metadata = {"difficulty": LEVELS[index % 3], "topic": TOPICS[index % 40]}
    common = {
        "key": key_of(number),
        "task": TASKS[min(task, len(TASKS) - 1)],
        "sample_id": f"s-{index:07}",
        "index": index,
        "targets": (" ".join(vocabulary[start + 14 : start + 16]),),
        "metadata": metadata,
        "seconds": round(0.2 + chance.random(), 6),
    }
    if dice > 0.98:
        kind = "timeout" if dice > 0.99 else "rate_limit"
        return Record(**common, failures=(Failure(stage="model", kind=kind, message=f"gave up: {kind}", part="m"),))
    value = 1.0 if dice < skill else (0.5 if dice > 0.95 else 0.0)
    done = Completion(text=answer, finish_reason="stop", tokens_in=20, tokens_out=7, seconds=0.2)
    trace = Trace(prediction=answer, prompt=prompt, completions=(done,))
    return Record(**common, trace=trace, scores=(Score(name="match", values={"score": value}, answer=answer[:20]),))


def key_of(number: int) -> str:
    return f"{(number * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF:016x}"


def run_file(each: int, model: str) -> RunFile:
    definitions = tuple(
        TaskDefinition(
            name=name,
            format="task_folder",
            dataset=DatasetSpec(use="json_lines", sha256=name.encode().hex(), size=each),
            solver=PartSpec(key="single_turn", use="single_turn"),
            scorers=(PartSpec(key="match", use="metric", options={"metric": "exact_match"}),),
            aggregates=(PartSpec(key="score", use="mean", options={"field": "score"}),),
            metric="exact_match",
        )
        for name in TASKS
    )
    return RunFile(
        schema=RUN_SCHEMA,
        fingerprint=f"bench-{model}-{each}",
        tasks={name: name for name in TASKS},
        model={"name": model},
        settings={},
        config=RunConfig(model=model),
        definitions=definitions,
        versions={},
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=["assay", "run", "tasks/", "--model", model],
    )
