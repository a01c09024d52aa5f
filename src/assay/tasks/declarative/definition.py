"""A checked declarative task -> `TaskDefinition`: configuration put in, keys resolved, plain data out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.tasks.declarative.aggregates import aggregates_of, free_name, headline
from assay.tasks.declarative.config_spec import check_placeholders, resolve_config, substitute
from assay.tasks.declarative.library import Library
from assay.tasks.declarative.schema import checked_task
from assay.tasks.declarative.schema.solvers import LIKELIHOOD_SOLVERS
from assay.tasks.declarative.yaml_reader import Document, FieldPath

SNIPPET_FIELDS = (
    "run_solver_snippet",
    "compute_scores_snippet",
    "compute_metrics_snippet",
    "compute_evidence_snippet",
)
"""The fields that hold Python; each defines the function that it is named after."""
_NOT_OPTIONS = ("type", "key", "purpose", "metrics", "display_name")
_EVIDENCE = "evidence"


def task_definition(
    document: Document,
    where: FieldPath,
    task: Mapping[str, Any],
    library: Library,
    *,
    config: Mapping[str, Any],
    name: str | None = None,
    dataset_key: str | None = None,
    num_samples: int | None = None,
    subsampling: str | None = None,
) -> TaskDefinition:
    """One task with its configuration, as every other format gives it too."""
    warnings: list[str] = []
    parameters = resolve_config(task["config_spec"], config, task=task["key"], warnings=warnings)
    definition = _configured(document, where, task, parameters)
    parts = (
        _system_parts(definition)
        if definition["type"] == "system_task"
        else _benchmark_parts(document, (*where, "definition"), definition, library)
    )
    dataset = _dataset(
        document, where, definition, library, dataset_key=dataset_key, num_samples=num_samples, subsampling=subsampling
    )
    aggregates: tuple[PartSpec, ...] = parts["aggregates"]
    snippets = check_snippets(document, (*where, "definition"), definition)
    metadata: dict[str, Any] = {"display_name": task["display_name"]}
    for key, value in (
        ("tags", task["tags"]),
        ("config", parameters),
        ("snippets", snippets),
        ("paces", dict(library.paces)),
        ("typed_models", sorted(library.typed)),
        ("variables", sorted({*document.variables, *library.variables})),
    ):
        if value:
            metadata[key] = value
    metadata["files"] = sorted({str(path) for path in (*document.files, *library.files)})
    if found := [*document.warnings, *library.warnings, *warnings]:
        metadata["warnings"] = list(dict.fromkeys(found))
    return TaskDefinition(
        name=name or task["key"],
        format="declarative",
        dataset=dataset,
        metric=headline(aggregates) if definition["type"] != "system_task" else _EVIDENCE,
        description=task["description"],
        source=document.mark(where).file,
        metadata=metadata,
        **parts,
    )


def _configured(
    document: Document, where: FieldPath, task: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The definition with every `<< config.x >>` put in, checked once more now that all values are known."""
    written = substitute(task["definition"], parameters, document, (*where, "definition"))
    checked = checked_task(document, {**task, "definition": written}, where, placeholders=False)
    definition: dict[str, Any] = checked["definition"]
    return definition


def _dataset(
    document: Document,
    where: FieldPath,
    definition: Mapping[str, Any],
    library: Library,
    *,
    dataset_key: str | None,
    num_samples: int | None,
    subsampling: str | None,
) -> DatasetSpec:
    if definition["type"] == "system_task":
        if dataset_key is not None:
            raise document.error(where, "a system task takes no dataset")
        made = DatasetSpec(use="inline", options={"name": "system", "samples": [{}]}, size=1)
        return msgspec.structs.replace(made, sha256=_inline_hash(made))
    named = definition["dataset"] or {}
    key = dataset_key or named.get("key")
    if named.get("fast_subset_size") is not None:
        document.warn((*where, "definition", "dataset", "fast_subset_size"), "is old and ignored")
    if key is None:
        raise document.error(
            (*where, "definition"),
            "this task evaluates a dataset: name it with --dataset KEY, or `dataset_key` in a run file",
        )
    with _at(document, (*where, "definition", "dataset", "key")):
        return library.dataset(key, num_samples=num_samples, subsampling=subsampling)


def _inline_hash(spec: DatasetSpec) -> str:
    from assay import catalog

    sha256: str = catalog.resolve("dataset", spec.use)(**spec.options).sha256
    return sha256


def _system_parts(definition: Mapping[str, Any]) -> dict[str, Any]:
    options = {"compute_evidence_snippet": definition["compute_evidence_snippet"]}
    return {
        "solver": PartSpec(key="solver", use="no_solver"),
        "scorers": (PartSpec(key=_EVIDENCE, use="system_evidence", options=options),),
        "aggregates": (PartSpec(key=f"{_EVIDENCE}.{_EVIDENCE}", use=_EVIDENCE, options={"scorer": _EVIDENCE}),),
    }


def _benchmark_parts(
    document: Document, where: FieldPath, definition: Mapping[str, Any], library: Library
) -> dict[str, Any]:
    has_solver = definition["solver"] is not None
    keyed = _keyed(definition["scorers"])
    with _at(document, (*where, "solver")):
        solver = _solver(definition["solver"], definition["scorers"], library)
    scorers = []
    for at, (key, scorer) in enumerate(keyed):
        with _at(document, (*where, "scorers", at, "model_key")):
            scorers.append(_scorer(key, scorer, has_solver, library))
    return {
        "solver": solver,
        "scorers": tuple(scorers),
        "aggregates": aggregates_of(keyed, document, (*where, "scorers")),
        "actions": tuple(_action(action, has_solver) for action in definition["actions"] or ()),
    }


@contextmanager
def _at(document: Document, where: FieldPath) -> Iterator[None]:
    """What is wrong with a key is told with the field that names it."""
    try:
        yield
    except UsageError as error:
        raise document.error(where, str(error)) from error


def _keyed(scorers: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Every scorer with its key; one without is called by its type, numbered on repeats."""
    taken = {str(scorer["key"]) for scorer in scorers if scorer["key"]}
    keyed = []
    for scorer in scorers:
        key = scorer["key"] or free_name(scorer["type"], taken)
        taken.add(key)
        keyed.append((key, scorer))
    return keyed


def _solver(solver: Mapping[str, Any] | None, scorers: Sequence[Mapping[str, Any]], library: Library) -> PartSpec:
    if solver is None:
        return PartSpec(key="solver", use="no_solver")
    options = {name: value for name, value in solver.items() if name not in ("type", "message_format")}
    if solver["type"] in LIKELIHOOD_SOLVERS:
        return _likelihood_solver(solver["type"], options, scorers)
    if solver["type"] == "multi_turn_solver":
        options["message_builders"] = [_with_model(each, library) for each in options["message_builders"]]
    return PartSpec(key="solver", use=solver["type"], options=options)


def _likelihood_solver(kind: str, options: dict[str, Any], scorers: Sequence[Mapping[str, Any]]) -> PartSpec:
    """What the scorers want decides what is asked: how choices are compared, and whether without the prompt too."""
    use = LIKELIHOOD_SOLVERS[kind]
    asked = {name: value for name, value in options.items() if value is not None}
    wanted = [scorer["normalize"] for scorer in scorers if scorer["type"] == use == "choice_likelihood"]
    if wanted:
        asked["normalize"] = wanted[0]
        if "unconditional" in wanted[1:]:
            asked["unconditional"] = True
    return PartSpec(key="solver", use=use, options=asked)


def _with_model(builder: Mapping[str, Any], library: Library) -> dict[str, Any]:
    """A builder that asks another model, with that model beside its key."""
    made = dict(builder)
    if made["type"] == "generate_message":
        made["model"] = library.other_model(made["model_key"])
    if made["type"] == "loop":
        made["message_builders"] = [_with_model(each, library) for each in made["message_builders"]]
    return made


def _scorer(key: str, scorer: Mapping[str, Any], has_solver: bool, library: Library) -> PartSpec:
    options = {name: value for name, value in scorer.items() if name not in _NOT_OPTIONS and value is not None}
    for name in ("model_key", "judge_model_key"):
        if name in options:
            options["model"] = library.other_model(options[name])
    if not has_solver:
        options["has_solver"] = False
    return PartSpec(key=key, use=scorer["type"], options=options)


def _action(action: Mapping[str, Any], has_solver: bool) -> PartSpec:
    options = {"rule": action["key"], "filter": action["filter"]}
    if not has_solver:
        options["has_solver"] = False
    return PartSpec(key=action["key"], use=action["action"], options=options)


def check_snippets(document: Document, where: FieldPath, value: Any) -> list[str]:
    """The fields that hold Python; each is parsed, never executed."""
    found: list[str] = []
    if isinstance(value, dict):
        for name, item in value.items():
            if name in SNIPPET_FIELDS and isinstance(item, str):
                _check_snippet(document, (*where, name), item, name.removesuffix("_snippet"))
                found.append(name)
            else:
                found.extend(check_snippets(document, (*where, name), item))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            found.extend(check_snippets(document, (*where, at), item))
    return found


def _check_snippet(document: Document, where: FieldPath, source: str, function: str) -> None:
    names = set(_names_given(_parsed(document, where, source)))
    if function not in names and "*" not in names:
        told = ", ".join(f"`{name}`" for name in sorted(names)[:10]) or "nothing"
        raise document.error(where, f"the snippet must define a function `{function}`; it defines {told}")


def _names_given(tree: ast.AST) -> Iterator[str]:
    """Every name that code gives a value to outside of its functions and classes; `*` for who knows which."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.alias):
            yield node.asname or node.name
        yield from _names_given(node)


def _parsed(document: Document, where: FieldPath, source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise document.error(where, f"line {error.lineno} of the snippet: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise document.error(where, f"the snippet cannot be parsed: {error}") from error


def check_only(document: Document, where: FieldPath, value: Any) -> dict[str, Any]:
    """A task by itself: fields, placeholders and snippets, without configuration, datasets or models."""
    task = checked_task(document, value, where)
    names = [parameter["key"] for parameter in task["config_spec"]]
    check_placeholders(task["definition"], names, document, (*where, "definition"))
    if not names:
        check_snippets(document, (*where, "definition"), task["definition"])
    return task
