"""Everything that reads a journal and could show a number of it: register a new surface here, with one line.

`test_damaged_journals.py` damages a run in every way, and each surface must refuse it; it also looks for commands,
requests of the viewer, methods of `assay.Run` and modules that read journals and are not here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import assay
from assay.cli.main import main
from assay.cli.running_scores import earlier_attempts
from assay.core.errors import UsageError
from assay.core.journal import Journal
from assay.costs.spending import spent_in
from assay.datasets.run_results import RunResults
from assay.results.marks import Mark, append_mark, marks_agreement
from assay.results.people_agreement import people_agreement
from assay.results.per_example import read_examples
from assay.results.worst_attempts import worst_attempts
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.shard_files import Shard, merge_shards, new_file, shard_files
from assay.runs.shards import merge_run
from assay.tasks.load import load_tasks
from assay.viewer.api import Api, Params
from assay.viewer.run_list import RunList


class Case(NamedTuple):
    """A run, and what else a surface may need."""

    run: Path
    """The run that is damaged."""
    intact: Path
    """Another run of the same tasks."""
    out: Path
    """A folder to write to."""
    api: Api
    """The viewer; it has looked at the run before it was damaged, or not."""
    key: str
    """The key of an attempt whose own line is intact."""


Surface = Callable[[Case], Any]
"""Raises `UsageError`, or exits with 2, where the run is damaged."""


class RefusedError(UsageError):
    """A command exited with 2."""


def command(*words: str) -> Surface:
    """A command line: RUN stands for the run, INTACT for another, OUT for a folder to write to."""

    def act(case: Case) -> None:
        places = {"RUN": case.run, "INTACT": case.intact, "OUT": case.out}
        if main([_placed(word, places) for word in words]) == 2:
            raise RefusedError("see stderr")

    return act


def _placed(word: str, places: dict[str, Path]) -> str:
    first, slash, rest = word.partition("/")
    return f"{places[first]}{slash}{rest}" if first in places else word


def request(name: str, *pairs: tuple[str, str]) -> Surface:
    """A request of the viewer's page; RUN, INTACT and KEY stand for their names."""

    def act(case: Case) -> Any:
        words = {"RUN": case.run.name, "INTACT": case.intact.name, "KEY": case.key}
        return getattr(case.api, name)(Params([(key, words.get(value, value)) for key, value in pairs]))

    return act


def in_list(case: Case) -> None:
    """The list of runs has no number of a damaged run, and says why."""
    [line] = [each for each in case.api.runs(Params([]))["runs"] if each["name"] == case.run.name]
    if "error" in line:
        assert set(line) == {"name", "error"}
        raise UsageError(line["error"])


def marked(case: Case) -> Any:
    return case.api.mark(json.dumps({"run": case.run.name, "key": case.key, "verdict": "right"}).encode())


def method(name: str, *given: Any) -> Surface:
    """A method of an opened run, or a property; what is lazy is read to its end."""

    def act(case: Case) -> None:
        value = getattr(assay.open_run(case.run), name)
        if callable(value):
            value = value(*given)
        if isinstance(value, Iterable):
            list(value)

    return act


def compared(case: Case) -> Any:
    return assay.open_run(case.intact).diff(assay.open_run(case.run))


def as_shard(case: Case, read: Callable[[Path], Any]) -> Any:
    """The damaged journal as the file of a shard; refusals name it."""
    shard = new_file(case.run, Shard(0, 100))
    shard.parent.mkdir(exist_ok=True)
    (case.run / "journal.jsonl").rename(shard)
    return read(case.run)


def merged_here(folder: Path) -> None:
    journal = Journal(folder / "journal.jsonl")
    try:
        merge_shards(folder, journal)
    finally:
        journal.close()


def marks(case: Case) -> Any:
    append_mark(case.run, Mark(key=case.key, task="sums", sample_id="s0", verdict="right"))
    return marks_agreement(case.run)


def people(case: Case) -> Any:
    """With a scorer that says it is a judge, as these runs have none."""
    path = case.run / "run.json"
    run = json.loads(path.read_text())
    part = run["definitions"][0]["scorers"][0]
    part["about"] = {**part["about"], "verdict": "score"}
    path.write_text(json.dumps(run))
    return people_agreement(case.run, "label")


def evaluated(case: Case) -> Any:
    """As a notebook, the pytest fixture and every run from Python resume."""
    return assay.evaluate(load_tasks(["tasks/sums.jsonl"]), "own:answer", folder=case.run)


JOURNAL = "journal.jsonl"
RUN_AGAIN = ("run", "tasks", "--model", "own:answer", "--quiet", "--run-dir")
SURFACES: dict[str, Surface] = {
    "show": command("show", "RUN"),
    "show --json": command("show", "RUN", "--where", "score<1", "--json"),
    "show --sample": command("show", "RUN", "--sample", "s0"),
    "show --where": command("show", "RUN", "--where", "score<1"),
    "show --where, words": command("show", "RUN", "--where", '"idea"'),
    "report": command("report", "RUN", "--output", "OUT/report.html"),
    "report of two": command("report", "INTACT", "RUN", "--output", "OUT/report.html"),
    "leaderboard": command("leaderboard", "RUN"),
    "leaderboard of two": command("leaderboard", "INTACT", "RUN", "--json"),
    "diff": command("diff", "RUN", "INTACT"),
    "diff, the other way": command("diff", "INTACT", "RUN"),
    "history": command("history", "INTACT", "RUN"),
    "plan": command("plan", "tasks/sums.jsonl", "--detect", "0.1", "--baseline", "RUN"),
    "export csv": command("export", "RUN"),
    "export jsonl": command("export", "RUN", "--format", "jsonl"),
    "export parquet": command("export", "RUN", "--output", "OUT/a.parquet"),
    "export tasks": command("export", "RUN", "--rows", "tasks"),
    "export --where": command("export", "RUN", "--where", "outcome:wrong"),
    "export --as-task": command("export", "RUN", "--where", "outcome:right", "--as-task", "OUT/t.jsonl"),
    "rescore": command("rescore", "RUN", "--run-dir", "OUT/rescored", "--quiet"),
    "run, resumed": command(*RUN_AGAIN, "RUN"),
    "run --dry-run": command(*RUN_AGAIN, "RUN", "--dry-run"),
    "run --shard": command(*RUN_AGAIN, "RUN", "--shard", "1/2"),
    "run --baseline": command(*RUN_AGAIN, "OUT/new", "--gate", "overall >= baseline", "--baseline", "RUN"),
    "run, budget": command(*RUN_AGAIN, "RUN", "--budget-tokens", "1000"),
    "merge": command("merge", "RUN"),
    "view --export": command("view", "--export", "OUT/site", "RUN"),
    "a shard, merged": lambda case: as_shard(case, merge_run),
    "a shard, in the driver": lambda case: as_shard(case, merged_here),
    "a shard, resumed": lambda case: as_shard(
        case, lambda folder: EarlierAttempts(*(path for _, path in shard_files(folder)))
    ),
    "viewer: runs": in_list,
    "viewer: run": request("run", ("run", "RUN")),
    "viewer: samples": request("samples", ("run", "RUN")),
    "viewer: samples of two": request("samples", ("run", "INTACT"), ("run", "RUN")),
    "viewer: samples against": request("samples", ("run", "INTACT"), ("against", "RUN")),
    "viewer: samples, words": request("samples", ("run", "RUN"), ("q", "idea")),
    "viewer: neighbours": request("neighbours", ("run", "RUN"), ("key", "KEY")),
    "viewer: sample": request("sample", ("run", "RUN"), ("key", "KEY")),
    "viewer: slices": request("slices", ("run", "RUN"), ("by", "task")),
    "viewer: compare": request("compare", ("run", "INTACT"), ("run", "RUN")),
    "viewer: marks": request("marks", ("run", "RUN")),
    "viewer: charts": request("charts", ("run", "RUN")),
    "viewer: charts of two": request("charts", ("run", "INTACT"), ("run", "RUN")),
    "viewer: history": request("history"),
    "viewer: download": request("download", ("run", "RUN"), ("format", "csv")),
    "viewer: mark": marked,
    "Run.leaderboard": method("leaderboard"),
    "Run.notes": method("notes"),
    "Run.attempts": method("attempts"),
    "Run.samples": method("samples"),
    "Run.sample": method("sample", "s0"),
    "Run.failures": method("failures"),
    "Run.costs": method("costs"),
    "Run.to_arrow": method("to_arrow"),
    "Run.to_pandas": method("to_pandas"),
    "Run.to_polars": method("to_polars"),
    "Run.diff": compared,
    "evaluate": evaluated,
    "a run as a dataset": lambda case: list(RunResults(path=str(case.run)).rows()),
    "worst attempts": lambda case: worst_attempts(case.run / JOURNAL, {}, 3),
    "per example": lambda case: read_examples(case.run / JOURNAL, {}),
    "running scores": lambda case: list(earlier_attempts(case.run / JOURNAL)),
    "agreement with marks": marks,
    "agreement with people": people,
    "what a run spent": lambda case: spent_in(case.run / JOURNAL),
    "what is finished": lambda case: EarlierAttempts(case.run / JOURNAL),
}

READ_NO_JOURNAL = {
    *("validate", "trust", "check", "list", "score", "schema", "doctor", "model", "recipe", "import", "init"),
    *("completion", "optimize", "lock"),
}
"""Commands that read no journal of a run; that of a search has tests of its own."""
NAME_DAMAGE = {"verify", "repair"}
"""Commands that are for damaged runs."""
NO_NUMBERS = {"folder", "name", "model", "tasks", "provenance"}
"""What an opened run says without reading its journal."""

READERS = {
    "cli/running_scores.py": "running scores",
    "cli/show_run.py": "show --where",
    "costs/spending.py": "what a run spent",
    "datasets/run_results.py": "a run as a dataset",
    "results/board/journal_table.py": "leaderboard",
    "results/diff/paired_columns.py": "diff",
    "results/frames/frame_source.py": "Run.attempts",
    "results/marks.py": "agreement with marks",
    "results/people_agreement.py": "agreement with people",
    "results/per_example.py": "per example",
    "results/worst_attempts.py": "worst attempts",
    "runs/earlier_attempts.py": "what is finished",
    "runs/folder.py": "run, resumed",
    "runs/later/rescore.py": "rescore",
    "runs/shard_files.py": "a shard, merged",
    "viewer/run_view.py": "viewer: runs",
}
"""Modules that read journals, each with a surface that goes through it."""
OF_SEARCHES = {"optimize/journal.py", "viewer/searches.py"}
"""Modules that read the journals of searches."""
SEE_DAMAGE = {"runs/later/integrity.py", "runs/later/repair.py", "viewer/index.py", "viewer/word_index.py"}
"""Modules that get damaged lines, rather than being refused: two name them, and two stop at the first."""


def viewer_of(*runs: Path) -> Api:
    return Api(RunList(list(runs)))
