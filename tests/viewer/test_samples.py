"""One sample in full: the request, with what the run said around it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from tests.viewer.demo_runs import make_demo
from tests.viewer.rich_runs import few_shot, make_calls, make_rich

from assay.cli.main import main
from assay.run_file import read_run_file
from assay.viewer.builders import Builders
from assay.viewer.query import Filters
from assay.viewer.run_view import RunView
from assay.viewer.samples import sample, table_rows


def test_the_system_message_and_prefill_of_the_run_are_shown_with_each_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_rich(tmp_path / "rich")
    key = str(few_shot(0, "112", 1).key)
    plain = sample(RunView("rich", folder, Builders()), key, whole=False)
    run = read_run_file(folder)
    framed_run = replace(run, config=replace(run.config, system="Be kind.", prefill="So:"))
    (folder / "run.json").write_bytes(msgspec.json.encode(framed_run))
    framed = sample(RunView("rich", folder, Builders()), key, whole=False)
    assert [turn["role"] for turn in framed["turns"]] == ["system", "user", "prefill", "assistant"]
    assert [message["role"] for message in framed["request"]["messages"]] == ["system", "user", "assistant"]
    # what all samples begin with is folded in the same turn as before, which is now the second
    assert framed["shared"] == {**plain["shared"], "turns": 1}
    assert plain["shared"]["turns"] == 0
    assert main(["show", str(folder), "--sample", str(few_shot(0, "112", 1).sample_id)]) == 0
    shown = capsys.readouterr().out
    assert "system:    Be kind." in shown
    assert "prefill:   So:" in shown


def test_answers_are_the_same_only_where_all_of_them_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.viewer.samples.SHOWN", 3)  # previews that are cut before the answers differ
    views = {}
    for name, skill in (("small", 0.5), ("large", 0.9)):
        folder = make_demo(tmp_path / name, model=name, skill=skill, each=12)
        views[name] = RunView(name, folder, Builders())
    small, large = views.values()
    rows = [row for row in range(small.snapshot().rows) if small.snapshot().counts[row]]
    found = {True: 0, False: 0}
    for each in table_rows(small, rows, [large]):
        [other] = each["others"]
        if other is None or each["failure"] is not None or other["failure"] is not None:
            continue
        records = [sample(view, row["key"], whole=True)["record"] for view, row in ((small, each), (large, other))]
        said = [record["trace"]["prediction"] for record in records]
        assert other["same_answer"] is (said[0] == said[1])
        found[other["same_answer"]] += 1
    assert min(found.values()) > 3


def test_calls_are_the_answer_of_a_sample_that_only_makes_them_wherever_answers_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {city: make_calls(tmp_path / city, city) for city in ("Oslo", "Rome")}
    oslo, rome = (RunView(name, folder, Builders()) for name, folder in folders.items())
    [row] = table_rows(oslo, [0], [rome])
    assert row["answer"] == 'get_weather(city="Oslo")'
    assert row["others"][0]["answer"] == 'get_weather(city="Rome")'
    assert row["others"][0]["same_answer"] is False
    assert len(oslo.rows(Filters(where="answer:get_weather*"), "order", False, [])) == 1
    for command in (["show", str(folders["Oslo"])], ["export", str(folders["Oslo"]), "--columns", "prediction"]):
        assert main(command) == 0
        assert "get_weather(city=" in capsys.readouterr().out, command
    assert main(["diff", *map(str, folders.values()), "--json"]) == 0
    [task] = json.loads(capsys.readouterr().out)["tasks"]
    assert task["changes"]["answer"] == 1
