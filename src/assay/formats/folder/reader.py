"""Task folders: a folder of JSONL files, each file a task and each line an example with its targets and its metric.

Blank lines and lines that begin with `#` are ignored; those in which an import notes at the head of a file what it
could not carry over are shown on the leaderboard too. All examples of a file share one metric, and one post-process
rule where they have one. All errors, in however many lines and files, are reported together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.catalog import is_name, published
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, Sample, TaskDefinition
from assay.datasets.repeated_ids import first_lines
from assay.formats.folder.rules import (
    CATALOG_NAMES,
    SCORER_WORDS,
    Example,
    LineError,
    check_evaluator,
    check_files,
    check_like_the_first,
    check_line,
    shape_of,
)
from assay.formats.likelihood_words import define_likelihood_task, is_likelihood
from assay.formats.media_files import MediaFiles
from assay.formats.unreadable_targets import LostWords
from assay.overriding import override
from assay.reading.strict_json import read_lines
from assay.task_records import Provenance
from assay.text.wording import show

_SHOWN_PROBLEMS = 1000
_FEWEST_FOLDED = 3
_SHOWN_LINES = 5
NOT_CARRIED_OVER = "# not carried over: "
"""Prefix of a line at the head of a file that says what a partial import lacks."""


class Problem(Struct, frozen=True, kw_only=True):
    """Why a line is not an example, or a file not a task."""

    path: str
    line_number: int
    """Counted from 1; 0 for what is wrong with the file as a whole."""
    field: str
    """Empty when the line as a whole is at fault."""
    detail: str

    @override
    def __str__(self) -> str:
        place = f"{self.path}:{self.line_number}" if self.line_number else self.path
        return ": ".join(part for part in (place, self.field, self.detail) if part)


def load_all_tasks(task_dir: Path | str) -> dict[str, list[Example]]:
    """Every task of a folder by name, with its examples. `UsageError` names every bad line of every file."""
    tasks: dict[str, list[Example]] = {}
    problems: list[Problem] = []
    for path in task_files(Path(task_dir)):
        outcomes = list(iter_examples(path))
        tasks[path.stem] = [outcome for outcome in outcomes if isinstance(outcome, Example)]
        problems += [outcome for outcome in outcomes if isinstance(outcome, Problem)]
    if problems:
        raise UsageError(_message(problems))
    return tasks


def read_task_file(path: Path | str, *, allow_bad: bool = False) -> TaskDefinition:
    """The task one file holds. `UsageError` names every bad line, unless `allow_bad`: then the good ones are the task,
    and the bad ones are counted."""
    outcome = _read(Path(path), allow_bad=allow_bad)
    if isinstance(outcome, TaskDefinition):
        return outcome
    lines = "line" if len(outcome) == 1 else "lines"
    hint = "" if allow_bad else f"\n{len(outcome)} bad {lines}: fix them, or skip them with --allow-bad-tasks"
    raise UsageError(_message(outcome) + hint)


def task_files(task_dir: Path) -> list[Path]:
    """The task files of a folder by name; hidden ones are left out."""
    if not task_dir.is_dir():
        raise UsageError(f"{task_dir}: {'is not a folder' if task_dir.exists() else 'there is no such folder'}")
    try:
        files = sorted(path for path in task_dir.glob("*.jsonl") if not path.name.startswith("."))
    except OSError as error:
        raise UsageError(f"{task_dir}: cannot be read: {error.strerror or error}") from error
    if not files:
        raise UsageError(f"{task_dir}: holds no task files; a task is a file named <task>.jsonl")
    return files


def iter_examples(path: Path) -> Iterator[Example | Problem]:
    """The examples of a file and what is wrong in it, one at a time; what is kept of each is a checksum of its id."""
    first: Example | None = None
    seen = first_lines(path, "id")
    empty = True
    for line in read_lines(path):
        if line.content.lstrip().startswith(b"#"):
            continue
        empty = False
        try:
            example = check_line(line)
            if first is not None:
                check_like_the_first(example, first)
            elif example.metric == "evaluator":
                check_evaluator(example)
            if (first_line := seen.of(example.id, line.number)) != line.number:
                raise LineError("id", f"{show(example.id)} is already given on line {first_line}")
            if not _NAMES_FILES.isdisjoint(example.extras):
                check_files(example, path)
        except LineError as error:
            yield Problem(path=str(path), line_number=line.number, field=error.field, detail=error.detail)
        else:
            first = first or example
            yield example
    if empty:
        yield Problem(path=str(path), line_number=0, field="", detail="holds no examples; write one per line")


_NAMES_FILES = frozenset({"images", "audio", "messages"})
SIGNPOST_SAMPLES = 1024


@describes(DatasetInfo())
class TaskFolderDataset:
    """The samples of one task file, streamed from the file, or of `examples` that Python passed in its place."""

    def __init__(
        self, path: Path | str = "", examples: Sequence[Mapping[str, Any]] | None = None, skip_bad: bool = False
    ) -> None:
        """`skip_bad`: bad lines of the file are passed over."""
        if not path and examples is None:
            raise UsageError("the samples of a task folder need the option `path`, or `examples`")
        self._path = Path(path)
        self._skip_bad = skip_bad
        self._examples = None if examples is None else [msgspec.convert(example, Example) for example in examples]
        self._size = None if self._examples is None else len(self._examples)

    def __len__(self) -> int:
        if self._size is None:
            self._size = sum(1 for _ in self)
        return self._size

    def __iter__(self) -> Iterator[Sample]:
        return self.walk_from(0)

    def walk_from(self, position: int) -> Iterator[Sample]:
        """The samples from this position on, without decoding those before it."""
        if self._examples is not None:
            yield from map(sample_of, self._examples[position:])
            return
        if self._skip_bad:
            good = (outcome for outcome in iter_examples(self._path) if isinstance(outcome, Example))
            yield from map(sample_of, islice(good, position, None))
            return
        offset, number = self._signposts[position // SIGNPOST_SAMPLES] if position >= SIGNPOST_SAMPLES else (0, 0)
        lines = read_lines(self._path, offset=offset, number=number)
        samples = (line for line in lines if not line.content.lstrip().startswith(b"#"))
        # every line was checked when the task was read, so this walk only decodes
        for line in islice(samples, position % SIGNPOST_SAMPLES, None):
            try:
                yield sample_of(_decode_example(line.content))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise UsageError(
                    f"{self._path}:{line.number}: changed while the run was reading it: {error}"
                ) from error

    @cached_property
    def _signposts(self) -> list[tuple[int, int]]:
        """Of every so many samples, where in the file it begins and how many lines lie before it."""
        lines = (line for line in read_lines(self._path) if not line.content.lstrip().startswith(b"#"))
        return [(line.offset, line.number - 1) for line in islice(lines, 0, None, SIGNPOST_SAMPLES)]


_decode_example = msgspec.json.Decoder(Example).decode
_encode_example = msgspec.json.Encoder().encode


def sample_of(example: Example) -> Sample:
    """The sample that an example of a task file is."""
    return Sample(
        id=example.id,
        prompt=example.prompt,
        targets=example.targets,
        extras=example.extras,
        metadata=example.metadata,
    )


def _read(path: Path, *, allow_bad: bool) -> TaskDefinition | list[Problem]:
    problems: list[Problem] = []
    first: Example | None = None
    content, lost = ContentHash(), LostWords()
    for outcome in iter_examples(path):
        if isinstance(outcome, Problem):
            problems.append(outcome)
        else:
            first = first or outcome
            content.add(outcome)
            if not _NAMES_FILES.isdisjoint(outcome.extras):
                content.add_files(MediaFiles(path).digest(outcome.extras))
            lost.add(outcome.metric, outcome.id, outcome.targets)
    if first is None or (problems and not allow_bad):
        return problems
    options = {"path": str(path)} | ({"skip_bad": True} if problems else {})
    dataset = DatasetSpec(use="task_folder", options=options, sha256=content.hexdigest(), size=content.size)
    definition = define_task(path.stem, first, dataset, source=str(path))
    provenance = Provenance(
        not_carried_over=tuple(_losses(path)), warnings=tuple(lost.warnings(str(path))), sample_field="id"
    )
    return msgspec.structs.replace(definition, provenance=provenance, skipped_records=len(problems))


def _losses(path: Path) -> list[str]:
    """What the head of the file says that an import could not carry over."""
    head = takewhile(lambda line: line.content.startswith(b"#"), read_lines(path))
    lines = (line.content.decode("utf-8", "replace") for line in head)
    return [line.removeprefix(NOT_CARRIED_OVER).strip() for line in lines if line.startswith(NOT_CARRIED_OVER)]


MEAN_SCORE = PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]})
"""How the values of a metric become the score of a task."""


def define_task(name: str, first: Example, dataset: DatasetSpec, *, source: str = "") -> TaskDefinition:
    """The task whose examples are like `first`: they share its metric and its post-process rule."""
    if is_likelihood(first.metric):
        return define_likelihood_task(name, first.metric, dataset, source=source)
    return TaskDefinition(
        name=name,
        format="task_folder",
        dataset=dataset,
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(scorer_of(first),),
        aggregates=(MEAN_SCORE, *_OTHER_AGGREGATES.get(first.metric, ())),
        metric=first.metric,
        source=source,
    )


_INSTRUCTION_AGGREGATES = (
    PartSpec(key="prompt_loose", use="mean", options={"field": "prompt_loose", "name": "prompt_loose"}),
    *(
        PartSpec(
            key=name,
            use="recall",
            options={"num_true_positives_field": right, "num_false_negatives_field": wrong, "name": name},
        )
        for name, right, wrong in (
            ("instruction_strict", "followed", "missed"),
            ("instruction_loose", "followed_loosely", "missed_loosely"),
        )
    ),
)
"""The other three numbers that are usual for instruction following."""

_OTHER_AGGREGATES = {
    "instructions": _INSTRUCTION_AGGREGATES,
    "drop": (PartSpec(key="exact", use="mean", options={"field": "exact", "name": "exact"}),),
}


class ContentHash:
    """The sha256 of a task's examples, each as compact JSON on a line of its own.

    Anything else in a file (comments, blank lines, spaces) does not count, so examples have one hash whether
    a command read them from a file or Python handed them over.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.size = 0

    def add(self, example: Example) -> None:
        self._digest.update(_encode_example(example) + b"\n")
        self.size += 1

    def add_files(self, digest: str) -> None:
        """What lies in the files that the example names, where it names any."""
        self._digest.update(digest.encode())

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def scorer_of(example: Example) -> PartSpec:
    """How an example is scored, from its metric, its extras and its post-process rule."""
    options: dict[str, Any] = {"post_process": example.post_process} if example.post_process else {}
    if example.metric == "code_exec":
        options["shape"] = shape_of(example)
        if options["shape"] == "tests" or example.extras.get("all_or_nothing"):
            options["all_or_nothing"] = True  # a program passes its tests or does not
        return PartSpec(key=example.metric, use="code_exec", options=options)
    if example.metric == "evaluator":
        return PartSpec(key=example.metric, use="evaluator", options={**options, **example.extras["evaluator"]})
    if example.metric in SCORER_WORDS:
        takes_rule = example.metric == "drop"
        return PartSpec(key=example.metric, use=example.metric, options=options if takes_rule else {})
    if not is_name("metric", example.metric) and example.metric in published("scorer"):
        return PartSpec(key=example.metric, use=example.metric, options=options)
    options["metric"] = CATALOG_NAMES.get(example.metric, example.metric)
    return PartSpec(key=example.metric, use="metric", options=options)


def _message(problems: list[Problem]) -> str:
    """Every problem once, at the first line that has it, with the other lines where they are many."""
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        alike.setdefault((problem.path, problem.field, problem.detail), []).append(problem)
    lines = [line for same in alike.values() for line in _lines_of(same)]
    if len(lines) > _SHOWN_PROBLEMS:
        lines[_SHOWN_PROBLEMS:] = [f"… and {len(lines) - _SHOWN_PROBLEMS} more"]
    return "\n".join(lines)


def _lines_of(same: list[Problem]) -> list[str]:
    first, *others = same
    if len(others) < _FEWEST_FOLDED:
        return [str(problem) for problem in same]
    numbers = [problem.line_number for problem in others]
    shown = ", ".join(map(str, numbers[:_SHOWN_LINES]))
    return [f"{first} The same on {len(numbers)} other lines: {shown}{', …' if len(numbers) > _SHOWN_LINES else ''}"]
