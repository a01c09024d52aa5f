"""What datasets and tasks of libraries reach for is listed, whatever is wrong with their options."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.task import task_fingerprint
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.task_records import Provenance
from assay.trust.consent import reaches

URL = {"use": "url", "options": {"url": "https://x.test/a.csv", "name": "u"}}
HUB = {
    "use": "hub",
    "options": {
        "repository": "org/d",
        "split": "test",
        "load_dataset_kwargs": {"data_files": "/etc/passwd", "name": "n"},
    },
}
TABLE = {"use": "table", "options": {"path": "/outside/t.csv", "name": "t"}}
STEPS = [
    {"type": "python", "run_snippet": "def f(): ..."},
    {"type": "model", "model_key": "judge", "model": {"model": "openai:x@http://evil.test/v1", "options": {}}},
]
GENERATED = {"use": "generated", "options": {"name": "g", "recipe": {"steps": STEPS, "rows": URL}}}
OF_URL = ["address https://x.test/a.csv dataset.url"]
OF_HUB = ["address the Hugging Face hub: org/d dataset", "file data_files=/etc/passwd dataset.load_dataset_kwargs"]
OF_TABLE = ["file /outside/t.csv dataset.path"]
OF_STEPS = [
    "code def f(): ... dataset.steps[0].run_snippet",
    "address http://evil.test/v1 dataset.steps[1].model",
    "key OPENAI_API_KEY to http://evil.test/v1 dataset.steps[1].model",
]


def task(use: str, options: dict[str, Any], **more: Any) -> TaskDefinition:
    solver = PartSpec(key="s", use="single_turn")
    parts: dict[str, Any] = {"solver": solver, "scorers": (), "aggregates": (), "metric": "m", **more}
    return TaskDefinition(name="t", format="declarative", dataset=DatasetSpec(use=use, options=options), **parts)


def joined(**parts: Any) -> dict[str, Any]:
    return {"use": "joined", "options": {"parts": parts}}


@pytest.mark.parametrize(
    ("dataset", "reached", "out_of_a_run"),
    [
        (URL, OF_URL, []),
        ({"use": "url", "options": {"url": ["http://a", "http://b"]}},
         ["address http://a dataset.url", "address http://b dataset.url"], []),
        (HUB, OF_HUB, []),
        (TABLE, [], OF_TABLE),
        ({"use": "hub", "options": {"load_dataset_kwargs": 7}}, ["address the Hugging Face hub: None dataset"], []),
        (GENERATED, [*OF_STEPS, *OF_URL], []),
        ({"use": "generated", "options": {"recipe": "none"}}, [], []),
        ({"use": "generated", "options": {"recipe": {"rows": "none", "steps": None}}}, [], []),
        (joined(a=URL, b=HUB, c=TABLE, g=GENERATED, own={"use": "m:n", "options": {}}),
         [*OF_URL, *OF_HUB, *OF_STEPS, *OF_URL, "code m:n dataset"], OF_TABLE),
        (joined(a=joined(b=URL)), OF_URL, []),
        (joined(a=URL, b=7, c={"use": "hub"}), OF_URL, []),
        ({"use": "joined", "options": {"parts": [URL]}}, [], []),
        ({"use": "my.module:rows", "options": {}}, ["code my.module:rows dataset"], []),
    ],
)  # fmt: skip
def test_a_dataset_reaches_for_what_it_is_read_from(
    dataset: dict[str, Any], reached: list[str], out_of_a_run: list[str]
) -> None:
    def shown(**how: bool) -> list[str]:
        return [f"{each.kind} {each.what} {each.where}" for each in reaches(task(**dataset), **how)]

    assert shown() == reached
    assert shown(out_of_a_run=True) == [*reached, *out_of_a_run]


@pytest.mark.parametrize("lists_code", [False, True])
@pytest.mark.parametrize(
    ("kind", "use", "options", "named"),
    [
        ("scorers", "lm_eval", {"task": "piqa", "library": {"file": "x.yaml"}}, "lm-eval:piqa@x.yaml"),
        ("aggregates", "lm_eval", {"task": "piqa", "library": {}}, "lm-eval:piqa"),
        ("scorers", "lm_eval", {}, "lm-eval:None"),
        ("scorers", "inspect", {"library": {"name": "n", "file": "f.py"}}, "inspect:f.py@n"),
        ("scorers", "inspect", {"library": 7}, "inspect:None"),
    ],
)
def test_a_task_of_a_library_runs_the_code_that_its_reader_listed_and_else_all_of_it(
    kind: str, use: str, options: dict[str, Any], named: str, lists_code: bool
) -> None:
    for code in ([], ["own.py"]):
        part = PartSpec(key="k", use=use, options={**options, "code": code})
        definition = task(**TABLE, provenance=Provenance(lists_code=lists_code), **{kind: (part,)})
        assert [each.what for each in reaches(definition)] == (code if lists_code else [named])
        out_of_a_run = [each.what for each in reaches(definition, out_of_a_run=True) if each.kind == "library"]
        assert out_of_a_run == [named], "the author of a run folder may have left the list out"


@pytest.mark.parametrize(
    ("dataset", "sha256"),
    [
        (URL, "9b7ebd499c4853722b2377fed5c888a1579b1d1f48514e535a15fa4173658858"),
        (
            joined(a=URL, b=HUB, c=TABLE, g=GENERATED, own={"use": "m:n", "options": {}}),
            "62e643a1e3ad6c2ddb3698c07b3fda2cb0885379f0c2fc8da47c0ae92c2fe9ce",
        ),
    ],
)
def test_where_rows_lie_is_no_part_of_what_a_task_is(dataset: dict[str, Any], sha256: str) -> None:
    assert task_fingerprint(task(**dataset)) == sha256
    moved = task(**joined(t={"use": "table", "options": {"path": "elsewhere.csv", "name": "t"}}))
    assert task_fingerprint(task(**joined(t=TABLE))) == task_fingerprint(moved)
