"""`assay leaderboard` ranks by what was scored for every model: less coverage never wins, and every format shows it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.board.scripted_boards import BROKEN, Came, write_run
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.cli.main import main
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def standings(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["leaderboard", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def not_shared(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Why not everything is compared, which the first line says too."""
    found = standings(capsys, *words)
    assert main(["leaderboard", *words]) == 0
    assert capsys.readouterr().out.startswith("**! not ")
    return "; ".join((*found["unequal"], *found["notes"]))


def scripted(folder: Path, **models: list[Came]) -> None:
    for name, came in models.items():
        write_run(folder / name, {"quiz": [[each] for each in came]})


def names(found: dict[str, Any]) -> list[str]:
    return [Path(row["source"]).name for row in found["models"]]


def test_another_limit_is_compared_over_the_shared_samples(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 40)
    run_into(somewhere / "fullrun", tasks, Adder(range(30, 40), name="m"))
    run_into(somewhere / "lim", tasks, Adder(range(30, 40), name="m"), limit=10)
    said = not_shared(capsys, "fullrun", "lim")
    assert "sums: 10 attempts were scored for every model, with the same targets; in total: m (1) 40, m (2) 10" in said
    assert "m (1): fullrun; m (2): lim" in said
    found = standings(capsys, "fullrun", "lim")
    for row in found["models"]:
        assert (row["overall"], row["win_rate"], row["mean_rank"], row["compared"]) == (1.0, 0.5, 1.5, 10)
        assert (row["rank_low"], row["rank_high"]) == (1, 2)
        assert row["tasks"]["sums"]["interval"]["low"] == found["models"][0]["interval"]["low"]


def test_failed_attempts_never_win(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One easy answer of forty; and one model that failed on all that another got right."""
    scripted(somewhere, whole=[1.0] + [0.0] * 9 + [1.0] * 30, lucky=[1.0, *[BROKEN] * 39])
    assert "quiz: 1 attempts were scored for every model" in not_shared(capsys, "lucky", "whole")
    found = standings(capsys, "lucky", "whole")
    assert names(found) == ["whole", "lucky"]
    whole, lucky = found["models"]
    assert (whole["rank_low"], lucky["rank_high"]) == (1, 2)
    assert (lucky["coverage"], lucky["run_bounds"]["low"], lucky["run_bounds"]["high"]) == (0.025, 0.025, 1.0)
    assert lucky["bounds"] is None, "of the one that is compared none failed"
    assert lucky["overall"] == 1.0
    assert lucky["win_rate"] == 0.5

    scripted(somewhere, ua=[1.0] * 20 + [0.0] * 20, ub=[1.0] * 16 + [0.0] * 4 + [BROKEN] * 20)
    found = standings(capsys, "ua", "ub")
    assert names(found) == ["ua", "ub"]
    assert [row["overall"] for row in found["models"]] == [1.0, 0.8]

    hard = [1.0] * 150 + [0.0] * 50 + [1.0] * 190 + [0.0] * 10
    scripted(somewhere, able=hard, shy=[1.0] * 200 + [BROKEN] * 200)
    found = standings(capsys, "shy", "able")
    assert names(found) == ["able", "shy"], "over the shared samples alone shy would be significantly better"
    assert [(row["rank_low"], row["rank_high"]) for row in found["models"]] == [(1, 2), (1, 2)]
    assert "sorted as if they had all been wrong" in found["ranking"]


def test_one_model_without_a_task_does_not_make_the_others_equal(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    easy = [[1.0]] * 30
    write_run(somewhere / "good", {"easy": easy, "hard": [[1.0]] * 20 + [[0.0]] * 10})
    write_run(somewhere / "bad", {"easy": easy, "hard": [[1.0]] * 2 + [[0.0]] * 28})
    write_run(somewhere / "torn", {"easy": easy, "hard": [[BROKEN]] * 30})
    write_run(somewhere / "part", {"easy": easy})
    assert "hard: 0 attempts were scored for every model" in not_shared(capsys, "bad", "good", "torn")
    found = standings(capsys, "bad", "torn", "good")
    assert names(found)[0] == "good"
    assert found["shared"] == ["easy"]
    assert "task `hard` is missing in scripted (3)" in not_shared(capsys, "bad", "good", "part")
    assert main(["leaderboard", "bad", "good", "part"]) == 0
    page = capsys.readouterr().out
    assert "overall (shared)" in page
    assert "hard (not compared)" in page
    assert "- task `hard` is missing in scripted (3)" in page


def test_samples_of_a_changed_answer_key_are_left_out(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 20)
    run_into(somewhere / "old", tasks, Adder(range(5), name="old"))
    lines = [msgspec.json.decode(line) for line in tasks.read_bytes().splitlines()]
    for line in lines[:5]:
        line["targets"] = ["wrong"]
    tasks.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    run_into(somewhere / "new", tasks, Adder(range(6), name="new"))
    assert "15 attempts were scored for every model, with the same targets" in not_shared(capsys, "old", "new")
    found = standings(capsys, "old", "new")
    assert [(row["label"], row["overall"]) for row in found["models"]] == [
        ("old", 1.0),
        ("new", pytest.approx(14 / 15)),
    ]


def test_coverage_and_bounds_are_in_every_format(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 8)
    run_into(somewhere / "whole", tasks, Adder(name="whole"))
    run_into(somewhere / "torn", tasks, Broken([1, 2], wrong=[3]))
    assert main(["leaderboard", "whole", "torn", "--html", "page.html"]) == 0
    markdown, page = capsys.readouterr().out, (somewhere / "page.html").read_text()
    for text in (markdown, page):
        for shown in ("75 %", "0.625 – 0.875", "6 of 8", "6 of 8 compared", "bounds of the run", "coverage"):
            assert shown in text
    assert main(["leaderboard", "whole", "torn", "--csv"]) == 0
    torn = {row["model"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}["broken"]
    assert [torn[f"{name}_run_bounds_{end}"] for name in ("overall", "sums") for end in ("low", "high")] == [
        "0.625",
        "0.875",
        "0.625",
        "0.875",
    ]
    assert (torn["coverage"], torn["compared"], torn["sums_coverage"], torn["sums_compared"]) == (
        "0.75",
        "6",
        "0.75",
        "6",
    )


def test_leaderboard_files_compare_over_their_shared_samples_too(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 12)
    run_into(somewhere / "a", tasks, Adder([1, 10], name="a"))
    run_into(somewhere / "b", tasks, Adder([2], name="b"), limit=8)
    folders = standings(capsys, "a", "b")
    for name in ("a", "b"):
        write_leaderboard_file(somewhere / f"{name}.json", build_leaderboard(somewhere / name, View(per_example=True)))
        write_leaderboard_file(somewhere / f"{name}-bare.json", build_leaderboard(somewhere / name, View()))
    files = standings(capsys, "a.json", "b.json")
    for one, other in zip(folders["models"], files["models"], strict=True):
        assert one["overall"] == other["overall"] == 7 / 8
        assert one["interval"]["low"] == pytest.approx(other["interval"]["low"])
    assert "without per-example records it is unknown" in not_shared(capsys, "a-bare.json", "b-bare.json")
    bare = standings(capsys, "a-bare.json", "b-bare.json")
    assert bare["shared"] == []
    assert {row["overall"] for row in bare["models"]} == {None}
