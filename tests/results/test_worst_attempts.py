"""What a reader sees first: what failed, then what scored lowest, by each task's own direction."""

from __future__ import annotations

from pathlib import Path

from tests.results.board.scripted_boards import BROKEN, EXCLUDED, write_run

from assay.results.measure import Measure
from assay.results.worst_attempts import attempts_of, worst_attempts


def journal_of(tmp_path: Path) -> Path:
    return write_run(tmp_path, {"t": [[1.0], [0.0], [BROKEN], [0.5], [EXCLUDED]]}) / "journal.jsonl"


def test_failures_come_first_and_what_has_no_number_last(tmp_path: Path) -> None:
    found = worst_attempts(journal_of(tmp_path), {"t": Measure(field="score")}, 9)
    assert [record.index for record in found] == [2, 1, 3, 0, 4]
    assert [record.index for record in worst_attempts(journal_of(tmp_path), {"t": Measure(field="score")}, 2)] == [2, 1]


def test_where_less_is_better_the_most_is_worst(tmp_path: Path) -> None:
    from assay.results.measure import measure_of  # noqa: F401 - the direction is a field of the measure

    turned = Measure(field="score", lower_is_better=True)
    assert [record.index for record in worst_attempts(journal_of(tmp_path), {"t": turned}, 3)] == [2, 0, 3]


def test_every_attempt_at_a_sample_in_every_task(tmp_path: Path) -> None:
    journal = write_run(tmp_path, {"b": [[1.0, 0.0]], "a": [[0.5, 1.0]]}) / "journal.jsonl"
    sample = worst_attempts(journal, {}, 1)[0].sample_id
    assert [(each.task, each.attempt) for each in attempts_of(journal, sample)] == [
        ("a", 1),
        ("a", 2),
        ("b", 1),
        ("b", 2),
    ]
    assert attempts_of(journal, "nobody") == []
