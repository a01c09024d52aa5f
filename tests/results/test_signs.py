"""No surface says that the worse one is better: the sign of a difference is that of the aggregate's own number.

Every aggregate of the catalog and four of a stranger's, over random pairs of runs: what `diff`, gates, standings,
histories, slices, searches, exports and the viewer conclude agrees with B − A, or they conclude nothing.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import pytest
from tests.journals import write_lines

from assay.catalog import CATALOG
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import DatasetSpec, PartSpec, Record, Score, TaskDefinition
from assay.metrics.corpus_overlap import BLEU_COUNTS, CHRF_COUNTS, bleu_counts, chrf_counts
from assay.optimize.task_fitness import evaluation_of, measure_to_raise
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.ends import diff_ends
from assay.results.diff.paired_columns import read_side
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.history.timeline import HistorySource, histories
from assay.results.report_settings import View
from assay.results.standings.standing_rows import Standings, standings_of
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile, read_run_file
from assay.runs.finish import finish
from assay.tasks.descriptions import with_descriptions
from assay.viewer.api import Api, Params
from assay.viewer.run_list import RunList

OWN = """
from assay import Mean, Summary, Value, describes

def _mean(table, name):
    numbers = table.numbers(name)
    return [Summary(name="own", value=float(numbers.values.mean()), scored=len(numbers))]

@describes(Mean(value=Value(name="length")))
def described(table, *, level=0.95):
    return _mean(table, "length")

@describes(Mean(value=Value(name="score")))
def misdescribed(table, *, level=0.95):
    return _mean(table, "length")

@describes(Mean(value=Value(name="length", lower_is_better=True)))
def falling(table, *, level=0.95):
    return _mean(table, "length")

def silent(table, *, level=0.95):
    return _mean(table, "length")
"""
LENGTH = {"field": "length"}
COUNTS = {"num_true_positives_field": "tp", "num_false_negatives_field": "fn"}
CALLED = {"num_false_positives_field": "fp"}
CASES: dict[str, dict[str, Any]] = {
    "mean": LENGTH,
    "mean@undescribed": {"field": "is_correct"},
    "max": LENGTH,
    "min": LENGTH,
    "median": LENGTH,
    "quantile": {**LENGTH, "q": 0.75},
    "std_dev": LENGTH,
    "frequency": {"field": "said", "label": "yes"},
    "binary-classification": {
        "field_gt": "truth",
        "field_pred": "said",
        "positive_answer": "yes",
        "negative_answer": "no",
    },
    "multiclass-classification": {"field_gt": "truth", "field_pred": "said"},
    "agreement": {"fields": ["truth", "said"]},
    "recall": COUNTS,
    "precision": {"num_true_positives_field": "tp", **CALLED},
    "f1_score": {**COUNTS, **CALLED},
    "weighted_average": {"field": "said", "weights": {"yes": -2.0, "no": 5.0}},
    "repetitions": LENGTH,
    "python": {
        "compute_metrics_snippet": "def compute_metrics(scores):\n    return {'n': scores[0]['values']['length']}"
    },
    "evidence": {},
    "over_trials": {
        "trials": [{"name": "n", "field": "length", "function": "mean", "k": None}],
        "use": "mean",
        "options": {"field": "n"},
    },
    "corpus_bleu": {},
    "corpus_chrf": {},
    "bits_per_byte": {},
    "perplexity": {},
    "own_signs:described": {},
    "own_signs:misdescribed": {},
    "own_signs:falling": {},
    "own_signs:silent": {},
}
OTHER_PROGRAMS = {"lm_eval"}
"""Their numbers need an installed library; they are described as wholes, as `python` is."""
SILENT = {
    "max",
    "min",
    "median",
    "quantile",
    "std_dev",
    "python",
    "evidence",
    "own_signs:silent",
    "own_signs:misdescribed",
}
BELIEVED = "own_signs:misdescribed"
"""A search asks before there is a run that what an aggregate says of itself could be compared with."""
VIEW = View()


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_signs.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_signs", None)


def written(folder: Path, use: str, chance: random.Random, skill: float) -> Path:
    """A finished run whose `score` says the opposite of its `length`."""
    folder.mkdir(parents=True)
    definition = with_descriptions(
        TaskDefinition(
            name="t",
            format="declarative",
            dataset=DatasetSpec(use="inline", sha256="0", size=12),
            solver=PartSpec(key="solver", use="no_solver"),
            scorers=(PartSpec(key="own", use="python", options={"compute_scores_snippet": ""}),),
            aggregates=(PartSpec(key="first", use=use.partition("@")[0], options={"scorer": "own", **CASES[use]}),),
            metric=use,
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
    records = [
        Record(
            key=f"{index << 8 | 1:016x}",
            task="t",
            sample_id=f"s{index}",
            index=index,
            targets=("x",),
            metadata={"half": "first" if index < 6 else "second"},
            scores=(Score(name="own", values=values(chance, skill)),),
        )
        for index in range(12)
    ]
    write_lines(folder / "journal.jsonl", records)
    asyncio.run(finish(folder, VIEW, trust=True))
    return folder


def values(chance: random.Random, skill: float) -> dict[str, Any]:
    size = 5 + chance.randrange(300)
    nats = size * (2.0 - skill) * chance.random()
    return {
        "length": 9.0 * skill + chance.random() * 3.0,
        "score": float(chance.random() > skill),
        "is_correct": chance.random() > skill,
        "truth": chance.choice(["yes", "no"]),
        "said": "yes" if chance.random() < skill else "no",
        **{name: float(chance.randrange(4)) for name in ("tp", "fp", "fn")},
        "nats": nats,
        "bytes": float(size),
        "words": float(1 + size // 5),
        "bits_per_byte": nats / size / math.log(2),
        **dict(zip(BLEU_COUNTS, map(float, bleu_counts(*texts(chance, skill))), strict=True)),
        **dict(zip(CHRF_COUNTS, map(float, chrf_counts(*texts(chance, skill))), strict=True)),
    }


def texts(chance: random.Random, skill: float) -> tuple[str, str]:
    """An answer, some of whose words are those of the target."""
    target = [chance.choice("abcdefg") * 2 for _ in range(8)]
    return " ".join(word if chance.random() < skill else "zz" for word in target), " ".join(target)


def signs_of(a: Path, b: Path) -> tuple[float | None, dict[str, float]]:
    """The sign of B − A, upwards, and those of everything that was concluded."""
    rows = [build_leaderboard(folder).tasks[0] for folder in (a, b)]
    change = None if rows[0].score is None or rows[1].score is None else rows[1].score - rows[0].score
    found: dict[str, float] = {}
    compared = diff(a, b, VIEW)
    task = msgspec.to_builtins(compared)["tasks"][0]
    [pair] = Api(RunList([a.parent])).compare(Params([("run", a.name), ("run", b.name)]))["pairs"]
    tested = [task["comparison"]["p_value"]] if task["comparison"]["n"] else []
    assert [item["p_value"] for item in pair["tasks"]] == pytest.approx(tested)
    sources = [HistorySource(run.name, read_run_file(run), partial(read_side, run, VIEW)) for run in (a, b)]
    [history] = histories(sources, VIEW, task="t", line="all")
    found["history"] = {"better": 1.0, "worse": -1.0}.get(history.runs[-1].verdict, 0.0)
    if task["comparison"]["n"]:
        found["viewer"] = pair["tasks"][0]["difference"]
        found["diff"] = task["comparison"]["difference"]
        found["verdict"] = float("B is better" in task["verdict"]) - float("B is worse" in task["verdict"])
    gates = parse_gates(["no-significant-drop"])
    board = build_leaderboard(b)
    [gate] = check_gates(gates, board, baseline=build_leaderboard(a), pairs=partial(diff_ends, a, b, VIEW))
    if gate.outcome == "not met":
        found["gate"] = -1.0
    if gate.outcome == "met" and not task["comparison"]["n"]:
        found["blind gate"] = math.nan
    standing = {row.model: row for row in build(a, b).models}
    first, second = standing[a.name], standing[b.name]
    found["rank"] = float(first.rank_low - second.rank_low)
    for name, turn in (("normalised", 1.0), ("win_rate", 1.0), ("mean_rank", -1.0)):
        if getattr(first, name) is not None:
            found[name] = turn * (getattr(second, name) - getattr(first, name))
    lower = rows[0].lower_is_better
    return (None if change is None or lower is None else -change if lower else change), found


@pytest.mark.parametrize("use", CASES)
def test_what_is_concluded_has_the_sign_of_the_numbers(use: str, tmp_path: Path) -> None:
    for seed in range(4):
        chance = random.Random(seed)
        skills = (0.2, 0.8) if seed % 2 else (chance.random(), chance.random())
        sides = [
            written(tmp_path / str(seed) / name, use, chance, skill) for name, skill in zip("ab", skills, strict=True)
        ]
        change, found = signs_of(*sides)
        for surface, sign in found.items():
            if change is None:
                assert sign == 0.0, (surface, seed)
            else:
                assert sign * change >= 0.0, (surface, seed)
        assert (use in SILENT) <= ("diff" not in found)


@pytest.mark.parametrize("use", CASES)
def test_slices_searches_and_exports_have_the_sign_of_the_numbers(use: str, tmp_path: Path) -> None:
    chance = random.Random(5)
    a, b = written(tmp_path / "a", use, chance, 0.2), written(tmp_path / "b", use, chance, 0.8)
    by_half = View(by=("half",))
    before, after = (build_leaderboard(folder, by_half).tasks[0] for folder in (a, b))
    turn = -1.0 if before.lower_is_better else 1.0
    ends = {row.value: row.score for row in after.slices}
    changes = {row.value: turn * (ends[row.value] - row.score) for row in before.slices if row.score is not None}
    for row in diff(a, b, by_half).tasks[0].slices:
        assert row.comparison.difference * changes[row.value] >= 0.0, row.value
    exported = tmp_path / "tasks.jsonl"
    assert main(["export", str(a), str(b), "--rows", "tasks", "--output", str(exported)]) == 0
    rows = [msgspec.json.decode(line) for line in exported.read_bytes().splitlines()]
    assert [row["score"] for row in rows] == [before.score, after.score]
    worth = [searched(folder) for folder in (a, b)]
    assert (worth[0] is None) == (worth[1] is None)
    if worth[0] is not None and worth[1] is not None:
        assert use not in SILENT - {BELIEVED}
        assert before.score is not None
        assert after.score is not None
        assert use == BELIEVED or (worth[1] - worth[0]) * turn * (after.score - before.score) >= 0.0


def searched(folder: Path) -> float | None:
    """What a search would make of a run's attempts; None where it refuses the task."""
    try:
        measure = measure_to_raise(read_run_file(folder).definitions[0])
    except UsageError:
        return None
    return fmean(evaluation_of(record, measure, "t").score for record in read_records(folder / "journal.jsonl"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mean", "own_signs:falling"),
        ("own_signs:described", "mean"),
        ("mean", "frequency"),
        ("binary-classification", "own_signs:described"),
        ("weighted_average", "agreement"),
        ("mean", "bits_per_byte"),
        ("recall", "mean"),
        ("corpus_bleu", "recall"),
    ],
)
def test_a_score_that_became_another_number_is_not_compared(before: str, after: str, tmp_path: Path) -> None:
    """`own_signs:described` and `mean` are the same number here, whoever computes it."""
    chance = random.Random(1)
    a, b = written(tmp_path / "a", before, chance, 0.2), written(tmp_path / "b", after, chance, 0.8)
    found = signs_of(a, b)[1]
    task = msgspec.to_builtins(diff(a, b, VIEW))["tasks"][0]
    if {before, after} == {"mean", "own_signs:described"}:
        assert found["verdict"] == 1.0
        return
    assert found == {"rank": 0.0, "history": 0.0}
    assert task["change"] is None
    assert re.search("different|lower one in another|another is not", task["verdict"])
    [note] = [note for note in build(a, b).notes if "no model is ranked by it" in note]
    assert note.startswith("t: ")


def build(*runs: Path) -> Standings:
    return standings_of([read_side(run, VIEW) for run in runs], VIEW)


def test_every_aggregate_of_the_catalog_is_tried() -> None:
    assert set(CASES) >= {*CATALOG["aggregate"]} - OTHER_PROGRAMS
