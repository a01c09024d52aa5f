"""Editor and loader agree: what the loader takes an editor never marks, and what an editor lets pass the loader takes,
but for what no schema can say.

The test set is every YAML file of the repository (examples, starter projects, cases of tests), every YAML text in the
tests and in the documentation, and those that both take with one thing changed: a value of another kind, a field
misspelt, left out or added.
"""

from __future__ import annotations

import ast
import copy
import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    EDITOR_SCHEMAS,
    checked_dataset,
    checked_model,
    checked_run,
    editor_schema,
    kind_of,
)
from assay.formats.declarative.definition import check_only
from assay.formats.declarative.yaml_reader import CORE_SCHEMA, Document, Yaml12Loader, read_yaml
from assay.formats.project.discovery import FILE_NAME, using
from assay.reading.bounded_yaml import composed

ROOT = Path(__file__).parents[3]
FILES = [path for folder in ("examples", "tests") for path in sorted((ROOT / folder).rglob("*.yaml"))]
SOURCES = [*sorted((ROOT / "tests" / "formats" / "declarative").rglob("*.py")), *sorted((ROOT / "docs").rglob("*.md"))]
WHOLE = re.compile(r"^ *(definition|source|config|tasks|models|datasets|evaluation|file_path):", re.MULTILINE)
VALIDATORS = {kind: jsonschema.Draft7Validator(editor_schema(kind)) for kind in EDITOR_SCHEMAS}
LEFT_OUT, MISSPELT = "left out", "misspelt"
OTHERS = (3, 0.5, "text", "", None, [], {}, True, ["x"], {"x": 1}, "<< config.x >>", "$NAME")
CHANGES: dict[str, Any] = {LEFT_OUT: None, MISSPELT: None, **{f"= {other!r}": other for other in OTHERS}}
PER_FILE = int(os.environ.get("ASSAY_CHANGES_PER_FILE", "2"))
"""More of them look further, and take longer."""
NO_SCHEMA_CAN_SAY = {
    "there is no file": "what lies on the disk",
    "there is no adapter": "which adapters there are",
    "names no parameter": "which parameters the task declares",
    "snippet": "whether Python can be parsed, and what it defines",
    "the template reads": "which names a template is given",
    "template": "whether Jinja can be compiled",
    "` gives no value": "which values an expression reads",
    "there is no scorer": "which scorers the task has",
    "is given twice": "which keys are repeated",
    "default_value: must be among": "whether a text is in another list",
    "default_value: must be at": "how two numbers compare",
    "default_value: must hold": "which kind of values another field demands",
    "must be above score_min": "how two numbers compare",
    "also a correct label": "whether two lists overlap",
    "is not among `valid_labels`": "whether a text is in another list",
    "is a text, which has no": "what kind of value a scorer gives",
    "no weight for the valid label": "whether the names of a mapping are those of a list",
    "are wanted, and there are": "how a number compares with the length of a list",
    "no text has at least": "how two numbers compare",
    "must be at least `min`": "how two numbers compare",
    "unknown metric": "which packages are installed",
    "looks like a secret": "what a variable's name gives away",
    "is not supported in a schema here": "what a JSON Schema inside of the file uses",
}
"""What the loader refuses and an editor does not mark, by words of the loader's sentence, and what it is about."""


class Written(NamedTuple):
    """A YAML text of the test set."""

    name: str
    kind: str
    value: dict[str, Any]
    """As an editor sees it: `!include` is a text, `$ref` a field."""
    path: Path


def as_an_editor_sees(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return CORE_SCHEMA[node.tag](node.value) if node.tag in CORE_SCHEMA else node.value
    if isinstance(node, yaml.SequenceNode):
        return [as_an_editor_sees(item) for item in node.value]
    return {str(key.value): as_an_editor_sees(value) for key, value in node.value}


def written(name: str, text: str, path: Path) -> Written | None:
    """None for what is no whole file of ours, or has anchors: editors bound those in ways of their own."""
    if ": &" in text or not WHOLE.search(text):
        return None
    try:
        value = as_an_editor_sees(composed(text, name, Yaml12Loader))
    except (UsageError, AttributeError, KeyError, ValueError):
        return None
    kind = kind_of(value)
    if not isinstance(value, dict) or kind not in VALIDATORS or (kind == "task" and "definition" not in value):
        return None
    return Written(name, kind, value, path)


def texts() -> Iterator[tuple[str, str]]:
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            for number, block in enumerate(re.findall(r"^```yaml[^\n]*\n(.*?)^```", source, re.MULTILINE | re.DOTALL)):
                yield f"{path.name}, block {number}", block
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
                yield f"{path.name}:{node.lineno}", node.value


def refused(path: Path) -> str | None:
    """Why the loader does not take the file, in the project of the repository that it belongs to."""
    try:
        with using(next((folder for folder in path.parents if (folder / FILE_NAME).is_file()), None)):
            load(read_yaml(path))
    except UsageError as error:
        return str(error)
    return None


def load(document: Document) -> None:
    match kind_of(document.value):
        case "dataset":
            checked_dataset(document, document.value)
        case "model":
            checked_model(document, document.value)
        case "run":
            run = checked_run(document)
            for at, model in enumerate(run.models):
                named = {"key": "m", "display_name": "M", "config": {"connection_type": "assay", "model": model}}
                checked_model(document, named if isinstance(model, str) else model, ("models", at))
            for at, dataset in enumerate(run.datasets):
                checked_dataset(document, dataset, ("datasets", at))
            for at, task in enumerate(run.tasks):
                check_only(document, task, ("tasks", at))
        case _:
            check_only(document, document.value)


def disagreement(one: Written, changed: str = "") -> str | None:
    marks = jsonschema.exceptions.best_match(VALIDATORS[one.kind].iter_errors(one.value))
    reason = refused(one.path)
    if marks is not None and reason is None:
        return (
            f"{one.name}{changed}: the loader takes it, the editor says at {list(marks.absolute_path)}: {marks.message}"
        )
    if marks is None and reason is not None:
        unsaid = [line for line in reason.splitlines() if not any(words in line for words in NO_SCHEMA_CAN_SAY)]
        return f"{one.name}{changed}: the editor lets pass what the loader refuses: {unsaid[0]}" if unsaid else None
    return None


@pytest.fixture(scope="module")
def test_set(tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    folder = tmp_path_factory.mktemp("texts")
    found = [written(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), path) for path in FILES]
    for number, (name, text) in enumerate(texts()):
        path = folder / f"{number}.yaml"
        path.write_text(text, encoding="utf-8")
        found.append(written(name, text, path))
    return [one for one in found if one is not None]


def test_editor_and_loader_agree_on_every_file_of_the_test_set(test_set: list[Written]) -> None:
    assert {one.kind for one in test_set} == set(EDITOR_SCHEMAS)
    assert len(test_set) > 100
    found = [told for one in test_set if (told := disagreement(one))]
    assert not found, "\n".join(found)


def test_they_agree_on_files_with_one_thing_changed(test_set: list[Written], tmp_path: Path) -> None:
    chance, path = Random(13), tmp_path / "changed.yaml"
    found: list[str] = []
    for one in test_set:
        if refused(one.path) is not None:
            continue
        for at, change in some_of([(at, change) for at in places(one.value) for change in CHANGES], chance):
            changed = f", {'.'.join(map(str, at))} {change}"
            path.write_text(yaml.safe_dump(replaced(one.value, at, change), allow_unicode=True), encoding="utf-8")
            mutant = written(one.name, path.read_text(encoding="utf-8"), path)
            if mutant is not None and mutant.kind == one.kind and (told := disagreement(mutant, changed)):
                found.append(told)
    assert not found, "\n".join(found)


def some_of(every: list[tuple[tuple[Any, ...], str]], chance: Random) -> list[tuple[tuple[Any, ...], str]]:
    return chance.sample(every, min(PER_FILE, len(every)))


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield (*at, name)
        yield from places(item, (*at, name))


def replaced(value: dict[str, Any], at: tuple[Any, ...], change: str) -> dict[str, Any]:
    """The value with one thing in it changed."""
    changed = copy.deepcopy(value)
    holder: Any = changed
    for step in at[:-1]:
        holder = holder[step]
    before = holder.pop(at[-1])
    if change == MISSPELT and isinstance(holder, dict):
        holder[f"{at[-1]}x"] = before
    elif change not in (LEFT_OUT, MISSPELT):
        holder.insert(at[-1], CHANGES[change]) if isinstance(holder, list) else holder.update({at[-1]: CHANGES[change]})
    return changed


RULE = "{key: r, definition: {type: threshold, metric: accuracy, operator: '>', threshold: 0.5}}"


@pytest.mark.parametrize(
    ("kind", "text", "passes"),
    [
        ("task", "{scorers: [{$ref: scorer.yaml}]}", True),
        ("task", "{scorers: [{type: my.module:scorer, metrics: 3}]}", False),
        ("task", "{scorers: [{type: my.module:scorer, strictness: 3}]}", True),
        ("dataset", "{generator_specification: {}}", False),
        ("model", "{rate_limit: << config.x >>}", False),
        ("run", "{models: [toy, {$provider: openai/gpt-4.1-nano}], dataset_generators: []}", True),
        ("run", f"{{policies: [{{key: p, display_name: P, rules: [{RULE}]}}]}}", True),
        ("run", f"{{policies: [{{key: p, rules: [{RULE}]}}]}}", False),
        ("run", "{models: [{key: m}]}", False),
        ("run", "{models: [3]}", False),
        ("task", "{dataset: {key: d, keys: [a, b]}}", False),
        ("task", "{dataset: {}}", False),
        ("task", "{dataset: {key: null, keys: [a, b]}}", True),
        ("task", "{solver: null}", False),
        ("task", "{evaluated_entity_type: dataset}", False),
        ("task", "{evaluated_entity_type: dataset, solver: null}", True),
        ("task", "{scorers: [{type: f1}]}", False),
        ("task", "{scorers: [{type: f1, ground_truth: a, ground_truths: b}]}", False),
        ("task", "{scorers: [{type: code_exec, tests: a, io_pairs: b}]}", False),
        ("task", "{scorers: [{type: word_count}]}", False),
        ("task", "{scorers: [{type: assertions, assertions: [{type: not_word_count}]}]}", False),
        ("task", "{scorers: [{type: string_equals_mcqa, choices: a}]}", False),
        ("task", "{scorers: [{type: string_equals_mcqa, choices_field: a, ground_truth_choice: b}]}", True),
        ("task", "{scorers: [{type: evaluator}]}", False),
        ("task", "{scorers: [{type: choice_likelihood, ground_truth_choice: a}], solver: {type: python}}", False),
        ("task", "{solver: {type: text_likelihood_solver, text: a}}", False),
        ("task", "{solver: {type: text_likelihood_solver, text: a}, scorers: [{$ref: s.yaml}]}", True),
        ("task", "{evaluated_entity_type: dataset, solver: null, scorers: [{type: contains, value: a}]}", False),
        ("task", "{evaluated_entity_type: dataset, solver: null, scorers: [{type: is_json, text: b}]}", True),
        ("dataset", "{source: null}", False),
        ("dataset", "{source: null, file_path: a.csv}", True),
        ("dataset", "{file_path: a.csv}", False),
        ("model", "{config: {url: http://x, adapter: {}}}", False),
        ("model", "{config: {url: http://x, adapter: {key: a}}}", True),
    ],
)
def test_what_editors_mark_and_let_pass(kind: str, text: str, passes: bool) -> None:
    heads = {
        "task": {"key": "t", "display_name": "T", "description": ""},
        "dataset": {"key": "d", "display_name": "D", "source": {"type": "inline", "samples": []}},
        "model": {"key": "m", "display_name": "M", "config": {"connection_type": "assay", "model": "toy"}},
        "run": {},
    }
    value = {**yaml.safe_load(text)}
    inside = (
        {"definition": {"dataset": {"key": "d"}, "solver": {"$ref": "s.yaml"}, **value}} if kind == "task" else value
    )
    assert VALIDATORS[kind].is_valid({**heads[kind], **inside}) is passes
