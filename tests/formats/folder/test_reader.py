"""Task folders: files become tasks, every bad line of every file is reported at once, and no bytes crash a reader."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.formats.folder.lines import code, example, without, write

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.formats.folder.reader import (
    Problem,
    TaskFolderDataset,
    iter_examples,
    load_all_tasks,
    read_task_file,
)
from assay.formats.folder.rules import CATALOG_NAMES, Example
from assay.tasks.load import load_tasks

MIXED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (example(), example(id="b", metric="rouge_l"), "metric: is rouge_l, but the file began with exact_match"),
    (example(), example(id="b", post_process="lower"), "post_process: is lower, but the file began with none"),
    (code(io_pairs=[[1, 2]]), {**code(stdout=True), "id": "b"}, "extras: has stdout"),
    (example(), example(), "id: 'a-00' is already given on line 1"),
]


@pytest.mark.parametrize(("first", "second", "words"), MIXED)
def test_the_examples_of_a_file_belong_together(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read_task_file(write(tmp_path, "a.jsonl", first, second))
    assert f":2: {words}" in str(caught.value)


def test_a_folder_is_loaded_by_file_name_without_comments_and_blank_lines(tmp_path: Path) -> None:
    write(tmp_path, "sums.jsonl", "# two sums", example(), "", "   # indented", example(id="a-01"))
    write(tmp_path, "other.jsonl", example(metric="rouge_l"))
    write(tmp_path, ".hidden.jsonl", "{")
    write(tmp_path, "notes.txt", "{")
    tasks = load_all_tasks(tmp_path)
    assert {name: [one.id for one in examples] for name, examples in tasks.items()} == {
        "other": ["a-00"],
        "sums": ["a-00", "a-01"],
    }


def test_bad_lines_are_left_out_and_counted_where_that_is_allowed(tmp_path: Path) -> None:
    bad = [{**example(id="b"), "prompt": ""}, "{", example(id="c", metric="rouge_l")]
    path = write(tmp_path, "a.jsonl", example(), bad[0], example(id="b"), *bad[1:], example(id="d"))
    task = read_task_file(path, allow_bad=True)
    assert (task.dataset.size, task.skipped_records) == (3, 3)
    dataset = TaskFolderDataset(**task.dataset.options)
    assert [sample.id for sample in dataset] == ["a-00", "b", "d"], "a bad line takes no good one of its id with it"
    assert [sample.id for sample in dataset.walk_from(1)] == ["b", "d"]
    assert len(dataset) == 3


def test_a_file_without_a_good_line_is_refused_even_where_bad_ones_are_allowed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.jsonl:1"):
        read_task_file(write(tmp_path, "a.jsonl", "{"), allow_bad=True)


def test_all_bad_lines_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", example(), "{", without("id"))
    write(tmp_path, "b.jsonl", example(metric="rogue_l"))
    write(tmp_path, "c.jsonl", "# nothing yet")
    for load in (load_all_tasks, lambda folder: load_tasks([str(folder)])):
        with pytest.raises(UsageError) as caught:
            load(tmp_path)
        lines = str(caught.value).splitlines()
        starts = [line.removeprefix(f"{tmp_path}/")[:10] for line in lines if line.startswith(str(tmp_path))]
        assert starts == ["a.jsonl:2:", "a.jsonl:3:", "b.jsonl:1:", "c.jsonl: h"]


def test_a_file_becomes_a_task_pinned_by_its_examples(tmp_path: Path) -> None:
    path = write(tmp_path, "sums.jsonl", "# two sums", example(), example(id="b"))
    task = read_task_file(path)
    assert (task.name, task.format, task.metric, task.dataset.size) == ("sums", "task_folder", "exact_match", 2)
    lines = [json.dumps(each, separators=(",", ":")) + "\n" for each in (example(), example(id="b"))]
    assert task.dataset.sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert [(part.key, part.use, part.options) for part in task.scorers] == [
        ("exact_match", "metric", {"metric": "normalized_exact_match"})
    ]
    assert msgspec.json.decode(msgspec.json.encode(task), type=TaskDefinition) == task


SCORERS = [
    (example(post_process="lower"), "metric", {"metric": "normalized_exact_match", "post_process": "lower"}),
    (example(metric="a.b:c"), "metric", {"metric": "a.b:c"}),
    (example(metric="rouge_l"), "metric", {"metric": "rouge_l"}),
    (code(io_pairs=[[1, 2]]), "code_exec", {"shape": "io_pairs"}),
    (code(stdout=True), "code_exec", {"shape": "stdout"}),
    (
        example(metric="evaluator", extras={"evaluator": {"command": ["./score.sh"], "timeout_seconds": 5}}),
        "evaluator",
        {"command": ["./score.sh"], "timeout_seconds": 5},
    ),
]


@pytest.mark.parametrize(("line", "use", "options"), SCORERS)
def test_the_metric_word_decides_the_scorer(
    tmp_path: Path, line: dict[str, Any], use: str, options: dict[str, Any]
) -> None:
    (scorer,) = read_task_file(write(tmp_path, "a.jsonl", line)).scorers
    assert (scorer.key, scorer.use, scorer.options) == (line["metric"], use, options)


def test_the_dataset_streams_the_same_samples_again_and_again(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", "#", code(io_pairs=[[1, 2]]), {**code(io_pairs=[[3, 4]]), "id": "b"})
    dataset = TaskFolderDataset(**read_task_file(path).dataset.options)
    assert len(dataset) == 2
    assert [(sample.id, sample.extras) for sample in dataset] == [
        ("a-00", {"io_pairs": [[1, 2]]}),
        ("b", {"io_pairs": [[3, 4]]}),
    ]
    assert list(dataset) == list(dataset)


def test_a_file_that_went_bad_since_it_was_read_is_not_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", example())
    dataset = TaskFolderDataset(path)
    write(tmp_path, "a.jsonl", example(), "{")
    with pytest.raises(UsageError, match=r"a\.jsonl:2: "):
        list(dataset)


def test_a_folder_without_tasks_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no task files"):
        load_all_tasks(tmp_path)
    with pytest.raises(UsageError, match="there is no such folder"):
        load_all_tasks(tmp_path / "none")
    with pytest.raises(UsageError, match="is not a folder"):
        load_all_tasks(write(tmp_path, "a.jsonl", example()))
    with pytest.raises(UsageError, match="cannot be read"):
        read_task_file(tmp_path / "none.jsonl")


PIECES = [json.dumps(example()).encode(), b"\n", b"#", b"{", b"\xff", b"\r\n", b"\x00"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=st.binary() | st.lists(st.sampled_from(PIECES)).map(b"".join))
def test_arbitrary_bytes_are_examples_or_problems(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert all(isinstance(outcome, Example | Problem) for outcome in iter_examples(path))
    assert list(iter_examples(path))


def test_the_starter_tasks_are_five_of_five_metrics() -> None:
    assert {task.name: task.metric for task in load_tasks(["starter"])} == {
        "arithmetic": "exact_match",
        "code-exec": "code_exec",
        "generation": "substring_contains",
        "multiple-choice": "multiple_choice",
        "summary": "rouge_l",
    }


def test_a_metric_word_means_what_the_metrics_say_it_means() -> None:
    assert CATALOG_NAMES["exact_match"] == "normalized_exact_match"
    assert all(word == name for word, name in CATALOG_NAMES.items() if word != "exact_match")


def test_a_mistake_on_many_lines_is_said_once_with_their_count(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"prompt": "a", "targt": "b"}\n' * 120)
    with pytest.raises(UsageError) as refused:
        load_all_tasks(tmp_path)
    said = [line for line in str(refused.value).splitlines() if "targt" in line]
    assert len(said) == 1
    assert said[0].startswith(f"{path}:1: targt: unknown field `targt`")
    assert said[0].endswith("The same on 119 other lines: 2, 3, 4, 5, 6, …")
