"""An Inspect log as a run folder: converted once into `.assay/inspect`, then read like any other run.

The folder's name holds the sha256 of the log: another log is another folder, and the same one is not converted again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.bridges.inspect.log_files import LogHeader, log_header, log_samples
from assay.bridges.inspect.log_records import record_of
from assay.bridges.inspect.log_samples import InspectSamples
from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.journal import Journal
from assay.core.regular_file import open_regular
from assay.core.types import DatasetSpec, PartSpec, Record, Sample, TaskDefinition
from assay.datasets.json_lines import file_sha256
from assay.run_config import RunConfig
from assay.run_file import RunFile, read_run_file
from assay.runs.assemble import describe
from assay.runs.folder import prepare_folder
from assay.task_records import Provenance
from assay.tasks.descriptions import with_descriptions
from assay.user.project_folder import make_project_folder

FORMAT = "inspect_log"
"""The format of a definition that was read from a log."""
CONVERTED = Path(".assay") / "inspect"
CONVERSION = 1
"""Counted up when a log becomes another run than before."""
BATCH = 64
MEANS = ("accuracy", "mean")
ERRORS = ("stderr", "bootstrap_stderr", "std", "var", "ci")
"""Metrics of Inspect that are uncertainties of the others; assay has its own."""
_BEGINNING = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"')
_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort")


class InspectLogs:
    """Logs of Inspect: each becomes a run folder."""

    def claims(self, path: Path) -> bool:
        return is_log(path)

    def run_folder(self, path: Path) -> Path:
        return run_of_log(path)

    def other_results(self, folder: Path) -> list[str]:
        return other_results(folder)


def is_log(path: Path) -> bool:
    """Whether this is an Inspect log: an `.eval` file, or a `.json` file that begins as its logs do."""
    if not path.is_file():
        return False
    if path.suffix.lower() == ".json":
        with open_regular(path) as file:
            return _BEGINNING.match(file.read(256)) is not None
    return path.suffix.lower() == ".eval"


def run_of_log(path: Path) -> Path:
    """The run folder of a log, made if there is none yet."""
    sha256 = file_sha256(path)
    identity = short_fingerprint([CONVERSION, sha256, str(path.resolve())])
    folder = CONVERTED / f"{re.sub(r'[^-_.0-9A-Za-z]', '-', path.stem)[:80]}-{identity[:8]}"
    if (folder / "run.json").exists():
        return folder
    made = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    try:
        make_project_folder(made)
        _convert(path, sha256, made)
        os.replace(made, folder)
    except OSError as error:
        if not (folder / "run.json").exists():  # another process may have made it meanwhile
            raise UsageError(f"{folder}: the log could not be converted: {error.strerror}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def other_results(folder: Path) -> list[str]:
    """What Inspect itself reports for the log that is not a mean over attempts, and so is not among assay's numbers."""
    results = []
    for definition in read_run_file(folder).definitions:
        for result in definition.provenance.recorded.get("results", ()):
            plain = result["metric"] in MEANS and result["reducer"] in (None, "mean")
            if not plain and result["metric"] not in ERRORS and isinstance(result["value"], int | float):
                by = f" by {result['reducer']}" if result["reducer"] else ""
                results.append(f"{result['name']} {result['metric']}{by} {result['value']:.4g}")
    return results


def _convert(path: Path, sha256: str, folder: Path) -> None:
    header = log_header(path)
    name = header.eval.task or path.stem
    dataset_samples = InspectSamples(path=str(path))
    samples = {sample.id: (at, sample) for at, sample in enumerate(dataset_samples)}
    if not samples:
        raise UsageError(f"{path}: holds no samples; was the evaluation ended before its first one?")
    columns: dict[str, dict[str, None]] = {}
    epochs = 1
    with closing(Journal(folder / "journal.jsonl")) as journal:
        records = _records(path, name, header, samples)
        while batch := list(islice(records, BATCH)):
            for record in journal.append(batch):
                epochs = max(epochs, record.attempt)
                for score in record.scores:
                    columns.setdefault(score.name, {}).update(dict.fromkeys(score.values))
    if not columns:
        columns = {str(scorer.get("name")): {"score": None} for scorer in header.eval.scorers or ()}
    listed = len(header.eval.dataset.sample_ids or ())
    dataset = DatasetSpec(
        use=FORMAT, options={"path": str(path.resolve())}, sha256=dataset_samples.sha256, size=max(listed, len(samples))
    )
    kept = {"log": str(path), "sha256": sha256, **_kept(header)}
    definition = msgspec.structs.replace(
        _definition(path, name, header, dataset, columns), provenance=Provenance(from_log=True, recorded=kept)
    )
    planned = header.eval.config.get("epochs")
    config = _config(header, max(epochs, planned if isinstance(planned, int) else 1))
    prepare_folder(folder, _run_file(path, header, definition, config), resume_foreign=True)


def _records(path: Path, task: str, header: LogHeader, samples: dict[str, tuple[int, Sample]]) -> Iterator[Record]:
    for sample in log_samples(path):
        index, dataset_sample = samples[str(sample.id)]
        yield record_of(task, header.eval.model, sample, dataset_sample, index)


def _definition(
    path: Path, name: str, header: LogHeader, dataset: DatasetSpec, columns: dict[str, dict[str, None]]
) -> TaskDefinition:
    """The task: a mean for every value of every scorer, the headline of Inspect's own results first."""
    headline = (header.results.headline if header.results else None) or {}
    first = headline.get("scorer"), headline.get("score")
    values = [
        (scorer, value) for scorer, names in columns.items() for value in names if (value != "value" or len(names) == 1)
    ]
    values.sort(key=lambda each: (each[0] != first[0], each[1] not in ("score", first[1])))
    means = [(scorer, value, scorer if value == "score" else f"{scorer}/{value}") for scorer, value in values]
    return TaskDefinition(
        name=name,
        format=FORMAT,
        dataset=dataset,
        solver=PartSpec(key="inspect", use="no_solver"),
        scorers=tuple(PartSpec(key=scorer, use="recorded") for scorer in columns),
        aggregates=tuple(
            PartSpec(key=key, use="mean", options={"scorer": scorer, "field": value, "name": key})
            for scorer, value, key in means
        ),
        metric=means[0][2] if means else "none",
        description=f"An Inspect log, inspect_ai {header.eval.packages.get('inspect_ai', '')}".strip(),
        source=str(path),
    )


def _kept(header: LogHeader) -> dict[str, Any]:
    """What else the log holds: the task's solvers and arguments, and Inspect's own results."""
    results = [
        {"name": score.name, "reducer": score.reducer, "metric": name, "value": metric.get("value")}
        for score in (header.results.scores if header.results else ())
        for name, metric in score.metrics.items()
    ]
    steps = [str(step.get("solver")) for step in header.plan.steps]
    return {"solvers": steps, "task_args": header.eval.task_args, "results": results}


def _config(header: LogHeader, epochs: int) -> RunConfig:
    generation = {**header.eval.model_generate_config, **header.plan.config}
    settings: dict[str, Any] = {name: generation[name] for name in _SETTINGS if generation.get(name) is not None}
    if generation.get("stop_seqs"):
        settings["stop"] = generation["stop_seqs"]
    if generation.get("system_message"):
        settings["system"] = generation["system_message"]
    try:
        return msgspec.convert({"model": header.eval.model, "repeat": epochs, **settings}, RunConfig)
    except msgspec.ValidationError as error:
        raise UsageError(f"the log's generation settings are not what Inspect writes: {error}") from error


def _run_file(path: Path, header: LogHeader, definition: TaskDefinition, config: RunConfig) -> RunFile:
    """As it was when Inspect ran: its date, its version and the commit of its project."""
    version = header.eval.packages.get("inspect_ai", "")
    made = describe(
        [with_descriptions(definition)],
        {"name": header.eval.model or "unknown"},
        config,
        [f"Inspect {version},", str(path)],
    )
    return msgspec.structs.replace(
        made,
        created=header.eval.created or made.created,
        commit=str((header.eval.revision or {}).get("commit", "")),
        versions={**made.versions, **({"inspect_ai": version} if version else {})},
    )
