"""`assay list`: names by kind, tasks of files, and the nearest kind for a mistyped one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.runs import write_sums

from assay import catalog
from assay.cli.list_names import first_line, singular
from assay.cli.main import main


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, str]]:
    assert main(["list", "--json", *arguments]) == 0
    found: dict[str, dict[str, str]] = json.loads(capsys.readouterr().out)
    return found


def test_every_name_of_a_kind_is_listed_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(capsys, "metrics", "scorer")
    assert set(found) == {"metric", "scorer"}
    assert set(catalog.CATALOG["metric"]) <= set(found["metric"])
    assert all(found["metric"].values())


def test_tasks_of_a_file_are_listed_with_their_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_sums(tmp_path, "sums", 3)
    assert listed(capsys, str(path)) == {"tasks": {"sums": f"3 samples, exact_match (normalized), {path}"}}


NEEDY = """\
key: needy
display_name: N
description: ""
config_spec: [{type: string, key: field, display_name: F}]
definition:
  evaluated_entity_type: dataset
  scorers: [{type: string_equals, ground_truth: "", value: "{{ sample.q }}"}]
"""


def test_a_task_that_needs_values_is_listed_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"q": "1"}\n')
    (tmp_path / "needy.yaml").write_text(NEEDY)
    ready = (
        NEEDY.replace("needy", "ready")
        .replace("config_spec", "tags: []\n#")
        .replace("dataset\n", "dataset\n  dataset: {key: rows}\n", 1)
    )
    (tmp_path / "ready.yaml").write_text(ready)
    wanted = {
        "ready": "N, 1 samples, accuracy (string_equals), ready.yaml",
        "needy": "needs --config field=… --dataset-key KEY, needy.yaml",
    }
    assert listed(capsys, ".") == {"tasks": wanted}
    (tmp_path / "broken.yaml").write_text("key: x\ndefinition: 3\n")
    assert main(["list", "."]) == 2
    out, err = capsys.readouterr()
    assert all(name in out for name in wanted), "a broken file hides none of the others"
    assert "broken.yaml:2:1" in err


def test_a_mistyped_kind_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "metrc"]) == 2
    assert "Did you mean `metric`?" in capsys.readouterr().err
    assert main(["list", "nowhere/x.jsonl"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_a_part_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(kind: str, name: str) -> object:
        raise ImportError("no", name="some_package")

    monkeypatch.setattr(catalog, "resolve", missing)
    assert first_line("model", "x") == "(needs some_package)"
    words = ("metrics", "metric", "post_process", "post_processes", "s")
    assert [singular(word) for word in words] == ["metric", "metric", "post_process", "post_process", "s"]


def test_scorers_with_a_judge_say_how_often_they_call_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "scorers"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert "[per sample: 1 call of about " in lines["faithfulness"]
    assert "tokens and the texts]" in lines["faithfulness"]
    assert "[per sample: 2 calls of about " in lines["pairwise_preference"]
    assert "[per sample: 4 calls and 2 for each passage]" in lines["rag_checker"]
    assert "per sample" not in lines["string_equals"]
