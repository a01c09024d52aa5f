"""Which line of an attempt counts: one answer on every surface, whatever order lines stand in and however often."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.results.runs import Adder, run_into, write_sums

from assay.core.journal import Journal, key_number, read_records
from assay.core.types import Completion, Failure, Record, Score, Trace
from assay.costs.spending import spent_in
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.paired_columns import read_side
from assay.results.marks import Mark, append_mark, marks_agreement
from assay.results.measure import measure_of
from assay.results.per_example import read_examples
from assay.results.report_settings import View
from assay.results.worst_attempts import attempts_of, worst_attempts
from assay.run_file import read_run_file
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.later.rescore import Answers
from assay.runs.shard_files import Shard, merge_shards, new_file, shard_files
from assay.storage.checksum import with_checksums
from assay.viewer.index import Snapshot, index_path, update_index

SAMPLES = 4
TASK = "sums"
ENCODE = msgspec.json.Encoder().encode


class Told(NamedTuple):
    """What one attempt comes to."""

    score: float | None
    said: str | None
    failure: str | None
    """Why it has no score."""
    whole: bool = True
    """Whether it has the scores of all scorers."""


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    run = run_into(folder / "run", write_sums(folder / "tasks", TASK, SAMPLES), Adder())
    file = json.loads((run / "run.json").read_text())
    for aggregate in file["definitions"][0]["aggregates"]:  # of one scorer, as where a task has several
        aggregate.setdefault("options", {})["scorer"] = SCORER
    (run / "run.json").write_text(json.dumps(file))
    return run


BECAME = ("right", "wrong", "broken", "late", "partly", "unjudged", "continued")
"""`partly`: another scorer broke; `unjudged`: its own did; `continued`: scored with the answer of an earlier line."""
LINES = st.lists(st.tuples(st.integers(0, SAMPLES - 1), st.sampled_from(BECAME)), max_size=14)
"""Which sample, and what became of it. A line that comes up twice is the same line, byte for byte."""
WAYS = st.sampled_from(["appended", "by hand", "doubled"])


@settings(max_examples=60, deadline=None)
@given(lines=LINES, way=WAYS)
def test_every_surface_counts_the_same_line(
    finished_run: Path, tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[int, str]], way: str
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    for name in ("run.json", "prices.yaml"):
        if (finished_run / name).exists():
            (folder / name).write_bytes((finished_run / name).read_bytes())
    keys = {record.index: record.key for record in read_records(finished_run / "journal.jsonl")}
    records = [a_line(keys[sample], sample, became) for sample, became in lines]
    write_journal(folder / "journal.jsonl", records, way)
    expected = what_counts(records)

    assert told_by_resume(folder) == {key for key, told in expected.items() if told.whole}
    assert answered_by_resume(folder) == {key for key, told in expected.items() if told.said and not told.whole}
    assert spent_in(folder / "journal.jsonl")[0].tokens_in == tokens_of(records)
    assert told_by_the_leaderboard(folder) == counts_of(expected)
    assert told_by_examples(folder) == expected
    assert told_by_show(folder, SAMPLES) == expected
    assert told_by_diff(folder) == {key: (told.score, told.failure is not None) for key, told in expected.items()}
    assert told_by_marks(folder, keys.values()) == sum(told.score is None for told in expected.values()) + (
        SAMPLES - len(expected)
    )
    assert told_by_the_viewer(folder, lines) == {key: (t.score, not t.whole) for key, t in expected.items()}
    assert told_by_rescore(folder, keys) == {key: told.said for key, told in expected.items() if told.said is not None}
    assert told_by_a_merge(tmp_path_factory.mktemp("merged"), records) == expected


def a_line(key: str, sample: int, became: str) -> Record:
    common = {"key": key, "task": TASK, "sample_id": f"s{sample}", "index": sample, "targets": (str(sample + 1),)}
    if became in ("broken", "late"):
        kind = "timeout" if became == "late" else "connection"
        return Record(**common, failures=(Failure(stage="model", kind=kind, message=became),), seconds=0.5)
    said = "no idea" if became == "wrong" else str(sample + 1)
    trace = Trace(
        prediction=said,
        prompt=f"compute: {sample} + 1",
        completions=(Completion(text=said, tokens_in=7, tokens_out=2),),
    )
    broke = {"partly": "judge", "unjudged": SCORER}.get(became)
    return Record(
        **common,
        trace=trace,
        scores=() if became == "unjudged" else (Score(name=SCORER, values={"score": float(became != "wrong")}),),
        failures=(Failure(stage="scorer", scorer=broke, kind="bad_output", message=became),) if broke else (),
        continued=became == "continued",
    )


SCORER = "exact_match"


def write_journal(path: Path, records: list[Record], way: str) -> None:
    if way == "appended":
        journal = Journal(path)
        journal.append(records)
        journal.close()
    elif way == "by hand":  # every line from another journal, where it was the first
        path.write_bytes(b"".join(with_checksums([ENCODE(record)], 1) for record in records))
    else:  # a backup put after what it is the backup of
        path.write_bytes(with_checksums(map(ENCODE, records), 1) * 2)


def what_counts(records: list[Record]) -> dict[str, Told]:
    """The rule, as a sentence says it."""
    found: dict[str, Record] = {}
    for record in records:
        there = found.get(record.key)
        # the first success stays; until then the line that got furthest counts, and of several the last
        if there is None or (there.failures and (not record.failures or reached(there) <= reached(record))):
            found[record.key] = record
    return {key: told_of(record) for key, record in found.items()}


def reached(record: Record) -> int:
    return (record.trace is not None) + len(record.scores)


def tokens_of(records: list[Record]) -> int:
    """Of all answers up to the first success of an attempt, each line once; what is continued was paid for before."""
    paid: dict[str, list[Record]] = {}
    for record in records:
        lines = paid.setdefault(record.key, [])
        if record not in lines and all(line.failures for line in lines):
            lines.append(record)
    return sum(7 for lines in paid.values() for line in lines if line.trace is not None and not line.continued)


def told_of(record: Record) -> Told:
    said = record.trace.prediction if record.trace is not None else None
    if not record.scores:
        return Told(None, said, record.failures[0].kind, whole=False)
    return Told(float(record.scores[0].values["score"] or 0.0), said, None, whole=not record.failures)


def counts_of(expected: dict[str, Told]) -> tuple[int, int, int, int, int, float | None]:
    scores = [told.score for told in expected.values() if told.score is not None]
    late = sum(told.failure == "timeout" for told in expected.values())
    failed = sum(not told.whole for told in expected.values()) - late
    remaining = SAMPLES - len(expected)
    return len(scores), sum(map(int, scores)), failed, late, remaining, sum(scores) / len(scores) if scores else None


def told_by_resume(folder: Path) -> set[str]:
    return {f"{key:016x}" for key in EarlierAttempts(folder / "journal.jsonl")}


def answered_by_resume(folder: Path) -> set[str]:
    """The attempts that are continued rather than made again."""
    earlier = EarlierAttempts(folder / "journal.jsonl")
    keys = {record.key for record in read_records(folder / "journal.jsonl")}
    return {key for key in keys if int(key, 16) not in earlier and earlier.record(int(key, 16)) is not None}


def told_by_the_leaderboard(folder: Path) -> tuple[int, int, int, int, int, float | None]:
    [row] = build_leaderboard(folder).tasks
    assert spent_in(folder / "journal.jsonl")[0].tokens_in == row.tokens_in
    return row.scored, row.correct, row.failed, row.timeouts, row.remaining, row.score


def told_by_examples(folder: Path) -> dict[str, Told]:
    run = read_run_file(folder)
    keys = {(record.sample_id, record.attempt): record.key for record in read_records(folder / "journal.jsonl")}
    examples = read_examples(folder / "journal.jsonl", {each.name: measure_of(each) for each in run.definitions})
    return {
        keys[each.id, each.attempt]: Told(
            each.score,
            each.prediction,
            each.failure.split(":", maxsplit=1)[0] if each.failure else None,
            whole=not each.failure and not each.missing,
        )
        for each in examples.get(TASK, [])
    }


def told_by_show(folder: Path, most: int) -> dict[str, Told]:
    shown = worst_attempts(folder / "journal.jsonl", {}, most)
    each = [record for n in range(most) for record in attempts_of(folder / "journal.jsonl", f"s{n}")]
    assert sorted(map(repr, shown)) == sorted(map(repr, each))
    return {record.key: told_of(record) for record in shown}


def told_by_diff(folder: Path) -> dict[str, tuple[float | None, bool]]:
    side = read_side(folder, View())
    columns = side.tasks[TASK]
    names = {record.sample_id: record.key for record in read_records(folder / "journal.jsonl")}
    found = {}
    for score, failed, place in zip(columns.scores, columns.failed, columns.places, strict=True):
        example = side.example(TASK, int(place))
        found[names[example.id]] = (None if np.isnan(score) else float(score), bool(failed))
    assert len(found) == len(columns)
    return found


def told_by_marks(folder: Path, keys: object) -> int:
    for key in keys:  # type: ignore[attr-defined]
        append_mark(folder, Mark(key=key, task=TASK, sample_id=key, verdict="right"))
    found = marks_agreement(folder)
    assert found is not None
    return found.unscored


def told_by_the_viewer(folder: Path, lines: list[tuple[int, str]]) -> dict[str, tuple[float | None, bool]]:
    run = read_run_file(folder)
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes()
    half = whole.find(b"\n", len(whole) // 2) + 1
    for end in (half, len(whole)):  # it grows, and is looked at in between
        journal.write_bytes(whole[:end])
        update_index(folder, run.fingerprint, run.definitions)
    snapshot = Snapshot(index_path(folder))
    keys = {key_number(record.key): record.key for record in read_records(journal)}
    found = {}
    rows = np.flatnonzero(snapshot.counts).tolist()
    for row in rows:
        score = float(snapshot.column("score")[row])
        failed = int(snapshot.column("failure")[row]) >= 0
        found[keys[int(snapshot.column("key")[row])]] = (None if np.isnan(score) else score, failed)
    assert len(rows) == len(found)
    return found


def told_by_rescore(folder: Path, keys: dict[int, str]) -> dict[str, str]:
    answers = Answers(folder / "journal.jsonl")
    try:
        found = {keys[n]: answers.of(TASK, f"s{n}", 1) for n in range(SAMPLES)}
    finally:
        answers.close()
    return {key: record.trace.prediction for key, record in found.items() if record is not None and record.trace}


def told_by_a_merge(folder: Path, records: list[Record]) -> dict[str, Told]:
    """The lines in three files of shards, the last of them merged later: what counts is what counts in one journal."""
    third = len(records) // 3 + 1
    journal = Journal(folder / "journal.jsonl")
    for start in range(0, len(records), third):
        file = Journal(new_file(folder, Shard(0, SAMPLES)))
        file.append(records[start : start + third])
        file.close()
        merge_shards(folder, journal)
    merged = merge_shards(folder, journal)
    assert (merged.added, merged.failed) == (0, 0), "merging again adds nothing"
    journal.close()
    finished = {f"{key:016x}" for key in EarlierAttempts(*(path for _, path in shard_files(folder)))}
    assert finished == told_by_resume(folder)
    return what_counts(list(read_records(folder / "journal.jsonl")))


def test_a_backup_put_back_changes_no_number(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", TASK, 20)
    folder = run_into(tmp_path / "run", tasks, Adder(wrong=range(5)))
    before = build_leaderboard(folder)
    journal = folder / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() * 2 + journal.read_bytes()[: journal.stat().st_size // 2])
    after = build_leaderboard(folder)
    assert after.tasks == before.tasks
    assert (after.complete, after.fingerprint, after.cost) == (True, before.fingerprint, before.cost)
    run_into(folder, tasks, Adder(wrong=range(5)))  # nothing is remaining, and nothing retried
