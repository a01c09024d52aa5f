"""What is reported of every field of every type, held file by file: the oracle of loader and tables.

A file is the reference's example of a type with one field changed: left out, misspelt, or one of a fixed list of
values. `option_messages.json` holds what `assay validate` reports of each, and a digest of what the accepted
ones are read as. After a change that is meant, `python -m tests.formats.declarative.test_option_messages` writes it
again; read the diff.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import yaml
from tests.formats.declarative.test_reference import whole_file

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    checked_adapter,
    checked_dataset,
    checked_evaluation,
    checked_model,
    checked_run,
    checked_task,
    kind_of,
)
from assay.formats.declarative.load import check_yaml_file
from assay.formats.declarative.reference import TypeReference, type_references
from assay.formats.declarative.yaml_reader import read_yaml

STORED = Path(__file__).with_name("option_messages.json")
LEFT_OUT, MISSPELT = "left out", "misspelt"
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "-1": -1,
    "1.5": 1.5,
    "3000000": 3_000_000,
    "empty": "",
    "word": "some-word",
    "template": "{{ sample.answer }} {{ model_output }} {{ oops }}",
    "broken": "{{ sample.answer",
    "regex": "(unclosed",
    "[]": [],
    "[word]": ["some-word"],
    "[1]": [1, {"id": "x"}],
    "{}": {},
    "{word}": {"some-word": "x"},
    "config": "<< config.x >>",
}
CHANGES = (LEFT_OUT, MISSPELT, *VALUES)
FEW = (LEFT_OUT, MISSPELT, "null", "-1", "empty", "word", "[1]", "config")
"""What is tried of fields that belong to no part: a task's, a run file's, a policy's."""
OF_PARTS = ("scorer", "assertion", "metric", "solver", "message builder", "input builder", "source", "connection")
ALIKE_OF_ALL_TYPES = ("filter", "parameter")
"""Kinds whose types differ in little: a field is changed in the first type that has it."""
TOGETHER: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("scorer", "f1"): [{"ground_truths": "x"}, {"ground_truth": None}, {"ground_truth": None, "ground_truths": "x"}],
    ("scorer", "metric"): [{"metric": "f2"}, {"metric": "my:own"}, {"ground_truth": None}],
    ("scorer", "forbidden_patterns"): [{"patterns": ["fine", "(broken"]}, {"patterns": ["{{ later"]}],
    ("scorer", "extracted_match"): [
        {"extract": ["strip", "stripe"]},
        {"extract": [{"regex": "(x"}]},
        {"extract": [{"select": 1}]},
        {"extract": [{"regex": "x", "selects": 1}]},
        {"regexes_to_ignore": ["(x"]},
        {"ground_truths": "x"},
    ],
    ("scorer", "string_equals_mcqa"): [
        {"choices_field": "c"},
        {"choices": None, "choices_field": "c"},
        {"choices": None},
        {"ground_truth_choice": None, "ground_truth_choice_field": "a", "choices": None, "choices_field": "c"},
    ],
    ("scorer", "model_as_a_judge_scorer"): [{"score_min": 5, "score_max": 1}, {"score_max": 0.5}],
    ("scorer", "model_as_a_judge_classifier"): [{"incorrect_labels": ["correct"]}, {"correct_labels": ["a", 1]}],
    ("scorer", "labeler_via_model"): [
        {"metrics": [{"type": "frequency", "field": "label", "label": "refusall"}]},
        {"metrics": [{"type": "weighted_average", "field": "label", "weights": {"answer": 1}}]},
        {"metrics": [{"type": "mean", "field": "score"}]},
    ],
    ("scorer", "rag_checker"): [{"scores_to_compute": ["f1_score", "f1"]}],
    ("scorer", "function_call_coverage"): [{"mode": "in_any_order"}, {"metrics": [{"type": "mean", "field": "score"}]}],
    ("scorer", "choice_likelihood"): [{"normalize": "per_bite"}],
    ("scorer", "evaluator"): [{"url": "http://x"}, {"command": None}, {"command": None, "model_key": "judge"}],
    ("scorer", "code_exec"): [{"tests": "x"}, {"io_pairs": None}, {"imports": "all"}, {"imports": ["os", 1]}],
    ("scorer", "instructions"): [
        {"instructions": [{"id": "punctuation:no_coma"}]},
        {"instructions": [{"limit": 1}]},
        {"instructions": "{{ sample.instructions }}"},
    ],
    ("scorer", "contains_any"): [{"value": []}],
    ("scorer", "regex"): [{"value": "(x"}],
    ("scorer", "json_schema"): [{"value": {"$ref": "x"}}, {"value": {"type": "object", "oneOf": []}}],
    ("scorer", "word_count"): [{"min": None, "max": None}, {"min": 9, "max": 1}, {"min": 1}],
    ("scorer", "assertions"): [
        {"assertions": [{"type": "contain", "value": "x"}]},
        {"assertions": [{"type": "not-contains", "value": "x"}]},
        {"assertions": [{"type": "latency"}]},
    ],
    ("solver", "single_turn_solver"): [
        {"few_shot": {"examples": [{"a": 1}], "assistant": "x", "count": 2}},
        {"few_shot": {"dataset": {"key": "d"}, "assistant": "x"}},
        {"few_shot": {"assistant": "x"}},
        {"few_shot": {"examples": [{"a": 1}], "assistant": "x"}, "input_builder": {"type": "generic", "template": "x"}},
        {"generation": {"temperature": -1, "max_tokens": 0, "stops": []}},
        {"postprocessor": {"type": "python", "postprocess_snippet": "def other(): pass"}},
    ],
    ("solver", "multi_turn_solver"): [
        {"message_builders": [{"type": "chat_message", "role": "usr", "content": "x"}]},
        {"message_builders": [{"type": "loop", "message_builders": [{"type": "chat_message"}]}]},
        {"message_builders": [{"type": "generate_message", "model_key": "m", "extra_input_messages": []}]},
    ],
    ("source", "generated"): [
        {"steps": [{"type": "template", "columns": {"q": "{{ nothing }}"}}]},
        {"steps": [{"type": "python", "generate_snippet": "def gen(): pass"}]},
        {"steps": [{"type": "model", "model_key": "m", "json": 1}]},
        {"num_samples": 10_000_000},
    ],
    ("source", "local"): [{"dtypes": {"code": "text"}}, {"dtypes": "text"}, {"filters": [{"op": "equal"}]}],
    ("source", "url"): [{"sha256": "abc"}, {"format": "xlsx"}],
    ("connection", "custom_connection"): [{"adapter": {"key": "a", "process_input": {"source_code": "x"}}}],
}
"""Rules between fields."""


def changed(example: dict[str, Any], field: str, change: str) -> dict[str, Any]:
    kept = {name: value for name, value in example.items() if name != field}
    if change == LEFT_OUT:
        return kept
    if change == MISSPELT:
        return {**kept, f"{field}x": example.get(field)}
    return {**kept, field: VALUES[change]}


def files() -> Iterator[tuple[str, TypeReference, dict[str, Any]]]:
    """Every file: its name in the store, its type, and the part that stands in it.

    A field that several types of a kind have alike is changed in the first of them.
    """
    seen: set[tuple[str, bytes]] = set()
    for reference in type_references():
        example = yaml.load(reference.example, Loader=yaml.CSafeLoader)
        kind = f"{reference.kind}/{reference.name}"
        yield f"{kind}/as it is", reference, example
        for number, more in enumerate(TOGETHER.get((reference.kind, reference.name), ())):
            yield f"{kind}/together {number}", reference, {**example, **more}
        for field in sorted(reference.fields, key=lambda field: field.name):
            written = field.name.encode() if reference.kind in ALIKE_OF_ALL_TYPES else msgspec.json.encode(field)
            alike = (reference.kind, written)
            if field.name == reference.tag or alike in seen:
                continue
            seen.add(alike)
            for change in CHANGES if reference.kind in OF_PARTS else FEW:
                if change != MISSPELT or field.name in example:
                    yield f"{kind}/{field.name}/{change}", reference, changed(example, field.name, change)


def in_a_file(reference: TypeReference, part: dict[str, Any]) -> str:
    """The part in flow style, in a file of its own."""
    if reference.kind in AROUND:
        return json.dumps(AROUND[reference.kind](part), ensure_ascii=False) + "\n"
    line = json.dumps(part, ensure_ascii=False) + "\n"
    text = whole_file(msgspec.structs.replace(reference, example=line))
    assert text is not None
    return text


def _task(**definition: Any) -> dict[str, Any]:
    solver = {"type": "single_turn_solver", "input_builder": _input([{"role": "user", "content": "x"}])}
    scorers = [{"type": "string_equals", "ground_truth": "x"}]
    parts = {"dataset": {"key": "d"}, "solver": solver, "scorers": scorers, **definition}
    return {"key": "t", "display_name": "T", "description": "", "definition": parts}


def _input(messages: list[Any]) -> dict[str, Any]:
    return {"type": "chat_completion", "input_messages": messages}


def _asked(messages: Any = None, **solver: Any) -> dict[str, Any]:
    builder = _input(messages or [{"role": "user", "content": "x"}])
    return _task(solver={"type": "single_turn_solver", "input_builder": builder, **solver})


def _built(*builders: Any) -> dict[str, Any]:
    return _task(solver={"type": "multi_turn_solver", "message_builders": [{"type": "generate"}, *builders]})


def _scored(**scorer: Any) -> dict[str, Any]:
    return _task(scorers=[scorer])


def _dataset(**source: Any) -> dict[str, Any]:
    return {"key": "d", "display_name": "D", "source": source}


def _model(**config: Any) -> dict[str, Any]:
    return {"key": "m", "display_name": "M", "config": {"url": "http://localhost", **config}}


def _run(**more: Any) -> dict[str, Any]:
    rows = _dataset(type="inline", samples=[{"q": 1}])
    specification = {"task_key": "sums", "model_key": "toy"}
    evaluation = {"key": "e", "display_name": "E", "task_specifications": [specification]}
    return {
        "models": ["toy"],
        "tasks": [{**_task(), "key": "sums"}],
        "datasets": [rows],
        "evaluation": evaluation,
        **more,
    }


def _evaluation(specification: Any) -> dict[str, Any]:
    return {"key": "e", "display_name": "E", "task_specifications": [specification]}


def _policy(**rule: Any) -> dict[str, Any]:
    exists = {"key": "r", "definition": {"type": "exists", "metric": "m"}}
    return _run(policies=[{"key": "p", "display_name": "P", "rules": [{**exists, **rule}]}])


AROUND: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    **dict.fromkeys(("task", "dataset", "model", "run file", "model adapter", "evaluation"), lambda part: part),
    "assertion": lambda part: _scored(type="assertions", assertions=[part]),
    "message builder": _built,
    "termination condition": lambda part: _built({"type": "generate", "terminate_if": part}),
    "input builder": lambda part: _task(solver={"type": "single_turn_solver", "input_builder": part}),
    "input message": lambda part: _asked([part]),
    "generation settings": lambda part: _asked(generation=part),
    "few-shot examples": lambda part: _asked(few_shot=part),
    "few-shot dataset": lambda part: _asked(few_shot={"dataset": part, "count": 2, "assistant": "x"}),
    "postprocessor": lambda part: _asked(postprocessor=part),
    "extraction step": lambda part: _scored(type="extracted_match", ground_truth="x", extract=[part]),
    "filter": lambda part: _task(actions=[{"key": "a", "action": "exclude_from_metrics", "filter": part}]),
    "action rule": lambda part: _task(actions=[part]),
    "trials": lambda part: _task(trials=part),
    "score aggregator": lambda part: _task(trials={"num_trials": 5, "score_aggregators": [part]}),
    "trial aggregator": lambda part: _task(
        trials={"num_trials": 5, "score_aggregators": [{"score_name": "is_correct", "aggregator": part}]}
    ),
    "task dataset": lambda part: _task(dataset=part),
    "example": lambda part: {
        **_task(),
        "config_spec": [{"type": "string", "key": "s", "display_name": "S", "examples": [part]}],
    },
    "generator step": lambda part: _dataset(type="generated", num_samples=2, steps=[part]),
    "adapter reference": lambda part: _model(adapter=part),
    "adapter code": lambda part: _model(adapter={"process_input": part, "process_output": part}),
    "provider model": lambda part: _run(models=[part]),
    "run settings": lambda part: _run(run_config=part),
    "task specification": _evaluation,
    "repeatability": lambda part: _evaluation({"task_key": "t", "model_key": "m", "repeatability": part}),
    "repeatability input": lambda part: _evaluation(
        {"type": "repeatability", "repeatability_config": {"num_runs": 2}, "inputs": [part]}
    ),
    "policy": lambda part: _run(policies=[part]),
    "policy's rule": lambda part: _policy(**part),
    "policy rule": lambda part: _policy(definition=part),
    "policy scope": lambda part: _policy(scope=part),
}
"""A whole file around a part."""


DECLARED = "{type: string, key: x, display_name: X}"


def with_parameter(text: str) -> str:
    """A task that declares the parameter that a field of it is to be filled with."""
    if "<< config.x >>" not in text or "config_spec" in text:
        return text
    if text.startswith("{"):
        return re.sub(r'"definition": (?=\{"dataset)', f"config_spec: [{DECLARED}], \\g<0>", text, count=1)
    return text.replace("definition:", f"config_spec: [{DECLARED}]\ndefinition:", 1)


def read_as(path: Path) -> object:
    """What the checked file is read as, before any key of it is looked up."""
    document = read_yaml(path)
    checks: dict[str, Any] = {
        "task": checked_task,
        "dataset": checked_dataset,
        "model": checked_model,
        "model_adapter": checked_adapter,
        "evaluation": checked_evaluation,
        "run": lambda document, _: checked_run(document),
    }
    return _told(msgspec.to_builtins(checks[kind_of(document.value)](document, document.value)))


UNREAD = (
    *("display_name", "description", "long_description", "tags", "task", "tasks", "secrets", "tls_context", "language"),
    *("custom_headers", "score_aggregators", "fast_subset_size", "dataset_generators", "type", "evaluated_entity_type"),
    *("string_kind", "usage", "examples", "values_mapping"),
)
"""Fields of records that decide nothing."""


def _told(value: Any) -> Any:
    """What a record says: a field of it that says nothing is as good as none, but for the options of parts."""
    if isinstance(value, list | tuple):
        return [_told(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {name: each if name == "options" else _told(each) for name, each in value.items()}
    return {
        name: each
        for name, each in inner.items()
        if name == "options" or (each not in (None, [], {}, ()) and (name not in UNREAD or "options" in value))
    }


_ABSENT = re.compile("there is no dataset|no model is set")
"""A file names what is not here."""


def reported(path: Path, text: str) -> str:
    """Sentences, one a line, without the folder; for an accepted file its warnings and a digest of what is read."""
    path.write_text(with_parameter(text))
    try:
        kind, _, warnings, _ = check_yaml_file(path)
    except UsageError as error:
        return _without(path.parent, str(error))
    if kind.startswith("file with"):
        return f"= {kind}"
    digest = hashlib.sha256(msgspec.json.encode(read_as(path), order="deterministic")).hexdigest()[:6]
    return "\n".join(
        [f"= {digest}", *(_without(path.parent, warning) for warning in warnings if not _ABSENT.search(warning))]
    )


def _without(folder: Path, message: str) -> str:
    return message.replace(f"{folder}/", "").replace(str(folder), "FOLDER")


def file_beside_its_datasets(folder: Path) -> Path:
    """Where the files are written: those that they read are there."""
    for key in ("d", "countries", "people", "train", "some-word"):
        (folder / f"{key}.jsonl").write_text("{}\n")
    return folder / "file.yaml"


def everything(folder: Path) -> dict[str, str]:
    path = file_beside_its_datasets(folder)
    return {name: reported(path, in_a_file(reference, part)) for name, reference, part in files()}


_PLACE = re.compile(r"^file\.yaml:(\d+:\d+): ", re.MULTILINE)


def in_short(name: str, message: str) -> tuple[str, str]:
    """Places, and the sentences in words that files have in common: `@` is the changed field, `%` the type."""
    _, of_type, field, *_ = name.split("/")
    places = ",".join(_PLACE.findall(message))
    for word, sign in ((field, "@"), (of_type, "%")):
        message = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", sign, message)
    return places, _PLACE.sub("", message)


def stored() -> dict[str, tuple[str, str]]:
    held = json.loads(STORED.read_text(encoding="utf-8"))
    found: dict[str, tuple[str, str]] = {}
    for of_field, of_changes in held["files"].items():
        for change, short in of_changes.items():
            places, _, number = short.rpartition("#")
            found[f"{of_field}/{change}"] = places, held["messages"][int(number)]
    return found


@pytest.mark.prove
def test_every_file_gets_the_message_that_it_got(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = everything(tmp_path)
    assert {name: in_short(name, message) for name, message in found.items()} == stored()


def test_the_store_names_every_file_that_can_be_generated() -> None:
    names = [name for name, _, _ in files()]
    assert sorted(names) == sorted(stored())
    assert len(names) == len(set(names))


def test_an_excerpt_of_the_files_gets_the_messages_that_it_got(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known, path = stored(), file_beside_its_datasets(tmp_path)
    for name, reference, part in Random(29).sample(list(files()), 150):
        assert (name, *in_short(name, reported(path, in_a_file(reference, part)))) == (name, *known[name])


def write() -> None:
    """Store what is reported now."""
    with TemporaryDirectory() as folder:
        here = Path.cwd()
        os.chdir(folder)
        try:
            found = everything(Path(folder).resolve())
        finally:
            os.chdir(here)
    short = {name: in_short(name, message) for name, message in found.items()}
    messages = {message: at for at, message in enumerate(dict.fromkeys(message for _, message in short.values()))}
    folded: dict[str, dict[str, str]] = {}
    for name, (places, message) in short.items():
        of_field, _, change = name.rpartition("/")
        folded.setdefault(of_field, {})[change] = f"{places}#{messages[message]}"
    lines = ",\n".join(json.dumps(message, ensure_ascii=False) for message in messages)
    rows = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(inner, separators=(',', ':'))}" for name, inner in folded.items()
    )
    STORED.write_text(f'{{"messages": [\n{lines}],\n"files": {{\n{rows}}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    write()
