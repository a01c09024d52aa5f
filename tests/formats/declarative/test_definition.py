"""A declarative task becomes plain data, each part under a name of its own."""

from __future__ import annotations

from tests.formats.declarative.yaml_tasks import TASK, Read


def test_a_task_becomes_plain_data(read: Read) -> None:
    (definition,) = read(config={"word": "hi"})
    assert definition.name == "t"
    assert definition.format == "declarative"
    assert definition.metric == "accuracy"
    assert (definition.dataset.use, definition.dataset.size) == ("table", 6)
    assert definition.solver.options["input_builder"]["input_messages"][0]["content"] == "hi {{ sample.q }}"
    assert [(part.key, part.use) for part in definition.scorers] == [("string_equals", "string_equals")]
    (aggregate,) = definition.aggregates
    assert (aggregate.key, aggregate.use) == ("string_equals.mean", "mean")
    assert aggregate.options == {"scorer": "string_equals", "field": "is_correct", "name": "accuracy"}


def test_repeated_scorers_and_metrics_get_names_of_their_own(read: Read) -> None:
    text = TASK + (
        '    - {type: string_equals, ground_truth: "x", metrics: ['
        "{type: mean, field: is_correct}, {type: mean, field: is_correct, name: b}, {type: max, field: is_correct}]}\n"
        '    - {type: string_equals, ground_truth: "y", key: named}\n'
    )
    (definition,) = read(text)
    assert [part.key for part in definition.scorers] == ["string_equals", "string_equals_2", "named"]
    assert [part.key for part in definition.aggregates] == [
        "string_equals.mean",
        "string_equals_2.mean",
        "string_equals_2.mean_2",
        "string_equals_2.max",
        "named.mean",
    ]
