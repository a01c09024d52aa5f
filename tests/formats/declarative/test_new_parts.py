"""A built-in scorer is one file and a row of the catalog, one of a stranger a file: all else is read from that file."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from assay import entry_points
from assay.catalog import CATALOG
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.formats.declarative.checked import editor_schema
from assay.formats.declarative.editor_schema import json_schema
from assay.formats.declarative.load import check_yaml_file
from assay.formats.declarative.reference import written_types
from assay.formats.declarative.schema import scorers
from assay.formats.declarative.schema.scorers import SCORER
from assay.formats.declarative.shape import PartTypes, Tagged

SCORER_FILE = '''
from typing import Annotated, Literal

from msgspec import Meta

from assay import Score
from assay.part_options import Doc, TemplateOption, part


@part("Whether the answer is about as long as a text.", example='wanted: "{{ sample.a }}", slack: 2')
class AboutAsLong:
    """`score` is 1 for an answer of about the right length."""

    def __init__(
        self,
        key: str,
        *,
        wanted: Annotated[str, TemplateOption("Template of the text.")],
        slack: Annotated[int, Meta(ge=0), Doc("Letters that may be missing.")] = 0,
        count: Annotated[Literal["letters", "words"], Doc("What is counted.")] = "letters",
        has_solver: bool = True,
    ) -> None:
        self.name = key

    async def __call__(self, sample, trace):
        return Score(name=self.name, values={"score": 1.0})
'''
TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {{key: d}}
  solver:
    type: single_turn_solver
    input_builder: {{type: chat_completion, input_messages: [{{role: user, content: x}}]}}
  scorers:
    - {scorer}
"""
WRONG = [
    ("slack: -1", "slack: must be at least 0, got -1"),
    ("count: leters", "count: `leters` is not allowed here. Did you mean `letters`?"),
    ("wanted: '{{ nothing }}'", "wanted: the template reads `nothing`, which it is not given"),
    ("slak: 1", "Did you mean `slack`?"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "long_answers.py").write_text(SCORER_FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def built_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The row of the catalog, and the tables made once more."""
    monkeypatch.setitem(CATALOG["scorer"], "about_as_long", "long_answers:AboutAsLong")
    names = [*SCORER.choices, "about_as_long"]
    choices = PartTypes(names, scorers._scorer)
    object.__setattr__(SCORER, "choices", choices)
    return "about_as_long"


@pytest.fixture(autouse=True)
def tables_as_they_were() -> object:
    before = SCORER.choices
    yield
    object.__setattr__(SCORER, "choices", before)


def check(folder: Path, scorer: str) -> None:
    path = folder / "task.yaml"
    path.write_text(TASK.format(scorer=scorer))
    check_yaml_file(path)


def options(wrong: str) -> str:
    return wrong if wrong.startswith("wanted") else f"wanted: '{{{{ sample.a }}}}', {wrong}"


def test_a_built_in_scorer_loads_by_its_row(folder: Path, built_in: str) -> None:
    check(folder, f"{{type: {built_in}, wanted: '{{{{ sample.a }}}}', slack: 2}}")


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_its_options_are_checked_by_its_file(folder: Path, built_in: str, wrong: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"task\.yaml:10") as caught:
        check(folder, f"{{type: {built_in}, {options(wrong)}}}")
    assert message in str(caught.value)


def test_the_reference_and_the_editor_know_it(built_in: str) -> None:
    shape = next(shape for kind, name, _, shape in written_types() if (kind, name) == ("scorer", built_in))
    assert shape.fields["slack"].doc == "Letters that may be missing."
    assert shape.example == 'wanted: "{{ sample.a }}", slack: 2'
    assert isinstance(SCORER, Tagged)
    body = json.dumps(json_schema(SCORER, "scorers"))
    assert '"about_as_long"' in body
    assert "Letters that may be missing." in body
    assert "about_as_long" in json.dumps(editor_schema("task"))


def test_a_strangers_scorer_loads_by_its_file(folder: Path) -> None:
    check(folder, "{type: 'long_answers:AboutAsLong', wanted: '{{ sample.a }}', slack: 2}")


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_strangers_options_are_checked_by_its_file_without_importing_it(
    folder: Path, wrong: str, message: str
) -> None:
    (folder / "long_answers.py").write_text(f"{SCORER_FILE}\nraise SystemExit('imported')\n")
    with pytest.raises(UsageError, match=r"task\.yaml:10") as caught:
        check(folder, f"{{type: 'long_answers:AboutAsLong', {options(wrong)}}}")
    assert message in str(caught.value)


def test_a_strangers_scorer_is_shown_with_its_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "long_answers:AboutAsLong"]) == 0
    shown = capsys.readouterr().out
    assert "score` is 1 for an answer of about the right length" in shown
    assert "whole number from 0" in shown
    assert "Letters that may be missing." in shown


def editor_accepts(schema: dict[str, object], scorer: str) -> bool:
    return jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(TASK.format(scorer=scorer)))


def test_editors_are_given_the_options_of_parts_that_are_named_without_importing_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "long_answers.py").write_text(f"{SCORER_FILE}\nraise SystemExit('imported')\n")
    assert main(["schema", "task", "long_answers:AboutAsLong"]) == 0
    schema, without = json.loads(capsys.readouterr().out), editor_schema("task")
    metrics = "[{type: mean, field: score}]"
    right = f"{{type: 'long_answers:AboutAsLong', key: k, {options('slack: 2')}, metrics: {metrics}}}"
    assert editor_accepts(schema, right)
    for wrong in ["slack: -1", "count: leters", "slak: 1"]:
        written = f"{{type: 'long_answers:AboutAsLong', {options(wrong)}}}"
        assert not editor_accepts(schema, written)
        assert editor_accepts(without, written), "nobody said which options a part has that is not named"
    assert not editor_accepts(schema, "{type: 'long_answers:AboutAsLong'}"), "an option without a default is needed"


def test_editors_know_the_parts_of_installed_packages(folder: Path) -> None:
    about = folder / "long_answers-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: long-answers\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[assay.scorers]\nlong = long_answers:AboutAsLong\n")
    entry_points._published_on.cache_clear()
    schema = editor_schema("task")
    assert editor_accepts(schema, "{type: long, wanted: x, count: words}")
    assert not editor_accepts(schema, "{type: long, wanted: x, count: leters}")
    assert not editor_accepts(schema, "{type: longer, wanted: x}")
    entry_points._published_on.cache_clear()


def test_a_part_whose_source_shows_no_options_is_said_and_one_that_is_not_there_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "made.py").write_text("Brief = type('Brief', (), {})\n")
    assert main(["schema", "task", "made:Brief"]) == 0
    assert "made:Brief: its source does not show its options: an editor will accept any" in capsys.readouterr().err
    assert main(["schema", "task", "made:Brif"]) == 2
    assert "Did you mean `Brief`?" in capsys.readouterr().err
    assert main(["schema", "leaderboard", "made:Brief"]) == 2
    assert "a leaderboard has no options of parts" in capsys.readouterr().err
