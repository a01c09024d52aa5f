"""Small real runs to compare and report: tasks of sums, and models that miss the ones a test names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.results.standings.standing_rows import Standings, standings_of
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks


def write_sums(
    folder: Path,
    name: str,
    count: int,
    *,
    metadata: Callable[[int], Mapping[str, Any]] = lambda n: {},
    metric: str = "exact_match",
    prompt: str = "compute: {n} + 1",
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    with path.open("w") as file:
        for n in range(count):
            line = {
                "id": f"s{n}",
                "prompt": prompt.format(n=n),
                "targets": [str(n + 1)],
                "metric": metric,
                "metadata": metadata(n),
            }
            file.write(json.dumps(line) + "\n")
    return path


class Adder:
    """Adds right but for the numbers it should miss."""

    def __init__(self, wrong: Iterable[int] = (), *, name: str = "adder", says: str = "no idea") -> None:
        self.name = name
        self._wrong = set(wrong)
        self._says = says

    def generate(self, prompts: list[str]) -> list[str]:
        return [self._says if number(prompt) in self._wrong else str(number(prompt) + 1) for prompt in prompts]


class Broken(Adder):
    """Cannot answer some numbers at all: one and the same model, whatever is broken at the moment."""

    settings: ClassVar[dict[str, str]] = {}

    def __init__(self, broken: Iterable[int], wrong: Iterable[int] = ()) -> None:
        super().__init__(wrong, name="broken")
        self._broken = set(broken)

    def generate(self, prompts: list[str]) -> list[str]:
        if self._broken.intersection(number(prompt) for prompt in prompts):
            raise ValueError("the line is down")
        return super().generate(prompts)


def number(prompt: str) -> int:
    return int(prompt.split(": ")[1].split(" ", maxsplit=1)[0])


def run_into(folder: Path, tasks: Path, model: object, **changes: Any) -> Path:
    """The run folder of a finished run."""
    batches = {"batch_size": 1} if isinstance(model, Broken) else {}
    config = RunConfig(**{"concurrency": 8, **batches, **changes})
    run_evaluation(load_tasks([str(tasks)]), config, model=model, folder=folder)
    return folder


def build_standings(sources: Sequence[Path | str], view: View | None = None, **how: Any) -> Standings:
    """Run folders and leaderboard files, read and ranked."""
    view = view or View()
    return standings_of([read_side(source, view) for source in sources], view, **how)
