"""The frozen task spec: its record, its closed vocabularies, and every rule a record must keep.

`check_record` applies the rules in a fixed order (fields there, no other fields, types, values, legal pairs) and stops
at the first one broken, so that a bad record has exactly one reason. Growing a vocabulary is a change of the spec: a
category needs a metric, a post-process rule and a fixture record.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.catalog import unknown_name
from assay.prompts.few_shot import find_embedded_block
from assay.text.wording import in_json, nearest, plain, quoted, show

CATEGORIES = ("arithmetic", "mcq", "code_exec", "classification", "summary")
METRIC_NAMES = ("exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec")
POST_PROCESS_RULES = ("none", "strip_whitespace", "lower", "extract_letter", "extract_code_block", "extract_first_line")

LEGAL_METRICS: dict[str, tuple[str, ...]] = {
    "arithmetic": ("exact_match", "f1"),
    "mcq": ("exact_match",),
    "code_exec": ("code_exec",),
    "classification": ("exact_match", "accuracy", "f1"),
    "summary": ("exact_match", "f1", "bleu_4", "rouge_l"),
}

LEGAL_POST_PROCESS: dict[str, tuple[str, ...]] = {
    "arithmetic": ("none", "strip_whitespace", "lower", "extract_first_line"),
    "mcq": ("none", "strip_whitespace", "extract_letter", "extract_first_line"),
    "code_exec": ("none", "strip_whitespace", "extract_code_block"),
    "classification": ("none", "strip_whitespace", "lower", "extract_first_line"),
    "summary": ("none", "strip_whitespace", "lower", "extract_first_line"),
}
"""A rule is left out where it could only do harm: `lower` never matches the capital of an `mcq` target and breaks
code, `extract_letter` reads the choice out of prose, `extract_code_block` is for programs."""

REQUIRED_FIELDS = ("task_id", "category", "prompt", "targets", "metric_name", "post_process")
OPTIONAL_FIELDS = ("few_shot_examples", "metadata")
CHOICES = "ABCDE"
MAX_EXAMPLES = 8
MAX_EXPRESSION_CHARACTERS = 10_000

LINE_RULES: dict[str, str] = {
    "not_utf8": "a line is UTF-8",
    "bad_json": "a line is one JSON value of at most 8 MiB, without NaN, Infinity or comments",
    "too_deep": "lists and objects are nested at most 64 deep",
    "duplicate_key": "no object gives a key twice",
    "not_an_object": "a record is a JSON object",
    "missing_required": "the required fields are all there",
    "unknown_field": "no field but the required and the optional ones",
    "bad_type": "each field has its type",
    "bad_example": "an example is an object of exactly `prompt` and `completion`, both strings",
    "combined_post_process": "one post-process rule, not several",
    "bad_task_id": "`task_id` is not empty and holds no whitespace and nothing invisible",
    "unknown_category": "`category` is of the closed vocabulary",
    "empty_prompt": "`prompt` is not empty",
    "trailing_whitespace": "`prompt` does not end in whitespace",
    "empty_targets": "`targets` holds at least one string",
    "unknown_metric": "`metric_name` is of the closed vocabulary",
    "unknown_post_process": "`post_process` is of the closed vocabulary",
    "too_many_examples": "at most eight `few_shot_examples`",
    "embedded_few_shot": "no few-shot block in the prompt body; examples belong in `few_shot_examples`",
    "illegal_pair": "the category allows the metric",
    "illegal_post_process": "the category allows the post-process rule",
    "mcq_target_count": "an `mcq` record has exactly one target",
    "mcq_target_letter": "the target of an `mcq` record is one letter, A to E",
    "bad_expression": "each target of a `code_exec` record is a Python expression",
    "bad_imports": "`metadata.imports` of a `code_exec` record is `any` or a list of module names",
    "duplicate_task_id": "`task_id` is given once in the file",
}
"""Every rule a line can break, in the order they are checked, with what it asks for."""

FILE_RULES: dict[str, str] = {"no_tasks": "a file holds at least one record"}

RULES: dict[str, str] = {**LINE_RULES, **FILE_RULES}


class FewShotExample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One few-shot example: a question and the answer a model should learn from."""

    prompt: str
    completion: str


class TaskSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One record of the frozen task spec that keeps every rule."""

    task_id: str
    category: str
    prompt: str
    targets: tuple[str, ...]
    metric_name: str
    post_process: str
    few_shot_examples: tuple[FewShotExample, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


class RuleBroken(Exception):  # noqa: N818  what happened, not what kind of object it is
    """A record breaks a rule: which one, in which field, and how."""

    def __init__(self, rule: str, field_name: str, detail: str) -> None:
        super().__init__(detail)
        self.rule, self.field, self.detail = rule, field_name, detail


def check_record(record: object) -> TaskSpec:
    """The record as a `TaskSpec`; `RuleBroken` with the first rule it breaks."""
    try:
        task = msgspec.convert(record, TaskSpec)
    except msgspec.ValidationError as error:
        raise _why_not(record, error) from error
    _check_values(task)
    _check_pairs(task)
    return task


def _why_not(record: object, error: Exception) -> RuleBroken:
    """The slow second check of a record without the fields and types of a task, to find the rule it breaks."""
    if not isinstance(record, Mapping):
        return RuleBroken("not_an_object", "", f"is {in_json(record)}; a record is a JSON object")
    try:
        _check_fields(record)
        _check_types(record)
    except RuleBroken as broken:
        return broken
    return RuleBroken("bad_type", "", str(error))


def _check_fields(record: Mapping[Any, Any]) -> None:
    for name in REQUIRED_FIELDS:
        if name not in record:
            raise RuleBroken("missing_required", name, f"required and not there; {_almost(name, record)}")
    for name in record:
        if name not in _TYPES:
            raise RuleBroken("unknown_field", plain(name), unknown_name("field", plain(name), _TYPES))


def _almost(name: str, record: Mapping[Any, Any]) -> str:
    others = [plain(key) for key in record if key not in _TYPES]
    if near := nearest(name, others):
        return f"is `{near}` meant to be it?"
    return f"a record has {', '.join(REQUIRED_FIELDS)}"


def _check_types(record: Mapping[Any, Any]) -> None:
    for name, value in record.items():
        expected, words = _TYPES[name]
        if not isinstance(value, expected):
            if name == "post_process" and isinstance(value, list | tuple):
                raise RuleBroken("combined_post_process", name, "is a list; a record has one rule, a string")
            raise RuleBroken("bad_type", name, f"is {in_json(value)}; must be {words}")
    for number, target in enumerate(record["targets"]):
        if not isinstance(target, str):
            raise RuleBroken(
                "bad_type", f"targets[{number}]", f"is {in_json(target)}; must be a string{quoted(target)}"
            )
    for number, example in enumerate(record.get("few_shot_examples", ())):
        _check_example(number, example)


def _check_example(number: int, example: object) -> None:
    place = f"few_shot_examples[{number}]"
    if not isinstance(example, Mapping):
        raise RuleBroken("bad_example", place, f"is {in_json(example)}; must be an object of prompt and completion")
    for name in ("prompt", "completion"):
        if name not in example:
            raise RuleBroken("bad_example", f"{place}.{name}", "required and not there")
        if not isinstance(example[name], str):
            raise RuleBroken("bad_example", f"{place}.{name}", f"is {in_json(example[name])}; must be a string")
    for name in example:
        if name not in ("prompt", "completion"):
            raise RuleBroken("bad_example", f"{place}.{plain(name)}", "unknown; an example has prompt and completion")


def _check_values(task: TaskSpec) -> None:
    _check_task_id(task.task_id)
    _check_word("unknown_category", "category", task.category, CATEGORIES)
    _check_prompt(task.prompt)
    if not task.targets:
        raise RuleBroken("empty_targets", "targets", "is empty; give at least one string")
    _check_word("unknown_metric", "metric_name", task.metric_name, METRIC_NAMES)
    _check_post_process(task.post_process)
    if (count := len(task.few_shot_examples)) > MAX_EXAMPLES:
        raise RuleBroken("too_many_examples", "few_shot_examples", f"has {count}; at most {MAX_EXAMPLES}")
    if block := find_embedded_block(task.prompt, task.few_shot_examples):
        raise RuleBroken("embedded_few_shot", "prompt", f"{block}; examples belong in few_shot_examples")


def _check_task_id(task_id: str) -> None:
    if not task_id:
        raise RuleBroken("bad_task_id", "task_id", "is empty")
    if " " in task_id or not task_id.isprintable():
        bad = next(i for i, character in enumerate(task_id) if character == " " or not character.isprintable())
        what = "whitespace" if task_id[bad].isspace() else "an invisible character"
        raise RuleBroken("bad_task_id", "task_id", f"{show(task_id)} has {what} at character {bad + 1}")


def _check_prompt(prompt: str) -> None:
    if not prompt or prompt.isspace():
        raise RuleBroken("empty_prompt", "prompt", "is empty" if not prompt else "is only whitespace")
    if prompt[-1].isspace():
        raise RuleBroken("trailing_whitespace", "prompt", f"ends in {show(prompt[-8:])}; cut what follows the text")


def _check_word(rule: str, name: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise RuleBroken(rule, name, unknown_name(name, plain(word), known))


def _check_post_process(word: str) -> None:
    if word in POST_PROCESS_RULES:
        return
    parts = [part for part in re.split(r"[\s+,;|>&]+", word) if part]
    if len(parts) > 1 and all(part in POST_PROCESS_RULES for part in parts):
        raise RuleBroken("combined_post_process", "post_process", f"{show(word)} combines rules; a record has one")
    _check_word("unknown_post_process", "post_process", word, POST_PROCESS_RULES)


def _check_pairs(task: TaskSpec) -> None:
    category, metric, post_process = task.category, task.metric_name, task.post_process
    if metric not in LEGAL_METRICS[category]:
        legal = " or ".join(LEGAL_METRICS[category])
        raise RuleBroken("illegal_pair", "metric_name", f"category {category} cannot use {metric}; use {legal}")
    if post_process not in LEGAL_POST_PROCESS[category]:
        legal = " or ".join(LEGAL_POST_PROCESS[category])
        raise RuleBroken(
            "illegal_post_process", "post_process", f"category {category} cannot use {post_process}; use {legal}"
        )
    if check_targets := _TARGET_CHECKS.get(category):
        check_targets(task.targets)
    if category == "code_exec" and "imports" in task.metadata:
        _check_imports(task.metadata["imports"])


def _check_imports(value: object) -> None:
    from assay.sandbox import read_imports  # few records have any, and the sandbox is slow to import

    try:
        read_imports(value)
    except ValueError as error:
        raise RuleBroken("bad_imports", "metadata.imports", f"is {in_json(value)}; {error}") from None


def _check_choice(targets: Sequence[str]) -> None:
    if len(targets) != 1:
        raise RuleBroken("mcq_target_count", "targets", f"has {len(targets)} targets; category mcq has exactly one")
    if len(targets[0]) != 1 or targets[0] not in CHOICES:
        raise RuleBroken("mcq_target_letter", "targets[0]", f"is {show(targets[0])}; must be one letter, A to E")


def _check_expressions(targets: Sequence[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own warnings about the author's code are not relevant here
        for number, target in enumerate(targets):
            if reason := _not_an_expression(target):
                detail = f"{show(target)} is not a Python expression ({reason}); write one like `add(2, 3) == 5`"
                raise RuleBroken("bad_expression", f"targets[{number}]", detail)


def _not_an_expression(text: str) -> str | None:
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        return f"longer than {MAX_EXPRESSION_CHARACTERS} characters"
    try:
        compile(text.strip(), "<target>", "eval", _ONLY_PARSE, dont_inherit=True)
    except SyntaxError as error:
        return error.msg
    except ValueError:
        return "not text"
    except (RecursionError, MemoryError, OverflowError):
        return "nested too deep"
    return None


_ONLY_PARSE = 0x400  # ast.PyCF_ONLY_AST: nothing is compiled, let alone run

_TARGET_CHECKS: dict[str, Callable[[Sequence[str]], None]] = {"mcq": _check_choice, "code_exec": _check_expressions}

_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(REQUIRED_FIELDS, (str, "a string")),
    "targets": ((list, tuple), "a list of strings"),
    "few_shot_examples": ((list, tuple), "a list of {prompt, completion} objects"),
    "metadata": (dict, "an object"),
}
