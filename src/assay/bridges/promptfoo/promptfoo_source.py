"""A promptfoo configuration -> task definitions: one for each of its prompts with each of its providers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.bridges.promptfoo.config import NAME, Config, is_promptfoo, read_config
from assay.bridges.promptfoo.own_providers import OWN
from assay.bridges.promptfoo.programs import kept
from assay.bridges.promptfoo.promptfoo_assertions import EMBEDDER, GRADER, Asserted
from assay.bridges.promptfoo.prompts import Prompt, read_prompts
from assay.bridges.promptfoo.providers import MappedProvider, read_providers
from assay.bridges.promptfoo.samples import Picks, is_called, samples_of
from assay.bridges.promptfoo.tests import Test, combinations, read_tests
from assay.bridges.promptfoo.tracing import read_tracing
from assay.core.errors import FailureError
from assay.core.types import DatasetSpec, PartSpec, Sample, TaskDefinition
from assay.formats.models_by_key import grader_behind
from assay.formats.task_source import NoOptions, SourceContext
from assay.scorers.assertions.sample_assertions import METRIC
from assay.solvers.prompt_template import PromptTemplate
from assay.task_records import AskedModel, Provenance, TaskPlan, Variant
from assay.trust.consent import require_trust, untrusted

FORMAT = "promptfoo"
SCORER = "assertions"
USUAL_GRADERS = {GRADER: "openai:gpt-4.1", EMBEDDER: "openai:text-embedding-3-large"}
"""What promptfoo asks where the configuration names none; `--model-for` and `--judge` come first."""


class PromptfooSource:
    """The source of promptfoo's configurations, which share their endings with other files."""

    Options = NoOptions

    def claims(self, path: Path) -> bool:
        return is_promptfoo(path)

    def read(self, text: str, options: NoOptions, context: SourceContext) -> list[TaskDefinition]:
        return read_promptfoo(
            Path(text),
            models=context.models,
            judge=context.judge,
            allow_outside=context.allow_outside,
            trust=context.trust,
            only_reads=context.only_reads,
        )


def read_promptfoo(
    path: Path,
    *,
    models: Mapping[str, str] | None = None,
    judge: str | None = None,
    allow_outside: bool = False,
    trust: bool = False,
    only_reads: bool = False,
) -> list[TaskDefinition]:
    """The tasks of a configuration; `UsageError` lists everything that is not supported, each at its place.

    `models` maps the keys of providers and graders to models; the `judge` is behind graders that nothing names. A
    provider without a counterpart is refused only when it is called, as another model may be chosen for the run.
    Programs that compute tests and variables run here, once the user has allowed it; with `only_reads`, a definition
    without samples lists them.
    """
    config = read_config(path, allow_outside=allow_outside)
    reading = _read(config, {} if models is None else models, judge)
    if config.python or config.node:
        looked_at = _looked_at(config)
        if only_reads and not trust and untrusted(looked_at):
            return [looked_at]
        require_trust([looked_at], trust=trust)
        config = read_config(path, allow_outside=allow_outside, runs_programs=True)
        reading = _read(config, {} if models is None else models, judge)
    prompts, providers = read_prompts(config), read_providers(config)
    asking: list[MappedProvider | None] = [*providers] or [None]
    pairs = [(prompt, provider) for provider in asking for prompt in prompts if _is_for(provider, prompt)]
    definitions = [reading.definition(prompt, provider, several=len(pairs) > 1) for prompt, provider in pairs]
    config.raise_problems()
    return [definition for definition in definitions if definition is not None]


def _read(config: Config, models: Mapping[str, str], judge: str | None) -> _Reading:
    """The tests; errors of the sections before them are raised or collected."""
    read_prompts(config)
    read_providers(config)
    tests = read_tests(config)
    if config.runs_programs or not (config.python or config.node):
        config.raise_problems()
    for test in tests if not config.runs_programs else ():
        for _ in combinations(config, test):
            pass
    return _Reading(config, tests, models, judge)


def _looked_at(config: Config) -> TaskDefinition:
    """The configuration as a definition that lists the programs it would run, before any of them runs."""
    options = {
        **({"python_snippet": _shown(config.python)} if config.python else {}),
        **({"node_program": _shown(config.node)} if config.node else {}),
    }
    return TaskDefinition(
        name=_name(config.path),
        format=FORMAT,
        dataset=DatasetSpec(use=FORMAT, options={"path": str(config.path)}),
        solver=PartSpec(key="prompt", use="prompt_template"),
        scorers=(PartSpec(key=SCORER, use="sample_assertions", options=options),),
        aggregates=(),
        metric="",
        source=str(config.path),
        provenance=Provenance(files=_other_files(config)),
    )


def _other_files(config: Config) -> tuple[str, ...]:
    return tuple(str(file) for file in config.files if file != config.path)


def _is_for(provider: MappedProvider | None, prompt: Prompt) -> bool:
    picked = None if provider is None else provider.prompts
    return picked is None or any(is_called(prompt.names, name) for name in picked)


class _Reading:
    """What the tasks of one configuration share."""

    def __init__(self, config: Config, tests: Sequence[Test], models: Mapping[str, str], judge: str | None) -> None:
        self._config = config
        self._tests = tests
        self._models = models
        self._judge = judge
        self._no_grader: str | None = None
        self._typed = set(models)
        self._read: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[list[Sample], Asserted]] = {}

    def definition(self, prompt: Prompt, provider: MappedProvider | None, *, several: bool) -> TaskDefinition | None:
        config, picks = self._config, self._picks(prompt, provider)
        key = picks.prompt, picks.provider
        if key not in self._read:
            asserted = Asserted()
            self._read[key] = samples_of(config, self._tests, picks, asserted), asserted
        samples, asserted = self._read[key]
        solver = self._solver(prompt, asserted, provider)
        self._try_out(prompt, solver, samples)
        if not samples:
            return None
        scored = any(sample.extras["assertions"] for sample in samples)
        return TaskDefinition(
            name=_name(config.path),
            format=FORMAT,
            dataset=kept(samples) if config.runs_programs else self._dataset(picks, samples),
            solver=solver,
            scorers=(self._scorer(asserted, provider),) if scored else (),
            aggregates=_aggregates(asserted) if scored else (),
            metric="assertions" if scored else "none",
            description=str(config.top.content.get("description") or ""),
            source=str(config.path),
            plan=self._plan(prompt, provider, several, asserted),
            provenance=Provenance(files=_other_files(config), warnings=tuple(config.warnings)),
        )

    def _dataset(self, picks: Picks, samples: Sequence[Sample]) -> DatasetSpec:
        options: dict[str, Any] = {
            "path": str(self._config.path),
            **({"prompt": list(picks.prompt)} if picks.prompt else {}),
            **({"provider": list(picks.provider)} if picks.provider else {}),
            **({"allow_outside": True} if self._config.allow_outside else {}),
        }
        return DatasetSpec(use=FORMAT, options=options, sha256=_sha256(samples), size=len(samples))

    def _picks(self, prompt: Prompt, provider: MappedProvider | None) -> Picks:
        by_prompt = any(test.prompts is not None for test in self._tests)
        by_provider = provider is not None and any(test.providers is not None for test in self._tests)
        return Picks(prompt.names if by_prompt else (), provider.ids if provider is not None and by_provider else ())

    def _solver(self, prompt: Prompt, asserted: Asserted, provider: MappedProvider | None) -> PartSpec:
        options: dict[str, Any] = {"prompt": prompt.text}
        if prompt.program is not None:
            language = "python_snippet" if prompt.program["language"] == "python" else "node_program"
            options = {"program": prompt.program, language: prompt.program["file"]}
        if self._config.environment:
            options["environment"] = self._config.environment
        if generation := {**(prompt.generation or {}), **({"logprobs": 0} if asserted.logprobs else {})}:
            options["generation"] = generation
        if asserted.traces and read_tracing(self._config).enabled:
            spec = None if provider is None else provider.spec
            named = {} if provider is None or spec is None else {"model": spec["model"], "span": provider.span}
            options["tracing"] = named
        return PartSpec(key="prompt", use="prompt_template", options=options)

    def _try_out(self, prompt: Prompt, solver: PartSpec, samples: Sequence[Sample]) -> None:
        """Render the prompt with every test, so that errors are reported before any model call."""
        if prompt.program is not None:
            return
        template = PromptTemplate(prompt.text, self._config.environment, {})
        for sample in samples:
            try:
                template.request(sample)
            except FailureError as error:
                test = self._tests[int(sample.id.partition("-")[0]) - 1]
                self._config.refuse(test.value, f"with the prompt `{prompt.label}`: {error.failure.message}")

    def _scorer(self, asserted: Asserted, provider: MappedProvider | None) -> PartSpec:
        options: dict[str, Any] = {}
        if asserted.graders:
            options["graders"] = {key: self._grader(key, each) for key, each in asserted.graders.items()}
        if provider is not None and provider.tools:
            options["tools"] = list(provider.tools)
        if asserted.python:
            options["python_snippet"] = _shown(asserted.python)
        if asserted.node:
            options["node_program"] = _shown(asserted.node)
        if asserted.webhooks:
            options["webhooks"] = asserted.webhooks
        if asserted.packages:
            options["packages"] = asserted.packages
        if asserted.traces and (tools := read_tracing(self._config).command_tools):
            options["command_tools"] = list(tools)
        return PartSpec(key=SCORER, use="sample_assertions", options=options)

    def _grader(self, key: str, provider: MappedProvider | None) -> dict[str, Any]:
        if key in self._models:
            return {"model_key": key, "model": {"model": self._models[key]}}
        if provider is None:
            return {"model_key": key, "model": {"model": self._unnamed(key)}}
        if provider.spec is None:
            self._no_grader = provider.problem
            return {"model_key": key, "model": {"model": "stub"}}
        return {"model_key": key, "model": provider.spec}

    def _unnamed(self, key: str) -> str:
        """The model of a grader or an embedder that the configuration does not name."""
        judge = grader_behind(key, self._models, self._judge) if key == GRADER else None
        if judge is not None:
            self._typed.add(key)
            return judge
        usual = USUAL_GRADERS[key]
        said = f"the {key} is `{usual}`, as the configuration names none; --model-for {key}=MODEL names another"
        if said not in self._config.warnings:
            self._config.warnings.append(said)
        return usual

    def _plan(self, prompt: Prompt, provider: MappedProvider | None, several: bool, asserted: Asserted) -> TaskPlan:
        given = self._config.top.get("evaluateOptions").content
        options: Mapping[str, Any] = given if isinstance(given, dict) else {}
        repeat, cache = options.get("repeat"), options.get("cache")
        return TaskPlan(
            typed_models=tuple(sorted(self._typed)),
            trials=repeat if isinstance(repeat, int) else None,
            cache=("reuse" if cache else "no-cache") if isinstance(cache, bool) else None,
            refused=self._no_grader,
            variant=Variant(model=provider.key if provider else None, prompt=prompt.label) if several else None,
            **({} if provider is None else self._model(provider, options, asserted)),
        )

    def _model(self, provider: MappedProvider, options: Mapping[str, Any], asserted: Asserted) -> dict[str, Any]:
        if provider.key in self._models:
            return {"model": AskedModel(key=provider.key, model=self._models[provider.key])}
        if provider.transform is not None:
            message = "its `transform` is not run; choose a model with --model"
            return {"refused_without_choice": f"provider `{provider.key}`: {message}"}
        if provider.spec is None:
            return {"refused_without_choice": provider.problem}
        if asserted.guardrails and provider.spec["model"].startswith(("gemini:", "litellm:")):
            message = "the safety ratings that `guardrails` looks at are not kept; choose a model with --model"
            return {"refused_without_choice": f"provider `{provider.key}`: {message}"}
        at_once = options.get("maxConcurrency")
        concurrency = at_once if isinstance(at_once, int) and at_once > 0 else None
        spec, receiver = provider.spec, read_tracing(self._config).receiver
        if receiver is not None and spec["model"].startswith(OWN):
            spec = {**spec, "options": {**spec["options"], "spans": {**receiver, "required": asserted.traces}}}
        label = provider.key if len(provider.ids) > 1 else None
        return {"model": AskedModel(key=provider.key, label=label, concurrency=concurrency, **spec)}


def _name(path: Path) -> str:
    """The task's name on the leaderboard: the part of the file's name after `promptfooconfig`, or the folder's name."""
    own = path.stem.removeprefix(NAME).strip(".-_")
    return own or path.resolve().parent.name or NAME


def _shown(programs: Sequence[str]) -> str:
    first = programs[0].strip().splitlines()[0]
    return first if len(set(programs)) == 1 else f"{first} and {len(set(programs)) - 1} more"


def _aggregates(asserted: Asserted) -> tuple[PartSpec, ...]:
    """The share of tests that pass, the mean of their scores, and every metric that assertions name."""
    return (
        PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]}),
        PartSpec(key="passed", use="mean", options={"field": "passed", "name": "passed"}),
        *(
            PartSpec(key=f"{METRIC}{name}", use="mean", options={"field": f"{METRIC}{name}", "name": name})
            for name in asserted.metrics
        ),
    )


def _sha256(samples: Sequence[Sample]) -> str:
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(msgspec.json.encode(sample) + b"\n")
    return digest.hexdigest()
