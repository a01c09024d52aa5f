"""A task of parts of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay.models.adapters.toy import ToyModel
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks

OWN = '''
import pathlib
pathlib.Path("{mark}").touch()

from assay import Completion, Request, Sample, Score, Summary, Trace


class Shouts:
    """1.0 when the answer is in capitals; `least` letters are wanted."""

    only_computes = True

    def __init__(self, key, *, least: int = 1):
        self.name, self._least = key, least

    async def __call__(self, sample, trace):
        loud = trace.prediction.isupper() and len(trace.prediction) >= self._least
        return Score(name=self.name, values={{"score": float(loud)}})


Loud = Shouts


class Twice:
    def __init__(self, *, suffix: str):
        self._suffix = suffix

    async def __call__(self, sample, model):
        text = sample.row["q"] if sample.row else sample.prompt
        first = await model.generate(Request(prompt=text + self._suffix))
        return Trace(prediction=first.text.upper(), prompt=text, completions=(first,))


def asking_twice(*, suffix: str):
    async def solve(sample, model):
        return await Twice(suffix=suffix)(sample, model)

    return solve


def share_of_best(table, *, field: str, level=0.95, times: float = 1.0):
    values = table.numbers(field).values
    return [Summary(name="best", value=float(max(values)) * times, scored=len(values), signature="max")]


class Letters:
    def __init__(self, *, letters: list[str]):
        self._letters = letters

    def __len__(self):
        return len(self._letters)

    def __iter__(self):
        return (Sample(id=letter, prompt=letter, row={{"q": "write: " + letter}}) for letter in self._letters)


def no_scorer(key):
    return object()


def shouting(key):
    return Shouts(key)


class Unnamed:
    name = "mine"

    async def __call__(self, sample, trace):
        return Score(name="mine", values={{"score": 1.0}})


def short(prediction, targets):
    return 1.0


class Blocking:
    name = "blocking"

    def __call__(self, sample, trace):
        return None


def answer(request):
    return Completion(text="x")
'''


DATASET = 'key: letters\ndisplay_name: L\nsource: {type: "MODULE:Letters", letters: [a, b, c]}\n'


Project = Callable[..., Path]


def run(path: Path, folder: Path) -> dict[str, float | None]:
    done = run_evaluation(load_tasks([str(path)]), RunConfig(model="toy"), model=ToyModel(), folder=folder)
    return {each.name: each.value for each in done.leaderboard.tasks[0].aggregates}


TASK = """\
key: loud
display_name: Loud
description: ""
definition:
  dataset: {key: letters}
  solver: {type: "MODULE:Twice", suffix: "!"}
  scorers:
    - type: "MODULE:Shouts"
      least: 2
      metrics:
        - {type: mean, field: score}
        - {type: "MODULE:share_of_best", field: score, times: 0.5}
"""
