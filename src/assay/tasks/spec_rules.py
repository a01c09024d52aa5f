"""The frozen task spec: its record, its closed vocabularies, and every rule a record must keep.

`check_record` applies the rules in a fixed order (fields there, no other fields, types, values, legal pairs) and stops
at the first one broken, so that a bad record has exactly one reason. Growing a vocabulary is a change of the spec: a
category needs a metric, a post-process rule and a fixture record.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.catalog import unknown_name
from assay.prompts.few_shot import find_embedded_block

CATEGORIES = ("arithmetic", "mcq", "code_exec", "classification", "summary")
METRIC_NAMES = ("exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec")
POST_PROCESS_RULES = ("none", "strip_whitespace", "lower", "extract_letter", "extract_code_block", "extract_first_line")

LEGAL_METRICS: dict[str, tuple[str, ...]] = {
    "arithmetic": ("exact_match", "f1"),
    "mcq": ("exact_match", "accuracy"),
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
"""A rule is left out where it could only do harm: `lower` never meets the capital letter of an `mcq` target and breaks
code, `extract_letter` reads the choice out of prose, `extract_code_block` is for programs."""

REQUIRED_FIELDS = ("task_id", "category", "prompt", "targets", "metric_name", "post_process")
OPTIONAL_FIELDS = ("few_shot_examples", "metadata")
CHOICES = "ABCDE"
MAX_EXAMPLES = 8
MAX_EXPRESSION_CHARACTERS = 10_000

LINE_RULES: dict[str, str] = {
    "line_too_long": "a line has at most 8 MiB",
    "not_utf8": "a line is UTF-8",
    "bad_json": "a line is one JSON value, without NaN, Infinity or comments",
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
    "duplicate_task_id": "`task_id` is given once in the file",
}
"""Every rule a line can break, in the order they are checked, with what it asks for."""

FILE_RULES: dict[str, str] = {"no_tasks": "a file holds at least one record"}

RULES: dict[str, str] = {**LINE_RULES, **FILE_RULES}


class FewShotExample(Struct, frozen=True, kw_only=True):
    """One worked example: a question and the answer a model should learn from."""

    prompt: str
    completion: str


class TaskSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    if not isinstance(record, Mapping):
        raise RuleBroken("not_an_object", "", f"is {_kind(record)}; a record is a JSON object")
    _check_fields(record)
    _check_types(record)
    _check_values(record)
    _check_pairs(record)
    return msgspec.convert(dict(record), TaskSpec)


def _check_fields(record: Mapping[Any, Any]) -> None:
    for name in REQUIRED_FIELDS:
        if name not in record:
            raise RuleBroken("missing_required", name, f"required and not there; {_almost(name, record)}")
    if len(record) == len(REQUIRED_FIELDS):
        return
    for name in record:
        if name not in _TYPES:
            raise RuleBroken("unknown_field", _plain(name), unknown_name("field", _plain(name), _TYPES))


def _almost(name: str, record: Mapping[Any, Any]) -> str:
    others = [_plain(key) for key in record if key not in _TYPES]
    if near := difflib.get_close_matches(name, others, n=1):
        return f"is `{near[0]}` meant to be it?"
    return f"a record has {', '.join(REQUIRED_FIELDS)}"


def _check_types(record: Mapping[Any, Any]) -> None:
    for name, value in record.items():
        expected = _TYPES[name]
        if not isinstance(value, expected):
            if name == "post_process" and isinstance(value, list | tuple):
                raise RuleBroken("combined_post_process", name, "is a list; a record has one rule, a string")
            raise RuleBroken("bad_type", name, f"is {_kind(value)}; must be {_TYPE_NAMES[name]}")
    for number, target in enumerate(record["targets"]):
        if not isinstance(target, str):
            raise RuleBroken("bad_type", f"targets[{number}]", f"is {_kind(target)}; must be a string{_quoted(target)}")
    for number, example in enumerate(record.get("few_shot_examples", ())):
        _check_example(number, example)


def _check_example(number: int, example: object) -> None:
    place = f"few_shot_examples[{number}]"
    if not isinstance(example, Mapping):
        raise RuleBroken("bad_example", place, f"is {_kind(example)}; must be an object of prompt and completion")
    for name in ("prompt", "completion"):
        if name not in example:
            raise RuleBroken("bad_example", f"{place}.{name}", "required and not there")
        if not isinstance(example[name], str):
            raise RuleBroken("bad_example", f"{place}.{name}", f"is {_kind(example[name])}; must be a string")
    for name in example:
        if name not in ("prompt", "completion"):
            raise RuleBroken("bad_example", f"{place}.{_plain(name)}", "unknown; an example has prompt and completion")


def _check_values(record: Mapping[Any, Any]) -> None:
    _check_task_id(record["task_id"])
    _check_word("unknown_category", "category", record["category"], CATEGORIES)
    _check_prompt(record["prompt"])
    if not record["targets"]:
        raise RuleBroken("empty_targets", "targets", "is empty; give at least one string")
    _check_word("unknown_metric", "metric_name", record["metric_name"], METRIC_NAMES)
    _check_post_process(record["post_process"])
    examples = record.get("few_shot_examples", ())
    if len(examples) > MAX_EXAMPLES:
        raise RuleBroken("too_many_examples", "few_shot_examples", f"has {len(examples)}; at most {MAX_EXAMPLES}")
    if block := find_embedded_block(record["prompt"], examples):
        raise RuleBroken("embedded_few_shot", "prompt", f"{block}; examples belong in few_shot_examples")


def _check_task_id(task_id: str) -> None:
    if not task_id:
        raise RuleBroken("bad_task_id", "task_id", "is empty")
    if " " in task_id or not task_id.isprintable():
        bad = next(i for i, character in enumerate(task_id) if character == " " or not character.isprintable())
        what = "whitespace" if task_id[bad].isspace() else "an invisible character"
        raise RuleBroken("bad_task_id", "task_id", f"{_show(task_id)} has {what} at character {bad + 1}")


def _check_prompt(prompt: str) -> None:
    if not prompt or prompt.isspace():
        raise RuleBroken("empty_prompt", "prompt", "is empty" if not prompt else "is only whitespace")
    if prompt[-1].isspace():
        raise RuleBroken("trailing_whitespace", "prompt", f"ends in {_show(prompt[-8:])}; cut what follows the text")


def _check_word(rule: str, name: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise RuleBroken(rule, name, unknown_name(name, _plain(word), known))


def _check_post_process(word: str) -> None:
    if word in POST_PROCESS_RULES:
        return
    parts = [part for part in re.split(r"[\s+,;|>&]+", word) if part]
    if len(parts) > 1 and all(part in POST_PROCESS_RULES for part in parts):
        raise RuleBroken("combined_post_process", "post_process", f"{_show(word)} combines rules; a record has one")
    _check_word("unknown_post_process", "post_process", word, POST_PROCESS_RULES)


def _check_pairs(record: Mapping[Any, Any]) -> None:
    category, metric, post_process = record["category"], record["metric_name"], record["post_process"]
    if metric not in LEGAL_METRICS[category]:
        legal = " or ".join(LEGAL_METRICS[category])
        raise RuleBroken("illegal_pair", "metric_name", f"category {category} cannot use {metric}; use {legal}")
    if post_process not in LEGAL_POST_PROCESS[category]:
        legal = " or ".join(LEGAL_POST_PROCESS[category])
        raise RuleBroken(
            "illegal_post_process", "post_process", f"category {category} cannot use {post_process}; use {legal}"
        )
    if check_targets := _TARGET_CHECKS.get(category):
        check_targets(record["targets"])


def _check_choice(targets: list[str]) -> None:
    if len(targets) != 1:
        raise RuleBroken("mcq_target_count", "targets", f"has {len(targets)} targets; category mcq has exactly one")
    if len(targets[0]) != 1 or targets[0] not in CHOICES:
        raise RuleBroken("mcq_target_letter", "targets[0]", f"is {_show(targets[0])}; must be one letter, A to E")


def _check_expressions(targets: list[str]) -> None:
    for number, target in enumerate(targets):
        if reason := _not_an_expression(target):
            raise RuleBroken(
                "bad_expression",
                f"targets[{number}]",
                f"{_show(target)} is not a Python expression ({reason}); write one like `add(2, 3) == 5`",
            )


def _not_an_expression(text: str) -> str | None:
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        return f"longer than {MAX_EXPRESSION_CHARACTERS} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.strip(), "<target>", "eval", _ONLY_PARSE, dont_inherit=True)
    except SyntaxError as error:
        return error.msg
    except (ValueError, RecursionError, MemoryError, OverflowError):
        return "too deep or not text"
    return None


_ONLY_PARSE = 0x400  # ast.PyCF_ONLY_AST: nothing is compiled, let alone run

_TARGET_CHECKS: dict[str, Callable[[list[str]], None]] = {"mcq": _check_choice, "code_exec": _check_expressions}

_TYPES: dict[str, type | tuple[type, ...]] = {
    "task_id": str,
    "category": str,
    "prompt": str,
    "targets": (list, tuple),
    "metric_name": str,
    "post_process": str,
    "few_shot_examples": (list, tuple),
    "metadata": dict,
}

_TYPE_NAMES = {
    **dict.fromkeys(_TYPES, "a string"),
    "targets": "a list of strings",
    "few_shot_examples": "a list of {prompt, completion} objects",
    "metadata": "an object",
}


def _kind(value: object) -> str:
    """What JSON calls a value, with the value where it is short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the string {_show(value)}"
    if isinstance(value, int | float):
        return f"the number {_show(value)}"
    return "an object" if isinstance(value, Mapping) else "a list"


def _quoted(value: object) -> str:
    return f', "{value}"' if type(value) in (int, float) else ""


def _plain(name: object) -> str:
    """A name for a message: without control characters, and short."""
    return repr(str(name)[:60])[1:-1]


def _show(value: object) -> str:
    """A value for a message: quoted, without control characters, and short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[-1]
