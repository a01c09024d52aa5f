"""The frozen task spec: every rule is pinned by a case, good records pass, and no bytes whatsoever crash a reader."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.calls import calls_of

from assay.catalog import CATALOG, resolve
from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.formats.fixtures import BAD_SPEC_FIXTURE, SPEC_FIXTURE
from assay.formats.frozen_spec.reader import (
    LINE_RULES,
    RULES,
    SpecError,
    SpecFileDataset,
    iter_validated,
    load_fixtures,
    post_process,
    read_spec_file,
    render,
    validate_file,
    validate_task,
)
from assay.formats.frozen_spec.rules import (
    CATEGORIES,
    METRIC_NAMES,
    POST_PROCESS_RULES,
    check_record,
)
from assay.reading.strict_json import MAX_LINE_BYTES


def interleaved(folder: Path, each: int, prompt: str = "Say 4.") -> Path:
    """A file whose records take turns between two categories, with blank and bad lines in between."""
    lines: list[Any] = []
    for number in range(each):
        lines += [
            record(task_id=f"a{number}", prompt=prompt),
            record(task_id=f"s{number}", category="summary", prompt=prompt),
        ]
        lines += [b"", b"{"] if number % 3 == 0 else []
    return write(folder, *lines)


def record(**changes: Any) -> dict[str, Any]:
    """A good record with some fields changed."""
    good = {
        "task_id": "a1",
        "category": "arithmetic",
        "prompt": "Say 4.",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "none",
    }
    return {**good, **changes}


def mcq(**changes: Any) -> dict[str, Any]:
    return record(**{"category": "mcq", "targets": ["B"], "post_process": "extract_letter", **changes})


def example(number: int) -> dict[str, str]:
    return {"prompt": f"Say {number}.", "completion": str(number)}


# --- files


def write(folder: Path, *lines: bytes | dict[str, Any], ending: bytes = b"\n") -> Path:
    path = folder / "tasks.jsonl"
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + ending for line in lines)
    )
    return path


def test_the_fixture_covers_every_branch() -> None:
    validated, errors = validate_file(SPEC_FIXTURE)
    assert errors == []
    assert sorted(task.category for task in validated) == sorted(CATEGORIES * 2)
    assert {task.metric_name for task in validated} == set(METRIC_NAMES)
    assert {task.post_process for task in validated} == set(POST_PROCESS_RULES)
    assert {(bool(task.few_shot_examples), bool(task.metadata)) for task in validated} == {
        (True, True), (True, False), (False, True), (False, False),
    }  # fmt: skip
    assert load_fixtures() == validated


def test_the_bad_fixture_breaks_every_rule_once_and_holds_one_good_record_that_is_given_twice() -> None:
    validated, errors = validate_file(BAD_SPEC_FIXTURE)
    lines = BAD_SPEC_FIXTURE.read_bytes().splitlines()
    assert [task.task_id for task in validated] == ["duplicate_task_id"]
    assert sorted(error.rule for error in errors) == sorted(LINE_RULES)
    assert len(errors) == len(lines) - 1
    for error in errors:
        line = lines[error.line_number - 1].decode(errors="replace")
        assert error.line == (line if len(line) <= 500 else line[:499] + "…")


EACH_ITS_OWN = ["not_utf8", "not_an_object", "duplicate_key", "too_deep", "bad_json"]

LINES: list[tuple[bytes, list[str]]] = [
    (b"", ["no_tasks"]),
    (b"\n \n", ["no_tasks"]),
    (b"# a comment\n", ["bad_json"]),
    (b"{}\n{}\n", ["missing_required", "missing_required"]),
    (b'\xff\n[]\n{"a":1,"a":1}\n' + b"[" * 200_000 + b"\n{", EACH_ITS_OWN),
    (b'{"task_id": NaN}', ["bad_json"]),
    (b"\x00" * 100, ["bad_json"]),
]


@pytest.mark.parametrize(("content", "rules"), LINES)
def test_one_bad_line_never_hides_another(tmp_path: Path, content: bytes, rules: list[str]) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(content)
    validated, errors = validate_file(path)
    assert (validated, [error.rule for error in errors]) == ([], rules)


def test_good_lines_between_bad_ones_are_kept_with_their_numbers(tmp_path: Path) -> None:
    path = write(
        tmp_path, record(task_id="a"), b"{", b"", record(task_id="b"), record(task_id="a"), record(task_id="c")
    )
    validated, errors = validate_file(path)
    assert [task.task_id for task in validated] == ["a", "b", "c"]
    assert [(error.line_number, error.rule) for error in errors] == [(2, "bad_json"), (5, "duplicate_task_id")]
    assert "line 1" in errors[1].detail


def test_a_bad_record_takes_no_good_one_with_it(tmp_path: Path) -> None:
    """Uniqueness is checked last, among the validated ones."""
    lines = [record(prompt=""), record(), b'{"task_id": 4}', b"{", record()]
    validated, errors = validate_file(write(tmp_path, *lines))
    assert len(validated) == 1
    assert [error.rule for error in errors] == ["empty_prompt", "missing_required", "bad_json", "duplicate_task_id"]
    assert "line 2" in errors[-1].detail


def test_an_unknown_post_process_rule_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"unknown post-process rule `lowr`. Did you mean `lower`\?"):
        post_process("B", "lowr")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n", b" \n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_line_endings_and_a_byte_order_mark_do_not_matter(tmp_path: Path, ending: bytes, start: bytes) -> None:
    path = write(tmp_path, record(task_id="a"), record(task_id="b"), ending=ending)
    path.write_bytes(start + path.read_bytes())
    assert [getattr(outcome, "task_id", outcome) for outcome in iter_validated(path)] == ["a", "b"]


def test_a_line_beyond_the_limit_is_reported_and_passed_over(tmp_path: Path) -> None:
    long = b'{"task_id": "' + b"x" * (MAX_LINE_BYTES * 2) + b'"}'
    validated, errors = validate_file(write(tmp_path, record(task_id="a"), long, record(task_id="b")))
    assert [task.task_id for task in validated] == ["a", "b"]
    assert [(error.line_number, error.rule, len(error.line)) for error in errors] == [(2, "bad_json", 500)]


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    for read in (validate_file, partial(read_spec_file, allow_bad=True)):
        with pytest.raises(UsageError, match="cannot be read"):
            read(tmp_path / "none.jsonl")
        with pytest.raises(UsageError, match="is a folder, not a regular file"):
            read(tmp_path)


PIECES = [json.dumps(record()).encode(), b"\n", b"{", b"\xff", b"\r\n", b"\x00"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=st.binary() | st.lists(st.sampled_from(PIECES)).map(b"".join))
def test_arbitrary_bytes_are_tasks_or_errors(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(content)
    validated, errors = validate_file(path)
    assert validated or errors
    assert {error.rule for error in errors} <= set(RULES)


# --- the reader


def test_a_file_becomes_one_task_per_category() -> None:
    suite = read_spec_file(SPEC_FIXTURE, allow_bad=False)
    assert [task.name for task in suite] == list(CATEGORIES)
    assert {task.dataset.size for task in suite} == {2}
    by_name = {task.name: task for task in suite}
    assert by_name["arithmetic"].metric == "exact_match+f1"
    assert by_name["code_exec"].metric == "code_exec"
    assert [(part.key, part.use, part.options) for part in by_name["code_exec"].scorers] == [
        ("code_exec+extract_code_block", "code_exec", {"post_process": "extract_code_block", "shape": "expressions"}),
        ("code_exec", "code_exec", {"post_process": "none", "shape": "expressions"}),
    ]
    assert [(part.key, part.use, part.options) for part in by_name["mcq"].scorers] == [
        ("exact_match+extract_letter", "metric", {"metric": "exact_match", "post_process": "extract_letter"}),
        ("exact_match+strip_whitespace", "metric", {"metric": "exact_match", "post_process": "strip_whitespace"}),
    ]


def test_every_sample_names_a_scorer_of_its_task() -> None:
    for task in read_spec_file(SPEC_FIXTURE, allow_bad=False):
        dataset = SpecFileDataset(**task.dataset.options)
        samples = list(dataset)
        assert len(dataset) == len(samples) == task.dataset.size
        assert {sample.scorer for sample in samples} == {part.key for part in task.scorers}
        assert list(dataset) == samples


def test_a_sample_is_prompted_with_its_examples_in_front(tmp_path: Path) -> None:
    path = write(tmp_path, record(few_shot_examples=[example(3)], metadata={"level": 1}))
    (sample,) = SpecFileDataset(path, "arithmetic")
    assert sample.prompt == "Say 3. 3\n\nSay 4." == render(record(few_shot_examples=[example(3)]))
    assert (sample.id, sample.targets, sample.metadata, sample.scorer) == ("a1", ("4",), {"level": 1}, "exact_match")


def sha_of(path: Path, category: str) -> str:
    return next(task.dataset.sha256 for task in read_spec_file(path, allow_bad=True) if task.name == category)


CHANGES: list[tuple[str, Callable[[bytes], bytes], bool]] = [
    ("CRLF endings", lambda text: text.replace(b"\n", b"\r\n"), True),
    ("another category edited", lambda text: text.replace(b"Hafen", b"Meer"), True),
    ("a bad line added", lambda text: b"{\n" + text, True),
    ("a byte of its own edited", lambda text: text.replace(b"38 + 27", b"38 + 28"), False),
    ("its records swapped", lambda text: b"\n".join(reversed(text.strip().split(b"\n"))), False),
]


@pytest.mark.parametrize(("name", "change", "same"), CHANGES, ids=[case[0] for case in CHANGES])
def test_the_hash_is_over_the_records_of_the_category_alone(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes], same: bool
) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(change(SPEC_FIXTURE.read_bytes()))
    assert (sha_of(path, "arithmetic") == sha_of(SPEC_FIXTURE, "arithmetic")) is same, name


def test_the_hash_can_be_recomputed_by_hand(tmp_path: Path) -> None:
    lines = [json.dumps(record(task_id=name)).encode() for name in "ab"]
    assert sha_of(write(tmp_path, *lines), "arithmetic") == hashlib.sha256(b"\n".join(lines)).hexdigest()


def test_bad_records_stop_a_run_and_are_all_named() -> None:
    with pytest.raises(UsageError) as caught:
        read_spec_file(BAD_SPEC_FIXTURE, allow_bad=False)
    message = str(caught.value)
    assert all(f": {rule}: " in message for rule in LINE_RULES)
    assert f"{BAD_SPEC_FIXTURE}:12: unknown_category: category: " in message
    assert "--allow-bad-tasks" in message


def test_bad_records_are_left_out_and_counted_when_that_is_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, b"{", record(), mcq(task_id="m1"), mcq(task_id="m2", targets=["x"]), record(), b"\xff")
    skipped_records = {task.name: task.skipped_records for task in read_spec_file(path, allow_bad=True)}
    assert skipped_records == {"arithmetic": 3, "mcq": 1}
    assert [sample.id for sample in SpecFileDataset(path, "mcq")] == ["m1"]


@pytest.mark.parametrize("content", [b"", b"\n", b"{\n", b"[]"])
def test_a_file_without_one_good_record_is_refused_even_then(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"no records|no valid record"):
        read_spec_file(path, allow_bad=True)


def test_a_file_full_of_errors_is_reported_in_bounded_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_spec_file(write(tmp_path, *[b"{"] * 1500), allow_bad=False)
    assert "and 500 more" in str(caught.value)
    assert "1500 bad records" in str(caught.value)


def test_a_definition_survives_being_written_and_read() -> None:
    for task in read_spec_file(SPEC_FIXTURE, allow_bad=False):
        assert msgspec.json.decode(msgspec.json.encode(task), type=TaskDefinition) == task


def test_the_runner_finds_every_post_process_rule_here() -> None:
    assert post_process(" B ", "strip_whitespace") == "B"
    assert [post_process("The answer is (B).", rule) for rule in CATALOG["post_process"]]
    with pytest.raises(UsageError, match=r"unknown post-process rule `extract_leter`. Did you mean `extract_letter`\?"):
        post_process("B", "extract_leter")


def test_the_vocabulary_of_rules_is_closed() -> None:
    assert POST_PROCESS_RULES == (
        "none", "strip_whitespace", "lower", "extract_letter", "extract_code_block", "extract_first_line",
    )  # fmt: skip


def test_a_metric_name_means_what_the_metrics_say_it_means() -> None:
    options = [part.options for task in read_spec_file(SPEC_FIXTURE, allow_bad=False) for part in task.scorers]
    used = {each["metric"] for each in options if "metric" in each}
    assert used == {"exact_match", "f1", "bleu_4", "rouge_l", "accuracy"}
    assert resolve("metric", "exact_match")("Paris", ["paris"], {}) == 0.0


def test_a_file_is_validated_once_for_all_its_categories_and_walks(tmp_path: Path) -> None:
    path = interleaved(tmp_path, 20)

    def run() -> None:
        tasks = read_spec_file(path, allow_bad=True)
        assert [task.name for task in tasks] == ["arithmetic", "summary"]
        for task in tasks:
            dataset = SpecFileDataset(**task.dataset.options)
            assert len(dataset) == len(list(dataset)) == len(list(dataset)) == 20

    assert calls_of(check_record, run) == 40


def test_a_walk_from_a_position_reads_nothing_before_it(tmp_path: Path) -> None:
    path = interleaved(tmp_path, 20)
    for category in ("arithmetic", "summary"):
        dataset = SpecFileDataset(path, category)
        samples = list(dataset)
        assert len(samples) == 20
        assert [list(dataset.walk_from(start)) for start in range(22)] == [samples[start:] for start in range(22)]
        assert calls_of(render, lambda walked=dataset: list(walked.walk_from(17))) == 3  # type: ignore[misc]


def test_a_file_that_changed_is_validated_again(tmp_path: Path) -> None:
    path = interleaved(tmp_path, 3)
    dataset = SpecFileDataset(path, "arithmetic")
    assert len(dataset) == 3
    with path.open("ab") as file:
        file.write(json.dumps(record(task_id="new")).encode() + b"\n")
    assert [sample.id for sample in dataset] == ["a0", "a1", "a2", "new"]


def test_a_walk_of_a_longer_file_takes_no_more_memory(tmp_path: Path) -> None:
    def peak(records: int) -> int:
        dataset = SpecFileDataset(interleaved(tmp_path, records, prompt="long" * 1000), "summary")
        tracemalloc.start()
        try:
            assert sum(1 for _ in dataset) == records
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is imported and remembered once
    short, long = peak(100), peak(400)
    assert long - short < 2 * 300 * 4000 / 10, "a tenth of what the file is longer by"


def test_half_a_character_is_refused_in_memory_as_it_is_in_a_file() -> None:
    record = {
        "task_id": "a",
        "category": "arithmetic",
        "prompt": "x\ud800",
        "targets": ["1"],
        "metric_name": "exact_match",
        "post_process": "none",
    }
    refused = validate_task(record)
    assert isinstance(refused, SpecError)
    assert (refused.rule, "half a character" in refused.detail) == ("bad_json", True)
