"""The types of parameters: what each is, and what its values are."""

from __future__ import annotations

from typing import NamedTuple


class ParameterType(NamedTuple):
    """A type of parameter: what it is, what JSON calls its values, an example, and the fields of it alone."""

    doc: str
    values: str | None
    example: str
    own: tuple[str, ...] = ()


PARAMETER_TYPES = {
    "float": ParameterType(
        "A number.",
        "number",
        "key: threshold, display_name: Threshold, default_value: 0.5, min: 0, max: 1",
        ("min", "max"),
    ),
    "int": ParameterType(
        "A whole number.",
        "integer",
        "key: best, display_name: Best mark, default_value: 5, min: 2, max: 10",
        ("min", "max"),
    ),
    "boolean": ParameterType("true or false.", "boolean", "key: strict, display_name: Strict, default_value: false"),
    "string": ParameterType(
        "A text.",
        "string",
        "key: tone, display_name: Tone, default_value: polite",
        ("string_kind", "examples", "default_file_content"),
    ),
    "model": ParameterType(
        "The key of a model.",
        "string",
        "key: judge_model, display_name: Judge, default_value: judge, usage: judge_model",
        ("usage",),
    ),
    "dataset": ParameterType(
        "The key of a dataset.", "string", "key: rows, display_name: Rows, default_value: questions"
    ),
    "dataset_column": ParameterType("The name of a column.", "string", "key: column, display_name: Column"),
    "list": ParameterType(
        "A list of one kind of value.",
        "array",
        "key: columns, display_name: Columns, dtype: string, default_value: [name, email]",
        ("dtype",),
    ),
    "categorical": ParameterType(
        "One of the allowed values, or several of them.",
        None,
        "key: language, display_name: Language, allowed_values: [en, de], default_value: en",
        ("allowed_values", "multiple", "values_mapping"),
    ),
    "dict": ParameterType(
        "A mapping from names to one kind of value.",
        "object",
        "key: weights, display_name: Weights, value_dtype: float, default_value: {good: 1.0, bad: 0.0}",
        ("value_dtype",),
    ),
    "task_result": ParameterType("The key of a task's result.", "string", "key: earlier, display_name: Earlier run"),
}
