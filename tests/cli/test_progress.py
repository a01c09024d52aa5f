"""The progress line: the mean so far is of the number that each task's score averages."""

from __future__ import annotations

import io

import pytest

from assay.cli import progress
from assay.cli.progress import ProgressLine
from assay.core.types import DatasetSpec, Failure, PartSpec, Record, Score, TaskDefinition
from assay.tasks.descriptions import with_descriptions


def task(name: str, use: str, **options: object) -> TaskDefinition:
    return with_descriptions(
        TaskDefinition(
            name=name,
            format="declarative",
            dataset=DatasetSpec(use="inline"),
            solver=PartSpec(key="solver", use="no_solver"),
            scorers=(),
            aggregates=(PartSpec(key="first", use=use, options={"scorer": "main", **options}),),
            metric="m",
        )
    )


def attempt(
    name: str, *, failures: tuple[Failure, ...] = (), excluded: tuple[str, ...] = (), **values: float
) -> Record:
    scores = (Score(name="main", values=dict(values)), Score(name="quality", values={"score": 0.0}))
    return Record(key="0", task=name, sample_id="s", index=0, scores=scores, failures=failures, excluded=excluded)


def test_the_mean_so_far_is_that_of_the_headlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    stream = io.StringIO()
    line = ProgressLine(stream)
    line.begin(6, 0, [task("sums", "mean", field="is_right"), task("texts", "bits_per_byte")])
    broken = Failure(stage="model", kind="timeout", message="x")
    line.records(
        [
            attempt("sums", is_right=True, score=0.0),
            attempt("sums", is_right=False, score=0.0),
            attempt("sums", is_right=True, excluded=("rule",)),
            attempt("sums", is_right=True, failures=(broken,)),
            attempt("texts", bits_per_byte=6.0),
        ]
    )
    assert "5/6  1 failed" in stream.getvalue()
    assert "mean so far 0.500" in stream.getvalue()


def test_each_model_of_a_run_has_a_mean_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    stream = io.StringIO()
    line = ProgressLine(stream)
    broken = Failure(stage="model", kind="timeout", message="x")
    for _ in range(2):
        line.begin(2, 0, [task("sums", "mean", field="is_right")])
        stream.truncate(0)
        line.records([attempt("sums", failures=(broken,))])
    assert "1/2  1 failed" in stream.getvalue()
    line.begin(1, 0, [task("sums", "mean", field="is_right")])
    line.records([attempt("sums", is_right=True)])
    line.begin(1, 0, [task("sums", "mean", field="is_right")])
    stream.truncate(0)
    line.records([attempt("sums", failures=(broken,))])
    assert "mean so far" not in stream.getvalue()
