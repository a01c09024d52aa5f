"""`assay.open_run`: what a run holds, from Python, whole or not, and whoever made it."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.every_kind import SAMPLES, write_run
from tests.results.runs import Adder, Broken, run_into, write_sums
from tests.runs.shard_runs import run_shard

import assay
from assay.core.errors import UsageError
from assay.core.journal import Journal
from assay.core.types import Record, Score, Trace
from assay.results.diff.comparison import diff
from assay.run_config import RunConfig
from assay.runs.later.rescore import rescore
from assay.runs.run_handle import table_of_runs
from assay.runs.shards import merge_run
from assay.storage.checksum import with_checksums
from assay.tasks.load import load_tasks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sums of which one is wrong and one broken, each asked twice."""
    root = tmp_path_factory.mktemp("opened")
    tasks = write_sums(root, "sums", 5, metadata=lambda n: {"odd": bool(n % 2), "tags": [n]})
    return run_into(root / "run", tasks, Broken({3}, {1}), repeat=2)


def test_attempts_come_in_the_order_of_the_dataset_with_their_numbers(folder: Path) -> None:
    run = assay.open_run(folder)
    assert run.tasks == ("sums",)
    found = [(each.sample_id, each.attempt, each.score, each.outcome) for each in run.attempts()]
    assert found == [
        (f"s{n}", attempt, {1: 0.0, 3: None}.get(n, 1.0), {1: "wrong", 3: "failed"}.get(n, "right"))
        for n in range(5)
        for attempt in (1, 2)
    ]
    [first, *_] = run.attempts("sums")
    assert (first.prompt, first.prediction, first.targets) == ("compute: 0 + 1", "1", ("1",))
    assert first.scores[0].values == {"score": 1.0}
    assert first.metadata == {"odd": False, "tags": [0]}


def test_samples_hold_all_their_attempts(folder: Path) -> None:
    run = assay.open_run(folder)
    assert [(each.id, each.scores) for each in run.samples()][:2] == [("s0", (1.0, 1.0)), ("s1", (0.0, 0.0))]
    sample = run.sample("s3")
    assert (sample.task, len(sample.attempts), sample.attempts[1].failures[0].kind) == ("sums", 2, "exception")
    assert sample.metadata["odd"] is True
    assert "the line is down" in repr(sample)
    assert repr(next(run.attempts())) == "<Attempt 1 at sums / s0: right, score 1.000, '1'>"
    with pytest.raises(UsageError, match="no attempt at a sample `s9`"):
        run.sample("s9")
    with pytest.raises(UsageError, match=r"no task `sum`. Did you mean `sums`"):
        next(run.attempts("sum"))


def test_failures_are_those_that_the_leaderboard_counts(folder: Path) -> None:
    run = assay.open_run(folder)
    failed = list(run.failures("sums"))
    assert [each.sample_id for each in failed] == ["s3", "s3"]
    assert len(failed) == run.leaderboard.failed


def test_a_sample_that_several_tasks_have_is_asked_for_with_its_task(tmp_path: Path) -> None:
    run = assay.open_run(write_run(tmp_path / "run", "m", 0.5, ("graded", "judged")))
    with pytest.raises(UsageError, match="several tasks have a sample `s1`: graded, judged"):
        run.sample("s1")
    assert run.sample("s1", "judged").task == "judged"


def test_a_table_has_a_column_for_every_value_and_metadata_key(folder: Path) -> None:
    run = assay.open_run(folder)
    columns = {each.name: each.kind for each in table_of_runs([run._source], "attempts").columns}
    assert (columns["metadata.odd"], columns["metadata.tags"]) == ("bool", "text")
    scorer = run.provenance.definitions[0].scorers[0].key
    assert columns[f"{scorer}.score"] == "float"


def test_attempts_can_be_picked_and_keep_the_numbers_that_they_have_in_the_whole(folder: Path) -> None:
    source = assay.open_run(folder)._source

    def second_of_odd(record: Record) -> bool:
        return bool(record.metadata["odd"]) and record.attempt == 2

    names = ["sample_id", "attempt", "score", "outcome"]
    [chunk] = table_of_runs([source], "attempts", names, only=second_of_odd).chunks()
    assert [*zip(*chunk, strict=True)] == [("s1", 2, 0.0, "wrong"), ("s3", 2, None, "failed")]
    with pytest.raises(UsageError, match="a task's numbers are over all of them"):
        table_of_runs([source], "tasks", only=second_of_odd)


def test_what_is_right_is_judged_by_all_attempts_of_the_task(written: Path) -> None:
    described = json.loads((written / "run.json").read_text())
    described["definitions"][0]["aggregates"] = [
        {
            "key": "m",
            "use": "mean",
            "options": {"field": "points"},
            "about": {"type": "mean", "value": {"name": "points"}},
        }
    ]
    (written / "run.json").write_text(json.dumps(described))
    write_lines(written, [record_of(0, {"points": 1.0}), record_of(1, {"points": 7.0})])
    source = assay.open_run(written)._source
    [[whole]] = table_of_runs([source], "attempts", ["outcome"]).chunks()
    [[picked]] = table_of_runs([source], "attempts", ["outcome"], only=lambda record: record.index == 0).chunks()
    assert (whole, picked) == (["scored", "scored"], ["scored"])


def test_the_costs_are_those_of_the_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prices = {
        "date": "2026-01-01",
        "models": {"m": {"input": 1.0, "output": 2.0}, "a judge": {"input": 5, "output": 5}},
    }
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    run = assay.open_run(write_run(tmp_path / "run", "m", 0.5))
    board = run.leaderboard
    assert board.cost is not None
    assert board.judge_cost is not None
    assert board.cost.amount
    model, judge = run.costs()
    assert (model.cost.amount, judge.cost.amount) == (board.cost.amount, board.judge_cost.amount)
    amounts = [each.cost.amount for each in run.attempts() if each.cost is not None and each.cost.amount is not None]
    assert sum(amounts) == pytest.approx(board.cost.amount)
    judged = [each.judge_cost.amount for each in run.attempts("judged") if each.judge_cost is not None]
    assert sum(map(float, filter(None, judged))) == pytest.approx(board.judge_cost.amount)


def test_the_diff_is_that_of_the_command_and_says_so_in_text_and_html(tmp_path: Path) -> None:
    before = assay.open_run(write_run(tmp_path / "a", "a", 0.5))
    write_run(tmp_path / "b", "b", 0.8)
    found = before.diff(tmp_path / "b")
    assert found == diff(tmp_path / "a", tmp_path / "b")
    assert found.verdict in repr(found)
    assert found.verdict in found._repr_html_()
    assert before.diff(assay.open_run(tmp_path / "b"), level=0.99, by="level").level == 0.99
    with pytest.raises(UsageError, match="between 0 and 1"):
        before.diff(tmp_path / "b", level=95)


def test_a_level_and_slices_of_ones_own(folder: Path) -> None:
    run = assay.open_run(folder, level=0.8, by="metadata.odd")
    assert run.leaderboard.level == 0.8
    assert {each.by for each in run.leaderboard.tasks[0].slices} == {"odd"}
    with pytest.raises(UsageError, match="between 0 and 1"):
        assay.open_run(folder, level=80)


def test_a_finished_call_opens_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = assay.evaluate(str(write_sums(tmp_path, "sums", 2)), Adder(), folder=tmp_path / "run")
    [made] = result.runs
    assert [each.score for each in made.open().attempts()] == [1.0, 1.0]
    assert "sums" in made._repr_html_()
    assert "sums" in result._repr_html_()


def test_the_text_of_a_run_is_its_leaderboard_and_what_to_know(folder: Path) -> None:
    assert repr(assay.open_run(folder)) == f"<Run {folder}: broken, task sums>"
    said = str(assay.open_run(folder))
    assert "| sums " in said
    assert "not complete" in said
    assert "2 of 10 attempts failed" in said


def write_lines(folder: Path, records: list[Record]) -> None:
    """A journal as a run writes it."""
    lines = with_checksums([msgspec.json.encode(record) for record in records], 1)
    (folder / "journal.jsonl").write_bytes(bytes(lines))


def record_of(index: int, values: dict[str, Any], **more: Any) -> Record:
    return Record(
        key=f"{index:016x}",
        task="graded",
        sample_id=f"s{index}",
        index=index,
        trace=Trace(prediction="4", prompt="2 + 2"),
        scores=(Score(name="match", values=values),),
        **more,
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", "m", 0.5, ("graded",))


def test_a_run_that_is_being_written_shows_what_is_there(written: Path) -> None:
    write_lines(written, [record_of(0, {"score": 1.0}), record_of(1, {"score": 0.5})])
    with (written / "journal.jsonl").open("ab") as file:
        file.write(b'{"key":"00000000000000ff","task":"gra')
    run = assay.open_run(written)
    seen = run.attempts()
    assert next(seen).score == 1.0
    journal = Journal(written / "journal.jsonl")
    journal.append([record_of(2, {"score": 0.0})])
    assert [each.score for each in seen] == [0.5]
    assert [each.score for each in assay.open_run(written).attempts()] == [1.0, 0.5, 0.0]
    journal.close()
    assert run.leaderboard.tasks[0].remaining == SAMPLES - 3


def test_the_first_success_counts_and_earlier_failures_have_no_row(written: Path) -> None:
    from assay.core.types import Failure

    broken = Record(
        key=f"{0:016x}",
        task="graded",
        sample_id="s0",
        index=0,
        failures=(Failure(stage="model", kind="timeout", message="late"),),
    )
    write_lines(written, [broken, record_of(0, {"score": 1.0}), record_of(0, {"score": 0.0}), broken])
    assert [each.score for each in assay.open_run(written).attempts()] == [1.0]


def test_attempts_of_a_task_that_the_run_does_not_know_are_in_no_table(written: Path) -> None:
    stray = msgspec.structs.replace(record_of(7, {"score": 1.0}), task="another")
    write_lines(written, [record_of(0, {"score": 1.0}), stray])
    assert [each.task for each in assay.open_run(written).attempts()] == ["graded"]


def test_a_journal_that_was_moved_aside_while_it_was_read_is_a_sentence(written: Path) -> None:
    run = assay.open_run(written)
    assert run.leaderboard.tasks[0].scored == SAMPLES
    assert run._source.survey is not None
    (written / "journal.jsonl").unlink()
    with pytest.raises(UsageError, match="moved or changed while it was read"):
        next(run.attempts())


def test_odd_names_and_values_of_strangers_make_odd_columns_and_no_trouble(written: Path) -> None:
    odd = {"score": 1.0, "<b>": "=1+1", "": True, "huge": 10**30, "mixed": 1, "\x1b[31m": None}
    write_lines(
        written,
        [
            record_of(0, odd, metadata={"score": {"deep": [1]}, "m": None}),
            record_of(1, {"score": 0.0, "mixed": "one"}, metadata={"m": 2}),
        ],
    )
    table = table_of_runs([assay.open_run(written)._source], "attempts")
    names = [column.name for column in table.columns]
    [chunk] = table.chunks()
    rows = dict(zip(names, chunk, strict=True))
    assert rows["match.mixed"] == ["1", "one"]
    assert rows["match.huge"] == [1e30, None]
    assert rows["match."] == [True, None]
    assert rows["metadata.score"] == ['{"deep":[1]}', None]
    assert rows["metadata.m"] == [None, 2]


def test_more_values_than_columns_are_a_sentence_and_more_metadata_is_json(written: Path) -> None:
    write_lines(written, [record_of(0, {f"v{n}": 1.0 for n in range(1001)})])
    run = assay.open_run(written)
    assert len(next(run.attempts()).scores[0].values) == 1001
    with pytest.raises(UsageError, match="more than 1,000 different values"):
        table_of_runs([run._source], "attempts")
    write_lines(written, [record_of(0, {"score": 1.0}, metadata={f"k{n}": n for n in range(501)})])
    table = table_of_runs([assay.open_run(written)._source], "attempts", ["metadata"])
    [[[text]]] = table.chunks()
    assert json.loads(text)["k500"] == 500


def test_a_weight_that_is_missing_leaves_every_attempt_without_a_number(written: Path) -> None:
    described = json.loads((written / "run.json").read_text())
    options = {"field": "label", "weights": {"good": 1.0}}
    described["definitions"][0]["aggregates"] = [
        {
            "key": "w",
            "use": "weighted_average",
            "options": options,
            "about": {"type": "mean", "value": {"name": "label"}, "weights": {"good": 1.0}},
        }
    ]
    (written / "run.json").write_text(json.dumps(described))
    write_lines(written, [record_of(0, {"label": "good"}), record_of(1, {"label": "other"})])
    run = assay.open_run(written)
    assert run.leaderboard.tasks[0].score is None
    assert [each.score for each in run.attempts()] == [None, None]


def test_shards_that_are_not_merged_yet_are_reported_and_then_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tasks = load_tasks([str(write_sums(tmp_path, "sums", 4))])
    for number in (1, 2):
        run_shard(tasks, RunConfig(), number=number, count=2, folder=tmp_path / "run")
    early = assay.open_run(tmp_path / "run")
    assert list(early.attempts()) == []
    assert "2 shard files may hold more attempts; `assay merge" in early.notes[-1]
    merge_run(tmp_path / "run")
    run = assay.open_run(tmp_path / "run")
    assert [each.sample_id for each in run.attempts()] == ["s0", "s1", "s2", "s3"]
    assert not any("shard" in note for note in run.notes)


def test_a_run_that_was_scored_again_is_read_like_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 3), Adder({2}))
    rescore(tmp_path / "run", folder=tmp_path / "again")
    assert [each.score for each in assay.open_run("again").attempts()] == [1.0, 1.0, 0.0]


def test_what_is_not_a_run_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a run folder \(it has no run.json\)"):
        assay.open_run(tmp_path / "nothing")
    (tmp_path / "run.json").write_text('{"schema": "assay.optimize.run.v1", "fingerprint": "", "parts": {}}')
    with pytest.raises(UsageError, match="holds a search of `assay optimize`, not a run"):
        assay.open_run(tmp_path)
    with pytest.raises(UsageError, match="rows is `attempts` or `tasks`, not 'samples'"):
        assay.open_run(write_run(tmp_path / "run", "m", 0.5)).to_pandas("samples")  # type: ignore[arg-type]


def test_nothing_but_a_few_numbers_is_held_of_each_attempt(written: Path) -> None:
    long = "x" * 20_000
    records = [msgspec.structs.replace(record_of(n, {"score": 1.0}), last_request=long) for n in range(SAMPLES)]
    records += [msgspec.structs.replace(each, key=f"{n + 1000:016x}", attempt=2) for n, each in enumerate(records)] * 20
    write_lines(written, records)
    size = (written / "journal.jsonl").stat().st_size
    assert size > 10_000_000
    run = assay.open_run(written)
    tracemalloc.start()
    try:
        assert sum(1 for _ in run.attempts()) == 2 * SAMPLES
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 3
