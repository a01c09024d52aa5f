"""What a file may name by key: datasets and models given with it, or found in the folders around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

import msgspec

from assay import catalog
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, Usage
from assay.datasets.content import Pinnable, content_hash, is_elsewhere
from assay.formats.declarative.checked import checked_adapter, checked_dataset, checked_model
from assay.formats.declarative.from_annotations import options_of
from assay.formats.declarative.model_records import AdapterReference
from assay.formats.declarative.model_specs import ModelSpec, model_spec, of_provider
from assay.formats.declarative.nearby_files import DATA_ENDINGS, NearbyFiles
from assay.formats.declarative.reading_options import ReadingOptions
from assay.formats.declarative.records import (
    DatasetEntry,
    GeneratedSource,
    ModelStep,
    Options,
    OtherModel,
    RowRecipe,
    SourceRows,
    record,
    without_nulls,
)
from assay.formats.declarative.schema.datasets import CALLED_OTHERWISE, SOURCE, declared
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain, hint_here
from assay.part_options import PathOption
from assay.prompts.written_text import as_written
from assay.text.wording import DID_YOU_MEAN, nearest
from assay.trust.consent import keys_sent_elsewhere

_FILTER = re.compile(r"dataset `([^`]+)`: filters\[(\d+)\]: (.*)", re.DOTALL)
_STEP = re.compile(r"dataset `([^`]+)`: steps\[(\d+)\]: (.*)", re.DOTALL)
_DTYPES = re.compile(r"dataset `([^`]+)` in .*?: dtypes: (?=[^`]*`([^`]+)`)(.*)", re.DOTALL)


class NotGeneratedError(UsageError):
    """A dataset about which nothing is known until a model has written it; not an error."""


class NoDatasetError(UsageError):
    """Nothing is called by this key. It may come later, unless something is called almost so."""

    misspelt = False


class MisspeltModelError(UsageError):
    """A key that nothing has, almost that of a model: no other name can be meant by it."""


def absent_models(keys: Iterable[str]) -> list[str]:
    """A sentence for each key without a model; the usual judge is left to whoever runs the task."""
    return [
        f"no model is set for the key `{key}`: a run needs --model-for '{key}=MODEL', or a file in models/"
        for key in keys
        if key != catalog.JUDGE
    ]


class SampleChoice(TypedDict, total=False):
    """Which samples of a dataset are used: all of them, the first N, or a random choice."""

    num_samples: int | None
    subsampling: str | None


@dataclass(slots=True)
class Library:
    """Datasets and models by key: those given first, then the YAML and data files of the folders around."""

    nearby: NearbyFiles
    datasets: dict[str, tuple[Document, FieldPath, DatasetEntry]] = field(default_factory=dict)
    models: dict[str, ModelSpec] = field(default_factory=dict)
    adapters: dict[str, AdapterReference] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    paces: dict[str, dict[str, int | str]] = field(default_factory=dict)
    """The labels and rate limits of the other models, by key."""
    generation: list[Usage] = field(default_factory=list)
    """What models used to write datasets now; taken by the first task that reads one."""
    judged_by_default: list[str] = field(default_factory=list)
    """Keys behind which the usual judge is."""
    missing_models: list[str] = field(default_factory=list)
    """Unknown keys, where no model is needed."""
    renames_repeated: bool = False
    """Whether samples with a repeated id are renamed, so that they can be shown all the same."""
    own_results: Mapping[str, str] = field(default_factory=dict)
    """The tasks of a run file whose results others may read: under the names that those may use."""
    _sources: dict[str, tuple[Document, FieldPath]] = field(default_factory=dict)
    """The locations of the datasets that were looked up."""

    def __post_init__(self) -> None:
        for key, name in self.reading.models.items():
            self.models[key] = self._of_file(name) or ModelSpec(model=name, options={})

    @property
    def reading(self) -> ReadingOptions:
        return self.nearby.reading

    def dataset(self, key: str, **choice: Unpack[SampleChoice]) -> DatasetSpec:
        """The dataset with this key, read once for its size and hash."""
        return self._measured(*self.source(key), **choice)

    def task_result(self, key: str, **choice: Unpack[SampleChoice]) -> DatasetSpec:
        """The result of a task of the same run file, else of an earlier run: a dataset with this key, or the run folder
        of this name.
        """
        if key in self.own_results:
            options: Options = {"task": self.own_results[key], "name": key}
            if (num_samples := choice.get("num_samples")) is not None:
                options |= {"num_samples": num_samples, "subsampling": choice.get("subsampling") or "head"}
            return DatasetSpec(use="awaited_result", options=options)
        try:
            use, options = self.source(key)
        except NoDatasetError:
            runs = [folder / "runs" / key for folder in dict.fromkeys((self.nearby.home, self.nearby.root))]
            path = next((run for run in runs if run.is_dir()), None)
            if path is None:
                raise UsageError(
                    f"there is no result `{key}`: neither a dataset with this key and a source of type `task_result`, "
                    f"nor a run folder {' or '.join(map(str, runs))}"
                ) from None
            if reason := self.nearby.out_of_bounds(path, str(path)):
                raise UsageError(reason) from None
            use, options = "task_result", {"path": str(path), "name": key}
        if use != "task_result":
            raise UsageError(f"the dataset `{key}` is not the result of a run; its source has another type")
        return self._measured(use, options, **choice)

    def side_by_side(self, keys: Mapping[str, str], **choice: Unpack[SampleChoice]) -> DatasetSpec:
        """Several datasets as one, each under a name and, as the format has it, under its key."""
        parts: Options = {}
        for name, key in keys.items():
            use, options = self._pinned(*self.source(key))
            if not catalog.is_ours("dataset", use):
                raise UsageError(f"the dataset `{key}` is custom code, which cannot be combined with other datasets")
            parts[name] = {"use": use, "options": options}
        also: Options = {key: name for name, key in keys.items() if key != name}
        if both := sorted(also.keys() & keys.keys()):
            raise UsageError(
                f"`{both[0]}` is the name of a parameter and the key of another parameter's dataset, so "
                f"`sample.{both[0]}` would be both; rename the parameter"
            )
        return self._measured("joined", {"parts": parts, **({"also": also} if also else {})}, **choice)

    def _measured(self, use: str, options: Options, **choice: Unpack[SampleChoice]) -> DatasetSpec:
        use, options = self._pinned(use, options)
        if (num_samples := choice.get("num_samples")) is not None:
            options = {**options, "num_samples": num_samples, "subsampling": choice.get("subsampling") or "head"}
        if self.renames_repeated:
            options = {**options, "renames_repeated": True}
        unread = DatasetSpec(use=use, options=options)
        if self.reading.only_reads and is_elsewhere(unread):
            return unread  # neither its hash nor its size is known without calling its server, or running its code
        made = catalog.make("dataset", use, options, own_code=not self.reading.only_reads)
        with self._located_in_source():
            return DatasetSpec(use=use, options=options, sha256=content_hash(made), size=len(made))

    @contextmanager
    def _located_in_source(self) -> Iterator[None]:
        """Report errors in filters, columns and steps in the dataset's file, not where it is named."""
        try:
            yield
        except UsageError as error:
            for pattern, field in ((_FILTER, "filters"), (_DTYPES, "dtypes"), (_STEP, "steps")):
                match = pattern.match(str(error))
                if match is not None and match[1] in self._sources:
                    document, where = self._sources[match[1]]
                    step: int | str = match[2] if field == "dtypes" else int(match[2])
                    raise document.error((*where, "source", field, step), match[3]) from error
            raise

    def _pinned(self, use: str, options: Options) -> tuple[str, Options]:
        """The options, with those that fix what a server holds now, and where generated rows are."""
        if use == "generated":
            with self._located_in_source():
                return self._generated(options)
        if not catalog.is_ours("dataset", use) or self.reading.only_reads:
            return use, options
        made = catalog.make("dataset", use, options)
        if not isinstance(made, Pinnable) or made.is_pinned:
            return use, options
        from assay.formats.project.dataset_lock import locked_pin  # few datasets are on a server

        if locked := locked_pin(str(options.get("name")), use, options):
            return use, {**options, **locked}
        pin = made.pin()
        self.warnings.append(pin.warning)
        return use, {**options, **pin.options}

    def rows(self, key: str) -> list[Options]:
        """The rows of a dataset in files, such as the examples of a task."""
        use, options = self.source(key)
        if is_elsewhere(DatasetSpec(use=use, options=options)):
            raise UsageError(
                f"dataset `{key}`: examples are read from a file or from the task itself, not from `{use}`"
            )
        return [as_written(sample) for sample in catalog.make("dataset", use, options)]

    def _generated(self, options: Options) -> tuple[str, Options]:
        """The same with the file of the rows, which are generated now if they are missing and that is allowed.

        Where a model would have to be called and may not be, the prompts stand in for what it would write.
        """
        from assay.formats.declarative.generation import asks_models, generate, generated_file, is_generated

        name, recipe = str(options["name"]), msgspec.convert(options["recipe"], RowRecipe)
        source = recipe.rows
        if self.reading.only_reads and source and is_elsewhere(DatasetSpec(use=source.use, options=source.options)):
            return "generated", options  # the source rows are not fetched
        path = generated_file(name, recipe)
        if is_generated(path):
            return "generated", {**options, "path": str(path)}
        if self.reading.only_reads:
            return "generated", options
        if asks_models(recipe) and not (self.reading.models_needed and self.reading.may_call_models):
            return self._stand_ins(name, recipe)
        for step in recipe.steps:
            if isinstance(step, ModelStep) and step.model_key not in self.reading.models:
                for reach in keys_sent_elsewhere(msgspec.to_builtins(step.model), f"dataset `{name}`"):
                    raise UsageError(f"generating would {reach}; name the model with --model-for '{step.model_key}=…'")
        self.generation += generate(name, recipe, path, self.reading.limits)
        return "generated", {**options, "path": str(path)}

    def _stand_ins(self, name: str, recipe: RowRecipe) -> tuple[str, Options]:
        """Rows to count and render, for a dataset that is not generated yet. Filters would read missing columns."""
        from assay.formats.declarative.generation import estimate, stand_in_rows

        takes = (
            f"the dataset `{name}` is not generated yet, and a model writes it: {estimate(recipe, self.reading.limits)}"
        )
        rows = stand_in_rows(name, recipe)
        if rows is None:
            raise NotGeneratedError(f"{takes}. Its columns are known when they are written: run the task once")
        self.warnings.append(f"{takes}. Its prompts stand in for its answers, and filters are skipped")
        samples: list[Plain] = [*rows]
        return "inline", {"name": name, "samples": samples}

    def _recipe(self, source: GeneratedSource) -> RowRecipe:
        steps = [
            msgspec.structs.replace(step, model=record(self.other_model(step.model_key), OtherModel))
            if isinstance(step, ModelStep)
            else step
            for step in source.steps
        ]
        rows = None
        if source.dataset_key is not None:
            use, options = self._pinned(*self.source(source.dataset_key))
            if not catalog.is_ours("dataset", use):
                raise UsageError(f"the dataset `{source.dataset_key}` is custom code; generated rows start from files")
            rows = SourceRows(use=use, options=options)
        return RowRecipe(num_samples=source.num_samples, seed=source.seed, draw=source.draw, steps=steps, rows=rows)

    def source(self, key: str) -> tuple[str, Options]:
        """How to read the dataset with this key: its catalog name and options."""
        if key in self.datasets or (own := self._of_project(key)) is None:
            own = self.datasets.get(key)
        if own is not None:
            return self._source(*own)
        if document := self.nearby.keyed_file("dataset", key):
            return self._source(document, (), checked_dataset(document, document.value))
        if path := self.nearby.data_file_called(key):
            return "table", {"path": str(path), "name": key}
        as_path = Path(key)
        if as_path.suffix in DATA_ENDINGS and as_path.is_file():
            return "table", {"path": key, "name": as_path.stem}
        self.nearby.refuse_broken("dataset", key)
        places = ", ".join(str(folder) for folder in self.nearby.folders("datasets"))
        hint = self.nearby.hint("dataset", key, self.datasets)
        error = NoDatasetError(
            f"there is no dataset `{key}`. {hint}Looked for a dataset file "
            f"with this key, or {key}.jsonl, .csv or .parquet, in {places}"
        )
        error.misspelt = hint.startswith(DID_YOU_MEAN)
        raise error

    def _of_project(self, key: str) -> tuple[Document, FieldPath, DatasetEntry] | None:
        """The dataset of the project file; a file with the same key would be another one."""
        from assay.formats.project.libraries import dataset_of_project, project_of  # most tasks have no project

        project = project_of(self.nearby.home)
        found = None if project is None else dataset_of_project(project, key)
        if found is None or project is None:
            return None
        same = self.nearby.keyed_file("dataset", key)
        path = self.nearby.data_file_called(key) if same is None else same.path
        if path is not None and path.resolve() != (project.root / str(project.entry.datasets[key].path)).resolve():
            raise project.error(("datasets", key), f"the dataset `{key}` is given in {path} too; remove or rename one")
        self.nearby.used.append(project.path)
        return found

    def _source(self, document: Document, where: FieldPath, dataset: DatasetEntry) -> tuple[str, Options]:
        self.warnings.extend(document.warnings)
        self._sources[dataset.key] = document, where
        kind, own = dataset.source.type, dict(dataset.source.options)
        if kind not in SOURCE.choices:
            return kind, own
        rows: Options = {"name": dataset.key, "filters": own.pop("filters"), "columns": own.pop("columns")}
        if kind == "generated":
            return kind, {**rows, "recipe": msgspec.to_builtins(self._recipe(record(own, GeneratedSource)))}
        given = own if kind == "huggingface" else without_nulls(own)
        for option in options_of(declared(kind)):
            if (value := given.pop(option.written, None)) is not None:
                path: PathOption | None = option.marker(PathOption)
                if path is not None:
                    at = (*where, "source", option.written)
                    value = str(self.nearby.path("folder" if path.is_folder else "file", document, at, str(value)))
                rows[option.name] = value
        samples = own.get("samples")
        if kind == "inline" and isinstance(samples, list):
            each = enumerate(samples)
            texts: Options = {str(at): document.texts(row, (*where, "source", "samples", at)) for at, row in each}
            if any(texts.values()):
                rows["written"] = {at: text for at, text in texts.items() if text}
        return CALLED_OTHERWISE.get(kind, kind), {**rows, **given}

    def model(self, key: str, *, evaluated: bool = True) -> ModelSpec:
        """How to make the model with this key; one that is not evaluated may be the usual judge."""
        try:
            return self._model(key, evaluated=evaluated)
        except UsageError as error:
            if self.reading.mending is None or isinstance(error, MisspeltModelError):
                raise
            self.reading.mending.add(error)  # the parts that call it can be shown all the same
            return ModelSpec(model=key, options={})

    def _model(self, key: str, *, evaluated: bool) -> ModelSpec:
        if key in self.reading.models or key in self.models:
            return self.models[key]
        if spec := self._described(key):
            self.models[key] = spec
            return spec
        if catalog.is_name("model", key):
            return ModelSpec(model=key, options={})
        self.nearby.refuse_broken("model", key)
        if spec := of_provider(key):
            return spec
        if not evaluated and (spec := self._usual_judge(key)):
            self.models[key] = spec
            return spec
        if not self.reading.models_needed:
            if (near := nearest(key, {*self.models, *self.nearby.keys("model")})) is not None and key != catalog.JUDGE:
                raise MisspeltModelError(f"there is no model `{key}`. {DID_YOU_MEAN} `{near}`?")
            self.missing_models.append(key)
            return ModelSpec(model=key, options={})
        flag = "--judge MODEL, " if key == catalog.JUDGE else ""
        raise UsageError(
            f"there is no model `{key}`. {self.nearby.hint('model', key, self.models)}Name it with {flag}"
            f"--model-for '{key}=MODEL', or write a model file with this key into {self.nearby.home / 'models'}"
        )

    @property
    def typed_models(self) -> list[str]:
        """The keys whose models the user typed with `--model-for`, and that no file describes."""
        return sorted(key for key, name in self.reading.models.items() if self._of_file(name) is None)

    def _of_file(self, name: str) -> ModelSpec | None:
        """The model that a name after `--model-for KEY=` stands for, where it is the key of a model file."""
        if ":" in name or catalog.is_name("model", name):
            return None
        if (spec := self._described(name) or of_provider(name)) is None:
            self._refuse_misspelt(name)
        return spec

    def _described(self, key: str) -> ModelSpec | None:
        """The model that the project or a model file calls by this key."""
        from assay.formats.project.aliases import alias_called  # reads files by the shapes that this module has, too

        spec, alias = self._of_keyed_file(key), alias_called(key)
        if alias is None:
            return spec
        if spec is not None:
            raise UsageError(
                f"`{key}` is a model of {alias.file} and of a model file near {self.nearby.home}; rename one"
            )
        if self.reading.models_needed:
            alias.refuse_without_key()
            alias.refuse_unconfirmed(trust=self.reading.trust)
        self.nearby.used.append(alias.file)
        return alias.spec

    def _usual_judge(self, key: str) -> ModelSpec | None:
        """The usual judge, for a key that nothing describes; a misspelt alias is not one of those."""
        from assay.formats.project.aliases import near_alias

        judge = self.reading.judge
        if judge is None:
            return None
        if near := near_alias(key):
            raise UsageError(f"there is no model `{key}`. Did you mean `{near}`, a model of the project?")
        self.judged_by_default.append(key)
        self.warnings.append(f"the model behind the key `{key}` is `{judge}`, {self.reading.judge_from}")
        return self._described(judge) or of_provider(judge) or ModelSpec(model=judge, options={})

    def _of_keyed_file(self, key: str) -> ModelSpec | None:
        if (document := self.nearby.keyed_file("model", key)) is None:
            return None
        _, spec = model_spec(document, (), checked_model(document, document.value), self.adapter)
        self.warnings.extend(warning for warning in document.warnings if warning not in self.warnings)
        return spec

    def file_of_model(self, name: str) -> ModelSpec | None:
        """The model whose key is given with `--model`: a model file, a run file's model, or a provider's."""
        if ":" in name or catalog.is_name("model", name):
            return None
        if name in self.models or self._described(name) or of_provider(name):
            return self.model(name)
        self.nearby.refuse_broken("model", name, of_this_name=True)
        self._refuse_misspelt(name)
        return None

    def _refuse_misspelt(self, name: str) -> None:
        """What is the key of no model file may be that of one with a slip; what it is otherwise is decided later."""
        from assay.formats.project.aliases import near_alias

        if alias := near_alias(name):
            raise UsageError(f"unknown model `{name}`. Did you mean `{alias}`, a model of the project?")
        keys = {*self.models, *self.nearby.keys("model")}
        if (near := nearest(name, [*catalog.names("model"), *sorted(keys)])) in keys:
            raise UsageError(f"unknown model `{name}`. Did you mean `{near}`, the key of a model file?")

    def adapter(self, document: Document, where: FieldPath, key: str) -> AdapterReference:
        if key in self.adapters:
            return self.adapters[key]
        if file := self.nearby.keyed_file("model_adapter", key):
            return checked_adapter(file, file.value)
        hint = f" {hint_here(key, self.adapters)}" if self.adapters else ""
        folder = self.nearby.home / "model_adapters"
        message = f"there is no adapter `{key}`.{hint} Write one with this key into {folder}"
        raise document.error((*where, "key"), message)

    def other_model(self, key: str) -> Options:
        """A judge or another model a task calls. Its label and rate limits are kept apart: no part of the task."""
        spec = self.model(key, evaluated=False)
        if pace := spec.pace():
            self.paces[key] = pace
        return spec.made()
