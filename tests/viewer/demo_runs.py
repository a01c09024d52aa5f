"""Run folders with every kind of outcome and with hostile content, for looking at and for tests."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec
from tests.journals import add_lines, write_lines

from assay.core.types import (
    Completion,
    DatasetSpec,
    Failure,
    Message,
    PartSpec,
    Record,
    Score,
    TaskDefinition,
    Trace,
)
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile
from assay.task_records import Provenance
from assay.tasks.descriptions import with_descriptions

HOSTILE = {
    "script": "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>",
    "link": "[click](javascript:window.hacked=3) <a href='javascript:window.hacked=4'>here</a>",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "rtl": "user\u202etxt.exe\u202c \u2066isolated\u2069",
    "nul": "before\x00after\x01\x7f",
    "svg": "<svg onload=window.hacked=5></svg><iframe srcdoc='<script>parent.hacked=6</script>'></iframe>",
}
TASKS = ("arithmetic", "capitals", "summaries", "programs")
CAPITALS = [("France", "Paris"), ("Japan", "Tokyo"), ("Peru", "Lima"), ("Kenya", "Nairobi"), ("Norway", "Oslo")]


def make_demo(
    folder: Path,
    *,
    model: str = "small-model",
    skill: float = 0.7,
    each: int = 40,
    seed: int = 1,
    hostile: bool = False,
) -> Path:
    """One finished run: right, partly right, wrong, unparsed, excluded, failed, timed out, retried."""
    folder.mkdir(parents=True, exist_ok=True)
    run = run_file(model, each)
    (folder / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=2))
    chance = random.Random(f"{model}-{seed}")
    lines = [line for task in TASKS for index in range(each) for line in attempt(task, index, chance, skill)]
    if hostile:
        lines += [hostile_record(n, name, text) for n, (name, text) in enumerate(HOSTILE.items(), start=each)]
    write_lines(folder / "journal.jsonl", lines)
    write_leaderboard_file(folder / "leaderboard.json", build_leaderboard(folder))
    return folder


def make_hostile(folder: Path) -> Path:
    """A run whose journal also holds a 5 MB answer."""
    make_demo(folder, model="<b onmouseover=alert(1)>hostile</b>", each=4, hostile=True)
    long = record("capitals", 90, answer="long answer " + "x" * 5_000_000, value=0.0)
    add_lines(folder / "journal.jsonl", long)
    (folder / "leaderboard.json").unlink()
    return folder


def attempt(task: str, index: int, chance: random.Random, skill: float) -> list[Record]:
    dice = chance.random()
    if index % 13 == 5:
        return [failed(task, index, "timeout", "no answer within 30 s")]
    if index % 17 == 7:
        broken = failed(task, index, "rate_limit", "429 Too Many Requests, gave up after 5 retries")
        return [broken] if index % 2 else [broken, record(task, index, **MAKERS[task](index, True))]
    if task == "capitals" and index % 11 == 3:
        said = record(task, index, answer="I would rather not say.", value=0.0, extracted=False)
        return [said]
    made = record(task, index, **MAKERS[task](index, dice < skill))
    if index % 19 == 9:
        made = msgspec.structs.replace(made, excluded=("too_easy",))
    return [made]


def record(task: str, index: int, *, answer: str, value: float, **more: Any) -> Record:
    prompt = more.pop("prompt", f"Question {index} of {task}: what comes next?")
    targets = more.pop("targets", ("42",))
    read = more.pop("read", None)
    reason, metadata = more.pop("reason", None), more.pop("evidence", None)
    extracted = more.pop("extracted", True)
    messages = more.pop("messages", None)
    score = Score(
        name={"programs": "code", "summaries": "judge"}.get(task, "match"),
        values={"score": value, **({"grade": "good" if value > 0.5 else "poor"} if task == "summaries" else {})},
        answer=read,
        extracted=extracted,
        reason=reason,
        metadata=metadata,
    )
    done = Completion(
        text=answer,
        finish_reason="stop",
        tokens_in=30 + index,
        tokens_out=5 + index % 9,
        seconds=0.3,
        retries=index % 3,
    )
    trace = Trace(prediction=answer, prompt=None if messages else prompt, messages=messages, completions=(done,))
    return Record(
        key=key_of(task, index),
        task=task,
        sample_id=f"{task[:3]}-{index:03}",
        index=index,
        targets=targets,
        metadata={"difficulty": ("easy", "medium", "hard")[index % 3], "year": 2000 + index % 4},
        trace=trace,
        scores=(score,),
        seconds=0.35 + (index % 10) / 7,
    )


def failed(task: str, index: int, kind: str, message: str) -> Record:
    raised = 'Traceback (most recent call last):\n  File "own_model.py", line 7, in <listcomp>'
    failure = Failure(stage="model", kind=kind, message=message, part="small-model", retryable=True, traceback=raised)
    return Record(
        key=key_of(task, index),
        task=task,
        sample_id=f"{task[:3]}-{index:03}",
        index=index,
        targets=("42",),
        metadata={"difficulty": ("easy", "medium", "hard")[index % 3]},
        failures=(failure,),
        seconds=30.0 if kind == "timeout" else 4.0,
    )


def key_of(task: str, index: int) -> str:
    return f"{(hash_of(task) + index * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF:016x}"


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode()[:8], "big")


def arithmetic(index: int, right: bool) -> dict[str, Any]:
    a, b = 17 + index * 3, 5 + index
    said = str(a * b if right else a * b + 10)
    return {
        "prompt": f"Compute {a} × {b}. Answer with the number alone.",
        "answer": f"{a} × {b} is {said}.",
        "read": said,
        "targets": (str(a * b),),
        "value": float(right),
    }


def capitals(index: int, right: bool) -> dict[str, Any]:
    land, capital = CAPITALS[index % len(CAPITALS)]
    said = capital if right else CAPITALS[(index + 1) % len(CAPITALS)][1]
    messages = (
        Message(role="system", content="You answer questions on geography with one word."),
        Message(role="user", content=f"What is the capital of {land}?"),
    )
    return {"messages": messages, "answer": said, "targets": (capital,), "value": float(right)}


def summaries(index: int, right: bool) -> dict[str, Any]:
    gold = f"The committee met on day {index} and postponed the vote until spring because two members were ill."
    said = gold if right else f"The committee met on day {index} and took the vote because all members were present."
    value = 1.0 if right else round(0.2 + (index % 7) / 10, 2)
    evidence = {
        "judge": {"model": "judge-model", "tokens_in": 220, "tokens_out": 31, "seconds": 0.8},
        "prompt": f"You grade summaries from 1 to 10.\n\nReference:\n{gold}\n\nSummary:\n{said}\n\nGive a reason.",
        "verdict": {"score": round(value * 10), "reasoning": "keeps the facts" if right else "misses the outcome"},
    }
    return {
        "prompt": f"Summarise the minutes of meeting {index} in one sentence.\n\n" + "The chair opened. " * 12,
        "answer": said,
        "targets": (gold,),
        "value": value,
        "reason": "Keeps every fact." if right else "Says that the vote was taken; it was postponed.",
        "evidence": evidence,
    }


def programs(index: int, right: bool) -> dict[str, Any]:
    body = "    return a + b" if right else "    return a - b"
    held = 3 if right else 1
    checks: list[dict[str, Any]] = [
        {"check": f"add({n}, {n}) == {n * 2}", "outcome": "pass" if n < held or right else "wrong"} for n in range(3)
    ]
    if not right:
        checks[2] = {"check": "add(2, 2) == 4", "outcome": "error", "detail": "AssertionError: 0 != 4"}
    code = f"```python\ndef add(a, b):\n{body}\n```"
    return {
        "prompt": "Write a Python function `add(a, b)` that returns the sum.",
        "answer": code,
        "read": code.removeprefix("```python\n").removesuffix("\n```"),
        "targets": ("add(1, 1) == 2",),
        "value": 1.0 if right else round(1 / 3, 4),
        "evidence": {
            "checks": checks,
            "cpu_ms": 12.5,
            "grade": "container",
            "tier": "bubblewrap",
            **({} if right else {"stderr": "Traceback (most recent call last):\n  …\nAssertionError: 0 != 4\n"}),
        },
    }


MAKERS = {"arithmetic": arithmetic, "capitals": capitals, "summaries": summaries, "programs": programs}


def hostile_record(index: int, name: str, text: str) -> Record:
    made = record(
        "capitals", index, answer=text, value=0.0, prompt=f"{name}: {text}", targets=(text,), read=text, reason=text
    )
    score = msgspec.structs.replace(made.scores[0], metadata={text: text, "checks": [{"check": text, "outcome": text}]})
    return msgspec.structs.replace(made, sample_id=f"{name} {text}", metadata={"hostile": text}, scores=(score,))


def run_file(model: str, each: int) -> RunFile:
    definitions = tuple(
        with_descriptions(
            TaskDefinition(
                name=task,
                format="task_folder",
                dataset=DatasetSpec(use="json_lines", sha256=f"{hash_of(task):064x}", size=each),
                solver=PartSpec(key="single_turn", use="single_turn"),
                scorers=(PartSpec(key="match", use="metric", options={"metric": "exact_match"}),),
                aggregates=(PartSpec(key="score", use="mean", options={"field": "score"}),),
                metric={"summaries": "judge", "programs": "code_exec"}.get(task, "exact_match"),
                source=f"tasks/{task}.jsonl",
                provenance=Provenance(sample_field="id"),
            )
        )
        for task in TASKS
    )
    return RunFile(
        schema=RUN_SCHEMA,
        fingerprint=f"demo-{model}-{each}",
        tasks={task: f"{hash_of(task):064x}" for task in TASKS},
        model={"name": model, "url": "http://localhost:8000/v1"},
        settings={"generation": {"temperature": 0.2, "max_tokens": 256}, "repeat": 1, "limit": None},
        config=RunConfig(model=model, temperature=0.2, max_tokens=256, seed=7),
        definitions=definitions,
        versions={"python": "3.11.7", "assay-eval": "0.1.0", "numpy": "2.0"},
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=["assay", "run", "tasks/", "--model", f"openai:{model}", "--temperature", "0.2", "--seed", "7"],
    )


def marks(folder: Path) -> list[dict[str, Any]]:
    path = folder / "marks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
