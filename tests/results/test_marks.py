"""Human marks: the last word counts, and agreement is reported with what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.end_to_end.commands import assay
from tests.journals import write_lines
from tests.viewer.demo_runs import TASKS, make_demo, run_file

from assay.core.errors import UsageError
from assay.results.marks import (
    Mark,
    MarkVerdict,
    append_mark,
    marks_agreement,
    people_agreement,
    read_marks,
    standing_marks,
)
from assay.text.numbers import percent


def line(key: str, value: float | None) -> dict[str, Any]:
    scored = {"scores": [{"name": "m", "values": {"score": value}}]}
    broken = {"failures": [{"stage": "model", "kind": "timeout", "message": "x"}]}
    return {"key": key, "task": TASKS[0], "sample_id": key, "index": 0, **(broken if value is None else scored)}


def marked(folder: Path, pairs: list[tuple[MarkVerdict, float | None]]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_bytes(msgspec.json.encode(run_file("m", len(pairs))))
    keys = [f"{n:016x}" for n in range(len(pairs))]
    write_lines(folder / "journal.jsonl", [line(key, value) for key, (_, value) in zip(keys, pairs, strict=True)])
    for key, (verdict, _) in zip(keys, pairs, strict=True):
        append_mark(folder, Mark(key=key, task="t", sample_id=key, verdict=verdict))
    return folder


def test_the_last_mark_of_a_sample_counts_and_none_takes_it_back(tmp_path: Path) -> None:
    for verdict in ("right", "wrong", None, "unclear"):
        append_mark(tmp_path, Mark(key="a", task="t", sample_id="s", verdict=verdict))  # type: ignore[arg-type]
    append_mark(tmp_path, Mark(key="b", task="t", sample_id="s", verdict="right"))
    append_mark(tmp_path, Mark(key="b", task="t", sample_id="s"))
    assert {key: mark.verdict for key, mark in read_marks(tmp_path).items()} == {"a": "unclear"}


def test_every_person_has_a_mark_of_their_own_and_people_are_compared(tmp_path: Path) -> None:
    said: dict[str, list[MarkVerdict | None]] = {"ann": ["right", "wrong", "right"], "bob": ["right", "right", None]}
    for name, verdicts in said.items():
        for key, verdict in zip("abc", verdicts, strict=True):
            append_mark(tmp_path, Mark(key=key, task="t", sample_id=key, verdict=verdict, by=name, blind=True))
    standing = standing_marks(tmp_path)
    assert len(standing) == 5
    assert {key: mark.by for key, mark in read_marks(tmp_path).items()} == {"a": "bob", "b": "bob", "c": "ann"}
    (found,) = people_agreement(standing)
    assert (found.first, found.second, found.agreement.n, found.agreement.raw) == ("ann", "bob", 2, 0.5)


def test_agreement_is_raw_and_beyond_chance(tmp_path: Path) -> None:
    pairs: list[tuple[MarkVerdict, float | None]] = [("right", 1.0)] * 4 + [("wrong", 0.0)] * 3 + [("right", 0.2)]
    found = marks_agreement(marked(tmp_path / "run", [*pairs, ("unclear", 1.0), ("wrong", None)]))
    assert found is not None
    assert (found.marked, found.unclear, found.unscored) == (10, 1, 1)
    assert found.counts == {"right_right": 4, "right_wrong": 1, "wrong_right": 0, "wrong_wrong": 3}
    assert found.overall.raw == 7 / 8
    # by hand: chance is 5/8·4/8 + 3/8·4/8 = 1/2
    assert found.overall.kappa == pytest.approx((7 / 8 - 1 / 2) / (1 - 1 / 2))


def test_a_run_without_marks_has_no_agreement(tmp_path: Path) -> None:
    assert marks_agreement(tmp_path) is None


def test_a_bad_line_is_reported_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "marks.jsonl").write_text('{"key": "a", "task": "t", "sample_id": "s"}\n{"verdict": "great"}\n')
    with pytest.raises(UsageError, match="line 2"):
        read_marks(tmp_path)


def test_a_link_in_the_place_of_the_marks_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "marks.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link, not a regular file"):
        append_mark(tmp_path, Mark(key="a", task="t", sample_id="s", verdict="right"))
    assert (tmp_path / "elsewhere").read_text() == ""


def test_report_and_diff_tell_how_far_people_agree(tmp_path: Path) -> None:
    a = make_demo(tmp_path / "a", each=6)
    b = make_demo(tmp_path / "b", model="other", each=6)
    records = [json.loads(line) for line in (a / "journal.jsonl").read_text().splitlines()]
    for record in records[:4]:
        append_mark(a, Mark(key=record["key"], task=record["task"], sample_id=record["sample_id"], verdict="right"))
    found = marks_agreement(a)
    assert found is not None
    reported, compared = assay("report", a, cwd=tmp_path), assay("diff", a, b, "--allow-unequal", cwd=tmp_path)
    expected = f"people and scores agree on {percent(found.overall.raw)}"
    assert (reported.returncode, compared.returncode) == (0, 0), reported.stderr + compared.stderr
    assert expected in reported.stderr
    assert expected in (a / "report.md").read_text()
    assert expected in compared.stdout
