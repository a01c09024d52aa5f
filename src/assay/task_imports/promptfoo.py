"""promptfoo configurations: prompts × tests with their deterministic assertions; one task per prompt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from assay.bounded_yaml import load_yaml
from assay.core.errors import UsageError
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import ForgivingTemplate
from assay.scorers.assertion_list import ASSERTIONS
from assay.task_imports.imported import Imported, Row, inside, read_text, shaped

MAX_ROWS = 100_000
_CARRIED = {"prompts", "tests", "defaultTest", "description"}


def import_promptfoo(path: Path) -> Imported:
    """The tests of a configuration, asked with each of its prompts."""
    config = load_yaml(read_text(path), str(path))
    if not isinstance(config, dict) or not config.get("prompts"):
        raise UsageError(f"{path}: is no promptfoo configuration: it has no `prompts`")
    found = Imported()
    for name in config:
        if name == "providers":
            found.remarks.append("providers: choose the model with --model when the tasks are run")
        elif name not in _CARRIED:
            found.leave(f"{name}: has no counterpart here")
    tests = _tests(path, config, found)
    prompts = config["prompts"] if isinstance(config["prompts"], list) else [config["prompts"]]
    for number, prompt in enumerate(prompts, 1):
        template = _prompt(path, prompt, found)
        if template is not None:
            name = "prompt" if len(prompts) == 1 else f"prompt-{number}"
            found.tasks[name] = list(_rows(path, template, tests, found))
    return found


def _prompt(path: Path, prompt: Any, found: Imported) -> str | None:
    if isinstance(prompt, dict):
        prompt = prompt.get("raw") or prompt.get("id")
    text = str(prompt)
    if not text.startswith("file://"):
        return text
    file = path.parent / text.removeprefix("file://")
    if file.suffix not in (".txt", ".md") or not file.is_file():
        found.leave(f"prompt {text}: only text files that are there can be carried over")
        return None
    return read_text(inside(path, file))


class _Test(Struct):
    vars: dict[str, Any] | None = None
    asserted: list[Any] | None = field(default=None, name="assert")
    description: Any = None


def _tests(path: Path, config: dict[str, Any], found: Imported) -> list[dict[str, Any]]:
    tests = config.get("tests") or [{}]
    if not isinstance(tests, list):
        raise UsageError(f"{path}: tests: `{tests}` is not a list; tests in other files cannot be carried over")
    default = shaped(config.get("defaultTest") or {}, _Test, f"{path}: defaultTest")
    merged = []
    for number, test in enumerate(tests, 1):
        if not isinstance(test, dict):
            found.leave(f"test {number}: `{test}`: tests in other files cannot be carried over")
            continue
        for name in test:
            if name not in ("vars", "assert", "description", "metadata"):
                found.leave(f"test {number}: {name}: has no counterpart here")
        own = shaped(test, _Test, f"{path}: test {number}")
        merged.append(
            {
                "vars": {**(default.vars or {}), **(own.vars or {})},
                "assert": [*(default.asserted or []), *(own.asserted or [])],
                "description": own.description,
            }
        )
    return merged


def _rows(path: Path, template: str, tests: list[dict[str, Any]], found: Imported) -> list[Row]:
    rows: list[Row] = []
    for number, test in enumerate(tests, 1):
        assertions = _assertions(test["assert"], number, found)
        if not assertions:
            found.leave(f"test {number}: has no assertion that can be carried over")
            continue
        for place, variables in enumerate(_combinations(test["vars"], number, found)):
            if len(rows) == MAX_ROWS:
                raise UsageError(f"{path}: test {number}: its vars make more than {MAX_ROWS:,} questions")
            try:
                prompt = _rendered(template, variables, path)
                checks = [_with_variables(each, variables, path) for each in assertions]
            except RenderError as error:
                raise UsageError(f"{path}: test {number}: the template does not fit its vars: {error}") from error
            row: Row = {
                "id": f"{number}" if place == 0 else f"{number}-{place + 1}",
                "prompt": prompt,
                "targets": [],
                "metric": "assertions",
                "extras": {"assertions": checks},
            }
            if test["description"]:
                row["metadata"] = {"description": str(test["description"])}
            rows.append(row)
    return rows


def _combinations(variables: dict[str, Any], number: int, found: Imported) -> Iterator[dict[str, Any]]:
    """A variable with a list of values is asked with each of them."""
    for name, value in variables.items():
        if isinstance(value, str) and value.startswith("file://"):
            found.leave(f"test {number}: vars.{name}: a value from another file")
    lists = [
        [(name, each) for each in (value if isinstance(value, list) else [value])] for name, value in variables.items()
    ]
    return (dict(pairs) for pairs in itertools.product(*lists))


def _assertions(asserted: list[Any], number: int, found: Imported) -> list[dict[str, Any]]:
    kept = []
    for each in asserted:
        kind = str(each.get("type")) if isinstance(each, dict) else str(each)
        if not isinstance(each, dict) or kind.removeprefix("not-") not in ASSERTIONS:
            found.leave(f"test {number}: assertion {kind}: not one that can be checked without a model or a program")
            continue
        if isinstance(each.get("value"), str) and each["value"].startswith(("file://", "javascript:", "python:")):
            found.leave(f"test {number}: assertion {kind}: its value is a program or another file")
            continue
        for name in each:
            if name not in ("type", "value", "metric"):
                found.leave(f"test {number}: assertion {kind}: {name}: every assertion counts the same here")
        kept.append({"type": kind, **({"value": each["value"]} if "value" in each else {})})
    return kept


def _with_variables(assertion: dict[str, Any], variables: dict[str, Any], path: Path) -> dict[str, Any]:
    value = assertion.get("value")
    if isinstance(value, str):
        return {**assertion, "value": _rendered(value, variables, path)}
    if isinstance(value, list):
        return {**assertion, "value": [_rendered(str(each), variables, path) for each in value]}
    return assertion


def _rendered(template: str, variables: dict[str, Any], path: Path) -> str:
    # Jinja drops one line break at the end of a template, that program keeps it
    return ForgivingTemplate(template + "\n", where=f"{path}: a template").render(variables)
