"""What became of everything that a task declares: the list that is stored with a run, and shown before it.

Whatever cannot be resolved has been refused before this list is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from assay.catalog import OTHER_MODELS
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec
from assay.formats.declarative.records import ActionEntry, ScorerEntry, TaskEntry
from assay.formats.declarative.shape import PLACEHOLDER_INSIDE
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain, inside
from assay.prompts.template import template_reads
from assay.task_records import Declared
from assay.text.wording import count_of, in_yaml


def declared_of(
    document: Document,
    where: FieldPath,
    task: TaskEntry,
    *,
    parameters: Mapping[str, Plain],
    dataset: DatasetSpec,
    solver: PartSpec,
    scorers: Sequence[tuple[str, ScorerEntry]],
    parts: Sequence[PartSpec],
    aggregates: Sequence[PartSpec],
    actions: Sequence[ActionEntry],
) -> tuple[Declared, ...]:
    """Parameters, dataset, columns, solver, scorers with their metrics and models, rules, files.

    `parts` are what the scorers became.
    """
    at = (*where, "definition")

    def entry(kind: str, name: str, became: str, place: FieldPath, *, unused: bool = False) -> Declared:
        return Declared(kind=kind, name=name, became=became, place=str(document.mark(place)), unused=unused)

    used = {match[1] for match in PLACEHOLDER_INSIDE.finditer(msgspec.json.encode(task.definition).decode())}
    made = [
        entry(
            "parameter",
            each.key,
            in_yaml(parameters.get(each.key)) if each.key in used else "nothing reads it",
            (*where, "config_spec", number),
            unused=each.key not in used,
        )
        for number, each in enumerate(task.config_spec)
    ]
    size = f"{dataset.size:,} samples, sha256 {dataset.sha256[:12]}" if dataset.sha256 else "not read yet"
    named = task.definition.get("dataset")
    if isinstance(named, dict):
        several = named.get("keys")
        name = named.get("key") or (", ".join(map(str, several)) if isinstance(several, list) else "")
        made.append(entry("dataset", str(name), f"{dataset.use}, {size}", (*at, "dataset")))
    readers: dict[str, list[str]] = {}
    if dataset.use != "joined":  # whose columns stand under the names of the datasets
        by_part = [("solver", solver.options), *((part.key, part.options) for part in parts)]
        by_part += [(each.key, each.filter) for each in actions]
        for reader, options in by_part:
            for column in _columns_in(options):
                readers.setdefault(column, []).append(reader)
    for column, names in readers.items():
        made.append(entry("column", column, f"read by {', '.join(dict.fromkeys(names))}", at))
    if solver.use != "no_solver":
        made.append(entry("solver", solver.use, _asking(solver), (*at, "solver")))
    made += [entry("model", name, model, (*at, "solver")) for name, model in _models_of(solver)]
    for number, (key, scorer) in enumerate(scorers):
        own = [part for part in aggregates if part.options.get("scorer") == key]
        place = (*at, "scorers", number)
        numbers = f"{len(own)} metrics" if len(own) != 1 else "1 metric"
        of_rules = " and rules" if scorer.purpose == "qa" else ""
        made.append(entry("scorer", key, f"{scorer.type}, {numbers}{of_rules}", place))
        for each, metric in enumerate(own):
            written = scorer.metrics is not None and each < len(scorer.metrics)
            inner = (*place, "metrics", each) if written else place
            made.append(entry("metric", metric.key, _number(metric), inner))
        for name, model in _models_of(parts[number]):
            made.append(entry("model", name, model, place))
    for number, action in enumerate(actions):
        became = f"{action.action} where {action.filter.get('op')} {action.filter.get('expression')}"
        made.append(entry("rule", action.key, became, (*at, "actions", number)))
    files = [path for path in document.files if path != document.path]
    made += [Declared(kind="file", name=str(path), became="read", place=str(document.path)) for path in files]
    return tuple(made)


def _number(part: PartSpec) -> str:
    options, trials = part.options, part.options.get("trials")
    use, read = str(options.get("use") or part.use), options.get("field")
    if trials:
        number = trials[0]
        k = f" with k = {number['k']}" if number["k"] is not None else ""
        read = f"{number['name']}, the {number['function']}{k} of {number['field']}"
    words = [use, f"of {read}" if read else "", f"as {options['name']}" if options.get("name") else ""]
    return " ".join(filter(None, words))


def _asking(solver: PartSpec) -> str:
    """What a solver does, in a few words."""
    shots = solver.options.get("few_shot")
    examples = len(shots.get("examples", ())) if isinstance(shots, dict) else 0
    builder = solver.options.get("input_builder")
    kind = str(builder.get("type")) if isinstance(builder, dict) else solver.use
    return f"{kind}, {count_of(examples, 'few-shot example')}" if examples else kind


def _columns_in(options: Plain) -> Iterator[str]:
    """The columns that templates in the options of a part read whatever the row."""
    if isinstance(options, str) and ("{{" in options or "{%" in options):
        with suppress(UsageError):  # a snippet, or a text that is no template
            yield from template_reads(options).columns
    for at, value in inside(options):
        if not str(at[-1]).endswith("_snippet"):
            yield from _columns_in(value)


def _models_of(part: PartSpec) -> Iterator[tuple[str, str]]:
    """The other models that a scorer names, each with what is behind its key."""
    yield from _models_in(part.options)


def _models_in(options: Plain) -> Iterator[tuple[str, str]]:
    behind = options.get("model") if isinstance(options, dict) else None
    for at, value in inside(options):
        if at[-1] in OTHER_MODELS and isinstance(value, str):
            yield value, str(behind.get("model")) if isinstance(behind, dict) else "not known before a run"
        elif isinstance(value, list | dict):
            yield from _models_in(value)
