"""The rules of a task folder's lines: what an example is, and the message for a line that is not one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.catalog import CATALOG, OWN_NAME, is_name, names, published, unknown_name
from assay.core.errors import UsageError
from assay.formats.likelihood_words import CHOICE_WORDS, PROBABILITY_WORD, TEXT_WORDS
from assay.formats.media_files import MediaFiles
from assay.metrics.choice_likelihood import target_place
from assay.reading.strict_json import Line, StrictJsonError, count_keys, decode_strictly, is_plain
from assay.text.wording import in_json, plain, quoted, show

CATALOG_NAMES: dict[str, str] = {
    **{word: word for word in CATALOG["metric"]},
    "exact_match": "normalized_exact_match",  # in task folders this word has always ignored case and spacing
}
"""What a metric is called in a task folder -> what the catalog calls it."""

REQUIRED_FIELDS = ("id", "prompt", "targets", "metric")
OPTIONAL_FIELDS = ("extras", "metadata", "post_process")
_FIELDS = (*REQUIRED_FIELDS, *OPTIONAL_FIELDS)

_NEEDS_NO_TARGETS = frozenset(
    {"code_exec", "evaluator", "label_in_set", "forbidden_patterns", "instructions", "assertions", *TEXT_WORDS}
)
SCORER_WORDS = ("instructions", "assertions", "extracted_match", "drop")
"""Metric words that are scorers of the same name."""


class Example(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a task file."""

    id: str
    prompt: str
    targets: tuple[str, ...]
    metric: str
    """A metric's name in task folders, or `module:name` of your own metric or scorer."""
    extras: dict[str, Any] = field(default_factory=dict)
    """What the metric needs in addition to the targets, like the `io_pairs` of `code_exec`."""
    metadata: dict[str, Any] = field(default_factory=dict)
    post_process: str | None = None


_decode = msgspec.json.Decoder(Example).decode


class LineError(Exception):
    """What is wrong with a line, and with which of its fields."""

    def __init__(self, field_name: str, detail: str) -> None:
        super().__init__(detail)
        self.field, self.detail = field_name, detail


def check_line(line: Line) -> Example:
    """The example a line holds; `LineError` says why it holds none."""
    if line.too_long:
        raise LineError("", "is longer than 8 MiB; an example is one line of reasonable length")
    example = _read_at_once(line.content) or _read_step_by_step(line.content)
    _check_values(example)
    return example


def _read_at_once(text: bytes) -> Example | None:
    """The example of a well-formed line, as nearly all are; None where the slow path has to check."""
    try:
        example = _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    keys = len(REQUIRED_FIELDS) + (example.post_process is not None)
    for given in (example.extras, example.metadata):
        keys += 1 + count_keys(given) if given else 0
    return example if is_plain(text, keys) else None


def _read_step_by_step(text: bytes) -> Example:
    """The same, with the first error as a sentence."""
    try:
        record = decode_strictly(text)
    except StrictJsonError as bad:
        raise LineError("", f"{bad.detail} ({bad.rule})") from None
    if not isinstance(record, dict):
        raise LineError("", f"is {in_json(record)}; an example is a JSON object")
    _check_fields(record)
    _check_types(record)
    return msgspec.convert(record, Example)


def _check_fields(record: Mapping[str, Any]) -> None:
    # an unknown field first: a misspelt one explains why another is missing
    for name in record:
        if name not in _FIELDS:
            raise LineError(plain(name), unknown_name("field", plain(name), _FIELDS))
    for name in REQUIRED_FIELDS:
        if name not in record:
            raise LineError(name, f"required and not there; an example has {', '.join(REQUIRED_FIELDS)}")


def _check_types(record: Mapping[str, Any]) -> None:
    for name, value in record.items():
        expected, words = _TYPES[name]
        if not isinstance(value, expected):
            raise LineError(name, f"is {in_json(value)}; must be {words}{quoted(value) if expected is str else ''}")
    for number, target in enumerate(record["targets"]):
        if not isinstance(target, str):
            raise LineError(f"targets[{number}]", f"is {in_json(target)}; must be a string{quoted(target)}")


_TYPES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(_FIELDS, (str, "a string")),
    "targets": (list, "a list of strings"),
    **dict.fromkeys(("extras", "metadata"), (dict, "an object")),
}


def _check_values(example: Example) -> None:
    if not example.id.strip():
        raise LineError("id", "is empty")
    if not example.id.isprintable():
        raise LineError("id", f"{show(example.id)} has an invisible character")
    if not example.prompt.strip():
        raise LineError("prompt", "is empty")
    _check_metric(example.metric)
    if example.post_process is not None and not is_name("post_process", example.post_process):
        raise LineError(
            "post_process", unknown_name("post-process rule", plain(example.post_process), names("post_process"))
        )
    if not example.targets and example.metric not in _NEEDS_NO_TARGETS and example.metric in _METRIC_WORDS:
        raise LineError("targets", f"is empty; {example.metric} compares with at least one")
    if check := _EXTRAS_CHECKS.get(example.metric):
        check(example)


def _check_metric(metric: str) -> None:
    if metric in _METRIC_WORDS or OWN_NAME.fullmatch(metric):
        return
    if not is_name("metric", metric) and metric not in (scorers := published("scorer")):
        known = {*_METRIC_WORDS, *names("metric"), *scorers}
        form = " One of your own is written `package.module:name`." if ":" in metric or "." in metric else ""
        raise LineError("metric", f"{unknown_name('metric', plain(metric), known)}{form}")


_METRIC_WORDS = frozenset(
    {*CATALOG_NAMES, "code_exec", "evaluator", *SCORER_WORDS, *CHOICE_WORDS, PROBABILITY_WORD, *TEXT_WORDS}
)


def _check_code(example: Example) -> None:
    if "imports" in example.extras:
        _check_imports(example.extras["imports"])
    if "cpu_seconds" in example.extras:
        _check_cpu_seconds(example.extras["cpu_seconds"])
    pairs = example.extras.get("io_pairs")
    if pairs is None and "tests" in example.extras:
        return
    if pairs is None and "stdout" not in example.extras:
        wanted = "a list of [input, output] pairs; or give tests, or stdout"
        raise LineError("extras.io_pairs", f"required by code_exec; {wanted}")
    if pairs is None and not example.targets:
        raise LineError("targets", "is empty; with extras.stdout the targets are the expected outputs")
    if pairs is not None:
        _check_pairs(pairs)


def _check_imports(value: object) -> None:
    from assay.sandbox import read_imports  # few examples have any, and the sandbox is slow to import

    try:
        read_imports(value)
    except ValueError as error:
        raise LineError("extras.imports", f"is {in_json(value)}; {error}") from None


def _check_cpu_seconds(value: object) -> None:
    from assay.scorers.code_exec import MAX_CPU_SECONDS  # imports the sandbox, which is slow

    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_CPU_SECONDS:
        raise LineError("extras.cpu_seconds", f"must lie between 0 and {MAX_CPU_SECONDS}, got {show(str(value))}")


def _check_pairs(pairs: object) -> None:
    if not isinstance(pairs, list) or not pairs:
        what = "an empty list" if pairs == [] else in_json(pairs)
        raise LineError("extras.io_pairs", f"is {what}; must be a list of [input, output] pairs")
    for number, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2:
            raise LineError(f"extras.io_pairs[{number}]", f"is {show(pair)}; must be a pair [input, output]")


def check_evaluator(example: Example) -> None:
    """The first example says who scores the whole file; `assay.scorers.evaluator` knows the options."""
    if not isinstance(example.extras.get("evaluator"), dict):
        wanted = 'an object such as {"url": "http://127.0.0.1:8000/score"} or {"command": ["python3", "score.py"]}'
        raise LineError("extras.evaluator", f"required in the first example of a file; {wanted}")


def _check_choices(example: Example) -> None:
    choices = example.extras.get("choices")
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(c, str) and c for c in choices):
        raise LineError("extras.choices", f"required by {example.metric}; a list of at least two texts")
    for number, target in enumerate(example.targets):
        if target_place(target, choices) is None:
            wanted = "the text of a choice, its letter (A is the first) or its number (0 is the first)"
            raise LineError(f"targets[{number}]", f"{show(target)} is none of the choices; write {wanted}")


_EXTRAS_CHECKS: dict[str, Callable[[Example], None]] = {
    "code_exec": _check_code,
    **dict.fromkeys((*CHOICE_WORDS, PROBABILITY_WORD), _check_choices),
}


def shape_of(example: Example) -> str:
    """Which kind of checks a program of `code_exec` is put to."""
    return next((shape for shape in ("io_pairs", "tests") if shape in example.extras), "stdout")


def check_like_the_first(example: Example, first: Example) -> None:
    """All examples of a file share one metric, one post-process rule, and one way to be scored."""
    for name, this, other in (
        ("metric", example.metric, first.metric),
        ("post_process", example.post_process or "none", first.post_process or "none"),
    ):
        if this != other:
            raise LineError(name, f"is {plain(this)}, but the file began with {plain(other)}; a file has one {name}")
    if (
        example.metric == "evaluator"
        and example.extras.get("evaluator", first.extras["evaluator"]) != (first.extras["evaluator"])
    ):
        raise LineError("extras.evaluator", "is not the one the file began with; a file has one evaluator")
    if example.metric == "code_exec" and example.extras.get("all_or_nothing") != first.extras.get("all_or_nothing"):
        raise LineError("extras.all_or_nothing", "is not what the file began with; a file has one way to be scored")
    if example.metric == "code_exec" and shape_of(example) != shape_of(first):
        raise LineError("extras", f"has {shape_of(example)}, but the file began with {shape_of(first)}; a file has one")


def check_files(example: Example, path: Path) -> None:
    """The images and sounds that an example names, next to its file."""
    for name in ("images", "audio"):
        value = example.extras.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise LineError(f"extras.{name}", f"is {in_json(value)}; must be a list of files, relative to the task's")
    try:
        MediaFiles(path).digest(example.extras)
    except UsageError as error:
        raise LineError("extras", str(error)) from None
