"""The tests of a configuration: inline, in YAML, JSON, JSON Lines and CSV files; scenarios; what `defaultTest` adds."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.bounded_yaml import Yaml12Loader, load_yaml
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.prompts.jinja_filters import as_javascript
from assay.prompts.nunjucks import TemplateError, rendered
from assay.tasks.declarative.yaml_reader import Document, Position
from assay.tasks.promptfoo.config import FILE, MAX_TEXT_BYTES, Config, PlacedValue, program_of
from assay.tasks.promptfoo.csv_assertions import assertion_of_text, finite
from assay.tasks.promptfoo.programs import program_file, run_now

MAX_ROWS = 100_000
_FIELDS = {
    "vars", "assert", "description", "threshold", "options", "metadata", "prompts", "providers",
    "assertScoringFunction",
}  # fmt: skip
_OPTIONS = {
    "provider", "prefix", "suffix", "transform", "postprocess", "rubricPrompt", "factuality", "disableVarExpansion",
    "disableDefaultAsserts", "disableConversationVar", "runSerially", "timeout", "transformVars",
}  # fmt: skip
_ROUNDS = 5
"""How deeply variables may refer to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One test case, its assertions still as they were written."""

    value: PlacedValue
    variables: dict[str, Any] = field(default_factory=dict)
    asserted: tuple[PlacedValue, ...] = ()
    description: str | None = None
    threshold: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    prompts: tuple[str, ...] | None = None
    providers: tuple[str, ...] | None = None
    scoring: str | None = None
    """The program that makes one score of all assertions."""


def read_tests(config: Config) -> list[Test]:
    """Every test with what `defaultTest` says for all of them; without any, one without variables."""
    default_value = config.loaded(config.top.get("defaultTest"))
    default = None
    if default_value is not None and default_value.content:
        default = _one(config, default_value, "`defaultTest`")
    default = default or Test(value=config.top.get("defaultTest"))
    tests = [test for value in config.top.get("tests").items() for test in _of_entry(config, value)]
    scenarios = config.top.get("scenarios").items()
    if not tests and not scenarios:
        tests = [Test(value=config.top)]
    merged = [_with_default(default, test) for test in tests]
    return merged + [_with_default(default, test) for each in scenarios for test in _of_scenario(config, each)]


def _of_entry(config: Config, value: PlacedValue) -> Iterator[Test]:
    if isinstance(value.content, str):
        yield from _of_files(config, value, value.content)
    elif isinstance(value.content, dict) and "path" in value.content:
        yield from _of_program(config, value, str(value.content["path"]), value.content.get("config"))
    elif isinstance(value.content, dict) and isinstance(value.content.get("tests"), list):
        yield from (test for inner in value.get("tests").items() for test in _of_entry(config, inner))
    elif (test := _one(config, value, "a test")) is not None:
        yield test


def _of_files(config: Config, value: PlacedValue, named: str) -> Iterator[Test]:
    if "://" in named and not named.startswith(FILE):
        config.refuse(value, f"`{named.partition('://')[0]}://` tests are had from elsewhere, and are not read")
        return
    if program_of(named):
        yield from _of_program(config, value, named, None)
        return
    for path in config.named(value, named):
        if path.suffix == ".csv":
            yield from _in_table(config, value, path)
        elif path.suffix == ".jsonl":
            yield from (test for line in config.lines(value, path) if (test := _one(config, line, "a test")))
        elif path.suffix in (".yaml", ".yml", ".json"):
            content = config.content(value, path)
            yield from (test for each in (content.items() if content else ()) for test in _of_entry(config, each))
        else:
            config.refuse(value, f"`{named}`: tests are read from .yaml, .json, .jsonl and .csv files")


def _of_program(config: Config, value: PlacedValue, named: str, settings: Any) -> Iterator[Test]:
    """The tests that a function returns."""
    if not program_of(named):
        config.refuse(value, f"`{named}`: tests are made by .js, .cjs, .mjs and .py files")
        return
    try:
        program = program_file(config, value, named, "generate_tests")
    except UsageError as error:
        config.refuse(value, str(error))
        return
    made = run_now(config, value, program, *([] if settings is None else [settings]))
    for at, each in enumerate(made if isinstance(made, list) else ()):
        yield from _of_entry(config, PlacedValue(each, value.document, (*value.where, at)))


def _one(config: Config, value: PlacedValue, what: str) -> Test | None:
    if not config.known(value, _FIELDS, what):
        return None
    given: dict[str, Any] = value.content
    threshold = given.get("threshold")
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
        config.refuse(value.get("threshold"), f"a threshold is a number, got {threshold!r}")
        threshold = None
    return Test(
        value=value,
        variables=_variables(config, value.get("vars")),
        asserted=tuple(value.get("assert").items()),
        description=None if given.get("description") is None else str(given["description"]),
        threshold=threshold,
        options=_options(config, value.get("options"), what),
        metadata=dict(given.get("metadata") or {}),
        prompts=_names(given.get("prompts")),
        providers=_names(given.get("providers")),
        scoring=None if given.get("assertScoringFunction") is None else str(given["assertScoringFunction"]),
    )


def _names(given: Any) -> tuple[str, ...] | None:
    return None if given is None else tuple(map(str, given if isinstance(given, list) else [given]))


def _options(config: Config, value: PlacedValue, what: str) -> dict[str, Any]:
    if not value.content:
        return {}
    config.known(value, _OPTIONS, f"the options of {what}")
    return dict(value.content) if isinstance(value.content, dict) else {}


def _variables(config: Config, value: PlacedValue) -> dict[str, Any]:
    """The variables, those of files they are read from included."""
    if isinstance(value.content, str | list):
        variables: dict[str, Any] = {}
        for each in value.items():
            for path in config.named(each, str(each.content), each.document.path.parent):
                inner = config.content(each, path)
                variables |= inner.content if inner is not None and isinstance(inner.content, dict) else {}
        return variables
    return dict(value.content) if isinstance(value.content, dict) else {}


def _of_scenario(config: Config, value: PlacedValue) -> Iterator[Test]:
    """Each set of data of a scenario with each of its tests."""
    loaded = config.loaded(value)
    if loaded is None or not config.known(loaded, {"config", "tests", "description"}, "a scenario"):
        return
    data = [test for each in loaded.get("config").items() for test in _of_entry(config, each)]
    tests = [test for each in loaded.get("tests").items() for test in _of_entry(config, each)]
    for one, test in itertools.product(data, tests or [Test(value=loaded)]):
        yield replace(
            _merged(one, test),
            asserted=(*one.asserted, *test.asserted),
            description=test.description or one.description,
            prompts=test.prompts or one.prompts,
        )


def _merged(base: Test, test: Test) -> Test:
    """The test's own settings take precedence."""
    return replace(
        test,
        variables={**base.variables, **test.variables},
        options={**base.options, **test.options},
        metadata={**base.metadata, **test.metadata},
        threshold=base.threshold if test.threshold is None else test.threshold,
        prompts=base.prompts if test.prompts is None else test.prompts,
        providers=base.providers if test.providers is None else test.providers,
        scoring=test.scoring or base.scoring,
    )


def _with_default(default: Test, test: Test) -> Test:
    shared = () if test.options.get("disableDefaultAsserts") is True else default.asserted
    return replace(_merged(default, test), asserted=(*shared, *test.asserted))


# -- tables ---------------------------------------------------------------------------------------------------------


def _in_table(config: Config, value: PlacedValue, path: Path) -> Iterator[Test]:
    """One test a row: `__expected…` columns are assertions, other `__` columns say how, the rest are variables."""
    text = config.text(value, path)
    reader = csv.DictReader(io.StringIO(text or "", newline=""))
    try:
        for row in reader:
            at = PlacedValue(None, Document(value=None, path=path, marks={(): Position(str(path), reader.line_num, 1)}))
            if None in row or None in row.values():
                config.refuse(
                    at, f"the row has another number of columns than the first, {len(reader.fieldnames or ())}"
                )
                continue
            yield _of_row(config, at, {str(key).strip(): str(cell) for key, cell in row.items()})
    except csv.Error as error:
        config.refuse(value, f"{path}: not a table: {error}")


def _of_row(config: Config, at: PlacedValue, row: Mapping[str, str]) -> Test:
    special = {key: text for key, text in row.items() if key.startswith("__")}
    metadata: dict[str, Any] = {}
    for key, text in special.items():
        if key.startswith("__metadata:"):
            metadata |= _metadata(key.removeprefix("__metadata:"), text)
        elif not key.startswith(("__expected", "__config:")) and key not in _COLUMNS:
            config.refuse(at, f"the column `{key}` is not supported")
    return Test(
        value=at,
        variables={key: text for key, text in row.items() if not key.startswith("__")},
        asserted=tuple(PlacedValue(each, at.document) for each in _asserted(config, at, special)),
        description=special.get("__description") or None,
        threshold=finite(special.get("__threshold", "")),
        options={key[2:]: special[key] for key in ("__prefix", "__suffix") if key in special},
        metadata=metadata,
    )


_COLUMNS = {"__prefix", "__suffix", "__description", "__metric", "__threshold"}
_SETTING = re.compile(r"__config:__expected(\d*):threshold")


def _asserted(config: Config, at: PlacedValue, cells: Mapping[str, str]) -> list[dict[str, Any]]:
    """The assertions of a row, with the metric and the thresholds that other columns give them."""
    written = [text.strip() for key, text in cells.items() if key.startswith("__expected") and text.strip()]
    try:
        assertions = [assertion_of_text(text) for text in written]
    except ValueError as error:
        config.refuse(at, f"`__expected`: {error}")
        return []
    if metric := cells.get("__metric"):
        assertions = [{**each, "metric": metric} for each in assertions]
    for key, text in cells.items():
        setting = _SETTING.fullmatch(key)
        if key.startswith("__config:") and (setting is None or int(setting[1] or 1) > len(assertions)):
            config.refuse(at, f"the column `{key}` is not supported")
        elif setting is not None and text.strip():
            assertions[int(setting[1] or 1) - 1]["threshold"] = finite(text)
    return assertions


def _metadata(key: str, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    return {key[:-2]: [each.strip() for each in text.split(",")]} if key.endswith("[]") else {key: text}


# -- variables ------------------------------------------------------------------------------------------------------


def combinations(config: Config, test: Test) -> Iterator[dict[str, Any]]:
    """A variable with a list of texts is asked with each of them, as is one that names several files."""
    choices: list[list[tuple[str, Any]]] = []
    total = 1
    for name, value in _transformed(config, test).items():
        at = test.value.get("vars")
        values = _each(config, at, value, expanded=not test.options.get("disableVarExpansion"))
        total *= max(len(values), 1)
        if total > MAX_ROWS:
            config.refuse(at, f"its variables make more than {MAX_ROWS:,} questions")
            return
        choices.append([(name, each) for each in values])
    for pairs in itertools.product(*choices):
        at, given = test.value.get("vars"), dict(pairs)
        texts = {name: _of_file(config, at, name, value, given) for name, value in pairs}
        texts = {name: each.removesuffix("\n") if isinstance(each, str) else each for name, each in texts.items()}
        try:
            yield _resolved(texts, config.environment)
        except TemplateError as error:
            config.refuse(test.value.get("vars"), str(error))
            return


def _transformed(config: Config, test: Test) -> dict[str, Any]:
    """The variables as `transformVars` makes them."""
    written = test.options.get("transformVars")
    if not written:
        return test.variables
    at = PlacedValue(written, test.value.document, (*test.value.where, "options"))
    program: dict[str, Any] = {"language": "javascript", "code": str(written), "parameters": ["vars", "context"]}
    try:
        if str(written).startswith(FILE):
            program = program_file(config, at, str(written), "get_transform")
    except UsageError as error:
        config.refuse(at, str(error))
        return test.variables
    made = run_now(config, at, program, test.variables, {"prompt": {}, "uuid": ""})
    if made is not None and not isinstance(made, dict):
        config.refuse(at, "`transformVars` must return an object")
    return made if isinstance(made, dict) else test.variables


def _each(config: Config, at: PlacedValue, value: Any, *, expanded: bool) -> list[Any]:
    if isinstance(value, str) and value.startswith(FILE) and any(sign in value for sign in "*?["):
        return [f"{FILE}{path.relative_to(config.home)}" for path in config.named(at, value)]
    return value if expanded and isinstance(value, list) and value and isinstance(value[0], str) else [value]


def _made(config: Config, at: PlacedValue, name: str, value: str, around: Mapping[str, Any]) -> Any:
    """The variable that a function makes of the others."""
    try:
        result = run_now(config, at, program_file(config, at, value, "get_var"), name, "", dict(around))
    except UsageError as error:
        config.refuse(at, str(error))
        return value
    if result is None:
        return value
    if not isinstance(result, dict) or result.get("error") or not result.get("output"):
        config.refuse(at, f"`{value}` must return an object with `output`, got {json.dumps(result, default=str)[:200]}")
        return value
    return result["output"]


def _of_file(config: Config, at: PlacedValue, name: str, value: Any, around: Mapping[str, Any]) -> Any:
    """The value, or what the file that it names holds: a text, YAML as JSON, an image as a data address."""
    if not isinstance(value, str) or not value.startswith(FILE):
        return value
    if program_of(value):
        return _made(config, at, name, value, around)
    for path in config.named(at, value):
        kind = mimetypes.guess_type(path.name)[0] or ""
        if kind.startswith(("image/", "audio/", "video/")):
            data = base64.b64encode(read_regular(path, MAX_TEXT_BYTES)).decode()
            return f"data:{kind};base64,{data}" if kind.startswith("image/") else data
        if path.suffix == ".pdf":
            config.refuse(at, f"`{value}`: the text of a PDF file is not read")
        text = config.text(at, path) if path.suffix != ".pdf" else None
        if text is not None and path.suffix in (".yaml", ".yml"):
            try:
                return json.dumps(load_yaml(text, str(path), Yaml12Loader), ensure_ascii=False, separators=(",", ":"))
            except UsageError as error:
                config.refuse(at, str(error))
        return (text or "").strip()
    return value


_REFERENCE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def _resolved(variables: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Variables that refer to others, resolved; a text that refers to unknown variables stays as it is."""
    resolved = dict(variables)
    for _ in range(_ROUNDS):
        before = dict(resolved)
        for name, value in resolved.items():
            reference = _REFERENCE.search(value) if isinstance(value, str) else None
            if reference is not None and resolved.get(reference[1]) is not None:
                resolved[name] = value.replace(reference[0], as_javascript(resolved[reference[1]]), 1)
        if resolved == before:
            break
    around = {**resolved, "env": environment}
    return {
        name: rendered(value, around) if isinstance(value, str) and _names_only(value, around) else value
        for name, value in resolved.items()
    }


def _names_only(text: str, around: Mapping[str, Any]) -> bool:
    """Whether a text has tags, and all of them begin with an existing variable."""
    tags = re.findall(r"\{\{\s*(\w*)", text)
    return bool(tags or "{%" in text) and all(name in around for name in tags)
