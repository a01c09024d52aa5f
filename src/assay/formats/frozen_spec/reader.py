"""The frozen task spec as a file: validate it line by line, and read it as one task per category.

Everything a runner needs of the spec can be imported from here: the record (`TaskSpec`), its validator, the fixtures,
`render` and `post_process`. The rules themselves are in `rules.py`.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.catalog import resolve
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, Sample, TaskDefinition
from assay.datasets.repeated_ids import first_lines
from assay.formats.fixtures import SPEC_FIXTURE
from assay.formats.frozen_spec.rules import (
    FILE_RULES,
    LINE_RULES,
    RULES,
    FewShotExample,
    RuleBroken,
    TaskSpec,
    check_record,
)
from assay.formats.shots import Shots
from assay.formats.unreadable_targets import LostWords
from assay.prompts.few_shot import render
from assay.reading.strict_json import Line, StrictJsonError, decode_strictly, read_lines, read_lines_at
from assay.task_records import Provenance
from assay.text.wording import HALF_A_CHARACTER

__all__ = [
    "FILE_RULES",
    "LINE_RULES",
    "RULES",
    "FewShotExample",
    "SpecError",
    "SpecFileDataset",
    "TaskSpec",
    "iter_validated",
    "load_fixtures",
    "post_process",
    "read_spec_file",
    "render",
    "validate_file",
    "validate_task",
]

_SHOWN_LINE_CHARACTERS = 500
_SHOWN_ERRORS = 1000


class SpecError(Struct, frozen=True, kw_only=True):
    """Why a line is not a task: the first rule it breaks."""

    line_number: int
    """Counted from 1; 0 for a record that came from no file, and for what is wrong with a file as a whole."""
    line: str
    """The offending line, cut after 500 characters."""
    rule: str
    """A key of `RULES`."""
    field: str
    """The field at fault, like `targets[0]`; empty when the line as a whole is."""
    detail: str
    """What is wrong and what would be right, in words."""

    def describe(self, path: Path | str) -> str:
        """The error as one line that an editor can jump to."""
        place = f"{path}:{self.line_number}" if self.line_number else f"{path}"
        return ": ".join(part for part in (place, self.rule, self.field, self.detail) if part)


def validate_task(record: object, line_number: int = 0) -> TaskSpec | SpecError:
    """One decoded record: a `TaskSpec` when it keeps every rule, else a `SpecError` with the first rule it breaks.

    Whether a `task_id` is given twice is a question about a file, and answered by `validate_file`.
    """
    try:
        task = check_record(record)
    except RuleBroken as broken:
        return _error(Line(line_number, _as_json(record)), broken.rule, broken.field, broken.detail)
    try:
        msgspec.json.encode(task)
    except UnicodeEncodeError:  # a file cannot hold such a text
        return _error(Line(line_number, _as_json(record)), "bad_json", "", HALF_A_CHARACTER)
    return task


def validate_file(path: Path | str) -> tuple[list[TaskSpec], list[SpecError]]:
    """Every good record and every bad line of a file, in the file's order. One bad line never hides another."""
    outcomes = list(iter_validated(path))
    validated = [outcome for outcome in outcomes if isinstance(outcome, TaskSpec)]
    return validated, [outcome for outcome in outcomes if isinstance(outcome, SpecError)]


def iter_validated(path: Path | str) -> Iterator[TaskSpec | SpecError]:
    """The same one at a time, for files that do not fit in memory: a checksum of each id is kept."""
    for _, outcome in _walk(Path(path)):
        yield outcome


def post_process(text: str, rule: str) -> str:
    """A model's text after one rule, built in or published: what runs between the model and the metric.

    Example: post_process("The answer is B.", "extract_letter") == "B"
    """
    try:
        apply = resolve("post_process", rule)
    except UsageError as error:
        raise UnknownRuleError(str(error)) from None
    return str(apply(text))


class UnknownRuleError(UsageError, ValueError):
    """There is no post-process rule of that name."""


def load_fixtures() -> list[TaskSpec]:
    """The ten records that come with assay: two of each category."""
    return validate_file(SPEC_FIXTURE)[0]


def read_spec_file(path: Path, *, allow_bad: bool, shots: Shots | None = None) -> list[TaskDefinition]:
    """One task per category, in order of first appearance.

    `UsageError` names every bad line, unless `allow_bad`: then bad lines are left out and counted.
    """
    validated = _validated(path)
    if validated.errors and (not allow_bad or not validated.suite):
        raise UsageError(_refusal(path, validated.errors, validated.bad, allow_bad))
    return [part.definition(path, category, shots or Shots()) for category, part in validated.suite.items()]


@describes(DatasetInfo())
class SpecFileDataset:
    """The samples of one category of a spec file, streamed from the file; bad lines are passed over."""

    def __init__(
        self, path: Path | str, category: str, num_fewshot: int | None = None, fewshot_as_turns: bool = False
    ) -> None:
        """`num_fewshot` is how many of a record's examples are shown, `fewshot_as_turns` whether in a conversation."""
        self._path = Path(path)
        self._category = category
        self._num_fewshot = num_fewshot
        self._as_turns = fewshot_as_turns

    def __len__(self) -> int:
        return len(self._offsets())

    def __iter__(self) -> Iterator[Sample]:
        return self.walk_from(0)

    def walk_from(self, position: int) -> Iterator[Sample]:
        """The samples from this position on; no other line is read."""
        # every line was checked, so this walk only decodes
        for content in read_lines_at(self._path, self._offsets()[position:]):
            try:
                task = _decode_task(content)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise UsageError(f"{self._path}: changed while the run was reading it: {error}") from error
            if self._num_fewshot is not None:
                task = msgspec.structs.replace(task, few_shot_examples=task.few_shot_examples[: self._num_fewshot])
            yield Sample(
                id=task.task_id,
                prompt=render(task),
                targets=task.targets,
                extras=_extras(task) | (_turns(task) if self._as_turns else {}),
                metadata=task.metadata,
                scorer=_scorer_key(task.metric_name, task.post_process),
            )

    def _offsets(self) -> array[int]:
        part = _validated(self._path).suite.get(self._category)
        return part.offsets if part is not None else array("Q")


_decode_task = msgspec.json.Decoder(TaskSpec).decode


def _extras(task: TaskSpec) -> dict[str, Any]:
    """The spec has no extras; what a program may import stands in its metadata."""
    if task.category == "code_exec" and "imports" in task.metadata:
        return {"imports": task.metadata["imports"]}
    return {}


def _turns(task: TaskSpec) -> dict[str, Any]:
    """Each example as a question and its answer; none for a record without examples."""
    if not task.few_shot_examples:
        return {}
    turns = [
        {"role": role, "content": text}
        for example in task.few_shot_examples
        for role, text in (("user", example.prompt), ("assistant", example.completion))
    ]
    return {"messages": [*turns, {"role": "user", "content": task.prompt}]}


def _walk(path: Path) -> Iterator[tuple[Line, TaskSpec | SpecError]]:
    seen = first_lines(path, "task_id")
    line = None
    for line in read_lines(path):
        outcome = _validate_line(line)
        if isinstance(outcome, TaskSpec):  # a bad line takes no good one with it
            task_id = outcome.task_id
            first = seen.of(task_id, line.number)
            if first != line.number:
                outcome = _error(line, "duplicate_task_id", "task_id", f"{task_id} is already given on line {first}")
        yield line, outcome
    if line is None:
        nothing = Line(0, b"")
        yield nothing, _error(nothing, "no_tasks", "", "holds no records; write one JSON object per line")


def _validate_line(line: Line) -> TaskSpec | SpecError:
    if line.too_long:
        return _error(line, "bad_json", "", "is longer than 8 MiB; a record is one line of reasonable length")
    try:
        return check_record(decode_strictly(line.content))
    except RuleBroken as broken:
        return _error(line, broken.rule, broken.field, broken.detail)
    except StrictJsonError as bad:
        hint = "; a spec file has no comments" if line.content.lstrip().startswith((b"#", b"//")) else ""
        return _error(line, bad.rule, "", bad.detail + hint)


def _error(line: Line, rule: str, field: str, detail: str) -> SpecError:
    # four bytes are the most a character takes, so this much holds all that is shown
    text = line.content[: 4 * _SHOWN_LINE_CHARACTERS + 4].decode("utf-8", errors="replace")
    if len(text) > _SHOWN_LINE_CHARACTERS:
        text = text[: _SHOWN_LINE_CHARACTERS - 1] + "…"
    return SpecError(line_number=line.number, line=text, rule=rule, field=field, detail=detail)


def _as_json(record: object) -> bytes:
    try:
        return msgspec.json.encode(record)
    except (TypeError, ValueError, RecursionError):
        return repr(record).encode("utf-8", errors="replace")


class _Validated:
    """The result of one pass over a whole file: kept, so that categories and iterations do not repeat it."""

    def __init__(self, path: Path) -> None:
        self.suite: dict[str, _Category] = {}
        self.errors: list[SpecError] = []
        """The first of them; `bad` is how many there are."""
        skipped_records: Counter[str | None] = Counter()
        for line, outcome in _walk(path):
            if isinstance(outcome, TaskSpec):
                self.suite.setdefault(outcome.category, _Category()).add(line, outcome)
            else:
                skipped_records[_category_of(line)] += 1
                self.errors += [outcome] if len(self.errors) < _SHOWN_ERRORS else []
        self.bad = skipped_records.total()
        for category, count in skipped_records.items() if self.suite else ():
            # a line of no category we have counts for the first one
            self.suite.get(category or "", next(iter(self.suite.values()))).skipped_records += count


def _validated(path: Path) -> _Validated:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return _Validated(path)  # which reports what is wrong with the path
    return _validated_once(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=8)
def _validated_once(path: Path, version: tuple[int, ...]) -> _Validated:
    return _Validated(path)


class _Category:
    """What a definition says about the records of one category, gathered while they stream by."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._pairs: dict[tuple[str, str], None] = {}
        self._lost = LostWords()
        self.offsets = array("Q")
        """Where in the file each record begins: eight bytes of a sample are kept, and the file has the rest."""
        self.skipped_records = 0
        self._examples: set[int] = set()
        """How many few-shot examples records have."""

    def add(self, line: Line, task: TaskSpec) -> None:
        # only this category's own lines are hashed, without line endings: the hash does not move when another
        # category does, or when an editor changes LF to CRLF
        self._sha256.update(b"\n" + line.content if self.offsets else line.content)
        self.offsets.append(line.offset)
        self._pairs[task.metric_name, task.post_process] = None
        self._examples.add(len(task.few_shot_examples))
        self._lost.add(task.metric_name, task.task_id, task.targets)

    def definition(self, path: Path, category: str, shots: Shots) -> TaskDefinition:
        examples = shots.of_spec(path, category, (min(self._examples), max(self._examples)))
        warnings = self._lost.warnings(str(path))
        return TaskDefinition(
            name=category,
            format="spec_file",
            dataset=DatasetSpec(
                use="spec_file",
                options={"path": str(path), "category": category, **examples},
                sha256=self._sha256.hexdigest(),
                size=len(self.offsets),
            ),
            solver=PartSpec(key="single_turn", use="single_turn"),
            scorers=tuple(_scorer(metric, rule) for metric, rule in sorted(self._pairs)),
            aggregates=(PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]}),),
            metric="+".join(sorted({metric for metric, _ in self._pairs})),
            category=category,
            source=str(path),
            skipped_records=self.skipped_records,
            provenance=Provenance(warnings=tuple(warnings), sample_field="task_id"),
        )


def _scorer(metric: str, rule: str) -> PartSpec:
    key = _scorer_key(metric, rule)
    if metric == "code_exec":
        return PartSpec(key=key, use="code_exec", options={"post_process": rule, "shape": "expressions"})
    return PartSpec(key=key, use="metric", options={"metric": metric, "post_process": rule})


def _scorer_key(metric: str, rule: str) -> str:
    return metric if rule == "none" else f"{metric}+{rule}"


class _Given(Struct):
    category: Any = None


def _category_of(line: Line) -> str | None:
    """The category of a bad line, as far as it can be read."""
    try:
        value = msgspec.json.decode(line.content, type=_Given).category
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _refusal(path: Path, errors: list[SpecError], count: int, allow_bad: bool) -> str:
    lines = [error.describe(path) for error in errors]
    if count > len(errors):
        lines.append(f"… and {count - len(errors)} more")
    if allow_bad:
        lines.append(f"{path}: no valid record is left")
    elif errors[0].rule not in FILE_RULES:
        records = "record" if count == 1 else "records"
        lines.append(f"{count} bad {records}: fix them, or skip them with --allow-bad-tasks")
    return "\n".join(lines)
