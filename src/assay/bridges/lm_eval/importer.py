"""lm-evaluation-harness task files: `generate_until` and `multiple_choice` tasks on local data files.

Prompts are rendered here, once, so that the task folder holds exactly what is sent. Python (`!function`) and fields
without a counterpart are losses. Everything is read as lm-evaluation-harness 0.4.13 reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from assay.bridges.lm_eval.importer_documents import Documents, documents_of
from assay.bridges.lm_eval.importer_fields import Fields, Function
from assay.bridges.lm_eval.importer_prompts import Prompts
from assay.bridges.lm_eval.importer_scoring import choice_metric, comparison_of, generation_of
from assay.core.errors import UsageError
from assay.formats.imported import Imported, Row, inside, read_text, shaped, task_name
from assay.reading.bounded_yaml import load_yaml

_READ = {
    "task", "dataset_path", "dataset_name", "dataset_kwargs", "output_type", "test_split", "validation_split",
    "training_split", "fewshot_split", "doc_to_text", "doc_to_target", "doc_to_choice", "target_delimiter",
    "fewshot_delimiter", "num_fewshot", "fewshot_config", "description", "generation_kwargs", "filter_list",
    "metric_list", "repeats", "gen_prefix",
}  # fmt: skip
_WITHOUT_PART_IN_SCORES = {
    "task_alias", "tag", "group", "group_alias", "metadata", "should_decontaminate", "doc_to_decontamination_query",
    "unsafe_code",
}  # fmt: skip
_LOST = {"process_docs": "documents", "custom_dataset": "documents", "process_results": "scoring"}
"""What a field without a counterpart affects; any other field is assumed to change the prompt."""

MAX_INCLUDES = 20


class _Filter(Struct):
    name: Any = None
    filter: list[dict[str, Any]] = []


class _Generation(Struct):
    max_gen_toks: int | None = None
    max_new_tokens: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    do_sample: bool | None = None
    until: str | list[str] | None = None


class _Shape(Struct):
    """The fields of a task whose types are checked."""

    dataset_kwargs: dict[str, Any] | None = None
    test_split: str | None = None
    validation_split: str | None = None
    training_split: str | None = None
    fewshot_split: str | None = None
    fewshot_config: dict[str, Any] | None = None
    num_fewshot: int | None = None
    generation_kwargs: _Generation | None = None
    filter_list: list[_Filter] | None = None
    metric_list: list[dict[str, Any]] | None = None
    repeats: int | None = None


class _Loader(yaml.SafeLoader):
    pass


def _function(loader: yaml.SafeLoader, node: yaml.Node) -> Function:
    return Function(node.value if isinstance(node, yaml.ScalarNode) else "…")


_Loader.add_constructor("!function", _function)


def import_lm_eval(
    path: Path, data: Path | None = None, *, shots: int | None = None, shots_data: Path | None = None
) -> Imported:
    """The task of a YAML file.

    `data` is the test file, needed where the YAML names no local one; `shots_data` is the file of the
    few-shot examples, and `shots` replaces their number in the task.
    """
    config = _read(path)
    if "task" in config and isinstance(config["task"], list):
        raise UsageError(f"{path}: is a group of tasks; import each of its tasks by its own file")
    shaped({name: value for name, value in config.items() if name in _Shape.__struct_fields__}, _Shape, str(path))
    if shots is not None:
        config["num_fewshot"] = shots
    kind = config.get("output_type", "generate_until")
    if kind not in ("generate_until", "multiple_choice"):
        raise UsageError(f"{path}: output_type `{kind}` cannot be carried over; generate_until and multiple_choice can")
    imported = Imported()
    _note_unread_fields(config, imported)
    documents = documents_of(path, config, data, shots_data, imported)
    fields = Fields(path, config)
    prompts = Prompts(fields, documents)
    rows = (_choice_rows if kind == "multiple_choice" else _generation_rows)(fields, prompts, documents, imported)
    imported.tasks[task_name(str(config.get("task", path.stem)))] = rows
    return imported


def _note_unread_fields(config: dict[str, Any], imported: Imported) -> None:
    for name, value in config.items():
        if name in _READ or name in _WITHOUT_PART_IN_SCORES or value is None:
            continue
        if isinstance(value, Function):
            reason = f"{name}: !function {value}: Python of the task's own is not run"
        else:
            reason = f"{name}: a field without a counterpart here"
        imported.lose(_LOST.get(name, "prompt"), reason)  # type: ignore[arg-type]  # the values of _LOST are literals
    if isinstance(repeats := config.get("repeats"), int) and repeats > 1:
        imported.lose(
            "scoring", f"repeats: there each question is sent {repeats} times; --repeat {repeats} does that here"
        )


def _read(path: Path, depth: int = 0) -> dict[str, Any]:
    config = load_yaml(read_text(path), str(path), _Loader)
    if not isinstance(config, dict):
        raise UsageError(f"{path}: is not a task: a mapping of fields is expected")
    config = {str(name): value for name, value in config.items()}
    if (include := config.pop("include", None)) is None:
        return config
    names = [include] if isinstance(include, str) else shaped(include, list[str], f"{path}: include")
    # counted as if each included the next, so that files that include each other twice are soon refused
    depth += len(names)
    if depth > MAX_INCLUDES:
        raise UsageError(f"{path}: more than {MAX_INCLUDES} files include each other; does one include itself?")
    # the last file that sets a field wins
    included = dict(pair for name in names for pair in _read(inside(path, path.parent / name), depth).items())
    return {**included, **config}


def _choice_rows(fields: Fields, prompts: Prompts, documents: Documents, imported: Imported) -> list[Row]:
    metric = choice_metric(fields.config, imported)
    rows: list[Row] = []
    doubled = unanswerable = 0
    for number, doc in enumerate(documents.test):
        prompt = prompts.of(doc)
        choices = fields.choices(doc)
        golds = fields.golds(doc, choices)
        if not golds:
            unanswerable += 1
            continue
        doubled += any(choices.count(choices[gold]) > 1 for gold in golds)
        rows.append(
            {
                "id": str(number),
                "prompt": prompt,
                "targets": [choices[gold] for gold in golds],
                "metric": metric,
                "extras": {"choices": choices, "separator": fields.target_delimiter},
            }
        )
    if unanswerable:
        imported.lose("documents", f"doc_to_target is none of the choices in {unanswerable} of {len(documents.test)}")
    if doubled:
        imported.remark(
            f"in {doubled} questions the right choice occurs twice: here both are right, in lm-evaluation-harness only "
            "one"
        )
    return rows


def _generation_rows(fields: Fields, prompts: Prompts, documents: Documents, imported: Imported) -> list[Row]:
    generation = generation_of(fields.config, imported)
    comparison = comparison_of(fields.config, f"{fields.path}: ", imported)
    several = fields.has_several_targets(documents.test)
    return [
        {
            "id": str(number),
            "prompt": prompts.of(doc),
            "targets": fields.texts(doc, several=several),
            "metric": "extracted_match",
            "extras": {"compare": comparison, "generation": generation},
        }
        for number, doc in enumerate(documents.test)
    ]
