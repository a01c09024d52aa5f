"""promptfoo configurations: prompts × tests with their deterministic assertions; one task per prompt.

Everything is read as that program reads it, version 0.121: YAML 1.2, values as JavaScript writes them, chat prompts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from assay.bounded_yaml import Yaml12Loader, load_yaml
from assay.core.errors import UsageError
from assay.patterns.matching import BadPatternError, checked_pattern
from assay.prompts.jinja_rules import RenderError
from assay.scorers.assertion_list import ASSERTIONS
from assay.scorers.json_schema import unsupported
from assay.task_imports.imported import Imported, Row, inside, read_text, shaped
from assay.task_imports.javascript_patterns import python_pattern
from assay.task_imports.promptfoo_prompts import asked, prompt_texts, rendered

MAX_ROWS = 100_000
_CARRIED = {"prompts", "tests", "defaultTest", "description"}
_WITHOUT_PART_IN_SCORES = {
    "$schema", "commandLineOptions", "metadata", "outputPath", "sharing", "tags", "writeLatestResults",
}  # fmt: skip
_TEST_FIELDS = {"vars", "assert", "description", "metadata"}
_ASSERTION_FIELDS = {"type", "value", "metric", "weight"}


def import_promptfoo(path: Path) -> Imported:
    """The tests of a configuration, asked with each of its prompts."""
    config = _yaml(path)
    if not isinstance(config, dict) or not config.get("prompts"):
        raise UsageError(f"{path}: is no promptfoo configuration: it has no `prompts`")
    found = Imported()
    for name in map(str, config):
        if name in ("providers", "targets"):
            found.remark(f"{name}: choose the model with --model when the tasks are run")
        elif name in _WITHOUT_PART_IN_SCORES:
            found.leave(f"{name}: has no counterpart here")
        elif name not in _CARRIED:
            found.lose("prompt", f"{name}: has no counterpart here")
    tests = _tests(path, config, found)
    prompts = prompt_texts(path, config["prompts"], found)
    for number, prompt in enumerate(prompts, 1):
        name = "prompt" if len(prompts) == 1 else f"prompt-{number}"
        found.tasks[name] = _rows(path, prompt, tests, found)
    return found


def _yaml(path: Path) -> Any:
    return load_yaml(read_text(path), str(path), Yaml12Loader)


class _Test(Struct):
    vars: dict[str, Any] | None = None
    asserted: list[Any] | None = field(default=None, name="assert")
    description: Any = None


def _tests(path: Path, config: dict[str, Any], found: Imported) -> list[_Test]:
    """The tests, with what `defaultTest` says for all of them."""
    tests = _elsewhere(path, config.get("tests"), "tests") or [{}]
    if not isinstance(tests, list):
        raise UsageError(
            f"{path}: tests: `{tests}` is not a list; tests in other files than YAML cannot be carried over"
        )
    default = _test(path, _elsewhere(path, config.get("defaultTest"), "defaultTest") or {}, "defaultTest", found)
    merged = []
    for number, given in enumerate(tests, 1):
        if not isinstance(given, dict):
            found.lose("documents", f"test {number}: `{given}`: tests in other files cannot be carried over")
            continue
        own = _test(path, given, f"test {number}", found)
        merged.append(
            _Test(
                vars={**(default.vars or {}), **(own.vars or {})},
                asserted=[*(default.asserted or []), *(own.asserted or [])],
                description=own.description,
            )
        )
    return merged


def _elsewhere(path: Path, value: Any, where: str) -> Any:
    """The value, or what the YAML file that it names holds."""
    if not isinstance(value, str) or not value.startswith("file://"):
        return value
    file = path.parent / value.removeprefix("file://")
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        raise UsageError(f"{path}: {where}: `{value}`: only YAML files that are there can be carried over")
    return _yaml(inside(path, file))


def _test(path: Path, given: Any, where: str, found: Imported) -> _Test:
    for name in given if isinstance(given, dict) else ():
        if name not in _TEST_FIELDS:
            found.lose("scoring", f"{where}: {name}: has no counterpart here")
    test: _Test = shaped(given, _Test, f"{path}: {where}")
    return test


def _rows(path: Path, prompt: str, tests: list[_Test], found: Imported) -> list[Row]:
    rows: list[Row] = []
    for number, test in enumerate(tests, 1):
        assertions = _assertions(test.asserted or [], number, found)
        if not assertions:
            found.lose("documents", f"test {number}: has no assertion that can be carried over")
            continue
        for place, variables in enumerate(_combinations(test.vars or {}, number, found)):
            if len(rows) == MAX_ROWS:
                raise UsageError(f"{path}: test {number}: its vars make more than {MAX_ROWS:,} questions")
            try:
                question = asked(prompt, variables, path, found)
                checks = [
                    check for each in assertions if (check := _with_variables(each, variables, path, number, found))
                ]
            except RenderError as error:
                raise UsageError(f"{path}: test {number}: the template does not fit its vars: {error}") from error
            if not checks:
                continue
            row: Row = {
                "id": f"{number}" if place == 0 else f"{number}-{place + 1}",
                "targets": [],
                "metric": "assertions",
                "prompt": question.prompt,
                "extras": {"assertions": checks, **({"messages": question.messages} if question.messages else {})},
            }
            if test.description:
                row["metadata"] = {"description": str(test.description)}
            rows.append(row)
    return rows


def _combinations(variables: dict[str, Any], number: int, found: Imported) -> Iterator[dict[str, Any]]:
    """A variable with a list of values is asked with each of them."""
    for name, value in variables.items():
        if any(isinstance(each, str) and each.startswith("file://") for each in _each(value)):
            found.lose("prompt", f"test {number}: vars.{name}: a value from another file")
    return (
        dict(pairs)
        for pairs in itertools.product(*([(name, each) for each in _each(v)] for name, v in variables.items()))
    )


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _assertions(asserted: list[Any], number: int, found: Imported) -> list[dict[str, Any]]:
    kept = []
    for each in asserted:
        kind = str(each.get("type")) if isinstance(each, dict) else str(each)
        where = f"test {number}: assertion {kind}"
        if not isinstance(each, dict) or kind.removeprefix("not-") not in ASSERTIONS:
            found.lose("scoring", f"{where}: not one that can be checked without a model or a program")
            continue
        if any(isinstance(part, str) and part.startswith(_PROGRAMS) for part in _each(each.get("value"))):
            found.lose("scoring", f"{where}: its value is a program or another file")
            continue
        for name in each:
            if name not in _ASSERTION_FIELDS:
                found.lose("scoring", f"{where}: {name}: has no counterpart here")
        if "weight" in each:
            found.leave(f"{where}: weight: a test passes when all assertions do, here and there")
        if kind.endswith("contains-json"):
            found.remark("contains-json: JSON objects count; there also what YAML takes for an object")
        kept.append({"type": kind, **({"value": each["value"]} if "value" in each else {})})
    return kept


_PROGRAMS = ("file://", "javascript:", "python:", "package:")


def _with_variables(
    assertion: dict[str, Any], variables: dict[str, Any], path: Path, number: int, found: Imported
) -> dict[str, Any] | None:
    """The assertion as it is checked for these variables; None where it cannot be."""
    value = assertion.get("value")
    if isinstance(value, str):
        value = rendered(value, variables, path)
    elif isinstance(value, list):
        value = [rendered(each, variables, path) if isinstance(each, str) else each for each in value]
    kind = assertion["type"].removeprefix("not-")
    if kind in ("is-json", "contains-json") and value:
        value = load_yaml(value, f"{path}: test {number}: a schema", Yaml12Loader) if isinstance(value, str) else value
        if problem := unsupported(value):
            found.lose("scoring", f"test {number}: assertion {kind}: its schema cannot be checked here: {problem}")
            return None
    if kind == "regex":
        try:
            value = python_pattern(str(value))
            checked_pattern(value)
        except BadPatternError as error:
            found.lose("scoring", f"test {number}: assertion {kind}: {error}")
            return None
    return {**assertion, "value": value} if "value" in assertion else assertion
