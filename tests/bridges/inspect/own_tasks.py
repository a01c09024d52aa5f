"""A file of tasks for Inspect, as someone would have written it."""

from __future__ import annotations

from pathlib import Path

SOURCE = '''\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, MemoryDataset, Sample, hf_dataset, json_dataset
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import answer, choice, exact, f1, includes, match, model_graded_fact, pattern, scorer, accuracy
from inspect_ai.solver import (
    chain_of_thought, generate, multiple_choice, prompt_template, self_critique, solver, system_message, use_tools,
)


def questions(count):
    kinds = ["even", "odd"]
    return [
        Sample(input=f"What is {n} + {n % 3}?", target=str(n + n % 3), metadata={"kind": kinds[n % 2]})
        for n in range(count)
    ]


@task
def sums(count: int = 12):
    """Sums after a system message.

    And more words."""
    steps = [system_message("You add {kind} numbers."), prompt_template("Q: {prompt}\\nA:"), generate(max_tokens=20)]
    config = GenerateConfig(temperature=0.5, seed=3, stop_seqs=["END"], frequency_penalty=0.25, max_retries=2)
    return Task(dataset=questions(count), solver=steps, scorer=[match(numeric=True), includes()], config=config)


@task
def letters(shuffle: bool = False):
    samples = [
        Sample(input=f"Which is {n}?", choices=["red", "blue", "日本"], target="ABC"[n % 3], id=f"q{n}")
        for n in range(9)
    ]
    dataset = MemoryDataset(samples)
    dataset.shuffle_choices(seed=4)
    return Task(dataset=dataset, solver=multiple_choice(cot=True, shuffle=shuffle), scorer=choice(), epochs=2)


@task
def several():
    samples = [Sample(input=f"Which are {n}?", choices=list("wxyz"), target=["A", "C"]) for n in range(6)]
    return Task(dataset=samples, solver=multiple_choice(multiple_correct=True), scorer=choice())


@task
def written():
    samples = [Sample(input=f"Say {n}", target=["red", "the blue"]) for n in range(9)]
    scorers = [exact(), f1(), pattern(r"(?i)answer(?: is)?:? *([A-Z0-9]+)"), answer("line"), match(location="any")]
    return Task(dataset=samples, solver=[chain_of_thought(), generate()], scorer=scorers)


@task
def graded():
    asked = [ChatMessageSystem(content="Be brief."), ChatMessageUser(content="Why?")]
    samples = [Sample(input=asked if n else "Why not?", target=f"because {n}") for n in range(6)]
    return Task(dataset=samples, scorer=model_graded_fact(model="openai/gpt-9"))


@task
def with_a_file():
    return Task(dataset=json_dataset("rows.jsonl", FieldSpec(input="q", target="a")), scorer=exact())


@task
def of_the_hub():
    return Task(dataset=hf_dataset("some/where", split="test", sample_fields=FieldSpec(input="q", target="a")),
                scorer=exact())


@solver
def own_solver():
    async def solve(state, generate):
        return state
    return solve


@scorer(metrics=[accuracy()])
def own_scorer():
    async def score(state, target):
        return None
    return score


@task
def with_tools():
    return Task(dataset=questions(2), solver=[use_tools(), generate()], scorer=includes(), sandbox="docker")


@task
def with_own_parts():
    return Task(dataset=questions(2), solver=[own_solver(), generate(), self_critique()], scorer=own_scorer())


@task
def with_files():
    return Task(dataset=[Sample(input="x", target="y", files={"a": "b"})], scorer=includes())


@task
def with_schema():
    return Task(dataset=questions(1), scorer=includes(), config=GenerateConfig(num_choices=3))


@task(name="renamed")
def called_otherwise():
    return Task(dataset=questions(1), scorer=includes())
'''


def write_own_tasks(folder: Path) -> Path:
    """The file, in a folder that is a project."""
    (folder / "pyproject.toml").write_text("")
    (folder / "rows.jsonl").write_text('{"q": "1?", "a": "one"}\n{"q": "2?", "a": "two"}\n')
    file = folder / "own.py"
    file.write_text(SOURCE)
    return file
