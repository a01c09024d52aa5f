"""Failing samples become a task: as their file has them, with their origin, and only while that file is the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.results.runs import Broken, run_into, write_sums

from assay.core.errors import UsageError
from assay.results.frames.frame_source import RunSource
from assay.runs.later.regressions import regression_lines, save_regressions
from assay.tasks.load import load_tasks


@pytest.fixture
def source(tmp_path: Path) -> RunSource:
    """A run of five sums of which one is wrong; that one is picked."""
    tasks = write_sums(tmp_path, "sums", 5, metadata=lambda n: {"n": n})
    source = RunSource.of(run_into(tmp_path / "run", tasks, Broken({3}, {1})))
    wrong = [place for place, outcome in zip(source.survey.places, source.survey.outcomes, strict=True) if outcome == 2]
    return replace(source, picked=frozenset(map(int, wrong)))


def test_a_line_is_what_the_task_file_has_and_says_where_it_comes_from(source: RunSource) -> None:
    [line] = regression_lines(source)
    origin = line["metadata"].pop("origin")
    path = Path(str(source.run.definitions[0].dataset.options["path"]))
    assert line in [json.loads(text) for text in path.read_text().splitlines()]
    assert (origin["run"], origin["task"], origin["outcome"]) == ("run", "sums", "wrong")
    assert origin["fingerprint"] == source.run.fingerprint


def test_a_task_file_grows_and_holds_each_sample_once(source: RunSource, tmp_path: Path) -> None:
    path, lines = tmp_path / "tasks" / "regressions.jsonl", regression_lines(source)
    assert (save_regressions(path, lines).added, save_regressions(path, lines).added) == (1, 0)
    save_regressions(path, [{**lines[0], "id": "another"}])
    assert load_tasks([str(path)])[0].dataset.size == 2
    assert [each.name for each in path.parent.iterdir()] == ["regressions.jsonl"]


def test_what_stands_in_a_task_file_stays_byte_for_byte_and_samples_of_two_runs_are_there_once(
    source: RunSource, tmp_path: Path
) -> None:
    path, [line] = tmp_path / "regressions.jsonl", regression_lines(source)
    before = b'# why these\n\n{"metric": "exact_match",  "id": "z", "prompt": "p", "targets": ["1"]}'
    path.write_bytes(before)
    other = {**line, "metadata": {**line["metadata"], "origin": {**line["metadata"]["origin"], "run": "other"}}}
    saved = save_regressions(path, [line, other])
    assert (saved.added, saved.kept) == (1, 1)
    assert path.read_bytes().startswith(before + b"\n{")
    assert load_tasks([str(path)])[0].dataset.size == 2


def test_what_would_be_no_task_is_refused_and_leaves_the_file_as_it_was(source: RunSource, tmp_path: Path) -> None:
    path, lines = tmp_path / "regressions.jsonl", regression_lines(source)
    save_regressions(path, lines)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="the samples have 2 metrics"):
        save_regressions(path, [*lines, {**lines[0], "id": "b", "metric": "rouge_l"}])
    with pytest.raises(UsageError, match=r"it would not be a valid task: .*regressions\.jsonl:2: metric"):
        save_regressions(path, [{**lines[0], "id": "b", "metric": "rouge_l"}])
    with pytest.raises(UsageError, match="no attempt matches"):
        save_regressions(path, [])
    assert path.read_bytes() == before


def test_a_task_file_that_changed_since_is_not_copied_from(source: RunSource) -> None:
    path = Path(str(source.run.definitions[0].dataset.options["path"]))
    path.write_text(path.read_text().replace("compute", "Compute"))
    with pytest.raises(UsageError, match="has changed since the run was made"):
        regression_lines(source)
    path.unlink()
    with pytest.raises(UsageError, match="is not here"):
        regression_lines(source)
