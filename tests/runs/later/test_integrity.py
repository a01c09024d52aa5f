"""`verify` names what was edited, duplicated or cut in a run, and finds nothing in one that was left alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay import catalog
from assay.core.describe import ScorerInfo
from assay.core.types import PartSpec
from assay.runs.later.integrity import MOST, check_run, in_unit_range
from assay.storage.checksum import record_of, with_checksums

COUNT = 12


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_into(tmp_path / "run", write_sums(tmp_path / "tasks", "sums", COUNT), Adder(wrong=[3]))


def found(folder: Path) -> list[tuple[str, int | None, str]]:
    return [(problem.file, problem.line, problem.what) for problem in check_run(folder).problems]


def rewrite(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(change(journal.read_bytes().splitlines(keepends=True))))


def resummed(line: bytes, old: bytes, new: bytes, number: int) -> bytes:
    """An edit by someone who knows how checksums are made."""
    assert old in line
    return with_checksums([record_of(line).replace(old, new)], number)


def test_a_run_that_was_left_alone_is_intact(run: Path) -> None:
    checked = check_run(run)
    assert checked.problems == []
    assert (checked.lines, checked.damaged, checked.planned, checked.finished, checked.failed) == (12, 0, 12, 12, 0)
    assert checked.yours


def test_a_run_with_retried_failures_is_intact(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path / "tasks", "sums", COUNT)
    run = run_into(tmp_path / "run", tasks, Broken([2, 5]))
    assert (check_run(run).finished, check_run(run).failed) == (10, 2)
    run_into(tmp_path / "run", tasks, Broken([5]))
    checked = check_run(run)
    assert (checked.problems, checked.lines, checked.finished, checked.failed) == ([], 14, 11, 1)


def test_an_edited_line_is_named(run: Path) -> None:
    rewrite(run, lambda lines: [*lines[:4], lines[4].replace(b'"score":1.0', b'"score":0.5'), *lines[5:]])
    assert found(run) == [("journal.jsonl", 5, "edited")]


def test_a_score_out_of_its_range_is_named_also_where_the_checksum_fits(run: Path) -> None:
    rewrite(run, lambda lines: [resummed(lines[0], b'"score":1.0', b'"score":5.0', 1), *lines[1:]])
    assert ("journal.jsonl", 1, "range") in found(run)
    assert ("leaderboard.json", None, "board") in found(run)


def test_lines_that_were_cut_out_are_counted(run: Path) -> None:
    (run / "leaderboard.json").unlink()
    rewrite(run, lambda lines: [*lines[:4], *lines[7:]])
    [problem] = check_run(run).problems
    assert str(problem) == "journal.jsonl, line 5: cut: 3 lines were cut out before it: it was written as line 8"
    assert check_run(run).finished == COUNT - 3


def test_lines_that_were_cut_off_at_the_end_disagree_with_the_leaderboard(run: Path) -> None:
    rewrite(run, lambda lines: lines[:-2])
    problems = check_run(run).problems
    assert {problem.what for problem in problems} == {"board"}
    assert any("sums.scored is 12, but the journal gives 10" in problem.message for problem in problems)


def test_a_torn_last_line_is_named(run: Path) -> None:
    (run / "leaderboard.json").unlink()
    (run / "journal.jsonl").write_bytes((run / "journal.jsonl").read_bytes()[:-20])
    assert found(run) == [("journal.jsonl", 12, "cut")]


def test_a_doubled_line_is_named_and_changes_no_number(run: Path) -> None:
    rewrite(run, lambda lines: [*lines, lines[3]])
    problems = check_run(run).problems
    assert {(problem.line, problem.what) for problem in problems} == {(13, "doubled")}
    assert any("`s3` of task `sums` is finished a second time" in problem.message for problem in problems)
    assert check_run(run).finished == COUNT


def test_a_line_from_elsewhere_is_named(run: Path, tmp_path: Path) -> None:
    (run / "leaderboard.json").unlink()

    def change(lines: list[bytes]) -> list[bytes]:
        lines[0] = resummed(lines[0], b'"task":"sums"', b'"task":"other"', 1)
        lines[1] = resummed(lines[1], b'"index":1', b'"index":99', 2)
        lines[2] = resummed(lines[2], b'"index":2', b'"index":5', 3)
        lines[3] = b"not a record\n"
        return [*lines, resummed(lines[7], b'"key":"', b'"key":"1', 13)]

    rewrite(run, change)
    assert [(line, what) for _, line, what in found(run)] == [
        (1, "foreign"),
        (2, "foreign"),
        (4, "unchecked"),
        (6, "foreign"),
        (13, "unreadable"),
    ]


def test_the_keys_are_recomputed_where_the_samples_are_at_hand(run: Path, tmp_path: Path) -> None:
    key = json.loads((run / "journal.jsonl").read_bytes().splitlines()[0])["key"].encode()
    rewrite(run, lambda lines: [resummed(lines[0], key, b"0123456789abcdef", 1), *lines[1:]])
    for file in ("leaderboard.json", "report.md"):
        (run / file).unlink()
    assert assay("verify", "run", cwd=tmp_path).returncode == 0
    done = assay("verify", "run", "tasks/sums.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "line 1: foreign" in done.stdout
    assert "its key matches no sample of these task files" in done.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"repeat": 1', '"repeat": 2'),
        ('"limit": null', '"limit": 5'),
        ('"metric": "normalized_exact_match"', '"metric": "f1"'),
        ('"name": "adder"', '"name": "gpt-9"'),
        ('"size": 12', '"size": 13'),
    ],
)
def test_an_edited_run_file_does_not_come_to_its_fingerprint(run: Path, old: str, new: str) -> None:
    content = (run / "run.json").read_text()
    assert old in content
    for times in range(1, content.count(old) + 1):  # only the first of them, or all
        (run / "run.json").write_text(content.replace(old, new, times))
        assert any(problem.what == "fingerprint" for problem in check_run(run).problems), times


def test_an_edited_leaderboard_and_report_are_named(run: Path) -> None:
    board = json.loads((run / "leaderboard.json").read_bytes())
    board["tasks"][0]["score"] = 0.99
    (run / "leaderboard.json").write_text(json.dumps(board))
    [problem] = check_run(run).problems
    assert problem.message.startswith("sums.score is 0.99, but the journal gives 0.91")
    assay("report", str(run), cwd=run)
    assert check_run(run).problems == []
    (run / "report.md").write_text((run / "report.md").read_text().replace("0.917", "0.999"))
    assert found(run) == [("report.md", None, "board")]


def test_lines_whose_checksums_were_removed_are_named(run: Path, tmp_path: Path) -> None:
    rewrite(run, lambda lines: [*lines[:10], *(record_of(line) + b"\n" for line in lines[10:])])
    assert found(run) == [("journal.jsonl", line, "unchecked") for line in range(11, COUNT + 1)]
    rewrite(run, lambda lines: [record_of(line) + b"\n" for line in lines])
    assert (check_run(run).damaged, len(check_run(run).problems)) == (COUNT, COUNT)
    done = assay("verify", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "line 12" in done.stdout


def test_many_problems_are_counted(run: Path) -> None:
    rewrite(run, lambda lines: lines + [lines[0]] * MOST)
    checked = check_run(run)
    assert len(checked.problems) == MOST
    assert checked.more > 0


def test_what_another_user_made_is_reported(run: Path, tmp_path: Path) -> None:
    done = assay("verify", "run", cwd=tmp_path, ASSAY_HOME=str(tmp_path / "another"))
    assert done.returncode == 0
    assert "another user, machine or version made this run" in done.stderr


@pytest.mark.parametrize(
    ("use", "options", "unit"),
    [
        ("metric", {"metric": "f1"}, True),
        ("code_exec", {}, True),
        ("evaluator", {"command": ["x"]}, True),
        ("evaluator", {"command": ["x"], "score_range": "any"}, False),
        ("python", {}, False),
        ("text_likelihood", {}, False),
        ("my_package:scorer", {}, False),
    ],
)
def test_a_scorer_says_what_range_its_scores_have(use: str, options: dict[str, object], unit: bool) -> None:
    about = catalog.describe("scorer", use, options) or ScorerInfo()
    assert in_unit_range(PartSpec(key="k", use=use, options=options, about=about)) is unit
