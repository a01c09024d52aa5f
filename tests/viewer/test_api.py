"""The server as its neighbours see it: only its own page with its own token is answered, and no question breaks it."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from tests.viewer.demo_runs import HOSTILE, marks
from tests.viewer.served import Viewer, viewing

from assay.viewer.index import index_path
from assay.viewer.word_index import words_path

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

READS = ("runs", "run", "samples", "neighbours", "sample", "slices", "compare", "marks")


def test_a_mark_is_kept_next_to_the_run_and_shown_again(folder: Path) -> None:
    with viewing(folder / "outside") as viewer:
        row = viewer.get("samples", run="outside", outcome="wrong")["rows"][0]
        viewer.mark(run="outside", key=row["key"], verdict="right", note="the target is wrong <b>")
        assert [(m["verdict"], m["note"], m["sample_id"]) for m in marks(folder / "outside")] == [
            ("right", "the target is wrong <b>", row["id"])
        ]
        assert viewer.get("marks", run="outside")["agreement"]["counts"]["right_wrong"] == 1
        assert viewer.get("sample", run="outside", key=row["key"])["mark"]["verdict"] == "right"
        viewer.mark(run="outside", key=row["key"], verdict=None)
        assert viewer.get("marks", run="outside")["marks"] == []


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b"not json", "application/json", 400),
        (b'{"run": "small", "key": "zz", "verdict": "great"}', "application/json", 400),
        (b'{"run": "../outside", "key": "1", "verdict": "right"}', "application/json", 404),
        (b'{"run": "small", "key": "nope", "verdict": "right"}', "application/json", 400),
        (b'{"run": "small", "key": "1", "verdict": "right", "file": "/etc/x"}', "application/json", 400),
        (b"run=small", "application/x-www-form-urlencoded", 415),
        (b"x" * 100_000, "application/json", 413),
    ],
)
def test_a_bad_mark_is_refused_and_nothing_is_written(
    viewer: Viewer, folder: Path, body: bytes, kind: str, expected: int
) -> None:
    assert viewer.ask("/api/marks", method="POST", body=body, content_type=kind)[0] == expected
    assert not list((folder / "runs").rglob("marks.jsonl"))


WORDS = [
    "",
    "small",
    "large",
    "hostile",
    "later",
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "1e309",
    "nan",
    "inf",
    "score",
    "desc",
    "flipped",
    "task",
    "difficulty=hard",
    "=",
    "a=b=c",
    "label:judge.grade",
    "label:",
    "value:judge.score",
    "value:",
    "meta:",
    '"',
    '" OR 1',
    "NEAR(",
    "*",
    "\0",
    "\ud7ff",
    "💥",
    "%00",
    "../..",
    "<script>",
    "a" * 600,
    "right",
    "any",
    "disagree",
    "order",
    "changed",
    "written",
    "ff" * 8,
    "outcome",
    "attempt",
    *HOSTILE.values(),
]
NAMES = [
    "run",
    "key",
    "by",
    "task",
    "outcome",
    "failure",
    "meta",
    "value",
    "low",
    "high",
    "q",
    "against",
    "flip",
    "mark",
    "sort",
    "dir",
    "offset",
    "limit",
    "whole",
    "token",
    "x",
]


def test_no_question_breaks_the_server(viewer: Viewer) -> None:
    chance = random.Random(8)
    statuses = set()
    for _ in range(500):
        pairs = [(chance.choice(NAMES), chance.choice(WORDS)) for _ in range(chance.randint(0, 5))]
        if chance.random() < 0.8:
            pairs.append(("run", chance.choice(["small", "large", "hostile"])))
        path = f"/api/{chance.choice(READS)}?{urlencode(pairs)}"
        status, _, body = viewer.ask(path)
        assert status in (200, 400, 404, 414), (path, status, body)
        data: Any = json.loads(body) if status != 414 else {}
        assert status == 200 or data.get("error") or status == 414
        statuses.add(status)
    assert {200, 400, 404} <= statuses
    for _ in range(100):
        raw = "".join(chance.choice("/?&=%#.\\;:@!~ab0") for _ in range(chance.randint(1, 60)))
        assert viewer.ask("/" + quote(raw, safe="/?&=%;:@!~"))[0] < 500


def test_reading_leaves_only_derived_files(folder: Path, viewer: Viewer) -> None:
    viewer.get("samples", run="small", q="capital")
    run = folder / "runs" / "small"
    derived = {index_path(run).name, words_path(run).name}
    assert set(os.listdir(run)) == {"run.json", "journal.jsonl", "leaderboard.json", *derived}
    assert not stat.S_IMODE((run / "journal.jsonl").stat().st_mode) & 0o111
