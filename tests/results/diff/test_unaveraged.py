"""Scores that average nothing are compared from run folders: a quantile, and what only a stranger's code computes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.journals import write_lines

from assay.core.types import DatasetSpec, Failure, PartSpec, Record, Score, TaskDefinition
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.differences import TaskDiff
from assay.results.diff.ends import diff_ends
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.report_settings import View
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile
from assay.runs.finish import finish
from assay.tasks.descriptions import with_descriptions

SAMPLES = 120
OWN = """
from assay import Summary, Whole, describes

def _summary(name, value):
    return [Summary(name=name, value=float(value))]

@describes(Whole(lower_is_better=True))
def middle(table, *, level=0.95):
    values = sorted(table.numbers("seconds").values)
    kept = values[len(values) // 4 : -(len(values) // 4)]
    return _summary("middle", sum(kept) / len(kept))

@describes(Whole(lower_is_better=True))
def longest(table, *, level=0.95):
    return _summary("longest", max(table.numbers("seconds").values))

def undirected(table, *, level=0.95):
    return _summary("undirected", max(table.numbers("seconds").values))
"""
MEDIAN = PartSpec(key="first", use="median", options={"field": "seconds", "lower_is_better": True})
VIEW = View()


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_unaveraged.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_unaveraged", None)


def written(
    folder: Path, part: PartSpec, slower: float, *, count: int = SAMPLES, turned: bool = False, fails: int = 0
) -> Path:
    """A finished run whose samples take from 1 to 51 seconds, some of them longer the slower it is."""
    folder.mkdir()
    part = msgspec.structs.replace(part, options={"scorer": "own", **part.options})
    definition = with_descriptions(
        TaskDefinition(
            name="t",
            format="declarative",
            dataset=DatasetSpec(use="inline", sha256="0", size=count),
            solver=PartSpec(key="solver", use="no_solver"),
            scorers=(PartSpec(key="own", use="python", options={"compute_scores_snippet": ""}),),
            aggregates=(part,),
            metric=part.use,
        )
    )
    run = RunFile(
        schema=RUN_SCHEMA,
        fingerprint=folder.name,
        tasks={"t": "t"},
        model={"name": folder.name},
        settings={},
        config=RunConfig(),
        definitions=(definition,),
        versions={},
        created="",
    )
    (folder / "run.json").write_bytes(msgspec.json.encode(run))
    names = [f"s{number}" for number in range(count)]
    records = [_record(index, name, slower, fails) for index, name in enumerate(names[::-1] if turned else names)]
    write_lines(folder / "journal.jsonl", records)
    asyncio.run(finish(folder, VIEW, trust=True))
    return folder


def _record(index: int, name: str, slower: float, fails: int) -> Record:
    number = int(name[1:])
    known: dict[str, Any] = {"key": f"{index << 8 | 1:016x}", "task": "t", "sample_id": name, "index": index}
    if number < fails:
        return Record(**known, targets=("x",), failures=(Failure(stage="model", kind="down", message=""),))
    seconds = 1.0 + number * 37 % 51 + slower * (number * 11 % 7) + number / 1000.0
    return Record(**known, targets=("x",), scores=(Score(name="own", values={"seconds": seconds}),))


def own_part(name: str) -> PartSpec:
    return PartSpec(key="first", use=f"own_unaveraged:{name}")


def only(a: Path, b: Path) -> TaskDiff:
    [task] = diff(a, b, VIEW).tasks
    return task


@pytest.mark.parametrize("part", [MEDIAN, own_part("middle")], ids=["median", "a stranger's"])
def test_a_worse_score_is_found_whatever_the_order_of_the_samples(tmp_path: Path, part: PartSpec) -> None:
    a, b = written(tmp_path / "a", part, 0.0), written(tmp_path / "b", part, 4.0)
    turned = written(tmp_path / "turned", part, 4.0, turned=True)
    task, again = only(a, b), only(a, turned)
    assert task.verdict.startswith("B is worse: -")
    assert "over 120 pairs" in task.verdict
    assert "resamples that both scores were computed over" in task.verdict
    assert task.comparison is not None
    assert again.comparison is not None
    assert again.comparison.interval == task.comparison.interval
    change = (task.score_b or 0.0) - (task.score_a or 0.0)
    assert task.comparison.difference == pytest.approx(-change)  # lower is better


def test_a_gate_stops_a_worse_one_and_its_basis_names_the_test(tmp_path: Path) -> None:
    part = own_part("middle")
    a, b = written(tmp_path / "a", part, 0.0), written(tmp_path / "b", part, 4.0)
    for second, outcome in ((b, "not met"), (a, "met")):
        gates = parse_gates(["no-significant-drop"])
        pairs = partial(diff_ends, a, second, VIEW)
        [gate] = check_gates(gates, build_leaderboard(second), baseline=build_leaderboard(a), pairs=pairs)
        assert (gate.outcome, second.name) == (outcome, second.name)
    assert gate.basis is not None


@pytest.mark.parametrize(
    ("part", "count", "fails", "reason"),
    [
        (own_part("longest"), SAMPLES, 0, "it hangs on 1 of 120 samples"),
        (own_part("undirected"), SAMPLES, 0, "is known to be better"),
        (own_part("middle"), 60, 0, "a test needs 100"),
        (own_part("middle"), SAMPLES, 1, "not over the same samples"),
        (MEDIAN, 60, 0, "fewer than 100"),
    ],
)
def test_where_there_is_no_test_there_is_no_verdict_and_the_reason(
    tmp_path: Path, part: PartSpec, count: int, fails: int, reason: str
) -> None:
    a = written(tmp_path / "a", part, 0.0, count=count)
    b = written(tmp_path / "b", part, 4.0, count=count, fails=fails)
    [task] = diff(a, b, VIEW, allow_unequal=True).tasks
    assert reason in task.verdict
    assert task.comparison is not None
    assert task.comparison.p_value is None
    [gate] = check_gates(
        parse_gates(["no-significant-drop"]),
        build_leaderboard(b),
        baseline=build_leaderboard(a),
        pairs=partial(diff_ends, a, b, VIEW),
    )
    assert gate.outcome == "cannot tell"


def test_a_number_that_one_sample_decides_has_no_interval_and_says_so(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", own_part("longest"), 0.0)
    [kept] = json.loads((folder / "python_metrics.json").read_text())["t"]["metrics"].values()
    assert kept["hanging"] == {"longest": "it hangs on 1 of 120 samples or groups, and needs at least 5"}
    assert kept["draws"] == {}
