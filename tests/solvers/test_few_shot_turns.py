"""Few-shot examples of a YAML task: from a split or a list, as turns or as text, fixed or seeded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import EQUALS, write_task

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.core.types import TaskDefinition
from assay.formats.declarative.load import check_yaml_file
from assay.runs.preview import preview

LISTED = [{"q": "1+1", "a": "2"}, {"q": "2+2", "a": "4"}]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.csv").write_text("q,a\n" + "".join(f"{n}+0,{n}\n" for n in range(10)))


def written(rows: list[dict[str, Any]] | None = None, **few_shot: Any) -> Path:
    messages = [{"role": "system", "content": "Sums."}, {"role": "user", "content": "{{ sample.q }} ="}]
    solver = {
        "type": "single_turn_solver",
        "input_builder": {"type": "chat_completion", "input_messages": messages},
        "few_shot": {"assistant": "{{ sample.a }}", **few_shot},
    }
    return write_task(Path(), rows or [{"q": "3+3", "a": "6"}], [EQUALS], solver=solver)


def asked(definition: TaskDefinition) -> list[tuple[str, str]]:
    [(_, requests)] = preview(definition, 1)
    assert isinstance(requests, list)
    return [(each.role, each.content) for each in requests[0].messages or ()]


def test_examples_are_turns_before_the_question() -> None:
    [definition] = read_yaml_tasks(written(examples=LISTED))
    assert asked(definition) == [
        ("system", "Sums."),
        ("user", "1+1 ="),
        ("assistant", "2"),
        ("user", "2+2 ="),
        ("assistant", "4"),
        ("user", "3+3 ="),
    ]


def test_or_text_before_the_question() -> None:
    [definition] = read_yaml_tasks(written(examples=LISTED, style="text", user="Q: {{ sample.q }}"))
    assert asked(definition) == [("system", "Sums."), ("user", "Q: 1+1 2\n\nQ: 2+2 4\n\n3+3 =")]


def test_the_first_of_a_split_or_some_drawn_with_a_seed() -> None:
    def questions(**few_shot: Any) -> list[str]:
        [definition] = read_yaml_tasks(written(dataset={"key": "train"}, **few_shot))
        return [content for role, content in asked(definition)[1:-1] if role == "user"]

    assert questions(count=2) == ["0+0 =", "1+0 ="]
    assert questions(count=3, seed=1) == questions(count=3, seed=1) != questions(count=3, seed=2)
    assert len(questions(count=3, seed=1)) == 3


def test_examples_of_a_split_are_text_too_and_the_same_ones_with_the_same_seed() -> None:
    def block(seed: int, style: str) -> list[tuple[str, str]]:
        [definition] = read_yaml_tasks(written(dataset={"key": "train"}, count=3, seed=seed, style=style))
        return asked(definition)[1:]

    [(role, text)] = block(1, "text")
    assert role == "user"
    assert text.endswith("\n\n3+3 =")
    assert text.count("\n\n") == 3
    assert block(1, "text") == [(role, text)] != block(2, "text")
    for turn in block(1, "turns")[:-1]:
        assert turn[1] in text


def test_a_sample_is_no_example_of_itself() -> None:
    [definition] = read_yaml_tasks(written([LISTED[0]], examples=[*LISTED, {"q": "5+5", "a": "10"}], count=2))
    assert ("user", "1+1 =") not in asked(definition)[1:-1]
    assert len(asked(definition)) == 6


def test_the_examples_are_part_of_what_the_task_is() -> None:
    [before] = read_yaml_tasks(written(dataset={"key": "train"}, count=2))
    Path("train.csv").write_text("q,a\n9+9,18\n8+8,16\n7+7,14\n")
    [after] = read_yaml_tasks(written(dataset={"key": "train"}, count=2))
    assert task_fingerprint(before) != task_fingerprint(after)
    assert "train.csv" not in json.dumps(after.solver.options)


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, "few-shot examples need one of `dataset` and `examples`; got neither"),
    ({"dataset": {"key": "train"}}, "few_shot from a dataset needs `count`"),
    ({"examples": LISTED, "user": "{{ smaple.q }}"}, "reads `smaple`"),
    ({"examples": LISTED, "style": "turn"}, "Did you mean `turns`"),
]


@pytest.mark.parametrize(("few_shot", "says"), FAULTS, ids=[each[1] for each in FAULTS])
def test_what_is_wrong_has_its_place(few_shot: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_yaml_file(written(**few_shot))
    assert says in str(caught.value)
    assert "definition.solver.few_shot" in str(caught.value)
