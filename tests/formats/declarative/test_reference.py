"""The reference knows every type that the tables know, and every example in it can be loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.results.yaml_runs import write_task

from assay.cli.main import main
from assay.formats.declarative.load import check_yaml_file
from assay.formats.declarative.reference import (
    TypeReference,
    grouped,
    type_references,
    types_called,
    types_of,
    written_types,
)
from assay.formats.declarative.schema.metrics import METRIC
from assay.formats.declarative.schema.scorers import SCORER
from assay.formats.declarative.schema.solvers import SOLVER
from assay.formats.declarative.shape import ObjectOf, Report, Tagged, check
from assay.formats.declarative.yaml_reader import read_yaml

ALL = type_references()
HEAD = "key: t\ndisplay_name: T\ndescription: ''\n"
CHAT = "{type: single_turn_solver, input_builder: {type: chat_completion, input_messages: [{role: user, content: x}]}}"
LIKELIHOOD = {
    "choice_likelihood": ("{type: choice_likelihood_solver, prompt: x, choices: '[1]'}", "ground_truth_choice: '1'"),
    "text_likelihood": ("{type: text_likelihood_solver, text: x}", "key: k"),
}
ANY_SCORER = "{type: string_equals, ground_truth: x}"


def indented(text: str, width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in text.splitlines())


def in_a_task(solver: str, scorers: str) -> str:
    return f"{HEAD}definition:\n  dataset: {{key: d}}\n  solver:\n{indented(solver, 4)}  scorers:\n    -\n{scorers}"


def whole_file(reference: TypeReference) -> str | None:
    """A file that holds the example; None for what only stands deep inside of others."""
    example = reference.example
    match reference.kind:
        case "task" | "dataset" | "model" | "run file" | "model adapter" | "evaluation" | "provider model":
            return example
        case "definition":
            return f"{HEAD}definition:\n{indented(example, 2)}"
        case "parameter":
            return f"{HEAD}config_spec:\n  - {example}definition: {{evaluated_entity_type: dataset}}\n"
        case "solver":
            kind = reference.name.removesuffix("_solver")
            scorer = f"{{type: {kind}, {LIKELIHOOD[kind][1]}}}" if kind in LIKELIHOOD else ANY_SCORER
            return in_a_task(example, indented(scorer, 6))
        case "scorer":
            return in_a_task(LIKELIHOOD.get(reference.name, (CHAT, ""))[0], indented(example, 6))
        case "metric":
            snippet = "      type: python\n      compute_scores_snippet: def compute_scores(sample)\\: return {}\n"
            scorer = snippet.replace("\\", "").replace("snippet: def", "snippet: |\n        def")
            return in_a_task(CHAT, f"{scorer}      metrics:\n        -\n{indented(example, 10)}")
        case "source":
            return f"key: d\ndisplay_name: D\nsource:\n{indented(example, 2)}"
        case "connection":
            return f"key: m\ndisplay_name: M\nconfig:\n{indented(example, 2)}"
    return None


_ABSENT = re.compile("there is no dataset|no model is set")
"""An example names what is not here."""


@pytest.mark.parametrize("kind", dict.fromkeys(each.kind for each in ALL))
def test_every_example_can_be_loaded(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.yaml"
    for reference in types_of(kind):
        text = whole_file(reference)
        path.write_text(text or reference.example)
        document = read_yaml(path)
        if text is not None and reference.kind != "provider model":
            warnings = [text for text in check_yaml_file(path).warnings if not _ABSENT.search(text)]
            assert not warnings, (reference.name, warnings)
            continue
        report = Report(document)
        check(document.value, shape_of(reference), (), report)
        assert not report.faults, (reference.name, report.faults)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("python_all_samples", {"question": "q"}),
        ("code_exec", {"solution": "def double(x): return 2 * x"}),
    ],
)
def test_examples_of_scorers_that_run_code_score(
    name: str, row: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = yaml.safe_load(next(each.example for each in types_of("scorer") if each.name == name))
    if "solution" in row:
        example["solution"] = "{{ sample.solution }}"
    path = write_task(tmp_path, [{"q": "q", "a": "a", **row}], [example])
    assert main(["check", str(path)]) == 0


def shape_of(reference: TypeReference) -> ObjectOf:
    """The table that a reference was made of."""
    return next(shape for kind, name, _, shape in written_types() if (kind, name) == (reference.kind, reference.name))


def test_nothing_that_can_be_written_is_left_out() -> None:
    for kind, shape in (("scorer", SCORER), ("solver", SOLVER), ("metric", METRIC)):
        assert isinstance(shape, Tagged)
        assert {each.name for each in types_of(kind)} == set(shape.choices)
    there = {each.kind for each in ALL}
    for reference in ALL:
        for field in reference.fields:
            assert set(field.kinds) <= there, f"{reference.name}.{field.name} is of a kind without a reference"


def test_every_type_has_a_sentence_every_field_another_and_every_example_names_its_type() -> None:
    for reference in ALL:
        assert reference.doc
        assert reference.example, f"an example is missing: {reference.kind} {reference.name}"
        assert all(field.doc for field in reference.fields), reference.name
        if reference.tag is not None and reference.name not in ("custom_connection", "standard"):  # the defaults
            assert f"{reference.tag}: {reference.name}" in reference.example


def test_a_field_says_what_may_stand_there() -> None:
    (judge,) = types_called("model-as-a-judge-scorer")
    fields = {field.name: field for field in judge.fields}
    assert judge.gives == ("score",)
    assert (fields["score_max"].type, fields["score_max"].default, fields["score_max"].required) == (
        "number",
        1.0,
        False,
    )
    assert fields["user_prompt"].required
    assert not fields["model_key"].required  # or `judges`
    assert fields["purpose"].allowed == ("score", "qa")
    assert fields["user_prompt"].reads[:2] == ("sample", "solver_output")
    assert fields["metrics"].kinds == ("metric",)
    assert [field.name for field in judge.ordered()][:2] == ["type", "user_prompt"]


def test_types_with_the_same_fields_stand_together() -> None:
    names = [[each.name for each in group] for group in grouped(types_of("metric"))]
    assert ["mean", "max", "min", "median"] in names
    assert ["recall"] in names
