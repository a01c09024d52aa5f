"""Parts are asked once what they are; the task's word counts more, and silence is unknown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay import catalog
from assay.core.describe import Mean, ScorerInfo, Value, Whole, share
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.tasks.descriptions import with_aggregates_described, with_descriptions

OWN = """
from assay import Score, Summary
from assay.core.describe import Mean, ScorerInfo, Value, describes

@describes(ScorerInfo(values=(Value(name="length", range=(0.0, 50.0), lower_is_better=True),)))
class Described:
    def __init__(self, key): self.name = key
    async def __call__(self, sample, trace): return Score(name=self.name, values={"length": 1.0})

class Silent(Described):
    pass

def plain(prediction, targets, extras):
    return 1.0

@describes(lambda options, values: Mean(value=values[options["field"]]))
def average(table, *, field, level=0.95):
    return []

def silent(table, *, level=0.95):
    return []
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_described.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_described", None)


def task(scorer: PartSpec, aggregate: PartSpec) -> TaskDefinition:
    solver, dataset = PartSpec(key="solver", use="no_solver"), DatasetSpec(use="inline")
    return TaskDefinition(
        name="t",
        format="declarative",
        dataset=dataset,
        solver=solver,
        scorers=(scorer,),
        aggregates=(aggregate,),
        metric="m",
    )


def said(scorer: str, aggregate: str, scored: dict[str, Any] | None = None, **options: Any) -> tuple[Any, Any]:
    parts = PartSpec(key="s", use=scorer, options=scored or {}), PartSpec(key="a", use=aggregate, options=options)
    described = with_descriptions(task(*parts))
    return described.scorers[0].about, described.aggregates[0].about


def test_an_aggregate_knows_the_values_of_its_scorer() -> None:
    scorer, aggregate = said("own_described:Described", "own_described:average", field="length")
    assert scorer.values == (Value(name="length", range=(0.0, 50.0), lower_is_better=True),)
    assert aggregate == Mean(value=scorer.values[0])


def test_a_description_is_not_inherited() -> None:
    assert said("own_described:Silent", "mean")[0] == ScorerInfo()


def test_silence_is_unknown() -> None:
    scorer, aggregate = said("own_described:Silent", "own_described:silent")
    assert (scorer, aggregate) == (ScorerInfo(), Whole(numbers=("*",)))
    assert said("own_described:Silent", "mean")[1] == Mean(value=Value(name="score"))


def test_a_plain_function_is_a_share() -> None:
    scorer, aggregate = said("metric", "mean", {"metric": "own_described:plain"})
    assert (scorer.values, aggregate) == ((share("score"),), Mean(value=share("score")))


def test_a_factory_named_as_a_metric_speaks_for_itself() -> None:
    scorer, _ = said("metric", "mean", {"metric": "own_described:Described"})
    assert [value.name for value in scorer.values] == ["length"]


def test_the_word_of_the_task_counts_more() -> None:
    _, aggregate = said("own_described:Described", "mean", field="length", bounds=[0, 9], lower_is_better=False)
    assert aggregate == Mean(value=Value(name="length", range=(0.0, 9.0)))
    _, whole = said("own_described:Silent", "own_described:silent", lower_is_better=True, bounds=[0, 1])
    assert (whole.lower_is_better, whole.range) == (True, (0.0, 1.0))


def test_without_own_code_no_strangers_aggregate_is_asked() -> None:
    parts = PartSpec(key="s", use="own_described:Silent"), PartSpec(key="a", use="own_described:average")
    described = with_aggregates_described(task(*parts), own_code=False)
    assert described.aggregates[0].about == Whole(numbers=("*",))
    assert "own_described" not in sys.modules


def test_options_that_cannot_be_read_get_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"the aggregate `a` \(own_described:average\) cannot be described"):
        said("own_described:Silent", "own_described:average", field="words")


NEEDED: dict[str, dict[str, Any]] = {"metric": {"metric": "exact_match"}}


@pytest.mark.parametrize("use", catalog.CATALOG["scorer"])
def test_every_scorer_of_the_catalog_says_what_it_is(use: str) -> None:
    found = catalog.describe("scorer", use, NEEDED.get(use, {}))
    assert isinstance(found, ScorerInfo)
    assert len({value.name for value in found.values}) == len(found.values)
