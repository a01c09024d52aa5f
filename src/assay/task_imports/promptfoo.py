"""promptfoo configurations: prompts × tests with their deterministic assertions; one task per prompt."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import yaml
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from assay.core.errors import UsageError
from assay.scorers.assertion_list import ASSERTIONS
from assay.task_imports.imported import Imported, Row

_ENVIRONMENT = ImmutableSandboxedEnvironment(keep_trailing_newline=True)
_CARRIED = {"prompts", "tests", "defaultTest", "description"}


def import_promptfoo(path: Path) -> Imported:
    """The tests of a configuration, asked with each of its prompts."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
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
    return file.read_text(encoding="utf-8")


def _tests(path: Path, config: dict[str, Any], found: Imported) -> list[dict[str, Any]]:
    tests = config.get("tests") or [{}]
    if not isinstance(tests, list):
        raise UsageError(f"{path}: tests: `{tests}` is not a list; tests in other files cannot be carried over")
    default = config.get("defaultTest") or {}
    merged = []
    for number, test in enumerate(tests, 1):
        if not isinstance(test, dict):
            found.leave(f"test {number}: `{test}`: tests in other files cannot be carried over")
            continue
        for name in test:
            if name not in ("vars", "assert", "description", "metadata"):
                found.leave(f"test {number}: {name}: has no counterpart here")
        merged.append(
            {
                "vars": {**(default.get("vars") or {}), **(test.get("vars") or {})},
                "assert": [*(default.get("assert") or []), *(test.get("assert") or [])],
                "description": test.get("description"),
            }
        )
    return merged


def _rows(path: Path, template: str, tests: list[dict[str, Any]], found: Imported) -> list[Row]:
    rows = []
    for number, test in enumerate(tests, 1):
        assertions = _assertions(test["assert"], number, found)
        if not assertions:
            found.leave(f"test {number}: has no assertion that can be carried over")
            continue
        for place, variables in enumerate(_combinations(test["vars"], number, found)):
            try:
                prompt = _ENVIRONMENT.from_string(template).render(**variables)
                checks = [_with_variables(each, variables) for each in assertions]
            except TemplateError as error:
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


def _combinations(variables: dict[str, Any], number: int, found: Imported) -> list[dict[str, Any]]:
    """A variable with a list of values is asked with each of them."""
    for name, value in variables.items():
        if isinstance(value, str) and value.startswith("file://"):
            found.leave(f"test {number}: vars.{name}: a value from another file")
    lists = [
        [(name, each) for each in (value if isinstance(value, list) else [value])] for name, value in variables.items()
    ]
    return [dict(pairs) for pairs in itertools.product(*lists)]


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


def _with_variables(assertion: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
    value = assertion.get("value")
    if isinstance(value, str):
        return {**assertion, "value": _ENVIRONMENT.from_string(value).render(**variables)}
    if isinstance(value, list):
        rendered = [_ENVIRONMENT.from_string(str(each)).render(**variables) for each in value]
        return {**assertion, "value": rendered}
    return assertion
