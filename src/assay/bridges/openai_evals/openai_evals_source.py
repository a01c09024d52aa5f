"""`openai-evals:NAME` -> a task definition: the eval behind the name, its data, the counterpart of its class."""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from assay.bridges.openai_evals.grading import MATCHES
from assay.bridges.openai_evals.multiple_choice import HubAddress, MultipleChoiceSamples
from assay.bridges.openai_evals.registry import Registry, fields_of, known_class, registry_at
from assay.bridges.openai_evals.samples import EvalSamples
from assay.bridges.process.names import OPENAI_EVALS
from assay.bridges.process.problem import BridgeError
from assay.bridges.process.tables import files_for
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.datasets.hub import Hub
from assay.datasets.json_lines import file_sha256
from assay.formats.models_by_key import grader_behind
from assay.formats.task_source import SourceContext
from assay.task_records import Provenance, TaskPlan

GRADER = "grader"
_SCORE = PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]})


class _Class(NamedTuple):
    """How a class of the `evals` package asks and scores."""

    kind: str
    scorers: tuple[PartSpec, ...]
    arguments: frozenset[str]
    temperature: float | None = 0.0
    max_tokens: int | None = None


def _metric(name: str) -> PartSpec:
    return PartSpec(key=name, use="metric", options={"metric": name})


_ASSERTIONS = (PartSpec(key="assertions", use="assertions"),)
CLASSES = {
    "Match": _Class("match", _ASSERTIONS, frozenset({"max_tokens", "num_few_shot", "few_shot_jsonl"})),
    "Includes": _Class("includes", _ASSERTIONS, frozenset({"ignore_case"}), temperature=None),
    "FuzzyMatch": _Class("fuzzy_match", (_metric("fuzzy_match"), _metric("f1")), frozenset({"max_tokens"}), 0.0, 100),
    "JsonMatch": _Class("json_match", (_metric("json_match"),), frozenset({"max_tokens"}), 0.0, 512),
    "JsonValidator": _Class("json_validator", _ASSERTIONS, frozenset()),
    "ModelBasedClassify": _Class(
        "model_graded",
        (),
        frozenset({"modelgraded_spec", "modelgraded_spec_args", "sample_kwargs", "eval_kwargs", "multicomp_n",
                   "eval_type", "match_fn", "metaeval"}),
    ),
    "MultipleChoice": _Class("multiple_choice", _ASSERTIONS, frozenset({"dataset", "instructions"})),
}  # fmt: skip
_SENT = ("temperature", "max_tokens", "top_p")


class OpenAIEvalsOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where its evals are."""

    registry: str | None = None


class OpenAIEvalsSource:
    """The source of `openai-evals:NAME`."""

    Options = OpenAIEvalsOptions
    uses_data = True

    def read(self, text: str, options: OpenAIEvalsOptions, context: SourceContext) -> list[TaskDefinition]:
        models, judge = context.models, context.judge
        return [read_openai_eval(text, options.registry, models=models, judge=judge, data=context.data)]


def read_openai_eval(
    source: str,
    registry: str | None = None,
    *,
    models: Mapping[str, str] | None = None,
    judge: str | None = None,
    data: Mapping[str, str] | None = None,
) -> TaskDefinition:
    """The task behind `openai-evals:NAME`; `UsageError` where its class, or something it needs, is not supported.

    `models` has the grader, or else it is the `judge`; `data` has the local file of a split that the eval would read
    from the hub.
    """
    name = source.removeprefix(OPENAI_EVALS)
    evals = registry_at(registry)
    key, spec, path = evals.eval(name)
    where = f"{path}: `{name}`"
    eval_class = known_class(str(spec.get("class")), CLASSES, where)
    arguments = spec.get("args") or {}
    for argument in arguments:
        if argument not in eval_class.arguments and argument != "samples_jsonl":
            raise UsageError(f"{where}: args.{argument}: not supported")
    if eval_class.kind == "multiple_choice":
        return _multiple_choice(name, key, eval_class, path, arguments, data or {})
    if data:
        raise UsageError(f"--data: `{name}` has its samples in the registry")
    if "samples_jsonl" not in arguments:
        raise UsageError(f"{where}: args has no `samples_jsonl`")
    samples = evals.data(str(arguments["samples_jsonl"]), path)
    if eval_class.kind == "model_graded":
        graded = _model_graded(name, evals, path, samples, arguments)
        return _with_grader(graded, grader_behind(GRADER, {} if models is None else models, judge))
    return _basic(name, eval_class, evals, path, samples, arguments)


def _multiple_choice(
    name: str, key: str, eval_class: _Class, path: Path, arguments: Mapping[str, Any], data: Mapping[str, str]
) -> TaskDefinition:
    where = f"{path}: `{name}`"
    address = HubAddress.read(str(arguments.get("dataset")), where)
    if key.count(".") < 1:
        raise UsageError(f"{where}: the name of the eval needs a split, such as `{key}.val.v0`")
    options: dict[str, Any] = {
        "key": key,
        **address._asdict(),
        "instructions": str(arguments.get("instructions") or ""),
    }
    if data:
        options["path"] = _local_file(name, address.split, data)
    samples = MultipleChoiceSamples(**options)
    try:
        if isinstance(samples.rows, Hub):
            options["revision"] = samples.rows.revision
        size = sum(1 for _ in samples)  # every row is looked at
    except UsageError as error:
        other = "" if data else f". Or pass its rows as a file: --data {address.split}=FILE"
        raise UsageError(f"{str(error).rstrip('.')}{other}") from error
    return TaskDefinition(
        name=name,
        format="openai_evals",
        dataset=DatasetSpec(use="openai_evals_multiple_choice", options=options, sha256=samples.sha256, size=size),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=eval_class.scorers,
        aggregates=(_accuracy(eval_class),),
        metric="match",
        source=str(path),
        provenance=Provenance(
            files=(options["path"],) if data else (), versions={} if data else {"data": options["revision"]}
        ),
    )


def _local_file(name: str, split: str, data: Mapping[str, str]) -> str:
    try:
        files = files_for(name, dict(data))
    except BridgeError as error:
        raise UsageError(str(error)) from error
    if split not in files:
        raise UsageError(f"--data: `{name}` reads the split `{split}`: --data {split}=FILE")
    return str(files[split])


def _basic(
    name: str, eval_class: _Class, registry: Registry, path: Path, data: Path, arguments: Mapping[str, Any]
) -> TaskDefinition:
    generation: dict[str, Any] = {} if eval_class.temperature is None else {"temperature": eval_class.temperature}
    if eval_class.max_tokens is not None:
        generation["max_tokens"] = arguments.get("max_tokens", eval_class.max_tokens)
    options: dict[str, Any] = {"path": str(data), "kind": eval_class.kind, "generation": generation}
    files = [data]
    if arguments.get("ignore_case"):
        options["ignore_case"] = True
    if shots := int(arguments.get("num_few_shot") or 0):
        if not arguments.get("few_shot_jsonl"):
            raise UsageError(f"{path}: `{name}`: args.num_few_shot needs `few_shot_jsonl`")
        files.append(registry.data(str(arguments["few_shot_jsonl"]), path))
        options |= {"few_shot": str(files[-1]), "shots": shots}
    aggregates = [_accuracy(eval_class)]
    aggregates += [
        PartSpec(key=each.key, use="mean", options={**_SCORE.options, "scorer": each.key, "name": "f1_score"})
        for each in eval_class.scorers[1:]
    ]
    return TaskDefinition(
        name=name,
        format="openai_evals",
        dataset=_dataset(options, files),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=eval_class.scorers,
        aggregates=tuple(aggregates),
        metric=eval_class.kind,
        source=str(path),
        provenance=Provenance(files=tuple(str(each) for each in files)),
    )


def _accuracy(eval_class: _Class) -> PartSpec:
    scorer = eval_class.scorers[0].key
    return PartSpec(key="score", use="mean", options={**_SCORE.options, "scorer": scorer, "name": "accuracy"})


def _dataset(options: dict[str, Any], files: list[Path]) -> DatasetSpec:
    samples = EvalSamples(**options)
    size = sum(1 for _ in samples)  # every line is looked at
    sha256 = "-".join(file_sha256(file) for file in files)
    return DatasetSpec(use="openai_evals", options=options, sha256=sha256, size=size)


def _model_graded(
    name: str, registry: Registry, path: Path, data: Path, arguments: Mapping[str, Any]
) -> TaskDefinition:
    where = f"{path}: `{name}`"
    template = str(arguments.get("modelgraded_spec"))
    spec = registry.template(template)
    n = arguments.get("multicomp_n", 1)
    if not isinstance(n, int):
        raise UsageError(f"{where}: args.multicomp_n: `{n}`: comparing the answers of several models is not supported")
    scorer = _grader(where, registry, template, spec, arguments, n)
    generation = _sent(where, {"max_tokens": 1024, "temperature": 0.0, **(arguments.get("sample_kwargs") or {})})
    asking: dict[str, Any] = {"input_outputs": spec["input_outputs"], "n": n}
    if n > 1:
        asking["output_template"] = spec.get("output_template")
        fields_of(str(asking["output_template"]), f"model-graded template `{template}`")
    choices = [
        PartSpec(key=f"choice_{choice}", use="frequency", options={"field": "choice", "label": choice})
        for choice in scorer.options["choices"]
    ]
    numbers = [_SCORE] if scorer.options.get("choice_scores") else []
    if numbers and max(scorer.options["choice_scores"].values()) > 1:
        numbers = [PartSpec(key="score", use="mean", options={"field": "score"})]
    meta = PartSpec(key="metascore", use="mean", options={"field": "metascore", "name": "metascore"})
    return TaskDefinition(
        name=name,
        format="openai_evals",
        dataset=_dataset({"path": str(data), "kind": "model_graded", "generation": generation}, [data]),
        solver=PartSpec(key="named_completions", use="named_completions", options=asking),
        scorers=(scorer,),
        aggregates=(*([meta] if arguments.get("metaeval") else []), *numbers, *choices),
        metric=f"model_graded {template}",
        source=str(path),
        provenance=Provenance(files=(str(data),)),
    )


def _with_grader(graded: TaskDefinition, grader: str | None) -> TaskDefinition:
    """The grader must be named: OpenAI evals would have the evaluated model grade itself."""
    (scorer,) = graded.scorers
    scorer = replace(scorer, options={**scorer.options, "model": {"model": grader or "stub"}})
    refused = f"task `{graded.name}`: a model grades its answers: name it with --model-for {GRADER}=MODEL"
    plan = TaskPlan(typed_models=(GRADER,)) if grader is not None else TaskPlan(refused=refused)
    return replace(graded, scorers=(scorer,), plan=plan)


def _grader(
    where: str,
    registry: Registry,
    template: str,
    spec: Mapping[str, Any],
    arguments: Mapping[str, Any],
    n: int,
) -> PartSpec:
    for field in ("prompt", "choice_strings", "input_outputs"):
        if field not in spec:
            raise UsageError(f"{where}: the model-graded template `{template}` has no `{field}`")
    choices = _choices(spec["choice_strings"], n)
    eval_type = spec.get("eval_type") or arguments.get("eval_type")
    match_fn = arguments.get("match_fn") or "starts_or_endswith"
    if not eval_type or match_fn not in MATCHES:
        raise UsageError(f"{where}: args: needs an `eval_type`, and a `match_fn` of {', '.join(MATCHES)}")
    given = spec["prompt"]
    prompt = [dict(each) for each in given] if isinstance(given, list) else [{"role": "user", "content": str(given)}]
    if answer_type := arguments.get("eval_type"):
        if answer_type not in registry.answer_prompts:
            raise UsageError(f"{where}: args.eval_type: unknown `{answer_type}`")
        instruction = registry.answer_prompts[answer_type].format(choices=" or ".join(f'"{each}"' for each in choices))
        prompt[-1]["content"] += "\n\n" + instruction
    for message in prompt:
        fields_of(message["content"], f"model-graded template `{template}`")
    scores = spec.get("choice_scores")
    if scores == "from_strings":
        scores = {each: float(each) for each in choices}
    return PartSpec(
        key="model_graded",
        use="model_graded",
        options={
            "model_key": GRADER,
            "template": template,
            "prompt": prompt,
            "choices": choices,
            "eval_type": str(eval_type),
            "inputs": list(spec["input_outputs"]),
            **({"choice_scores": {str(key): float(each) for key, each in scores.items()}} if scores else {}),
            "match_fn": match_fn,
            "arguments": {"n": n, **(arguments.get("modelgraded_spec_args") or {})},
            "grading": _sent(where, {"max_tokens": 1024, **(arguments.get("eval_kwargs") or {})}),
            **({"metaeval": True} if arguments.get("metaeval") else {}),
        },
    )


def _choices(given: Any, n: int) -> list[str]:
    """The choices as given, or as many numbers or letters as there are answers."""
    generated = {"from_n": [str(at + 1) for at in range(n)], "from_n_abc": list(string.ascii_lowercase[:n]),
            "from_n_ABC": list(string.ascii_uppercase[:n])}  # fmt: skip
    return generated[given] if isinstance(given, str) and given in generated else [str(item) for item in given]


def _sent(where: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    for name in settings:
        if name not in _SENT:
            raise UsageError(f"{where}: a request's `{name}` is not supported")
    return dict(settings)
