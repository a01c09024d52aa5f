"""Where a YAML task may have its samples from: files, addresses, folders, logs, runs, and several side by side."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.servers.file_server import file_server

import assay
from assay.core.errors import UsageError
from assay.formats.declarative.load import check_yaml_file

PASS_THROUGH = """\
key: logged
display_name: L
description: d
definition:
  dataset: {DATASET}
  solver: {type: pass_through_solver, trace_column: trace}
  scorers: [{type: string_equals, ground_truth: "{{ sample.expected }}"}]
"""
ABOUT_ROWS = """\
key: t
display_name: T
description: d
config_spec: [{type: dataset, key: annotator, display_name: A, default_value: two}]
definition:
  evaluated_entity_type: dataset
  dataset: {DATASET}
  scorers: [{type: string_equals, ground_truth: "{{ GROUND }}", value: "{{ VALUE }}"}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".assay").mkdir()
    (tmp_path / "datasets").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dataset(project: Path, source: str, key: str = "d") -> None:
    (project / "datasets" / f"{key}.yaml").write_text(f"key: {key}\ndisplay_name: D\nsource: {source}\n")


def about_rows(project: Path, named: str = "key: d", ground: str = "sample.a", value: str = "sample.b") -> Path:
    text = ABOUT_ROWS.replace("DATASET", named).replace("GROUND", ground).replace("VALUE", value)
    (project / "t.yaml").write_text(text)
    return project / "t.yaml"


def chats(project: Path, **answers: str) -> None:
    lines = [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}], "expected": expected}
        for expected, text in answers.items()
    ]
    (project / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    dataset(project, "{type: traces, file_path: ../chats.jsonl}")
    (project / "logged.yaml").write_text(PASS_THROUGH.replace("DATASET", "key: d"))


def test_a_table_at_an_address_is_fetched_and_its_sha256_recorded_with_a_warning(project: Path) -> None:
    body = b"a,b\n1,1\n2,3\n"
    with file_server({"/rows.csv": body}) as server:
        dataset(project, f"{{type: url, url: '{server.address}/rows.csv'}}")
        (definition,) = read_yaml_tasks(about_rows(project))
        assert definition.dataset.sha256 == definition.dataset.options["sha256"] == hashlib.sha256(body).hexdigest()
        assert definition.dataset.size == 2
        (warning,) = definition.provenance.warnings
        assert "cannot be reproduced" in warning
        assert assay.evaluate("t.yaml").leaderboard.overall_score == 0.5


def test_a_pinned_one_is_taken_without_a_word_and_another_file_is_refused(project: Path) -> None:
    body = b"a,b\n1,1\n"
    with file_server({"/rows.csv": body}) as server:
        source = f"url: '{server.address}/rows.csv'"
        dataset(project, f"{{type: url, {source}, sha256: {hashlib.sha256(body).hexdigest()}}}")
        (definition,) = read_yaml_tasks(about_rows(project))
        assert not definition.provenance.warnings
        dataset(project, f"{{type: url, {source}, sha256: {'a' * 64}}}")
        with pytest.raises(UsageError, match=r"t\.yaml:7:13: definition\.dataset.*is not the expected file"):
            read_yaml_tasks(project / "t.yaml")


def test_looking_at_a_task_fetches_nothing(project: Path) -> None:
    with file_server({"/rows.csv": b"a,b\n1,1\n"}) as server:
        dataset(project, f"{{type: url, url: '{server.address}/rows.csv'}}")
        check_yaml_file(about_rows(project))
        read_yaml_tasks(project / "t.yaml", only_reads=True)
        assert server.asked == []


def test_a_file_from_outside_the_project_chooses_no_address(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("downloads")
    (outside / "datasets").mkdir()
    with file_server({"/rows.csv": b"a,b\n1,1\n"}) as server:
        dataset(outside, f"{{type: url, url: '{server.address}/rows.csv'}}")
        task = about_rows(outside)
        with pytest.raises(UsageError, match=r"would connect to `http://127.0.0.1:\d+/rows.csv`"):
            assay.evaluate(str(task))
        assert server.asked == []
        assay.evaluate(str(task), trust=True)
        assert server.asked == ["/rows.csv"]


def test_texts_of_a_folder_are_rows(project: Path) -> None:
    (project / "texts").mkdir()
    (project / "texts" / "x.md").write_text("---\nlength: 5\n---\nHello")
    dataset(project, "{type: folder, directory_path: ../texts, extension: .md}")
    (definition,) = read_yaml_tasks(about_rows(project, ground="sample.content | length", value="sample.length"))
    assert definition.dataset.size == 1
    assert assay.evaluate("t.yaml").leaderboard.overall_score == 1.0
    dataset(project, "{type: folder, directory_path: /etc}")
    with pytest.raises(UsageError, match="leads outside the project"):
        read_yaml_tasks(project / "t.yaml")


def test_scoring_recorded_answers_needs_no_model_and_counts_none(project: Path) -> None:
    chats(project, Hi="Hi", Bye="Hello")
    found = assay.evaluate("logged.yaml")
    assert found.leaderboard.overall_score == 0.5
    assert found.leaderboard.model["name"] == "recorded"


SPAN = {
    "traceId": "t",
    "spanId": "s",
    "name": "chat m",
    "attributes": [
        {"key": name, "value": {"stringValue": said}}
        for name, said in {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "2+2?"}]}]',
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "4"}]}]',
        }.items()
    ],
}


def test_spans_and_logs_of_other_programs_are_scored_by_a_task(project: Path) -> None:
    spans = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": [SPAN]}]}]}
    (project / "spans.jsonl").write_text(json.dumps(spans))
    (project / "otel.yaml").write_text(PASS_THROUGH.replace("DATASET", "key: otel").replace("sample.expected", "2 + 2"))
    dataset(project, "{type: traces, file_path: ../spans.jsonl}", key="otel")
    found = assay.evaluate("otel.yaml").leaderboard
    assert (found.model["name"], found.overall_score) == ("recorded:m", 1.0)
    pytest.importorskip("zstandard", reason="the inspect extra is not installed")
    shutil.copy(Path(__file__).parents[2] / "bridges" / "inspect" / "logs" / "quiz.eval", project)
    task = PASS_THROUGH.replace("DATASET", "key: inspect").replace("sample.expected", "sample.output")
    (project / "inspect.yaml").write_text(task)
    dataset(project, "{type: traces, file_path: ../quiz.eval}", key="inspect")
    found = assay.evaluate("inspect.yaml").leaderboard
    assert (found.model["name"], found.tasks[0].scored, found.overall_score) == ("recorded:mockllm/model", 2, 1.0)


def test_the_run_is_called_by_the_model_that_answered(project: Path) -> None:
    chats(project, Hi="Hi")
    lines = [{**json.loads(line), "model": "gpt"} for line in (project / "chats.jsonl").read_text().splitlines()]
    (project / "chats.jsonl").write_text(json.dumps(lines[0]) + "\n")
    assert assay.evaluate("logged.yaml").leaderboard.model["name"] == "recorded:gpt"


def test_the_answers_of_a_run_are_scored_by_another_task(project: Path) -> None:
    chats(project, Hi="Hi", Bye="Hello")
    first = assay.evaluate("logged.yaml", folder="runs/first").leaderboard
    Path("runs/gpt-4.1-首都-1a2b").symlink_to("first")  # as default folders are called
    task = PASS_THROUGH.replace("sample.expected", "sample.output").replace("key: logged", "key: again")
    for name in ("first", "gpt-4.1-首都-1a2b"):
        (project / "again.yaml").write_text(task.replace("DATASET", f"key: {name}, source: task_result"))
        again = assay.evaluate("again.yaml").leaderboard
        assert (first.overall_score, again.overall_score) == (0.5, 1.0)
    dataset(project, "{type: task_result, run_path: ../runs/first, task: logged}", key="kept")
    (project / "again.yaml").write_text(task.replace("DATASET", "key: kept"))
    assert assay.evaluate("again.yaml").leaderboard.overall_score == 1.0
    (project / "again.yaml").write_text(task.replace("DATASET", "key: none, source: task_result"))
    with pytest.raises(UsageError, match="there is no result `none`"):
        read_yaml_tasks(project / "again.yaml")


def test_several_datasets_stand_side_by_side_under_their_keys_or_parameters(project: Path) -> None:
    for key, labels in {"one": (1, 2, 3), "two": (1, 5, 3)}.items():
        rows = ", ".join(f"{{label: {label}}}" for label in labels)
        dataset(project, f"{{type: inline, samples: [{rows}]}}", key=key)
    about_rows(project, "keys: [one, '<< config.annotator >>']", "sample.one.label", "sample.annotator.label")
    assert assay.evaluate("t.yaml").leaderboard.overall_score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("key: ../d, source: task_result", "does not match"),
        ("key: a.b", "does not match"),
        ("keys: [d]", "needs at least 2 items"),
        ("keys: [d, d]", "the same dataset is named twice"),
        ("key: d, keys: [d, e]", "needs one of `key` and `keys`"),
        ("source: task_result", "needs one of `key` and `keys`"),
        ("keys: [d, none]", "there is no dataset `none`"),
    ],
)
def test_what_names_no_datasets_is_refused_at_its_place(named: str, told: str, project: Path) -> None:
    dataset(project, "{type: inline, samples: [{a: 1, b: 1}]}")
    with pytest.raises(UsageError, match=rf"t\.yaml:\d+:\d+: definition\.dataset.*{told}"):
        read_yaml_tasks(about_rows(project, named))
