"""lm-evaluation-harness task files: `generate_until` and `multiple_choice` tasks on local data files.

Prompts are rendered here, once, so that the task folder holds exactly what will be asked. Python (`!function`), hub
datasets and metrics that have no counterpart are listed as left behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from assay.bounded_yaml import load_yaml
from assay.core.errors import UsageError
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template
from assay.task_imports.imported import Imported, Row, inside, read_records, read_text, shaped, task_name

CHOICE_METRICS = {
    "acc": "choice_likelihood",
    "acc_norm": "choice_likelihood_per_character",
    "acc_bytes": "choice_likelihood_per_byte",
    "acc_mutual_info": "choice_likelihood_unconditional",
}
KNOWN = {
    "task", "task_alias", "tag", "group", "dataset_path", "dataset_name", "dataset_kwargs", "output_type", "test_split",
    "validation_split", "training_split", "fewshot_split", "doc_to_text", "doc_to_target", "doc_to_choice",
    "target_delimiter", "fewshot_delimiter", "num_fewshot", "fewshot_config", "description", "generation_kwargs",
    "filter_list", "metric_list", "metadata", "repeats", "include", "should_decontaminate",
    "doc_to_decontamination_query", "process_docs",
}  # fmt: skip

MAX_INCLUDES = 20


class _Filter(Struct):
    name: Any = None
    filter: list[dict[str, Any]] = []


class _Generation(Struct):
    max_gen_toks: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    until: str | list[str] | None = None


class _Shape(Struct):
    """The fields of a task whose shape is relied upon."""

    dataset_kwargs: dict[str, Any] | None = None
    test_split: str | None = None
    validation_split: str | None = None
    training_split: str | None = None
    fewshot_split: str | None = None
    fewshot_config: dict[str, Any] | None = None
    num_fewshot: int | None = None
    generation_kwargs: _Generation | None = None
    filter_list: list[_Filter] | None = None
    metric_list: list[Any] | None = None


class _Function(str):
    """A `!function module.name`: Python of the task's own, which is not run here."""

    __slots__ = ()


class _Loader(yaml.SafeLoader):
    pass


def _function(loader: yaml.SafeLoader, node: yaml.Node) -> _Function:
    return _Function(node.value if isinstance(node, yaml.ScalarNode) else "…")


_Loader.add_constructor("!function", _function)


def import_lm_eval(path: Path, data: Path | None = None) -> Imported:
    """The task of a YAML file. `data` is its test file where the YAML names none, or a dataset on a hub."""
    found = Imported()
    config = _read(path)
    shaped({name: value for name, value in config.items() if name in _Shape.__struct_fields__}, _Shape, str(path))
    for name, value in config.items():
        if isinstance(value, _Function):
            found.leave(f"{name}: !function {value}: Python of the task's own is not run")
        elif name not in KNOWN:
            found.leave(f"{name}: a field without a counterpart here")
    kind = config.get("output_type", "generate_until")
    if kind not in ("generate_until", "multiple_choice"):
        raise UsageError(f"{path}: output_type `{kind}` cannot be carried over; generate_until and multiple_choice can")
    test, shots = _documents(path, config, data, found)
    reader = _Reader(path, config, found)
    before = reader.before(shots)
    rows = (reader.choice if kind == "multiple_choice" else reader.generation)(test, before)
    found.tasks[task_name(str(config.get("task", path.stem)))] = rows
    return found


def _read(path: Path, above: int = 0) -> dict[str, Any]:
    config = load_yaml(read_text(path), str(path), _Loader)
    if not isinstance(config, dict):
        raise UsageError(f"{path}: is not a task: a mapping of fields is expected")
    config = {str(name): value for name, value in config.items()}
    if isinstance(include := config.pop("include", None), str):
        if above == MAX_INCLUDES:
            raise UsageError(f"{path}: more than {MAX_INCLUDES} files include each other; does one include itself?")
        return {**_read(inside(path, path.parent / include), above + 1), **config}
    return config


def _documents(
    path: Path, config: dict[str, Any], data: Path | None, found: Imported
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The documents to ask about, and those to show as worked examples."""
    files = (config.get("dataset_kwargs") or {}).get("data_files")
    by_split = files if isinstance(files, dict) else {"test": files} if files else {}
    split = config.get("test_split") or config.get("validation_split") or "test"
    named = data or _local(path, by_split.get(split) or by_split.get("test"))
    if named is None:
        source = config.get("dataset_path", "nothing")
        raise UsageError(f"{path}: its data is `{source}`, not a local file; give the file with --data FILE")
    if config.get("process_docs") is not None:
        found.leave("process_docs: documents are taken as they are in the file")
    test = read_records(named)
    count = int(config.get("num_fewshot") or 0)
    if not count:
        return test, []
    listed = (config.get("fewshot_config") or {}).get("samples")
    if isinstance(listed, list):
        return test, shaped(listed[:count], list[dict[str, Any]], f"{path}: fewshot_config.samples")
    shot_split = config.get("fewshot_split") or config.get("training_split")
    shots = _local(path, by_split.get(shot_split)) if shot_split else None
    if (config.get("fewshot_config") or {}).get("sampler") != "first_n":
        found.remarks.append("worked examples are the first of their file; the harness draws them anew per question")
    if shots is not None:
        return test, read_records(shots)[:count]
    found.remarks.append(f"worked examples are the first {count} of the test file, which are then not asked")
    return test[count:], test[:count]


def _local(path: Path, name: Any) -> Path | None:
    first = name[0] if isinstance(name, list) and name else name
    if not isinstance(first, str) or "://" in first:
        return None
    for place in (path.parent / first, Path(first)):
        if place.is_file():
            return inside(path, place)
    raise UsageError(f"{path}: its data file {first} is not there")


class _Reader:
    """Documents to rows, by the task's templates."""

    def __init__(self, path: Path, config: dict[str, Any], found: Imported) -> None:
        self._path = path
        self._config = config
        self._found = found
        self._delimiter = str(config.get("target_delimiter", " "))
        self._metrics = [each for each in config.get("metric_list") or [] if isinstance(each, dict)]

    def before(self, shots: list[dict[str, Any]]) -> str:
        """The description and the worked examples."""
        between = str(self._config.get("fewshot_delimiter", "\n\n"))
        said = str(self._config.get("description") or "")
        return said + "".join(self._text(doc) + self._delimiter + self._answer(doc) + between for doc in shots)

    def choice(self, documents: list[dict[str, Any]], before: str) -> list[Row]:
        names = [str(each.get("metric")) for each in self._metrics] or ["acc"]
        known = [name for name in names if name in CHOICE_METRICS]
        for name in names:
            if name not in CHOICE_METRICS:
                self._found.leave(f"metric {name}: has no counterpart for multiple choice")
        metric = CHOICE_METRICS[known[0]] if known else "choice_likelihood"
        rows = []
        for number, doc in enumerate(documents):
            choices = self._choices(doc)
            rows.append(
                {
                    "id": str(number),
                    "prompt": before + self._text(doc),
                    "targets": [choices[self._gold(doc, choices)]],
                    "metric": metric,
                    "extras": {"choices": choices, "separator": self._delimiter},
                }
            )
        return rows

    def generation(self, documents: list[dict[str, Any]], before: str) -> list[Row]:
        generation = self._generation()
        comparison = self._comparison()
        rows = []
        for number, doc in enumerate(documents):
            answer = self._target(doc)
            targets = [str(each) for each in answer] if isinstance(answer, list) else [str(answer)]
            extras: dict[str, Any] = {"compare": comparison}
            if generation:
                extras["generation"] = generation
            rows.append(
                {
                    "id": str(number),
                    "prompt": before + self._text(doc),
                    "targets": targets,
                    "metric": "extracted_match",
                    "extras": extras,
                }
            )
        return rows

    def _generation(self) -> dict[str, Any]:
        said = dict(self._config.get("generation_kwargs") or {})
        until = said.pop("until", None) or [str(self._config.get("fewshot_delimiter", "\n\n"))]
        settings: dict[str, Any] = {"stop": [until] if isinstance(until, str) else list(until)}
        most = said.pop("max_gen_toks", None) or said.pop("max_tokens", None)
        if most:
            settings["max_tokens"] = int(most)
        sampled = said.pop("do_sample", False)
        temperature = said.pop("temperature", None)
        settings["temperature"] = float(temperature or 0.0) if sampled else 0.0
        for name in said:
            self._found.leave(f"generation_kwargs.{name}: has no counterpart here")
        return settings

    def _comparison(self) -> dict[str, Any]:
        """How an answer is read out and compared: the first filter pipeline, the first metric."""
        steps: list[dict[str, Any]] = []
        pipelines = self._config.get("filter_list") or []
        for extra in pipelines[1:]:
            self._found.leave(f"filter {extra.get('name')}: a task reads answers out in one way; the first is kept")
        for step in pipelines[0].get("filter", []) if pipelines else []:
            steps += self._step(step)
        first = self._metrics[0] if self._metrics else {"metric": "exact_match"}
        if first.get("metric") != "exact_match":
            self._found.leave(f"metric {first.get('metric')}: scored by exact_match instead; choose a metric by hand")
        for other in self._metrics[1:]:
            self._found.leave(f"metric {other.get('metric')}: a task file has one metric; the first is kept")
        flags = {
            name: first[name] for name in ("ignore_case", "ignore_punctuation", "regexes_to_ignore") if first.get(name)
        }
        return {"steps": steps, **flags}

    def _step(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        function = step.get("function")
        if function in ("take_first", None):
            return []
        if function == "remove_whitespace":
            return [{"do": "strip_start"}]
        if function in ("lowercase", "uppercase"):
            return [{"do": function}]
        if function == "regex":
            return [
                {
                    "do": "regex",
                    "pattern": step.get("regex_pattern", r"#### (\-?[0-9\.\,]+)"),
                    "select": shaped(step.get("group_select", 0), int, f"{self._path}: group_select"),
                    "fallback": step.get("fallback", "[invalid]"),
                }
            ]
        self._found.leave(f"filter function {function}: has no counterpart here")
        return []

    def _text(self, doc: dict[str, Any]) -> str:
        return str(self._rendered("doc_to_text", doc))

    def _answer(self, doc: dict[str, Any]) -> str:
        """What a worked example shows as its answer."""
        if self._config.get("doc_to_choice") is not None:
            choices = self._choices(doc)
            return choices[self._gold(doc, choices)]
        target = self._target(doc)
        return str(target[0] if isinstance(target, list) and target else target)

    def _target(self, doc: dict[str, Any]) -> Any:
        return self._rendered("doc_to_target", doc)

    def _gold(self, doc: dict[str, Any], choices: list[str]) -> int:
        target = self._target(doc)
        if isinstance(target, str) and target in choices:
            return choices.index(target)
        try:
            place = int(target)
        except (TypeError, ValueError):
            place = -1
        if not 0 <= place < len(choices):
            raise UsageError(f"{self._path}: doc_to_target gives {target!r}, none of the {len(choices)} choices")
        return place

    def _choices(self, doc: dict[str, Any]) -> list[str]:
        wanted = self._config.get("doc_to_choice")
        if isinstance(wanted, list):
            return [self._render(str(each), doc) for each in wanted]
        if isinstance(wanted, dict):
            return [str(each) for each in wanted.values()]
        found = self._rendered("doc_to_choice", doc)
        if isinstance(found, str):
            # a template that writes a list: "{{[a, b]}}"
            parsed = load_yaml(found, f"{self._path}: what doc_to_choice gives")
            found = parsed if isinstance(parsed, list) else None
        if not isinstance(found, list) or len(found) < 2:
            raise UsageError(f"{self._path}: doc_to_choice gives no list of choices")
        return [str(each) for each in found]

    def _rendered(self, field: str, doc: dict[str, Any]) -> Any:
        """A field is a column's name, a template, or a value."""
        said = self._config.get(field)
        if isinstance(said, _Function):
            raise UsageError(f"{self._path}: {field} is Python (`!function {said}`), which an import does not run")
        if said is None:
            raise UsageError(f"{self._path}: {field} is missing")
        if not isinstance(said, str):
            return said
        if said in doc:
            return doc[said]
        return self._render(said, doc)

    def _render(self, template: str, doc: dict[str, Any]) -> str:
        try:
            # Jinja drops one line break at the end of a template, that program keeps it
            return Template(template + "\n", where=f"{self._path}: a template").render(doc)
        except RenderError as error:
            raise UsageError(f"{self._path}: the template {template!r} does not fit the data: {error}") from error
