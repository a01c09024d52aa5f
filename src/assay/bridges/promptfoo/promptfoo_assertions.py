"""The assertions of a test in the form that the scorer takes: values rendered, graders and programs named."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from assay.bridges.promptfoo.assertion_types import (
    CHECKED,
    GRADED,
    PERPLEXITY,
    PROGRAMS,
    REFUSED,
    SIMILAR,
    TRACED,
    TYPES,
)
from assay.bridges.promptfoo.config import FILE, Config, PlacedValue, program_of
from assay.bridges.promptfoo.node_packages import NodePackage, find_package
from assay.bridges.promptfoo.programs import program_file
from assay.bridges.promptfoo.providers import MappedProvider, read_provider
from assay.bridges.promptfoo.trace_values import check_trace_value
from assay.bridges.promptfoo.tracing import HINT, read_tracing
from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.patterns.javascript import python_pattern
from assay.patterns.matching import BadPatternError, checked_pattern
from assay.prompts.nunjucks import TemplateError, rendered, rendered_within
from assay.reading.bounded_yaml import Yaml12Loader, load_yaml
from assay.scorers.assertions.answer_checks import F1, GUARDRAILS, NEGATION, SKILL
from assay.scorers.assertions.json_schema import unsupported
from assay.scorers.assertions.package_assertions import METEOR_WEIGHTS, PACKAGES
from assay.scorers.assertions.sample_assertions import SET, WEBHOOK
from assay.scorers.assertions.span_assertions import SPAN_ASSERTIONS
from assay.text.redaction import credential_in

_FIELDS = {
    "type", "value", "threshold", "weight", "metric", "transform", "provider", "rubricPrompt", "config", "reason",
    "description",
}  # fmt: skip
_NEED_A_VALUE = {
    "contains", "icontains", "contains-all", "contains-any", "icontains-all", "icontains-any", "starts-with", "regex",
    "levenshtein", "word-count", "rouge-n", "bleu", "gleu", "finish-reason", "similar", "meteor", "tool-call-f1",
    "webhook", SKILL, *PROGRAMS, *TRACED,
} - {"trace-error-spans"}  # fmt: skip
_NEED_A_THRESHOLD = {"cost", "latency"}
_WITHOUT_NEGATION = {
    "model-graded-closedqa", "factuality", "model-graded-factuality", "is-valid-openai-tools-call",
    "is-valid-function-call", "is-valid-openai-function-call", *SPAN_ASSERTIONS,
}  # fmt: skip
"""promptfoo ignores the negation of these."""
GRADER, EMBEDDER = "grader", "embedder"
"""The keys of the models that grade where a test names none; `--model-for grader=NAME` chooses one."""


@dataclass(slots=True)
class Asserted:
    """What the assertions of a configuration need in addition to texts."""

    graders: dict[str, MappedProvider | None] = field(default_factory=dict)
    """By key; None for the ones that the configuration does not name."""
    python: list[str] = field(default_factory=list)
    node: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    webhooks: list[str] = field(default_factory=list)
    traces: bool = False
    """Whether some look at the spans of a trace; programs may."""
    guardrails: bool = False
    """Whether some look at the safety checks of the provider."""
    logprobs: bool = False
    """Whether some need the log-probabilities of the answer's tokens."""
    packages: dict[str, str] = field(default_factory=dict)
    """The folder above each npm package's `node_modules`."""


def read_assertions(
    config: Config,
    values: tuple[PlacedValue, ...],
    variables: Mapping[str, Any],
    options: Mapping[str, Any],
    needs: Asserted,
) -> list[dict[str, Any]]:
    """The assertions with these variables; what is not supported is refused."""
    around = {**variables, "env": config.environment}
    nodes = [_node(config, value, around, options, needs) for value in values]
    return [node for node in nodes if node is not None]


def _node(
    config: Config, value: PlacedValue, variables: Mapping[str, Any], options: Mapping[str, Any], needs: Asserted
) -> dict[str, Any] | None:
    given = value.content
    if not isinstance(given, dict) or not isinstance(given.get("type"), str):
        config.refuse(value, "an assertion is a mapping with `type`")
        return None
    if given["type"] == SET:
        config.known(value, {"type", "assert", "threshold", "weight", "metric", "config"}, "an assert-set")
        inner = [_node(config, item, variables, options, needs) for item in value.get("assert").items()]
        node = {"type": SET, "assert": [each for each in inner if each is not None]}
    else:
        kind = given["type"].removeprefix(NEGATION)
        fields = _FIELDS.union(METEOR_WEIGHTS) if kind == "meteor" else _FIELDS
        if not _is_checked(config, value, kind) or not config.known(value, fields, f"an assertion `{given['type']}`"):
            return None
        try:
            node = _read(config, value, kind, variables, options, needs)
        except (TemplateError, UsageError, BadPatternError) as error:
            config.refuse(value, f"`{given['type']}`: {error}")
            return None
    return _with_numbers(config, value, node, variables, needs)


def _is_checked(config: Config, value: PlacedValue, kind: str) -> bool:
    written = value.content["type"]
    if kind in REFUSED:
        config.refuse(value, f"the assertion `{kind}` is not checked: {REFUSED[kind]}")
    elif kind.startswith("promptfoo:"):
        config.refuse(value, f"the assertion `{kind}` is not checked: it is promptfoo's own red teaming")
    elif kind not in CHECKED:
        config.refuse(value, unknown_name("assertion", written, TYPES).partition(" Known:")[0])
    elif written != kind and kind in _WITHOUT_NEGATION:
        config.refuse(value, f"`{written}`: promptfoo ignores the negation of `{kind}`")
    elif kind in _NEED_A_VALUE and value.content.get("value") is None:
        config.refuse(value, f"`{written}` needs a `value`")
    elif kind in _NEED_A_THRESHOLD and value.content.get("threshold") is None:
        config.refuse(value, f"`{written}` needs a `threshold`")
    elif kind in TRACED and not read_tracing(config).enabled:
        config.refuse(value, f"`{written}` needs the trace of the answer: {HINT}")
    else:
        return True
    return False


def _read(
    config: Config,
    value: PlacedValue,
    kind: str,
    variables: Mapping[str, Any],
    options: Mapping[str, Any],
    needs: Asserted,
) -> dict[str, Any]:
    given = value.content
    node: dict[str, Any] = {"type": given["type"]}
    if kind in PROGRAMS:
        node["program"] = program(config, value.get("value"), kind, variables, needs)
        node["value"] = given["value"]
    elif "value" in given:
        node["value"] = _value(config, value.get("value"), kind, variables)
    needs.logprobs = needs.logprobs or kind in PERPLEXITY
    needs.guardrails = needs.guardrails or kind == GUARDRAILS
    if kind in TRACED or kind == SKILL:
        check_trace_value(given["type"], node.get("value"))
    needs.traces = needs.traces or kind in TRACED or kind in PROGRAMS
    if kind == WEBHOOK:
        _check_address(node["value"], needs)
    if kind in PACKAGES:
        _check_package(config, kind, node.get("value"), needs)
    if given.get("transform"):
        node["transform"] = program(config, value.get("transform"), "javascript", {}, needs, python="get_transform")
    if given.get("config") is not None:
        node["config"] = given["config"]
    if kind in GRADED or kind in SIMILAR:
        node["grader"] = _grader(config, value, kind, options, needs)
        if rubric := given.get("rubricPrompt") or options.get("rubricPrompt"):
            node["rubric"] = _text_of_file(config, value, rubric)
        if options.get("factuality") and "factuality" in kind:
            node["factuality"] = options["factuality"]
    return node


def _value(config: Config, value: PlacedValue, kind: str, variables: Mapping[str, Any]) -> Any:
    """The value to compare with: files read, templates rendered, schemas checked, patterns translated to Python."""
    given = value.content
    if isinstance(given, list):
        given = [_text(config, value, entry, variables) for entry in given]
    else:
        given = _text(config, value, given, variables)
    if kind in ("is-json", "contains-json") and given:
        schema = load_yaml(given, "a schema", Yaml12Loader) if isinstance(given, str) else given
        if problem := unsupported(schema):
            raise UsageError(f"its schema cannot be checked: {problem}")
        return schema
    if kind == F1 and not (given and isinstance(given, str | list)):
        raise UsageError("its value must be the names of tools: a list, or a text with commas")
    if kind == "regex":
        pattern = python_pattern(str(given))
        checked_pattern(pattern)
        return pattern
    if kind.startswith(("llm-rubric", "g-eval")) and isinstance(given, dict):
        return rendered_within(given, variables)
    return given


def _text(config: Config, value: PlacedValue, given: Any, variables: Mapping[str, Any]) -> Any:
    if not isinstance(given, str):
        return given
    if given.startswith(FILE):
        return _text_of_file(config, value, given)
    if given.startswith("package:"):
        raise UsageError("a value from a JavaScript package is not supported")
    return rendered(given, variables)


def _text_of_file(config: Config, value: PlacedValue, given: Any) -> Any:
    """The content of a `file://` value: YAML and JSON as values, other files as texts."""
    if isinstance(given, list):
        return [_text_of_file(config, value, entry) for entry in given]
    if not isinstance(given, str) or not given.startswith(FILE):
        return given
    if code := program_of(given):
        raise UsageError(f"`{given}`: a value computed by {code} is not supported")
    for path in config.named(value, given):
        if path.suffix in (".yaml", ".yml", ".json"):
            inner = config.content(value, path)
            return None if inner is None else inner.content
        return (config.text(value, path) or "").strip()
    return None


def program(
    config: Config,
    value: PlacedValue,
    kind: str,
    variables: Mapping[str, Any],
    needs: Asserted,
    *,
    python: str = "get_assert",
) -> dict[str, Any]:
    """A program to run: inline code, or a function of a file; `python` is the default name of a Python function."""
    written = str(value.content)
    if not written.startswith(FILE):
        (needs.python if kind == "python" else needs.node).append(written)
        code = rendered(written, variables) if variables else written
        # a trailing line break from YAML makes a transform multi-line, but not an assertion
        return {"language": kind, "code": code.rstrip() if python == "get_assert" else code}
    named = program_file(config, value, written, python)
    (needs.python if named["language"] == "python" else needs.node).append(written)
    return named


def _check_address(url: Any, needs: Asserted) -> None:
    if not isinstance(url, str) or not _is_address(url):
        raise UsageError("its value must be an address that begins with http:// or https:// and names a host")
    if secret := credential_in(url):
        raise UsageError(f"its address holds {secret}, and a task is written into run files; leave it out")
    if url not in needs.webhooks:
        needs.webhooks.append(url)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_package(config: Config, kind: str, given: Any, needs: Asserted) -> None:
    """Note the npm package that the assertion needs; `UsageError` where it is missing, or would misread the value."""
    package = find_package(PACKAGES[kind], config.home)
    if kind == "meteor":
        references = given if isinstance(given, list) else [given]
        if not references or not all(isinstance(reference, str) for reference in references):
            raise UsageError("its value must be a text, or a list of texts")
    elif given:
        _check_sql_options(given, package)
    needs.packages[package.name] = str(package.home)
    needs.node.append(f"{package.name} {package.version}")


def _check_sql_options(given: Any, package: NodePackage) -> None:
    if not isinstance(given, dict):
        raise UsageError("its value must be a mapping")
    if unknown := sorted(given.keys() - {"databaseType", "allowedTables", "allowedColumns"}):
        raise UsageError(f"`{unknown[0]}` of its value is not supported")
    database = given.get("databaseType") or "MySQL"
    databases = sorted(path.stem for path in package.folder.glob("build/*.js"))
    if str(database).lower() not in databases:
        raise UsageError(unknown_name("databaseType", str(database), databases))
    for name in ("allowedTables", "allowedColumns"):
        patterns = given.get(name) or []
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise UsageError(f"its `{name}` must be a list of texts")
        for each in patterns:
            checked_pattern(python_pattern(each))


def _grader(config: Config, value: PlacedValue, kind: str, options: Mapping[str, Any], needs: Asserted) -> str:
    """The key of the model that grades: the assertion's own, the test's, or the default."""
    usual = EMBEDDER if kind in SIMILAR else GRADER
    given = value.get("provider")
    if given.content is None:
        given = PlacedValue(options.get("provider"), value.document, value.where)
    content = given.content
    if isinstance(content, dict) and content.keys() & {"text", "embedding", "id", "classification"}:
        kinds = ("text", "embedding", "classification")
        inner = content.get("embedding" if kind in SIMILAR else "text")
        if inner is None and "id" in content:
            inner = {name: each for name, each in content.items() if name not in kinds}
        content = inner
        given = PlacedValue(content, given.document, given.where)
    if content is None:
        needs.graders.setdefault(usual, None)
        return usual
    provider = read_provider(config, given, embeds=kind in SIMILAR)
    if provider is None:
        return usual
    needs.graders.setdefault(provider.key, provider)
    return provider.key


def _with_numbers(
    config: Config, value: PlacedValue, node: dict[str, Any], variables: Mapping[str, Any], needs: Asserted
) -> dict[str, Any]:
    """The weight, the threshold and the metric, which every assertion may have."""
    for name in ("weight", "threshold", *METEOR_WEIGHTS):
        given = value.content.get(name)
        if isinstance(given, str) and re.fullmatch(r"-?\d+(\.\d+)?", given):
            given = float(given)
        if given is None:
            continue
        is_number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
        if not is_number or (name == "weight" and given < 0):
            wanted = "0 or more" if name == "weight" else "a number"
            config.refuse(value.get(name), f"`{name}` must be {wanted}, got {given!r}")
        else:
            node[name] = given
    if metric := value.content.get("metric"):
        try:
            node["metric"] = rendered(str(metric), variables)
        except TemplateError as error:
            config.refuse(value.get("metric"), str(error))
        if node.get("metric") and node["metric"] not in needs.metrics:
            needs.metrics.append(node["metric"])
    return node
