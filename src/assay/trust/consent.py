"""Whose code runs and whose address is called: the one place that decides it, for every format.

A task is plain data, and some of that data reaches out: it names code, programs, addresses, variables or files.
`reaches` lists all of it. What a file of the current project reaches for is trusted; what any other file reaches
for needs the user's consent: `--trust` now, or `assay trust PATH` once for this exact content. A definition from a
`run.json` was written by whoever made the run, so what it says about its source decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay import catalog
from assay.core.describe import About, ScorerInfo, Whole
from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.types import DatasetSpec, TaskDefinition
from assay.datasets.content import sources_of
from assay.models.adapters.providers import NO_KEY, PROVIDERS, belongs_to, chosen_address
from assay.overriding import override
from assay.own_functions import HERE, is_chosen
from assay.processes.environment import names_in
from assay.reading.env_file import named_variable
from assay.trust.project import (
    current_project,
    is_inside_this_project,
    is_of_this_project,
    repository_inside_this_project,
)
from assay.trust.script_files import files_of_command
from assay.trust.trusted_content import content_of_definition, content_of_files, is_recorded

LONGEST_SHOWN = 120
_NEVER_OWN = ("key", "library")
_PACKAGE = Path(catalog.__file__).resolve().parent
"""With the tasks that come with assay."""
_SILENT_MODELS = frozenset({"toy", "stub", "constant", "echo", "recorded", "no-model"})
"""They call no server and read no file, whatever follows the colon."""
_WORDS = {
    "code": "run the Python",
    "library": "run the Python",
    "program": "start the program",
    "address": "connect to",
    "variable": "read the variable",
    "file": "read",
    "key": "send",
}


class Reach(Struct, frozen=True, order=True):
    """One thing in a definition that is more than data."""

    kind: str
    """`code`, `program`, `address`, `variable`, `file`, or `key`: a provider's key that would go to another host.

    `library` is the Python of an installed package's tasks: never the user's own, wherever it is installed.
    """
    what: str
    where: str
    """The field that names it."""

    @override
    def __str__(self) -> str:
        shown = self.what if len(self.what) <= LONGEST_SHOWN else self.what[:LONGEST_SHOWN] + "…"
        return f"{_WORDS[self.kind]} `{shown}` ({self.where})"


def require_trust(definitions: Iterable[TaskDefinition], *, trust: bool, out_of_a_run: bool = False) -> None:
    """Refuse a task that reaches for more than the user has allowed. `trust` is what the user said now."""
    for definition in () if trust else definitions:
        if refused := untrusted(definition, out_of_a_run=out_of_a_run):
            raise UsageError(_refusal(definition, refused, out_of_a_run=out_of_a_run))


def untrusted(definition: TaskDefinition, *, out_of_a_run: bool = False) -> list[Reach]:
    """What the user has not allowed: all that an untrusted file reaches for; of the user's own, keys sent elsewhere."""
    typed = () if out_of_a_run else definition.plan.typed_models
    reached = reaches(definition, typed=typed, out_of_a_run=out_of_a_run)
    if not out_of_a_run:
        reached = [item for item in reached if item.kind != "code" or not is_chosen(item.what)]
    if not out_of_a_run and is_own(definition):
        reached = [item for item in reached if item.kind in _NEVER_OWN]
    return [] if not reached or is_recorded(content_to_trust(definition, out_of_a_run=out_of_a_run)) else reached


def is_own(definition: TaskDefinition) -> bool:
    """Whether the user's Python made it, or every file it was read from is of the current project."""
    return all(is_of_this_project(file) for file in files_of(definition))


def code_seal(definitions: Sequence[TaskDefinition]) -> str | None:
    """What a run folder is sealed with for the code of its definitions; None when they bring none."""
    if not any(reaches(definition, out_of_a_run=True) for definition in definitions):
        return None
    # without scripts, which may be edited since
    return f"code {fingerprint([content_of_definition(definition, {}) for definition in definitions])}"


def files_of(definition: TaskDefinition) -> list[Path]:
    """The files a definition was read from; none when Python made it."""
    if not definition.source:
        return []
    return [Path(definition.source), *(Path(file) for file in definition.provenance.files)]


def content_to_trust(definition: TaskDefinition, *, out_of_a_run: bool = False) -> str:
    """The hash that trust in this definition goes by: of every file it was read from, or of itself."""
    scripts = {f"command {word}": path for path, word in scripts_of(definition).items()}
    if out_of_a_run or not definition.source:
        return content_of_definition(definition, scripts)
    source, *others = files_of(definition)
    named = {os.path.relpath(file, source.parent): file for file in others if file != source}
    # trust in a task is none in the models that are chosen for it
    named |= {f"model {file}": Path(file) for file in definition.provenance.model_files}
    return content_of_files({"": source, **named, **scripts})


def scripts_of(definition: TaskDefinition) -> dict[Path, str]:
    """The files that its commands run: what runs is their content, so trust is in that too."""
    folders = [".", *(part.options["cwd"] for part in definition.scorers if part.options.get("cwd"))]
    places = [Path(str(folder)).expanduser() for folder in folders]
    files: dict[Path, str] = {}
    for reach in reaches(definition, typed=definition.plan.typed_models):
        if reach.kind == "program":
            files |= files_of_command(reach.what, places)
    return files


def _refusal(definition: TaskDefinition, refused: Sequence[Reach], *, out_of_a_run: bool) -> str:
    where = definition.source or definition.format
    listed = ", ".join(str(reach) for reach in sorted(set(refused)))
    files = () if out_of_a_run else definition.provenance.model_files
    if files and all(reach.where == "model" or reach.where.endswith(".model") for reach in refused):
        return (
            f"{', '.join(files)}: the model chosen for task `{definition.name}` would {listed}. Read the file, then "
            "rerun with --trust, or name the model and its address yourself: openai:NAME@URL"
        )
    if out_of_a_run:
        why, path = "is described by the run folder alone", "the run folder"
    elif any(reach.kind == "library" for reach in refused):
        why, path = "is not of this project", _library_name(definition)
    elif is_own(definition):
        why, path = "sends a provider's key to an address that is not that provider's", where
    else:
        why, path = _whose(definition), where
    return (
        f"{where}: task `{definition.name}` {why} and would {listed}. "
        f"Read it, then rerun with --trust, or record it once with `assay trust {path}`."
    )


def _whose(definition: TaskDefinition) -> str:
    here = current_project()
    inner = next(filter(None, map(repository_inside_this_project, files_of(definition))), None)
    if inner is not None:
        return f"belongs to another repository inside the current project ({inner})"
    return f"is outside the current project ({here or 'this folder is not a project'})"


# -- what a definition reaches for ---------------------------------------------------------------------------------


def reaches(definition: TaskDefinition, *, typed: Sequence[str] = (), out_of_a_run: bool = False) -> list[Reach]:
    """Everything in the definition that runs code or a program, chooses an address, or names a variable or a file.

    `typed` are the keys of models that the user named on the command line. The data of a task file lies in the file's
    own project, which its reader has checked; a definition `out_of_a_run` may name any file of this machine.
    """
    reached = list(_dataset(definition.dataset, typed))
    if out_of_a_run:
        reached.extend(_data_elsewhere(definition.dataset))
    for kind, parts in (
        ("solver", [definition.solver]),
        ("scorer", definition.scorers),
        ("aggregate", definition.aggregates),
        ("action", definition.actions),
    ):
        for part in parts:
            reached.extend(_use(kind, part.use, f"{kind} {part.key}"))
            reached.extend(_options(part.options, f"{kind} {part.key}", typed))
            about = catalog.describe(kind, part.use, part.options)
            for what, name, option in about.reaches if isinstance(about, ScorerInfo) else ():
                reached.append(Reach(what, name, f"{kind} {part.key}.{option}"))
            if task := _task_of_library(about):
                is_listed = definition.provenance.lists_code and not out_of_a_run
                listed = part.options.get("code") or () if is_listed else [task]
                reached.extend(Reach("library", str(code), f"{kind} {part.key}") for code in listed)
    plan = definition.plan
    for model in (plan.model, *plan.asked_models.values()):
        if model is not None and model.key not in typed:
            own = not out_of_a_run and model.key in plan.own_models
            spec = {"model": model.model, "options": model.options}
            reached.extend(item for item in _model(spec, "model") if item.kind in _NEVER_OWN or not own)
    reached.extend(Reach("code", file, "imported by its Python") for file in definition.modules)
    reached.extend(Reach("variable", name, "$NAME in the file") for name in definition.provenance.variables)
    return reached


def _dataset(dataset: DatasetSpec, typed: Sequence[str]) -> Iterator[Reach]:
    for use, options in sources_of(dataset.use, dataset.options):
        yield from _use("dataset", use, "dataset")
        info = catalog.dataset_info(use, options)
        if info is None:
            continue
        # what the making of rows reaches for, and the rows to begin with
        yield from _options(info.made_by, "dataset.steps", typed)
        for source, own in info.made_from:
            yield from _dataset(DatasetSpec(use=source, options=own), typed)
        for kind, named in (("address", info.addresses), ("file", info.files)):
            yield from (Reach(kind, what, f"dataset.{option}".rstrip(".")) for what, option in named.items())


def _data_elsewhere(dataset: DatasetSpec) -> Iterator[Reach]:
    for _, options in sources_of(dataset.use, dataset.options):
        path = options.get("path")
        if path is not None and not is_inside_this_project(Path(str(path))) and not _is_of_assay(Path(str(path))):
            yield Reach("file", str(path), "dataset.path")


def _is_of_assay(path: Path) -> bool:
    return path.resolve().is_relative_to(_PACKAGE)


def _task_of_library(about: About | None) -> str | None:
    """The task of an installed package whose code a part runs, as the user names it.

    Its reader has listed that code; the author of a run folder may have left it out.
    """
    return about.task_of_library if isinstance(about, ScorerInfo | Whole) else None


def _library_name(definition: TaskDefinition) -> str:
    """What the user types for a task of a package."""
    tasks = (_task_of_library(catalog.describe("scorer", scorer.use, scorer.options)) for scorer in definition.scorers)
    return next(filter(None, tasks), definition.name)


def _use(kind: str, name: object, where: str) -> Iterator[Reach]:
    """Code that is not assay's: the author's own, or that of an installed package, which a file gives options to.

    An installed metric or post-process rule is as pure as ours, and needs no consent.
    """
    if not isinstance(name, str) or name in catalog.CATALOG[kind] or name.startswith(HERE):
        return  # objects passed in Python are the user's own; unknown names refer to nothing
    installed = name in catalog.published(kind)
    if (":" in name and not installed) or (installed and kind not in ("metric", "post_process")):
        yield Reach("code", name, where)


def _options(options: object, where: str, typed: Sequence[str]) -> Iterator[Reach]:
    if isinstance(options, list | tuple):
        for position, each in enumerate(options):
            yield from _options(each, f"{where}[{position}]", typed)
    if not isinstance(options, Mapping):
        return
    own_model = any(options.get(name) in typed for name in catalog.OTHER_MODELS if options.get(name))
    for name, value in options.items():
        at = f"{where}.{name}"
        if name.endswith("_snippet") and value:
            yield Reach("code", str(value).strip().partition("\n")[0], at)
        elif name == "node_program" and value:
            yield Reach("program", f"node ({value})", at)
        elif name in ("metric", "post_process"):
            yield from _use(name, value, at)
        elif name == "model" and isinstance(value, Mapping):
            yield from () if own_model else _model(value, at)
        elif name in catalog.OTHER_MODELS and value and not options.get("model"):  # the key is the model's name
            yield from () if own_model else _model({"model": value}, at)
        else:
            yield from _options(value, at, typed)


def _variables(value: object, at: str) -> Iterator[Reach]:
    for name in value if isinstance(value, list | tuple) else names_in(str(value or "")):
        yield Reach("variable", str(name), at)


def _model(spec: Mapping[str, Any], where: str) -> Iterator[Reach]:
    """A model named by a file: its adapter, its address and its key."""
    name = str(spec.get("model", ""))
    options = spec.get("options") or {}
    adapter, colon, argument = name.partition(":")
    if adapter in _SILENT_MODELS or (not colon and adapter in catalog.CATALOG["model"] and not options):
        return
    if not colon and not catalog.is_name("model", adapter):
        return  # an unknown key, which is an error when it is used
    if adapter == "command":
        yield Reach("program", argument, where)
        yield from _variables(options.get("pass_env"), f"{where}.pass_env")
    elif adapter in _OF_OTHER_SHAPE:
        yield from _OF_OTHER_SHAPE[adapter](options, where)
    elif colon and not catalog.is_name("model", adapter):
        yield Reach("code", name, where)
    elif adapter in PROVIDERS:
        yield from _served(adapter, argument, options, where)
    else:  # local weights, or a library that finds its own server: whatever it does, the file chose it
        yield Reach("file", name, where)
        for address in _addresses(options):
            yield Reach("key", f"the key that {adapter} finds to {address}", where)


def _inference(options: Mapping[str, Any], where: str) -> Iterator[Reach]:
    yield Reach("code", str(options.get("run_inference_snippet", "")).strip().partition("\n")[0], where)
    given = options.get("environment")
    for value in given.values() if isinstance(given, Mapping) else ():
        if variable := named_variable(str(value)):
            yield Reach("variable", variable, f"{where}.environment")


def _adapted(options: Mapping[str, Any], where: str) -> Iterator[Reach]:
    address, variable = str(options.get("base_url", "")), str(options.get("api_key_env") or NO_KEY)
    yield Reach("address", address, where)
    if variable != NO_KEY:
        yield Reach("variable", variable, where)
    if variable != NO_KEY and not belongs_to(variable, address):
        yield Reach("key", f"{variable} to {address}", where)


_OF_OTHER_SHAPE = {"custom_inference": _inference, "adapted": _adapted}


def keys_sent_elsewhere(spec: Mapping[str, Any], where: str) -> list[Reach]:
    """The keys of providers that a model named by a file would get sent to other hosts."""
    return [item for item in _model(spec, where) if item.kind == "key"]


def _addresses(options: object) -> Iterator[str]:
    """Every address among the options of an adapter that chooses its key itself."""
    if isinstance(options, Mapping):
        for value in options.values():
            yield from _addresses(value)
    elif isinstance(options, str) and options.startswith(("http://", "https://")):
        yield options


def _served(adapter: str, argument: str, options: Mapping[str, Any], where: str) -> Iterator[Reach]:
    usual = PROVIDERS[adapter]
    chosen = chosen_address(argument, options)
    variable = str(options.get("api_key_env") or usual.key)
    known = {(provider.address, provider.key) for provider in PROVIDERS.values()}
    if chosen and (chosen, variable) in known:
        return  # a provider by another name: neither the host nor the key is the file's choice
    if chosen:
        yield Reach("address", chosen, where)
        if not belongs_to(variable, chosen):
            yield Reach("key", f"{variable} to {chosen}", where)
    elif not belongs_to(variable, usual.address):
        yield Reach("key", f"{variable} to {usual.address}", where)
    if variable not in (usual.key, NO_KEY):
        yield Reach("variable", variable, where)
