"""One run from above."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.journals import write_lines
from tests.viewer.demo_runs import run_file
from tests.viewer.served import Viewer

from assay.core.describe import ScorerInfo, Value
from assay.core.types import PartSpec, Record, Score
from assay.tasks.descriptions import with_aggregates_described
from assay.viewer.api import Api, Params
from assay.viewer.run_list import RunList

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_one_run_shows_everything_from_above(viewer: Viewer) -> None:
    run = viewer.get("run", run="small")
    assert [row["task"] for row in run["board"]["tasks"]] == [each["task"] for each in run["distributions"]]
    assert {each["kind"] for each in run["failures"]} == {"model/timeout", "model/rate_limit"}
    assert run["provenance"]["command"].startswith("assay run tasks/ --model openai:small")
    assert [each["key"] for each in run["keys"]][:2] == ["difficulty", "year"]
    by_level = viewer.get("slices", run="small", by="difficulty")
    assert {each["value"] for each in by_level["slices"]} == {"easy", "medium", "hard"}
    assert sum(each["rows"] for each in by_level["slices"]) == run["summary"]["rows"]
    scores = [each["score"]["value"] for each in by_level["slices"]]
    assert scores == sorted(scores)


def write_stars(folder: Path, field: str) -> None:
    """A run of a scorer that describes stars from 1 to 5, which it calls `score`, and seconds without a range."""
    values = (Value(name="score", range=(1.0, 5.0)), Value(name="seconds"))
    run = run_file("stars", 2)
    definition = msgspec.structs.replace(
        run.definitions[0],
        scorers=(PartSpec(key="own", use="python", about=ScorerInfo(values=values)),),
        aggregates=(PartSpec(key="headline", use="mean", options={"field": field}),),
    )
    run = msgspec.structs.replace(
        run, definitions=(with_aggregates_described(definition),), tasks={definition.name: "0"}
    )
    folder.mkdir()
    (folder / "run.json").write_bytes(msgspec.json.encode(run))
    rows = [{"score": 4.0, "seconds": 0.25, "is_correct": True}, {"score": 2.0, "seconds": 0.75, "is_correct": False}]
    records = [
        Record(
            key=f"{index << 8 | 1:016x}",
            task=definition.name,
            sample_id=str(index),
            index=index,
            targets=(),
            scores=(Score(name="own", values=row),),
        )
        for index, row in enumerate(rows)
    ]
    write_lines(folder / "journal.jsonl", records)


@pytest.mark.parametrize(
    ("field", "within"), [("score", (1.0, 5.0)), ("seconds", (0.25, 0.75)), ("is_correct", (0.0, 1.0))]
)
def test_a_number_is_spread_over_the_range_that_its_scorer_describes(
    field: str, within: tuple[float, float], tmp_path: Path
) -> None:
    """True and false have a scale by their type."""
    write_stars(tmp_path / "run", field)
    api = Api(RunList([tmp_path]))
    (spread,) = api.run(Params([("run", "run")]))["distributions"]
    assert (spread["scores"]["low"], spread["scores"]["high"]) == within
    for value, ends in (("score", within), ("value:own.score", (1.0, 5.0)), ("value:own.seconds", (0.25, 0.75))):
        shown = api.samples(Params([("run", "run"), ("value", value)]))["histogram"]
        assert (shown["low"], shown["high"]) == ends, value
