"""Every built-in name in one visible table: kind -> name -> "module:object", imported only when used.

A name is looked up here first, then among entry points (`assay.metrics`, `assay.scorers`, …). A name of the form
`package.module:object` is the user's own Python: it needs no registration, and is imported only after the caller has
checked that the user trusts the file that names it. An unknown name raises an error with the nearest known one.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.core.describe import About, DatasetInfo, SolverNeeds, Value, about
from assay.core.errors import AssayError, UsageError
from assay.core.types import PartSpec
from assay.entry_points import entry_points_of, packages_with
from assay.own_functions import HERE, find_here
from assay.text.tracebacks import describe_exception
from assay.text.wording import hint, in_yaml, nearest

if TYPE_CHECKING:
    from inspect import Parameter

JUDGE = "judge"
"""The key of the model that judges, where no file and no flag chose another one."""
OTHER_MODELS = ("model_key", "judge_model_key", "embedding_model")
"""Options of parts that name another model by key; the model's description is stored next to the key as `model`."""

JUDGES = "judges"
"""The option of scorers with a `model_key` that names several models; in a definition each is a mapping."""

PANEL = (JUDGES, "rule", "labels")
"""The options of every scorer that says what people could say too, but for those without a judge the first two; see
`scorers/judging/panel.py`."""

POSTPROCESS = "postprocess_snippet"
"""The option of scorers that score the parts into which the author's Python splits an answer."""

LOCAL_SANDBOX = "local"
"""assay's own sandbox, on this machine."""

CATALOG: dict[str, dict[str, str]] = {
    "metric": {
        "exact_match": "assay.metrics.text:exact_match",
        "normalized_exact_match": "assay.metrics.text:normalized_exact_match",
        "accuracy": "assay.metrics.text:accuracy",
        "f1": "assay.metrics.text:f1",
        "substring_contains": "assay.metrics.text:substring_contains",
        "bleu_4": "assay.metrics.overlap:bleu_4",
        "rouge_l": "assay.metrics.overlap:rouge_l",
        "multiple_choice": "assay.metrics.choice:multiple_choice",
        "contains": "assay.metrics.assertions:contains",
        "label_in_set": "assay.metrics.assertions:label_allowed",
        "forbidden_patterns": "assay.metrics.assertions:no_forbidden",
        "squad_exact_match": "assay.metrics.answers:squad_exact_match",
        "starts_with": "assay.metrics.answers:starts_with",
        "fuzzy_match": "assay.metrics.answers:fuzzy_match",
        "math_equivalent": "assay.metrics.mathematics:math_equivalent",
        "json_match": "assay.metrics.answers:json_match",
    },
    "post_process": {
        "none": "assay.metrics.post_process:none",
        "strip_whitespace": "assay.metrics.post_process:strip_whitespace",
        "lower": "assay.metrics.post_process:lower",
        "extract_letter": "assay.metrics.post_process:extract_letter",
        "extract_code_block": "assay.metrics.post_process:extract_code_block",
        "extract_first_line": "assay.metrics.post_process:extract_first_line",
        "extract_final_number": "assay.metrics.extraction:extract_final_number",
        "extract_choice": "assay.metrics.extraction:extract_choice",
        "extract_choice_of_ten": "assay.metrics.extraction:extract_choice_of_ten",
        "extract_stated_answer": "assay.metrics.extraction:extract_stated_answer",
        "extract_math_answer": "assay.metrics.mathematics:extract_math_answer",
        "extract_last_code_block": "assay.metrics.extraction:extract_last_code_block",
        "extract_program": "assay.metrics.extraction:extract_program",
        "extract_function_body": "assay.metrics.extraction:extract_function_body",
    },
    "scorer": {
        "metric": "assay.scorers.from_metric:from_metric",
        "contains": "assay.scorers.from_metric:contains",
        "label_in_set": "assay.scorers.from_metric:label_in_set",
        "forbidden_patterns": "assay.scorers.from_metric:forbidden_patterns",
        "code_exec": "assay.scorers.code_exec:code_exec",
        "evaluator": "assay.scorers.evaluator:evaluator",
        "string_equals": "assay.scorers.text_equals:StringEquals",
        "string_equals_mcqa": "assay.scorers.text_equals:MultipleChoice",
        "bleu": "assay.scorers.text_equals:Bleu",
        "corpus_bleu": "assay.scorers.text_equals:CorpusBleu",
        "corpus_chrf": "assay.scorers.text_equals:CorpusChrf",
        "model_as_a_judge_classifier": "assay.scorers.judging.judge:Classifier",
        "model_as_a_judge_scorer": "assay.scorers.judging.judge:Rating",
        "labeler_via_model": "assay.scorers.judging.labeler:Labeler",
        "python": "assay.scorers.python_snippet:PythonScorer",
        "python_all_samples": "assay.scorers.python_snippet:AllSamplesScorer",
        "rag_checker": "assay.scorers.judging.rag_checker:rag_checker",
        "faithfulness": "assay.scorers.judging.instruments:faithfulness",
        "answer_relevance": "assay.scorers.judging.instruments:answer_relevance",
        "context_precision": "assay.scorers.judging.instruments:context_precision",
        "context_recall": "assay.scorers.judging.instruments:context_recall",
        "rubric": "assay.scorers.judging.instruments:rubric",
        "toxicity": "assay.scorers.judging.instruments:toxicity",
        "refusal": "assay.scorers.judging.instruments:refusal",
        "summarisation": "assay.scorers.judging.instruments:summarisation",
        "pairwise_preference": "assay.scorers.judging.instruments:pairwise_preference",
        "function_call_coverage": "assay.scorers.function_calls:FunctionCallCoverage",
        "system_evidence": "assay.scorers.python_snippet:SystemEvidence",
        "choice_likelihood": "assay.scorers.likelihood:ChoiceLikelihoodScorer",
        "choice_probability": "assay.scorers.likelihood:ChoiceProbabilityScorer",
        "lettered_choice": "assay.scorers.likelihood:LetteredChoiceScorer",
        "text_likelihood": "assay.scorers.likelihood:TextLikelihoodScorer",
        "instructions": "assay.scorers.instructions:instructions",
        "assertions": "assay.scorers.assertions.assertion_list:assertions",
        "drop": "assay.scorers.reading:DropScorer",
        "model_graded": "assay.bridges.openai_evals.grading:model_graded",
        "sample_assertions": "assay.scorers.assertions.sample_assertions:sample_assertions",
        "extracted_match": "assay.scorers.extracted_match:extracted_match",
        "recorded": "assay.scorers.recorded:Recorded",
        "lm_eval": "assay.bridges.lm_eval.scoring:lm_eval_scorer",
        "inspect": "assay.bridges.inspect.scoring:inspect_scorer",
    },
    "solver": {
        "single_turn": "assay.solvers.single_turn:single_turn",
        "named_completions": "assay.bridges.openai_evals.asking:named_completions",
        "prompt_template": "assay.solvers.prompt_template:prompt_template",
        "single_turn_solver": "assay.solvers.templated:single_turn_solver",
        "multi_turn_solver": "assay.solvers.multi_turn:multi_turn_solver",
        "pass_through_solver": "assay.solvers.pass_through:PassThrough",
        "python": "assay.solvers.python_snippet:PythonSolver",
        "no_solver": "assay.solvers.pass_through:NoSolver",
        "choice_likelihood": "assay.solvers.likelihood:ChoiceLikelihood",
        "lettered_choice": "assay.solvers.likelihood:LetteredChoice",
        "text_likelihood": "assay.solvers.likelihood:TextLikelihood",
        "lm_eval": "assay.bridges.lm_eval.asking:lm_eval_requests",
    },
    "model": {
        "toy": "assay.models.adapters.toy:make",
        "stub": "assay.models.adapters.stub:make",
        "constant": "assay.models.adapters.stub:make",
        "echo": "assay.models.adapters.stub:echo",
        "recorded": "assay.models.adapters.recorded:make",
        "no-model": "assay.models.adapters.recorded:none",
        "openai": "assay.models.adapters.openai:make",
        "command": "assay.models.adapters.command:make",
        "embedded": "assay.models.embedded.model:make",
        "adapted": "assay.models.adapters.adapted:AdaptedModel",
        "custom_inference": "assay.models.adapters.adapted:InferenceModel",
        "anthropic": "assay.models.adapters.anthropic:AnthropicModel",
        "gemini": "assay.models.adapters.gemini:GeminiModel",
        "transformers": "assay.models.adapters.transformers_local:TransformersModel",
        "litellm": "assay.models.adapters.litellm_library:LiteLLMModel",
        "ollama": "assay.models.adapters.presets:ollama",
        "vllm": "assay.models.adapters.presets:vllm",
        "llamacpp": "assay.models.adapters.presets:llamacpp",
        "sglang": "assay.models.adapters.presets:sglang",
        "lmstudio": "assay.models.adapters.presets:lmstudio",
        "litellm-proxy": "assay.models.adapters.presets:litellm_proxy",
        "openrouter": "assay.models.adapters.presets:openrouter",
        "groq": "assay.models.adapters.presets:groq",
        "together": "assay.models.adapters.presets:together",
        "mistral": "assay.models.adapters.presets:mistral",
        "deepseek": "assay.models.adapters.presets:deepseek",
        "fireworks": "assay.models.adapters.presets:fireworks",
        "xai": "assay.models.adapters.presets:xai",
    },
    "dataset": {
        "spec_file": "assay.formats.frozen_spec.reader:SpecFileDataset",
        "task_folder": "assay.formats.folder.reader:TaskFolderDataset",
        "table": "assay.datasets.tables:table",
        "inline": "assay.datasets.inline:Inline",
        "hub": "assay.datasets.hub:Hub",
        "url": "assay.datasets.remote:Remote",
        "folder": "assay.datasets.text_files:TextFiles",
        "awaited_result": "assay.datasets.awaited_result:AwaitedResult",
        "task_result": "assay.datasets.run_results:RunResults",
        "traces": "assay.datasets.traces:TraceFile",
        "inspect_log": "assay.bridges.inspect.log_samples:InspectSamples",
        "joined": "assay.datasets.joined:Joined",
        "generated": "assay.datasets.generated:Generated",
        "lm_eval": "assay.datasets.built:BuiltSamples",
        "openai_evals": "assay.bridges.openai_evals.samples:EvalSamples",
        "openai_evals_multiple_choice": "assay.bridges.openai_evals.multiple_choice:MultipleChoiceSamples",
        "built": "assay.datasets.built:BuiltSamples",
        "promptfoo": "assay.bridges.promptfoo.samples:PromptfooTests",
    },
    "aggregate": {
        "mean": "assay.stats.aggregates:mean",
        "max": "assay.stats.aggregates:maximum",
        "min": "assay.stats.aggregates:minimum",
        "median": "assay.stats.aggregates:median",
        "quantile": "assay.stats.aggregates:quantile",
        "std_dev": "assay.stats.aggregates:std_dev",
        "frequency": "assay.stats.aggregates:frequency",
        "binary-classification": "assay.stats.classification:binary_classification",
        "multiclass-classification": "assay.stats.classification:multiclass_classification",
        "recall": "assay.stats.classification:recall",
        "precision": "assay.stats.classification:precision",
        "f1_score": "assay.stats.classification:f1_score",
        "weighted_average": "assay.stats.aggregates:weighted_average",
        "agreement": "assay.stats.rater_agreement:agreement",
        "repetitions": "assay.stats.repetitions:repetitions",
        "over_trials": "assay.stats.over_trials:over_trials",
        "python": "assay.stats.python_metric:python_metric",
        "evidence": "assay.stats.evidence:evidence",
        "corpus_bleu": "assay.stats.corpus_overlap:corpus_bleu",
        "corpus_chrf": "assay.stats.corpus_overlap:corpus_chrf",
        "bits_per_byte": "assay.stats.likelihood:bits_per_byte",
        "perplexity": "assay.stats.likelihood:perplexity",
        "lm_eval": "assay.bridges.lm_eval.aggregation:lm_eval_aggregation",
    },
    "source": {
        ".jsonl": "assay.formats.json_lines:JsonLinesSource",
        ".yaml": "assay.formats.declarative.load:YamlSource",
        ".yml": "assay.formats.declarative.load:YamlSource",
        "lm-eval": "assay.bridges.lm_eval.lm_eval_source:LmEvalSource",
        "inspect": "assay.bridges.inspect.inspect_source:InspectSource",
        "openai-evals": "assay.bridges.openai_evals.openai_evals_source:OpenAIEvalsSource",
        "promptfoo": "assay.bridges.promptfoo.promptfoo_source:PromptfooSource",
        "table": "assay.formats.table.table_source:TableSource",
        "rows": "assay.formats.table.table_source:RowsSource",
    },
    "importer": {
        "lm-eval": "assay.bridges.lm_eval.importer:import_lm_eval",
    },
    "run_log": {
        "inspect": "assay.bridges.inspect.log_run:InspectLogs",
    },
    "trace_file": {
        "inspect": "assay.bridges.inspect.log_files:inspect_rows",
    },
    "final_aggregation": {
        "lm_eval": "assay.bridges.lm_eval.aggregation:aggregated_values",
    },
    "action": {
        "exclude_from_metrics": "assay.formats.declarative.actions:exclude_from_metrics",
    },
    "report_section": {},
    "command": {},
    "executor": {
        "ray": "assay.runs.ray_cluster:RayExecutor",
    },
    "sandbox": {
        LOCAL_SANDBOX: "assay.sandbox.pool:Sandbox",
    },
    "listener": {
        "mlflow": "assay.runs.log_to.mlflow:MLflow",
        "wandb": "assay.runs.log_to.wandb:WeightsAndBiases",
        "otel": "assay.runs.log_to.otel:Spans",
    },
}

_WORDS = {
    "post_process": "post-process rule",
    "dataset": "dataset reader",
    "report_section": "section of reports",
    "source": "task source",
    "run_log": "log of runs",
    "trace_file": "file of traces",
}
"""Kinds that messages call something else."""


class OptionError(UsageError):
    """An option that a part does not take, or not with this value; the reader of the file adds the location."""

    def __init__(self, message: str, *, use: str, option: str) -> None:
        super().__init__(message)
        self.use = use
        self.option = option


OFFERED = {"scorer": ("context", "key"), "solver": ("context",), "aggregate": ("table", "level")}
"""The arguments that every factory of a kind may take in addition to its options."""
SAID_BY_TASKS = ("bounds", "lower_is_better", "largest_loss")
"""What a task may say of any aggregate, whether or not it has such an option."""
OWN_NAME = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")
"""`package.module:object`."""


def own_version() -> str:
    """The installed version of assay; `unreleased` when it runs from its sources."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("assay-eval")
    except PackageNotFoundError:
        return "unreleased"


def resolve(kind: str, name: str, *, own_code: bool = False) -> Any:
    """The object behind a name of this kind; `UsageError` with the nearest name when there is none.

    `own_code` allows `package.module:object`: only for a name that the user typed, or from a file that the user trusts.
    """
    target = CATALOG[kind].get(name)
    if target is not None:
        return import_object(target)
    if name.startswith(HERE):
        return find_here(name)
    if name in entry_points_of(kind):
        return import_object(source_name(kind, name))
    if ":" in name and own_code:
        return import_own(name)
    if ":" in name:
        raise UsageError(f"`{name}` is the author's own Python, which is not imported here")
    raise UsageError(unknown_name(_WORDS.get(kind, kind), name, names(kind)))


def make(kind: str, name: str, options: Mapping[str, Any], *, own_code: bool = False, **offered: Any) -> Any:
    """The object that the factory behind a name builds from options, which are first checked against its parameters.

    `offered` are arguments for every factory of the kind; each gets those that it has parameters for.
    """
    factory = resolve(kind, name, own_code=own_code)
    return factory(**arguments_for(kind, name, factory, options, offered))


def models_named(option: str, value: object) -> list[str]:
    """The keys of other models that an option of a file names."""
    if option in OTHER_MODELS and isinstance(value, str):
        return [value]
    return [key for key in value if isinstance(key, str)] if option == JUDGES and isinstance(value, list) else []


def describe(
    kind: str,
    name: str,
    options: Mapping[str, Any],
    values: Mapping[str, Value] | None = None,
    *,
    own_code: bool = False,
) -> About | None:
    """What the part behind a name says about itself with these options; None where that is not known.

    The code of strangers is imported only with `own_code`.
    """
    # a part that applies a metric says what that one says, for which it is imported
    named = {kind: name, **({"metric": str(options["metric"])} if options.get("metric") is not None else {})}
    if not own_code and not all(_is_known(item, named[item]) for item in named):
        return None
    return about(resolve(kind, name, own_code=own_code), options, values)


def solver_needs(solver: PartSpec, *, own_code: bool = False) -> SolverNeeds:
    """What a solver needs, also before it is built; the defaults where it says nothing."""
    needs = describe("solver", solver.use, solver.options, own_code=own_code)
    return needs if isinstance(needs, SolverNeeds) else SolverNeeds()


def dataset_info(use: str, options: Mapping[str, Any], *, own_code: bool = False) -> DatasetInfo | None:
    """What a dataset is read from; None where that is not known without running code that is not ours."""
    info = describe("dataset", use, options, own_code=own_code)
    return info if isinstance(info, DatasetInfo) else None


def panel_options(use: str, options: Mapping[str, Any]) -> set[str]:
    """Those of `PANEL` that are given, without an option of the scorer's own that only has such a name."""
    from inspect import signature

    given = options.keys() & {*PANEL}
    return given and given - signature(resolve("scorer", use, own_code=True)).parameters.keys()


def _is_known(kind: str, name: str) -> bool:
    """Whether a name refers to a part of ours, or to an object of this process; metrics may be scorers too."""
    return is_ours(kind, name) or name.startswith(HERE) or (kind == "metric" and is_ours("scorer", name))


def is_ours(kind: str, name: str) -> bool:
    """Whether the part comes with assay."""
    return name in CATALOG[kind]


def arguments_for(
    kind: str, name: str, factory: Callable[..., Any], options: Mapping[str, Any], offered: Mapping[str, Any]
) -> dict[str, Any]:
    """The keyword arguments for a factory; `UsageError` names an option that it does not know, or that it needs.

    For a factory that is not ours, the options are also checked against its annotations.
    """
    from inspect import signature

    try:
        parameters = signature(factory).parameters
    except ValueError:  # built-in classes without a signature
        return dict(options)
    hints = {} if name in CATALOG[kind] else _annotations(factory)
    for fault in option_faults(kind, name, parameters, hints, options, offered):
        if fault.is_missing:
            raise UsageError(fault.message)
        raise OptionError(fault.message, use=name, option=fault.option)
    return {**{name: value for name, value in offered.items() if name in _by_name(parameters)}, **options}


class OptionFault(NamedTuple):
    """What is wrong with one option of a part."""

    option: str
    message: str
    is_missing: bool = False


def option_faults(
    kind: str,
    name: str,
    parameters: Mapping[str, Parameter],
    hints: Mapping[str, Any],
    options: Mapping[str, Any],
    offered: Collection[str],
) -> Iterator[OptionFault]:
    """Unknown options, missing options, and options that do not match the annotations."""
    what = f"{_WORDS.get(kind, kind)} `{name}`"
    known = [item for item in _by_name(parameters) if item not in offered]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for option in options:
        if option in offered or not (takes_any or option in known):
            message = unknown_name(f"option of the {what}", option, known)
            message = message if known else f"the {what} takes no options, and `{option}` was given"
            yield OptionFault(option, message)
    for option in known:
        if parameters[option].default is parameters[option].empty and option not in options:
            yield OptionFault(option, f"the {what} needs the option `{option}`", is_missing=True)
    for option, value in options.items():
        if option in hints and (problem := _not_of_type(value, hints[option])):
            yield OptionFault(option, f"the option `{option}` of the {what} {problem}")


def _by_name(parameters: Mapping[str, Parameter]) -> list[str]:
    by_name = [
        parameter
        for parameter in parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    return [item.name for item in by_name]


def _annotations(factory: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the parameters; empty where a name in them exists only for type checkers."""
    from typing import get_type_hints

    try:
        return get_type_hints(vars(factory).get("__init__") if isinstance(factory, type) else factory)
    except (NameError, TypeError, AttributeError):
        return {}


def _not_of_type(value: Any, annotation: Any) -> str | None:
    """Why a value does not match an annotation; annotations other than plain data are not checked."""
    import msgspec

    def no_data(wanted: type, value: Any) -> Any:
        raise NotImplementedError(wanted)

    try:
        msgspec.convert(value, annotation, dec_hook=no_data)
    except msgspec.ValidationError as error:
        wanted = annotation.__name__ if type(annotation) is type else str(annotation).replace("typing.", "")
        inside = f" ({error})" if " at `$" in str(error) else ""  # of a list or mapping: which item
        return f"must be {wanted}, got {in_yaml(value)}{inside}"
    except (TypeError, NotImplementedError):
        return None
    return None


def source_name(kind: str, name: str) -> str:
    """`package.module:object` of a part that is not ours: its own name, or what an installed package publishes."""
    point = entry_points_of(kind).get(name)
    return f"{point.module}:{point.attr}" if point is not None else name


def published(kind: str) -> list[str]:
    """The names of installed packages that assay itself does not have."""
    return sorted(entry_points_of(kind).keys() - CATALOG[kind].keys())


def publishers(kind: str, name: str) -> list[str]:
    """The installed packages that publish a name that assay itself does not have; more than one is a conflict."""
    return [] if name in CATALOG[kind] else packages_with(kind, name)


def is_name(kind: str, name: str) -> bool:
    """Whether a name of this kind is built in, or else published by an installed package."""
    return name in CATALOG[kind] or name in entry_points_of(kind)


def names(kind: str) -> list[str]:
    """Every name of a kind, built in and published, in alphabetical order."""
    return sorted({*CATALOG[kind], *entry_points_of(kind)})


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The message about an unknown name, with the nearest known one."""
    return f"unknown {what} `{name}`. {hint(name, sorted(known))}"


def import_own(target: str) -> Any:
    """Import the user's own `package.module:object`; the working directory is searched last.

    Last, because a file there may have the name of an installed module; and never for our own names.
    """
    from assay.reading.own_modules import compile_own_modules

    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    compile_own_modules()
    return import_object(target)


def import_object(target: str) -> Any:
    """Import `package.module:object` from what is installed."""
    module_name, _, path = target.partition(":")
    if not module_name or not path:
        raise UsageError(f"`{target}` is not of the form `package.module:object`")
    here = os.getcwd()
    try:
        value: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(error.name + ".")):
            near = nearest(module_name, [each.stem for each in Path(here).glob("*.py")])
            meant = f". Did you mean `{near}:{path}`?" if near else ""
            raise UsageError(
                f"`{target}`: there is no module `{error.name}` here or in the environment{meant}"
            ) from error
        raise UsageError(f"`{target}`: importing it failed: {describe_exception(error)}") from error
    except AssayError:
        raise
    except SyntaxError as error:
        raise UsageError(f"`{target}`: {error.filename}, line {error.lineno}: {error.msg}") from error
    except SystemExit as error:
        # passed on, it would end our command with the exit code of a good run
        raise UsageError(
            f"`{target}`: importing it ended with SystemExit: {error}; the code of a script belongs under "
            '`if __name__ == "__main__":`'
        ) from error
    except Exception as error:
        raise UsageError(f"`{target}`: importing it failed: {describe_exception(error)}") from error
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError as error:
            known = [name for name in dir(value) if not name.startswith("_")]
            hidden = _file_hidden_by(module_name)
            raise UsageError(
                f"`{target}`: {hidden or unknown_name(f'name in the module `{module_name}`:', part, known)}"
            ) from error
    return value


def _file_hidden_by(module_name: str) -> str | None:
    """What to do about a file in the working directory that has the name of an installed module."""
    file = Path(f"{module_name.replace('.', '/')}.py")
    spec = sys.modules[module_name].__spec__
    if not file.is_file() or spec is None or file.resolve() == Path(spec.origin or "").resolve():
        return None
    return f"an installed module `{module_name}` is imported instead of {file} here; rename the file"
