"""What the viewer gives to take along: the tables of `assay export`, of exactly what matches, and nothing written."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tests.results.runs import Broken, run_into, write_sums
from tests.results.yaml_runs import EQUALS, run_task, write_task
from tests.viewer.demo_runs import make_demo

from assay.core.errors import UsageError
from assay.tasks.load import load_tasks
from assay.viewer import downloads
from assay.viewer.api import Api, Params
from assay.viewer.run_list import RunList


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("downloads")
    for name in ("one", "two"):
        make_demo(folder / "runs" / name, model=name, skill=0.5)
    tasks = write_sums(folder, "sums", 5)
    run_into(folder / "runs" / "sums", tasks, Broken({3}, {1}))
    return Api(RunList([folder / "runs"]))


def ask(api: Api, *pairs: tuple[str, str]) -> downloads.Download:
    return api.download(Params(pairs))


def test_a_table_of_several_runs_holds_what_matches(api: Api) -> None:
    asked = (("run", "one"), ("run", "two"), ("q", "outcome:timeout"))
    lines = [json.loads(line) for line in ask(api, *asked, ("format", "jsonl")).data.splitlines()]
    assert {(line["run"], line["outcome"]) for line in lines} == {("one", "timeout"), ("two", "timeout")}
    head, *rows = ask(api, *asked, ("format", "csv")).data.decode().splitlines()
    assert head.startswith("run,model,model_label,task")
    assert len(rows) == len(lines)


def test_parquet_holds_the_same_rows(api: Api) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    made = ask(api, ("run", "one"), ("q", "score<1"), ("format", "parquet"))
    assert made.name == "one.parquet"
    scores = parquet.read_table(io.BytesIO(made.data)).column("score").to_pylist()
    assert scores
    assert max(scores) < 1


def test_a_task_file_is_one_that_runs_with_its_origin(api: Api, tmp_path: Path) -> None:
    made = ask(api, ("run", "sums"), ("q", "outcome:wrong"), ("format", "task"))
    path = tmp_path / made.name
    path.write_bytes(made.data)
    [definition] = load_tasks([str(path)])
    assert (definition.name, definition.dataset.size) == ("regressions", 1)
    assert json.loads(made.data)["metadata"]["origin"]["run"] == "sums"


def test_samples_of_a_yaml_task_are_a_run_file_to_put_next_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_task(write_task(tmp_path, [{"q": "1", "a": "1"}, {"q": "2", "a": "9"}], [EQUALS]))
    made = ask(Api(RunList([tmp_path / "run"])), ("run", "run"), ("q", "outcome:wrong"), ("format", "task"))
    assert made.name == "regressions.yaml"
    (tmp_path / made.name).write_bytes(made.data)
    [definition] = load_tasks([made.name])
    assert (definition.name, definition.dataset.size) == ("t", 1)


def test_bad_requests_are_answered_with_a_sentence(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="`format` is one of csv, jsonl, parquet, task"):
        ask(api, ("run", "one"), ("format", "exe"))
    monkeypatch.setattr(downloads, "MOST_ATTEMPTS", 10)
    with pytest.raises(UsageError, match="`assay export` writes them"):
        ask(api, ("run", "one"), ("format", "csv"))
