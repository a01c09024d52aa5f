"""Samples of a YAML task that went wrong, as a run file: the task by reference, and their rows in place of its dataset.

Rows stand last, one to a line, so that a file grows at its end and what its author wrote stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import TaskDefinition
from assay.datasets.content import content_hash, is_elsewhere, sources_of
from assay.formats.declarative.checked import kind_of
from assay.formats.declarative.yaml_reader import VARIABLE, read_yaml
from assay.overriding import override
from assay.results.frames.frame_source import RunSource
from assay.runs.later.regressions import Origin, Saved, only_command, wanted_of, write_if_it_loads
from assay.tasks.built_tasks import build_dataset
from assay.tasks.load import load_tasks
from assay.text.wording import few

ORIGIN_COLUMN = "regression_origin"
"""The column in which a row says which attempt it comes from."""


class YamlRegressions(Struct, frozen=True, kw_only=True):
    """Rows of one YAML task."""

    definition: TaskDefinition
    task_key: str
    dataset_key: str
    """What the file calls the dataset that the rows take the place of."""
    rows: list[dict[str, Any]]


def yaml_regressions(sources: Sequence[RunSource]) -> YamlRegressions | None:
    """The rows of the picked attempts, each sample once; None where no task of them is a YAML task."""
    picked = [
        (definition, wanted)
        for source in sources
        for task, wanted in wanted_of(source).items()
        for definition in source.run.definitions
        if definition.name == task
    ]
    if not any(definition.provenance.over_rows for definition, _ in picked):
        return None
    tasks = {(definition.source, definition.name) for definition, _ in picked}
    if len(tasks) > 1:
        names = few(sorted(name for _, name in tasks))
        raise UsageError(f"a file holds samples of one YAML task, and these are of {names}; pick one with `task:NAME`")
    first, _ = picked[0]
    rows: dict[str, dict[str, Any]] = {}
    for definition, wanted in picked:
        for row in _rows_of(definition, wanted):
            rows.setdefault(row["sample_id"], row)
    task_key, dataset_key = _keys(first)
    return YamlRegressions(definition=first, task_key=task_key, dataset_key=dataset_key, rows=list(rows.values()))


def _rows_of(definition: TaskDefinition, wanted: dict[str, Origin]) -> Iterable[dict[str, Any]]:
    dataset = definition.dataset
    if is_elsewhere(dataset) or len(sources_of(dataset.use, dataset.options)) > 1:
        raise UsageError(
            f"task `{definition.name}`: its rows are not in one file here, so they cannot be copied; run just these "
            f"with {only_command(definition, wanted)}"
        )
    samples = build_dataset(definition)
    if content_hash(samples) != dataset.sha256:
        raise UsageError(f"task `{definition.name}`: its dataset has changed since the run was made")
    for sample in samples:
        origin = wanted.get(sample.id)
        if origin is None:
            continue
        row = {**(sample.row or {}), "sample_id": sample.id, ORIGIN_COLUMN: msgspec.to_builtins(origin)}
        if named := next((value for value in row.values() if isinstance(value, str) and VARIABLE.match(value)), None):
            raise UsageError(
                f"sample `{sample.id}`: a YAML file would take its value `{named}` for a variable; run it "
                f"with {only_command(definition, {sample.id: origin})}"
            )
        yield row


def _keys(definition: TaskDefinition) -> tuple[str, str]:
    """What the task's file calls the task and its dataset."""
    path = Path(definition.source or "")
    if not path.is_file():
        raise UsageError(f"{path}: the file of task `{definition.name}` is not here; run this where the run was made")
    value = read_yaml(path, allow_outside=True).value
    if kind_of(value) != "task" or not isinstance(value, dict):
        raise UsageError(
            f"{path}: task `{definition.name}` has no file of its own; give it one and name it in the run file with "
            "`$ref`"
        )
    inside = value["definition"]
    dataset = inside.get("dataset") if isinstance(inside, dict) else None
    key = dataset.get("key") if isinstance(dataset, dict) else None
    named = definition.dataset.options["name"] if not isinstance(key, str) or "<<" in key else key
    return str(value["key"]), str(named)


def run_file(regressions: YamlRegressions, folder: Path | None = None) -> bytes:
    """The whole file as it lies in a folder; by default next to the task's file."""
    task = Path(str(regressions.definition.source))
    named = task.name if folder is None else os.path.relpath(task, folder)
    lines = [
        "# Samples that went wrong, asked and scored by their task's own file. Rows may be added at the end.",
        f"# Run it where `{named}` is found from here." if folder is None else "",
        f"tasks: [{{$ref: {json.dumps(named)}}}]",
        *_evaluation(regressions),
        "datasets:",
        f"  - key: {json.dumps(regressions.dataset_key)}",
        "    display_name: Samples that went wrong",
        "    source:",
        "      type: inline",
        "      samples:",
    ]
    return "\n".join(line for line in lines if line).encode() + b"\n" + encoded_rows(regressions.rows)


def _evaluation(regressions: YamlRegressions) -> list[str]:
    """The values of the task's parameters, as the run had them."""
    config = regressions.definition.provenance.config
    if not config:
        return []
    return [
        "evaluation:",
        "  key: regressions",
        "  display_name: Regressions",
        "  task_specifications:",
        f"    - {_flow({'task_key': regressions.task_key, 'task_config': config})}",
    ]


def encoded_rows(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(f"        - {_flow(row)}\n" for row in rows).encode()


def _flow(value: dict[str, Any]) -> str:
    """On one line, with every text in quotes: nothing in it is taken for another kind of value."""
    text: str = yaml.dump(
        value, Dumper=_Quoted, default_flow_style=True, allow_unicode=True, sort_keys=False, width=float("inf")
    )
    return text.strip()


class _Quoted(yaml.SafeDumper):
    @override
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Quoted.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def save_yaml_regressions(path: Path, regressions: YamlRegressions) -> Saved:
    """Add the rows to a run file, which may exist; one that would no longer be read is left as it was."""
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(
            f"--as-task {path}: samples of a YAML task (`{regressions.definition.name}`) go into a file named NAME.yaml"
        )
    content = read_regular(path) if path.exists() else b""
    known = _rows_in(path) if content else []
    ids = {row["sample_id"] for row in known}
    added = [row for row in regressions.rows if row["sample_id"] not in ids]
    grown = content + (b"" if content.endswith(b"\n") else b"\n") + encoded_rows(added)
    whole = grown if content else run_file(regressions, path.parent)

    def load(trial: Path) -> None:
        if _rows_in(trial) != [*known, *added]:
            raise UsageError("the rows do not come back as they are")

    write_if_it_loads(path, whole, load)
    return Saved(path=path, added=len(added), kept=len(known))


def _rows_in(path: Path) -> list[dict[str, Any]]:
    [definition] = load_tasks([str(path)], only_reads=True)
    return [dict(sample.row or {}) for sample in build_dataset(definition)]
