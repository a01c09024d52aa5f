"""All faults of a file at once: those that hide behind others, and none that only follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.declarative.load import check_yaml_file, read_located_tasks
from assay.formats.declarative.mending import Mending, read_with_all_faults
from assay.formats.declarative.reading_options import ReadingOptions

TASK = """\
key: t
display_name: T
description: d
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.q }}"}]
  scorers:
    - {type: string_equals, key: same, ground_truth: "{{ sample.a }}"}
    - {type: contains, key: has, value: "{{ sample.a }}"}
  actions:
    - {key: skip, action: exclude_from_metrics, filter: {op: is_true, expression: "{{ scores.has.score == 1 }}"}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"q": "one?", "a": "1"}\n{"q": "two?", "a": "2"}\n')
    return tmp_path


def mended(text: str) -> tuple[list[str] | None, Mending]:
    """The scorers that are left of a task, and what was found."""
    Path("t.yaml").write_text(text)
    mending = Mending()
    how = ReadingOptions(models_needed=False, mending=mending)
    tasks = read_with_all_faults(lambda: read_located_tasks(Path("t.yaml"), how), mending)
    left = None if tasks is None else [part.key for task in tasks for part in task.definition.scorers]
    return left, mending


@pytest.mark.parametrize(
    ("written", "instead", "left", "says"),
    [
        ("type: contains", "type: contians", ["same"], ["definition.scorers[1].type: unknown scorer `contians`"]),
        ("{{ sample.q }}", "{{ sample.q ", ["same", "has"], ["input_messages[0].content: line 1 of the template"]),
        ("type: single_turn_solver", "type: single", ["same", "has"], ["definition.solver.type: unknown solver"]),
        ("key: t\n", "key: 't t'\n", ["same", "has"], ["t.yaml:1:1: key: `t t` does not match"]),
        ("description: d\n", "", ["same", "has"], ["t.yaml:1:1: a task needs the field `description`"]),
        ("key: same,", "key: same, key: same,", ["same", "has"], ["scorers[0].key: the key is given twice"]),
        ("op: is_true", "op: is_truth", ["same", "has"], ["definition.actions[0].filter"]),
        ("key: same,", "key: same, colour: red,", ["same", "has"], ["scorers[0].colour: unknown field"]),
        ("truth: \"{{ sample.a }}", "truth: \"<< config.x >>", ["same", "has"], ["`<< config.x >>` names no"]),
    ],
)  # fmt: skip
def test_a_fault_is_reported_alone_and_the_rest_is_read(
    written: str, instead: str, left: list[str], says: list[str]
) -> None:
    assert written in TASK
    found, mending = mended(TASK.replace(written, instead))
    assert found == left
    assert len(mending.sentences) == len(says), mending.sentences
    for sentence, part in zip(mending.sentences, says, strict=True):
        assert part in sentence


def test_a_misspelt_field_is_read_as_the_one_that_was_meant() -> None:
    found, mending = mended(TASK.replace('ground_truth: "{{ sample.a', 'ground_trut: "{{ smaple.a'))
    assert found == ["same", "has"]
    assert [line.split(": ")[1] for line in mending.sentences] == [
        "definition.scorers[0]",
        "definition.scorers[0].ground_trut",
        "definition.scorers[0].ground_trut",
    ]
    assert "reads `smaple`" in mending.sentences[2]


def test_a_fault_of_a_rule_is_found_behind_a_fault_of_a_shape() -> None:
    text = TASK.replace("key: t\n", "key: t\ncolour: red\n").replace("scores.has", "scores.hsa")
    Path("t.yaml").write_text(text.replace("{{ sample.q }}", "{{ smaple.q }}"))
    with pytest.raises(UsageError) as error:
        check_yaml_file(Path("t.yaml"))
    assert [line.split(": ")[1] for line in str(error.value).splitlines()] == [
        "colour",
        "definition.solver.input_builder.input_messages[0].content",
        "definition.actions[0].filter.expression",
    ]


def test_a_file_of_which_nothing_can_be_read_reports_what_it_can() -> None:
    found, mending = mended("key: t\ndisplay_name: T\ndescription: d\ndefinition: 4\n")
    assert found is None
    assert mending.sentences == [
        "t.yaml:4:1: definition: expected task definition (a mapping with `type`), got 4",
    ]


def test_a_default_that_does_not_fit_asks_for_no_value() -> None:
    spec = "config_spec:\n  - {type: int, key: n, display_name: N, max: 3, default_value: 5}\ndefinition:"
    _, mending = mended(TASK.replace("definition:", spec))
    assert len(mending.sentences) == 1
    assert "config_spec[0]" in mending.sentences[0]


def test_every_fault_of_a_run_file_is_found() -> None:
    Path("t.yaml").write_text(
        "models:\n  - {key: m, display_name: M, config: {connection_type: assay, modl: toy}}\n"
        "datasets:\n  - {key: d, display_name: D, source: {type: inline, samples: [{a: 1}]}, colour: red}\n"
        "tasks:\n  - key: t\n    display_name: T\n    definition:\n      evaluated_entity_type: dataset\n"
        "      dataset: {key: d}\n      scorers: [{type: nonsense}]\n"
    )
    with pytest.raises(UsageError) as error:
        check_yaml_file(Path("t.yaml"))
    found = str(error.value)
    for part in ("config.modl: unknown", "needs the field `model`", "colour: unknown", "`description`", "`nonsense`"):
        assert part in found, part
    assert "there is no" not in found


@pytest.mark.parametrize(
    ("scorer", "says"),
    [
        (
            "{type: model_as_a_judge_scorer, model_key: m, user_prompt: u, score_min: 5, score_max: 1}",
            "score_max: must be above score_min (5), got 1",
        ),
        (
            '{type: instructions, instructions: [{id: "punctuation:no_coma"}]}',
            "`punctuation:no_coma` is not an instruction",
        ),
    ],
)
def test_what_a_default_makes_of_a_cut_field_is_not_reported(scorer: str, says: str) -> None:
    _, mending = mended(TASK.replace("  actions:", f"    - {scorer}\n  actions:"))
    [sentence] = mending.sentences
    assert says in sentence


def test_a_bad_default_hides_nothing_behind_it() -> None:
    parameter = "config_spec: [{type: int, key: n, display_name: N, default_value: 11, max: 10}]\n"
    text = TASK.replace("definition:", f"{parameter}definition:", 1).replace(
        '"{{ sample.q }}"', '"<< config.n >> times"'
    )
    found, mending = mended(text)
    assert found == ["same", "has"]
    assert [line.split(": ", 1)[1] for line in mending.sentences] == [
        "config_spec[0].default_value: must be at most 10, got 11"
    ]


def test_datasets_that_do_not_go_together_are_not_missing_too(folder: Path) -> None:
    (folder / "more.jsonl").write_text('{"q": "three?", "a": "3"}\n')
    text = "key: t\ndisplay_name: T\ndescription: d\ndefinition:\n  evaluated_entity_type: dataset\n"
    scorer = '{type: string_equals, ground_truth: "{{ sample.rows.a }}", value: "{{ sample.more.a }}"}'
    _, mending = mended(f"{text}  dataset: {{keys: [rows, more]}}\n  scorers: [{scorer}]\n")
    [sentence] = mending.sentences
    assert "definition.dataset.keys: dataset `rows+more`: the datasets do not have equally many rows" in sentence
