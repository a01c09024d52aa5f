"""Task folders: a folder of JSONL files, each file a task and each line an example with its targets and its metric.

Blank lines and lines that begin with `#` are for people. All examples of a file share one metric, and one post-process
rule where they have one. Whatever is wrong, in however many lines and files, is told at once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.catalog import CATALOG, names, unknown_name
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, Sample, TaskDefinition
from assay.datasets.repeated_ids import first_lines
from assay.metrics.choice_likelihood import target_place
from assay.strict_json import Line, StrictJsonError, decode_strictly, read_lines
from assay.tasks.likelihood import CHOICE_WORDS, TEXT_WORDS, define_likelihood_task, is_likelihood
from assay.tasks.wording import kind, plain, quoted, show

CATALOG_NAMES: dict[str, str] = {
    **{word: word for word in CATALOG["metric"]},
    "exact_match": "normalized_exact_match",  # here the word has always meant: whatever the case and the spacing
}
"""What a metric is called in a task folder -> what the catalog calls it."""

REQUIRED_FIELDS = ("id", "prompt", "targets", "metric")
OPTIONAL_FIELDS = ("extras", "metadata", "post_process")
_FIELDS = (*REQUIRED_FIELDS, *OPTIONAL_FIELDS)

_NEEDS_NO_TARGETS = frozenset(
    {"code_exec", "evaluator", "label_in_set", "forbidden_patterns", "instructions", "assertions", *TEXT_WORDS}
)
_SCORER_WORDS = ("instructions", "assertions", "extracted_match")
"""Metric words that are scorers of the same name."""
_OWN_METRIC = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")
_SHOWN_PROBLEMS = 1000


class Example(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a task file."""

    id: str
    prompt: str
    targets: tuple[str, ...]
    metric: str
    """A metric's name in task folders, or `module:function`."""
    extras: dict[str, Any] = field(default_factory=dict)
    """What the metric needs besides the targets, like the `io_pairs` of `code_exec`."""
    metadata: dict[str, Any] = field(default_factory=dict)
    post_process: str | None = None


class Problem(Struct, frozen=True, kw_only=True):
    """Why a line is not an example, or a file not a task."""

    path: str
    line_number: int
    """Counted from 1; 0 for what is wrong with the file as a whole."""
    field: str
    """Empty when the line as a whole is at fault."""
    detail: str

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
    _refuse(problems)
    return tasks


def read_task_folder(task_dir: Path | str) -> list[TaskDefinition]:
    """One task per file of a folder, in the order of their names. `UsageError` names every bad line of every file."""
    definitions: list[TaskDefinition] = []
    problems: list[Problem] = []
    for path in task_files(Path(task_dir)):
        outcome = _read(path)
        if isinstance(outcome, TaskDefinition):
            definitions.append(outcome)
        else:
            problems += outcome
    _refuse(problems)
    return definitions


def read_task_file(path: Path | str) -> TaskDefinition:
    """The task one file holds. `UsageError` names every bad line."""
    outcome = _read(Path(path))
    if isinstance(outcome, TaskDefinition):
        return outcome
    raise UsageError(_told(outcome))


def task_files(task_dir: Path) -> list[Path]:
    """The task files of a folder by name; hidden ones are left out."""
    if not task_dir.is_dir():
        raise UsageError(f"{task_dir}: {'is not a folder' if task_dir.exists() else 'there is no such folder'}")
    try:
        found = sorted(path for path in task_dir.glob("*.jsonl") if not path.name.startswith("."))
    except OSError as error:
        raise UsageError(f"{task_dir}: cannot be read: {error.strerror or error}") from error
    if not found:
        raise UsageError(f"{task_dir}: holds no task files; a task is a file named <task>.jsonl")
    return found


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
            example = _check_line(line)
            if first is not None:
                _check_like_the_first(example, first)
            elif example.metric == "evaluator":
                _check_evaluator(example)
            _check_new(example.id, seen.of(example.id, line.number), line.number)
        except _LineError as error:
            yield Problem(path=str(path), line_number=line.number, field=error.field, detail=error.detail)
        else:
            first = first or example
            yield example
    if empty:
        yield Problem(path=str(path), line_number=0, field="", detail="holds no examples; write one per line")


SIGNPOST_SAMPLES = 1024


class TaskFolderDataset:
    """The samples of one task file, streamed from the file."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._size: int | None = None

    def __len__(self) -> int:
        if self._size is None:
            self._size = sum(1 for _ in self)
        return self._size

    def __iter__(self) -> Iterator[Sample]:
        return self.walk_from(0)

    def walk_from(self, position: int) -> Iterator[Sample]:
        """The samples from this position on, without decoding those before it."""
        offset, number = self._signposts[position // SIGNPOST_SAMPLES] if position >= SIGNPOST_SAMPLES else (0, 0)
        lines = read_lines(self._path, offset=offset, number=number)
        samples = (line for line in lines if not line.content.lstrip().startswith(b"#"))
        # every line was checked when the task was read, so this walk only decodes
        for line in islice(samples, position % SIGNPOST_SAMPLES, None):
            try:
                yield sample_of(_decode_example(line.content))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise UsageError(f"{self._path}:{line.number}: is not what it was when checked: {error}") from error

    @cached_property
    def _signposts(self) -> list[tuple[int, int]]:
        """Of every so many samples, where in the file it begins and how many lines lie before it."""
        posts: list[tuple[int, int]] = []
        count = offset = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file):
                content = (line if number else line.removeprefix(b"\xef\xbb\xbf")).lstrip()
                if content and not content.startswith(b"#"):
                    if count % SIGNPOST_SAMPLES == 0:
                        posts.append((offset, number))
                    count += 1
                offset += len(line)
        return posts


_decode_example = msgspec.json.Decoder(Example).decode


def sample_of(example: Example) -> Sample:
    """The sample that an example of a task file is."""
    return Sample(
        id=example.id,
        prompt=example.prompt,
        targets=example.targets,
        extras=example.extras,
        metadata=example.metadata,
    )


def _read(path: Path) -> TaskDefinition | list[Problem]:
    problems: list[Problem] = []
    first: Example | None = None
    size = 0
    for outcome in iter_examples(path):
        if isinstance(outcome, Problem):
            problems.append(outcome)
        else:
            first = first or outcome
            size += 1
    if problems or first is None:
        return problems
    dataset = DatasetSpec(use="task_folder", options={"path": str(path)}, sha256=_sha256(path), size=size)
    return define_task(path.stem, first, dataset, source=str(path))


def define_task(name: str, first: Example, dataset: DatasetSpec, *, source: str = "") -> TaskDefinition:
    """The task whose examples are like `first`: they share its metric and its post-process rule."""
    if is_likelihood(first.metric):
        return define_likelihood_task(name, first.metric, dataset, source=source)
    return TaskDefinition(
        name=name,
        format="task_folder",
        dataset=dataset,
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(_scorer(first),),
        aggregates=(
            PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]}),
            *(_INSTRUCTION_AGGREGATES if first.metric == "instructions" else ()),
        ),
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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _scorer(example: Example) -> PartSpec:
    options: dict[str, Any] = {"post_process": example.post_process} if example.post_process else {}
    if example.metric == "code_exec":
        options["shape"] = _shape(example)
        if options["shape"] == "tests":
            options["all_or_nothing"] = True  # a program passes its tests or does not
        return PartSpec(key=example.metric, use="code_exec", options=options)
    if example.metric == "evaluator":
        return PartSpec(key=example.metric, use="evaluator", options={**options, **example.extras["evaluator"]})
    if example.metric in _SCORER_WORDS:
        return PartSpec(key=example.metric, use=example.metric)
    options["metric"] = CATALOG_NAMES.get(example.metric, example.metric)
    return PartSpec(key=example.metric, use="metric", options=options)


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise UsageError(_told(problems))


def _told(problems: list[Problem]) -> str:
    lines = [str(problem) for problem in problems[:_SHOWN_PROBLEMS]]
    if len(problems) > _SHOWN_PROBLEMS:
        lines.append(f"… and {len(problems) - _SHOWN_PROBLEMS} more")
    return "\n".join(lines)


class _LineError(Exception):
    def __init__(self, field_name: str, detail: str) -> None:
        super().__init__(detail)
        self.field, self.detail = field_name, detail


def _check_line(line: Line) -> Example:
    if line.too_long:
        raise _LineError("", "is longer than 8 MiB; an example is one line of reasonable length")
    try:
        record = decode_strictly(line.content)
    except StrictJsonError as bad:
        raise _LineError("", f"{bad.detail} ({bad.rule})") from None
    if not isinstance(record, dict):
        raise _LineError("", f"is {kind(record)}; an example is a JSON object")
    _check_fields(record)
    _check_types(record)
    example = msgspec.convert(record, Example)
    _check_values(example)
    return example


def _check_fields(record: Mapping[str, Any]) -> None:
    # an unknown field first: a misspelt one explains why another is missing
    for name in record:
        if name not in _FIELDS:
            raise _LineError(plain(name), unknown_name("field", plain(name), _FIELDS))
    for name in REQUIRED_FIELDS:
        if name not in record:
            raise _LineError(name, f"required and not there; an example has {', '.join(REQUIRED_FIELDS)}")


def _check_types(record: Mapping[str, Any]) -> None:
    for name, value in record.items():
        expected, words = _TYPES[name]
        if not isinstance(value, expected):
            raise _LineError(name, f"is {kind(value)}; must be {words}{quoted(value) if expected is str else ''}")
    for number, target in enumerate(record["targets"]):
        if not isinstance(target, str):
            raise _LineError(f"targets[{number}]", f"is {kind(target)}; must be a string{quoted(target)}")


_TYPES: dict[str, tuple[type, str]] = {
    "id": (str, "a string"),
    "prompt": (str, "a string"),
    "targets": (list, "a list of strings"),
    "metric": (str, "a string"),
    "extras": (dict, "an object"),
    "metadata": (dict, "an object"),
    "post_process": (str, "a string"),
}


def _check_values(example: Example) -> None:
    if not example.id.strip():
        raise _LineError("id", "is empty")
    if not example.id.isprintable():
        raise _LineError("id", f"{show(example.id)} has an invisible character")
    if not example.prompt.strip():
        raise _LineError("prompt", "is empty")
    _check_metric(example.metric)
    if example.post_process is not None and example.post_process not in CATALOG["post_process"]:
        raise _LineError(
            "post_process", unknown_name("post-process rule", plain(example.post_process), CATALOG["post_process"])
        )
    if not example.targets and example.metric not in _NEEDS_NO_TARGETS and ":" not in example.metric:
        raise _LineError("targets", f"is empty; {example.metric} compares with at least one")
    if check := _EXTRAS_CHECKS.get(example.metric):
        check(example)


def _check_metric(metric: str) -> None:
    if metric in _METRIC_WORDS or _OWN_METRIC.fullmatch(metric):
        return
    if metric not in (known := {*_METRIC_WORDS, *names("metric")}):  # published metrics, too
        raise _LineError("metric", f"{unknown_name('metric', plain(metric), known)}{_form(metric)}")


def _form(metric: str) -> str:
    return " A metric of your own is written `package.module:function`." if ":" in metric or "." in metric else ""


_METRIC_WORDS = frozenset({*CATALOG_NAMES, "code_exec", "evaluator", *_SCORER_WORDS, *CHOICE_WORDS, *TEXT_WORDS})


def _check_code(example: Example) -> None:
    pairs = example.extras.get("io_pairs")
    if pairs is None and "tests" in example.extras:
        return
    if pairs is None and "stdout" not in example.extras:
        wanted = "a list of [input, output] pairs; or give tests, or stdout"
        raise _LineError("extras.io_pairs", f"required by code_exec; {wanted}")
    if pairs is None and not example.targets:
        raise _LineError("targets", "is empty; with extras.stdout the targets are the expected outputs")
    if pairs is not None:
        _check_pairs(pairs)


def _check_pairs(pairs: object) -> None:
    if not isinstance(pairs, list) or not pairs:
        what = "an empty list" if pairs == [] else kind(pairs)
        raise _LineError("extras.io_pairs", f"is {what}; must be a list of [input, output] pairs")
    for number, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2:
            raise _LineError(f"extras.io_pairs[{number}]", f"is {show(pair)}; must be a pair [input, output]")


def _check_evaluator(example: Example) -> None:
    """The first example says who scores the whole file; `assay.scorers.evaluator` knows the options."""
    if not isinstance(example.extras.get("evaluator"), dict):
        wanted = 'an object such as {"url": "http://127.0.0.1:8000/score"} or {"command": ["python3", "score.py"]}'
        raise _LineError("extras.evaluator", f"required in the first example of a file; {wanted}")


def _check_choices(example: Example) -> None:
    choices = example.extras.get("choices")
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(c, str) and c for c in choices):
        raise _LineError("extras.choices", f"required by {example.metric}; a list of at least two texts")
    for number, target in enumerate(example.targets):
        if target_place(target, choices) is None:
            wanted = "the text of a choice, its letter (A is the first) or its number (0 is the first)"
            raise _LineError(f"targets[{number}]", f"{show(target)} is none of the choices; write {wanted}")


_EXTRAS_CHECKS: dict[str, Callable[[Example], None]] = {
    "code_exec": _check_code,
    **dict.fromkeys(CHOICE_WORDS, _check_choices),
}


def _shape(example: Example) -> str:
    return next((shape for shape in ("io_pairs", "tests") if shape in example.extras), "stdout")


def _check_like_the_first(example: Example, first: Example) -> None:
    for name, this, other in (
        ("metric", example.metric, first.metric),
        ("post_process", example.post_process or "none", first.post_process or "none"),
    ):
        if this != other:
            raise _LineError(name, f"is {plain(this)}, but the file began with {plain(other)}; a file has one {name}")
    if (
        example.metric == "evaluator"
        and example.extras.get("evaluator", first.extras["evaluator"]) != (first.extras["evaluator"])
    ):
        raise _LineError("extras.evaluator", "is not the one the file began with; a file has one evaluator")
    if example.metric == "code_exec" and _shape(example) != _shape(first):
        raise _LineError("extras", f"has {_shape(example)}, but the file began with {_shape(first)}; a file has one")


def _check_new(example_id: str, first_line: int, line_number: int) -> None:
    if first_line != line_number:
        raise _LineError("id", f"{show(example_id)} is already given on line {first_line}")
