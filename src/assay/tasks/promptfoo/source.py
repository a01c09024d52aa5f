"""A promptfoo configuration -> task definitions: one for each of its prompts with each of its providers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.core.types import DatasetSpec, PartSpec, Sample, TaskDefinition
from assay.scorers.sample_assertions import METRIC
from assay.solvers.prompt_template import PromptTemplate
from assay.tasks.promptfoo.assertions import EMBEDDER, GRADER, Asserted
from assay.tasks.promptfoo.config import NAME, Config, read_config
from assay.tasks.promptfoo.own_providers import OWN
from assay.tasks.promptfoo.programs import kept
from assay.tasks.promptfoo.prompts import Prompt, read_prompts
from assay.tasks.promptfoo.providers import MappedProvider, read_providers
from assay.tasks.promptfoo.samples import Picks, is_called, samples_of
from assay.tasks.promptfoo.tests import Test, combinations, read_tests
from assay.tasks.promptfoo.tracing import read_tracing
from assay.tasks.trust import require_trust, untrusted

FORMAT = "promptfoo"
SCORER = "assertions"
USUAL_GRADERS = {GRADER: "openai:gpt-4.1", EMBEDDER: "openai:text-embedding-3-large"}
"""The default grader, unless set by the configuration or `--model-for grader=…`."""


def read_promptfoo(
    path: Path,
    *,
    models: Mapping[str, str] | None = None,
    allow_outside: bool = False,
    trust: bool = False,
    only_reads: bool = False,
) -> list[TaskDefinition]:
    """The tasks of a configuration; `UsageError` lists everything that is not supported, each at its place.

    `models` maps the keys of providers and graders to models. A provider without a counterpart is refused only when
    it is called, as another model may be chosen for the run. Programs that compute tests and variables run here, once
    the user has allowed it; with `only_reads`, a definition without samples lists them.
    """
    config = read_config(path, allow_outside=allow_outside)
    reading = _read(config, models or {})
    if config.python or config.node:
        looked_at = _looked_at(config)
        if only_reads and not trust and untrusted(looked_at):
            return [looked_at]
        require_trust([looked_at], trust=trust)
        config = read_config(path, allow_outside=allow_outside, runs_programs=True)
        reading = _read(config, models or {})
    prompts, providers = read_prompts(config), read_providers(config)
    asking: list[MappedProvider | None] = [*providers] or [None]
    pairs = [(prompt, provider) for provider in asking for prompt in prompts if _is_for(provider, prompt)]
    definitions = [reading.definition(prompt, provider, several=len(pairs) > 1) for prompt, provider in pairs]
    config.raise_problems()
    return [each for each in definitions if each is not None]


def _read(config: Config, models: Mapping[str, str]) -> _Reading:
    """The tests; errors of the sections before them are raised or collected."""
    read_prompts(config)
    read_providers(config)
    tests = read_tests(config)
    if config.runs_programs or not (config.python or config.node):
        config.raise_problems()
    for test in tests if not config.runs_programs else ():
        for _ in combinations(config, test):
            pass
    return _Reading(config, tests, models)


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
        metadata={"files": [str(each) for each in config.files if each != config.path]},
    )


def _is_for(provider: MappedProvider | None, prompt: Prompt) -> bool:
    picked = None if provider is None else provider.prompts
    return picked is None or any(is_called(prompt.names, name) for name in picked)


class _Reading:
    """What the tasks of one configuration share."""

    def __init__(self, config: Config, tests: Sequence[Test], models: Mapping[str, str]) -> None:
        self._config = config
        self._tests = tests
        self._models = models
        self._no_grader: str | None = None
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
            metadata=self._metadata(prompt, provider, several, asserted),
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
            return {"model_key": key, "model": {"model": USUAL_GRADERS[key]}}
        if provider.spec is None:
            self._no_grader = provider.problem
            return {"model_key": key, "model": {"model": "stub"}}
        return {"model_key": key, "model": provider.spec}

    def _metadata(
        self, prompt: Prompt, provider: MappedProvider | None, several: bool, asserted: Asserted
    ) -> dict[str, Any]:
        config = self._config
        metadata: dict[str, Any] = {"files": [str(each) for each in config.files if each != config.path]}
        if config.warnings:
            metadata["warnings"] = config.warnings
        if self._models:
            metadata["typed_models"] = list(self._models)
        given = config.top.get("evaluateOptions").content
        options: Mapping[str, Any] = given if isinstance(given, dict) else {}
        if isinstance(options.get("repeat"), int):
            metadata["trials"] = options["repeat"]
        if isinstance(cache := options.get("cache"), bool):
            metadata["cache"] = "reuse" if cache else "no-cache"
        if self._no_grader is not None:
            metadata["no_grader"] = self._no_grader
        if provider is not None:
            metadata |= self._model(provider, options, asserted)
        if several:
            metadata["variant"] = {"model": provider.key if provider else None, "prompt": prompt.label}
        return metadata

    def _model(self, provider: MappedProvider, options: Mapping[str, Any], asserted: Asserted) -> dict[str, Any]:
        if provider.key in self._models:
            return {"model": {"key": provider.key, "model": self._models[provider.key], "options": {}}}
        if provider.transform is not None:
            return {"no_model": f"provider `{provider.key}`: its `transform` is not run; choose a model with --model"}
        if provider.spec is None:
            return {"no_model": provider.problem}
        if asserted.guardrails and provider.spec["model"].startswith(("gemini:", "litellm:")):
            message = "the safety ratings that `guardrails` looks at are not kept; choose a model with --model"
            return {"no_model": f"provider `{provider.key}`: {message}"}
        at_once = options.get("maxConcurrency")
        pace = {"concurrency": at_once} if isinstance(at_once, int) and at_once > 0 else {}
        spec, receiver = provider.spec, read_tracing(self._config).receiver
        if receiver is not None and spec["model"].startswith(OWN):
            spec = {**spec, "options": {**spec["options"], "spans": {**receiver, "required": asserted.traces}}}
        label = {"label": provider.key} if len(provider.ids) > 1 else {}
        return {"model": {"key": provider.key, **label, **spec, **pace}}


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
