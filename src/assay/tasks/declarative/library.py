"""What a file may name by key: datasets and models given with it, or found in the folders around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import DatasetSpec, Usage
from assay.costs.budget import SpendingLimits
from assay.costs.prices import model_names
from assay.datasets.content import Pinnable, content_hash, is_elsewhere
from assay.models.adapters.providers import NO_KEY, PROVIDERS, belongs_to, chosen_address
from assay.tasks.declarative.records import (
    AdapterReference,
    CustomConnection,
    CustomInference,
    DatasetEntry,
    FolderSource,
    GeneratedSource,
    HubSource,
    InlineSource,
    LocalSource,
    ModelEntry,
    NamedModel,
    Options,
    OwnSource,
    ProvidedModel,
    ProviderConnection,
    TaskResultSource,
    TracesSource,
    UrlSource,
)
from assay.tasks.declarative.schema import checked_adapter, checked_dataset, checked_model, kind_of
from assay.tasks.declarative.shape import mappings
from assay.tasks.declarative.yaml_reader import Document, FieldPath, Plain, hint_here, read_yaml
from assay.tasks.project import is_hidden
from assay.tasks.trust import keys_sent_elsewhere

IDENTITIES = ("latticeflow$identity", "latticeflow$openai_chat_completion")
"""Keys that begin so name an adapter that changes nothing: the server speaks the protocol of chat completions."""
DATA_ENDINGS = (".jsonl", ".csv", ".tsv", ".parquet")


_FILTER = re.compile(r"dataset `([^`]+)`: filters\[(\d+)\]: (.*)", re.DOTALL)
MAX_PROMPT_BYTES = 1 << 20


class NoDatasetError(UsageError):
    """Nothing is called by this key."""


class SampleChoice(TypedDict):
    """Which samples of a dataset are used: all of them, the first so many, or a random choice."""

    num_samples: int | None
    subsampling: str | None


class ModelSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How to make a model, and how fast it may be asked."""

    model: str
    """As after `--model`."""
    options: Options
    requests_per_minute: int | None = None
    concurrency: int | None = None
    generation: Options = {}
    """How it answers, where neither a task nor the user says otherwise."""

    def plain(self) -> Options:
        made: Options = msgspec.to_builtins(self)
        return made


@dataclass(slots=True)
class Library:
    """Datasets and models by key: those given first, then the YAML and data files of the folders around."""

    home: Path
    """The folder of the file that does the naming."""
    root: Path
    allow_outside: bool = False
    environ: Mapping[str, str] | None = None
    datasets: dict[str, tuple[Document, FieldPath, DatasetEntry]] = field(default_factory=dict)
    models: dict[str, ModelSpec] = field(default_factory=dict)
    adapters: dict[str, AdapterReference] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """Files of the folders around that were used."""
    paces: dict[str, dict[str, int]] = field(default_factory=dict)
    """How fast the other models may be asked, by key."""
    models_needed: bool = True
    """False where nothing is asked: a key without a model behind it then stands for itself."""
    may_ask: bool = True
    """False where no model may be asked to write a dataset."""
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    """What they may be paid for it."""
    generation: list[Usage] = field(default_factory=list)
    """What they used to write datasets now; taken by the first task that reads one."""
    only_reads: bool = False
    """True where no server may be asked for a dataset."""
    typed: frozenset[str] = frozenset()
    """Keys of models that the user named on the command line: no file chose those."""
    variables: list[str] = field(default_factory=list)
    """`$NAME`s of the files around that were left as they stood."""
    missing_models: list[str] = field(default_factory=list)
    """Keys that nothing stands behind, where no model is needed."""
    _sources: dict[str, tuple[Document, FieldPath]] = field(default_factory=dict)
    """Where the datasets that were looked up stand."""

    def dataset(self, key: str, *, num_samples: int | None = None, subsampling: str | None = None) -> DatasetSpec:
        """The dataset with this key, read once for its size and hash."""
        return self._measured(*self.source(key), num_samples=num_samples, subsampling=subsampling)

    def task_result(self, key: str, *, num_samples: int | None = None, subsampling: str | None = None) -> DatasetSpec:
        """The result of a run: a dataset with this key, or the run folder of this name."""
        try:
            use, options = self.source(key)
        except NoDatasetError:
            runs = [folder / "runs" / key for folder in dict.fromkeys((self.home, self.root))]
            path = next((each for each in runs if each.is_dir()), None)
            if path is None:
                raise UsageError(
                    f"there is no result `{key}`: neither a dataset with this key and a source of type `task_result`, "
                    f"nor a run folder {' or '.join(map(str, runs))}"
                ) from None
            if reason := self._out_of_bounds(path, str(path)):
                raise UsageError(reason) from None
            use, options = "task_result", {"path": str(path), "name": key}
        if use != "task_result":
            raise UsageError(f"the dataset `{key}` is not the result of a run; its source has another type")
        return self._measured(use, options, num_samples=num_samples, subsampling=subsampling)

    def side_by_side(
        self, keys: Mapping[str, str], *, num_samples: int | None = None, subsampling: str | None = None
    ) -> DatasetSpec:
        """Several datasets, each under a name, as one."""
        parts: Options = {}
        for name, key in keys.items():
            use, options = self._pinned(*self.source(key))
            if use not in catalog.CATALOG["dataset"]:
                raise UsageError(f"the dataset `{key}` is one's own code, which cannot stand beside others")
            parts[name] = {"use": use, "options": options}
        return self._measured("joined", {"parts": parts}, num_samples=num_samples, subsampling=subsampling)

    def _measured(self, use: str, options: Options, *, num_samples: int | None, subsampling: str | None) -> DatasetSpec:
        use, options = self._pinned(use, options)
        if num_samples is not None:
            options = {**options, "num_samples": num_samples, "subsampling": subsampling or "head"}
        unread = DatasetSpec(use=use, options=options)
        if self.only_reads and is_elsewhere(unread):
            return unread  # neither its hash nor its size can be had without its server, or its code
        made = catalog.make("dataset", use, options, own_code=not self.only_reads)
        with self._told_at_filters(options):
            return DatasetSpec(use=use, options=options, sha256=content_hash(made), size=len(made))

    @contextmanager
    def _told_at_filters(self, options: Options) -> Iterator[None]:
        """A filter that a row cannot be held against stands in the dataset's file, not where the dataset is named."""
        try:
            yield
        except UsageError as error:
            found = _FILTER.match(str(error))
            if found is None or found[1] not in self._sources:
                raise
            document, where = self._sources[found[1]]
            raise document.error((*where, "source", "filters", int(found[2])), found[3]) from error

    def _pinned(self, use: str, options: Options) -> tuple[str, Options]:
        """The options, with those that fix what a server holds now, and where generated rows are."""
        if use == "generated":
            return use, self._generated(options)
        if use not in catalog.CATALOG["dataset"] or self.only_reads:
            return use, options
        made = catalog.make("dataset", use, options)
        if not isinstance(made, Pinnable) or made.is_pinned:
            return use, options
        pin = made.pin()
        self.warnings.append(pin.warning)
        return use, {**options, **pin.options}

    def rows(self, key: str) -> list[Options]:
        """The rows of a dataset in files, such as the examples of a task."""
        use, options = self.source(key)
        if use not in ("table", "inline"):
            raise UsageError(
                f"dataset `{key}`: examples are read from a file or from the task itself, not from `{use}`"
            )
        return [dict(sample.row or {}) for sample in catalog.make("dataset", use, options)]

    def _generated(self, options: Options) -> Options:
        """The same with the file of the rows, which are made now if they never were and may be."""
        from assay.tasks.declarative.generation import asks_models, estimate, generate, generated_file, is_generated

        name, recipe = str(options["name"]), options["recipe"]
        assert isinstance(recipe, dict)  # noqa: S101 - `_source` made it
        source = recipe.get("rows")
        if self.only_reads and source and is_elsewhere(msgspec.convert(source, DatasetSpec)):
            return options  # nobody is asked for the rows to begin with
        path = generated_file(name, recipe)
        if is_generated(path):
            return {**options, "path": str(path)}
        if self.only_reads:
            return options
        if asks_models(recipe) and not (self.models_needed and self.may_ask):
            raise UsageError(
                f"the dataset `{name}` is not generated yet, and a model writes it: run the task once. That takes "
                f"{estimate(recipe, self.limits)}"
            )
        for step in mappings(recipe["steps"]):
            if step["type"] == "model" and step["model_key"] not in self.typed and isinstance(step["model"], dict):
                for reach in keys_sent_elsewhere(step["model"], f"dataset `{name}`"):
                    raise UsageError(
                        f"generating would {reach}; name the model with --model-for '{step['model_key']}=…'"
                    )
        self.generation += generate(name, recipe, path, self.limits)
        return {**options, "path": str(path)}

    def _recipe(self, source: GeneratedSource) -> Options:
        steps: list[Plain] = [
            {**step, "model": self.other_model(str(step["model_key"]))} if step["type"] == "model" else step
            for step in source.steps
        ]
        recipe: Options = {
            "num_samples": source.num_samples,
            "seed": source.seed,
            "draw": {name: list(values) for name, values in source.draw.items()},
            "steps": steps,
        }
        if source.dataset_key is not None:
            use, options = self._pinned(*self.source(source.dataset_key))
            if use not in catalog.CATALOG["dataset"]:
                raise UsageError(f"the dataset `{source.dataset_key}` is one's own code; rows begin with files")
            recipe["rows"] = {"use": use, "options": options}
        return recipe

    def source(self, key: str) -> tuple[str, Options]:
        """How to read the dataset with this key: its catalog name and options."""
        if key in self.datasets:
            return self._source(*self.datasets[key])
        if document := self._file("dataset", key):
            return self._source(document, (), checked_dataset(document, document.value))
        if path := self._data_file_called(key):
            return "table", {"path": str(path), "name": key}
        as_path = Path(key)
        if as_path.suffix in DATA_ENDINGS and as_path.is_file():
            return "table", {"path": key, "name": as_path.stem}
        self._refuse_broken("dataset", key)
        places = ", ".join(str(folder) for folder in self._folders("datasets"))
        hint = f" {hint_here(key, self.datasets)}" if self.datasets else ""
        raise NoDatasetError(
            f"there is no dataset `{key}`.{hint} Looked for a dataset file with this key, "
            f"or {key}.jsonl, .csv or .parquet, in {places}"
        )

    def _data_file_called(self, key: str) -> Path | None:
        """The data file of the nearest folder that is called by the key."""
        for folder in self._folders("datasets"):
            found = [path for ending in DATA_ENDINGS if (path := folder / f"{key}{ending}").is_file()]
            if len(found) > 1:
                raise _ambiguous("dataset", key, found)
            for path in found:
                if reason := self._out_of_bounds(path, str(path)):
                    raise UsageError(reason)
                return path
        return None

    def _source(  # noqa: PLR0911 - one case for each kind
        self, document: Document, where: FieldPath, dataset: DatasetEntry
    ) -> tuple[str, Options]:
        self.warnings.extend(document.warnings)
        self._sources[dataset.key] = document, where
        source = dataset.source
        if isinstance(source, OwnSource):
            return source.use, dict(source.options)
        rows: Options = {"name": dataset.key, "filters": source.filters, "columns": source.columns}
        match source:
            case GeneratedSource():
                return "generated", {**rows, "recipe": self._recipe(source)}
            case InlineSource():
                return "inline", {**rows, "samples": source.samples}
            case HubSource():
                # `path` is where a file lies and no part of a task's identity; a repository's name is
                return "hub", {
                    **rows,
                    "repository": source.path,
                    "split": source.split,
                    "revision": source.revision,
                    "load_dataset_kwargs": source.load_dataset_kwargs,
                }
            case LocalSource():
                path = self._data_file(document, (*where, "source", "file_path"), source.file_path)
                return "table", {**rows, "path": str(path), **_given(dtypes=source.dtypes)}
            case UrlSource():
                own = _given(sha256=source.sha256, file_format=source.format, dtypes=source.dtypes)
                return "url", {**rows, "url": source.url, **own}
            case FolderSource():
                path = self._folder(document, (*where, "source", "directory_path"), source.directory_path)
                return "folder", {**rows, "path": str(path), "extension": source.extension}
            case TaskResultSource():
                path = self._folder(document, (*where, "source", "run_path"), source.run_path)
                return "task_result", {**rows, "path": str(path), **_given(task=source.task)}
            case TracesSource():
                path = self._data_file(document, (*where, "source", "file_path"), source.file_path)
                own = _given(file_format=source.format, operations=source.operations)
                return "traces", {**rows, "path": str(path), **own}

    def text_file(self, document: Document, where: FieldPath, named: str) -> str:
        """A text that a file names, without its last line end."""
        path = self._data_file(document, where, named)
        try:
            text = read_regular(path, MAX_PROMPT_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise document.error(where, f"{path}: not UTF-8 at byte {error.start}") from error
        self.files.append(path)
        return text.removesuffix("\n").removesuffix("\r")

    def _data_file(self, document: Document, where: FieldPath, named: str) -> Path:
        path = self._inside(document, where, named)
        if not path.is_file():
            raise document.error(where, f"there is no file {path}")
        return path

    def _folder(self, document: Document, where: FieldPath, named: str) -> Path:
        path = self._inside(document, where, named)
        if not path.is_dir():
            raise document.error(where, f"there is no folder {path}")
        return path

    def _inside(self, document: Document, where: FieldPath, named: str) -> Path:
        path = document.directory(where) / named
        if reason := self._out_of_bounds(path, named):
            raise document.error(where, reason)
        return path

    def _out_of_bounds(self, path: Path, named: str) -> str | None:
        """Why the file, wherever links lead, may not be read."""
        resolved = path.resolve()
        if self.allow_outside:
            return None
        if not resolved.is_relative_to(self.root):
            return f"`{named}` leads outside the project ({self.root}); allow it with --allow-outside"
        if is_hidden(resolved, self.root):
            return f"`{named}` is a hidden file; allow it with --allow-outside"
        return None

    def model(self, key: str) -> ModelSpec:
        """How to make the model with this key."""
        if key in self.models:
            return self.models[key]
        if document := self._file("model", key):
            _, self.models[key] = self.model_spec(document, (), checked_model(document, document.value))
            self.warnings.extend(document.warnings)
            return self.models[key]
        if catalog.is_name("model", key):
            return ModelSpec(model=key, options={})
        self._refuse_broken("model", key)
        if found := _of_provider(key):
            return found
        if not self.models_needed:
            self.missing_models.append(key)
            return ModelSpec(model=key, options={})
        hint = f" {hint_here(key, self.models)}" if self.models else ""
        raise UsageError(
            f"there is no model `{key}`.{hint} Say which one it is with --model-for '{key}=MODEL', "
            f"or write a model file with this key into {self.home / 'models'}"
        )

    def model_spec(
        self, document: Document, where: FieldPath, model: ModelEntry | ProvidedModel
    ) -> tuple[str, ModelSpec]:
        """The key of a model, and what `--model` and its options would say."""
        if isinstance(model, ProvidedModel):
            key, provider, name = provider_key(model.provider)
            argument, options = provider_model(document, where, provider, name)
            return key, ModelSpec(model=argument, options=options)
        config, written, inside = model.config, None, (*where, "config")
        match config:
            case NamedModel():
                argument, options = config.model, dict(config.options)
            case ProviderConnection():
                argument, options = provider_model(document, inside, config.provider_id, config.model_key)
                written = config.api_key
            case CustomInference():
                argument = f"custom_inference:{config.model_key or model.key}"
                options = {
                    "run_inference_snippet": config.run_inference_snippet,
                    "timeout_seconds": config.timeout,
                    **self._templates(document, (*inside, "adapter"), config.adapter),
                }
                if config.environment:
                    options["environment"] = dict(config.environment)
            case CustomConnection():
                templates = self._templates(document, (*inside, "adapter"), config.adapter)
                argument = f"openai:{config.model_key or model.key}"
                options = {"base_url": config.url.removesuffix("/chat/completions")}
                if templates:
                    argument = f"adapted:{config.model_key or model.key}"
                    options = {"base_url": config.url, **templates}
                written = config.api_key
                for name, value in (("tls_context", config.tls_context), ("custom_headers", config.custom_headers)):
                    if value:
                        document.warn((*inside, name), "is not used: this connection has no such setting here")
        if variable := _key_variable(document, (*inside, "api_key"), written):
            options["api_key_env"] = variable
        _keep_key_at_home(argument, options)
        return model.key, ModelSpec(
            model=argument,
            options=options,
            requests_per_minute=model.rate_limit,
            concurrency=model.max_concurrent_requests,
            generation={name: value for name, value in (model.generation or {}).items() if value is not None},
        )

    def _templates(self, document: Document, where: FieldPath, adapter: AdapterReference | None) -> Options:
        """The two templates of an adapter; none for the one that changes nothing."""
        if adapter is not None and adapter.key is not None:
            adapter = None if adapter.key.startswith(IDENTITIES) else self._adapter(document, where, adapter.key)
        if adapter is None or adapter.process_input is None or adapter.process_output is None:
            return {}
        return {
            "process_input": adapter.process_input.source_code,
            "process_output": adapter.process_output.source_code,
        }

    def _adapter(self, document: Document, where: FieldPath, key: str) -> AdapterReference:
        if key in self.adapters:
            return self.adapters[key]
        if found := self._file("model_adapter", key):
            return checked_adapter(found, found.value)
        hint = f" {hint_here(key, self.adapters)}" if self.adapters else ""
        message = f"there is no adapter `{key}`.{hint} Write one with this key into {self.home / 'model_adapters'}"
        raise document.error((*where, "key"), message)

    def other_model(self, key: str) -> Options:
        """A judge or another model a task asks. Its pace is kept apart: how fast it is asked is no part of the task."""
        spec = self.model(key)
        pace = {"requests_per_minute": spec.requests_per_minute, "concurrency": spec.concurrency}
        if known := {name: value for name, value in pace.items() if value is not None}:
            self.paces[key] = known
        made: Options = {"model": spec.model, "options": spec.options}
        return {**made, "generation": spec.generation} if spec.generation else made

    def _folders(self, kind: str) -> list[Path]:
        found = [self.home, self.home / kind, self.home.parent / kind, self.root / kind]
        return [folder for at, folder in enumerate(found) if folder not in found[:at] and folder.is_dir()]

    def _file(self, kind: str, key: str) -> Document | None:
        """The YAML file of the nearest folder that holds this; one that cannot be read is no reason to stop."""
        for folder in self._folders(f"{kind}s"):
            found: list[Document] = []
            for path in _yaml_files(folder):
                written = _label(path, self.root, self.allow_outside)
                if written != (kind, key) and not (written and written[0] == kind and written[1].startswith("$")):
                    continue
                document = read_yaml(path, root=self.root, allow_outside=self.allow_outside, environ=self.environ)
                if isinstance(document.value, dict) and document.value.get("key") == key:
                    found.append(document)
            if len(found) > 1:
                raise _ambiguous(kind, key, [document.path for document in found])
            for document in found:
                self.files.extend(document.files)
                self.variables.extend(document.variables)
                return document
        return None

    def _refuse_broken(self, kind: str, key: str) -> None:
        """What was not found may stand in a file that cannot be read, or that holds something else by mistake."""
        for folder in self._folders(f"{kind}s")[1:]:  # in the file's own folder lie tasks, which say it themselves
            for path in _yaml_files(folder):
                written = _label(path, self.root, self.allow_outside)
                if written is None or written[1] == key or path.stem == key:
                    document = read_yaml(path, root=self.root, allow_outside=self.allow_outside, environ=self.environ)
                    check = checked_model if kind == "model" else checked_dataset
                    check(document, document.value)


def _given(**options: object) -> Options:
    """Those that were given: what was left out is no part of a task's identity."""
    found: Options = msgspec.to_builtins({name: value for name, value in options.items() if value is not None})
    return found


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())


def _ambiguous(kind: str, key: str, paths: Sequence[Path]) -> UsageError:
    return UsageError(f"the {kind} `{key}` is given twice: in {' and in '.join(map(str, paths))}; remove or rename one")


def _label(path: Path, root: Path, allow_outside: bool) -> tuple[str, str] | None:
    """What kind of thing a YAML file holds, and under which key as it is written; None where it cannot be read.

    Remembered, or each of a folder's tasks would read all the others to find its dataset.
    """
    found = path.stat()
    return _label_of_version(path, (found.st_ino, found.st_size, found.st_mtime_ns), root, allow_outside)


@lru_cache(maxsize=10_000)
def _label_of_version(path: Path, _: tuple[int, ...], root: Path, allow_outside: bool) -> tuple[str, str] | None:
    try:
        value = read_yaml(path, root=root, allow_outside=allow_outside).value
    except UsageError:
        return None
    return kind_of(value), str(value.get("key")) if isinstance(value, dict) else ""


def _keep_key_at_home(model: str, options: Options) -> None:
    """A file that chooses a host and no key does not get the key of the provider whose protocol it speaks."""
    adapter, _, argument = model.partition(":")
    address = chosen_address(argument, options)
    if address and adapter in PROVIDERS and not belongs_to(PROVIDERS[adapter].key, address):
        options.setdefault("api_key_env", NO_KEY)


def provider_model(document: Document, where: FieldPath, provider: str, name: str) -> tuple[str, Options]:
    """A model of a provider as after `--model`, with its options."""
    known = {word: each for word, each in PROVIDERS.items() if each.hosted}
    if provider not in known:
        raise document.error(where, f"unknown provider `{provider}`. {hint_here(provider, known)}")
    return _provided(provider, name)


def _of_provider(key: str) -> ModelSpec | None:
    """The model of a key such as `openai$gpt-4-1-nano`, which names a provider that assay knows."""
    provider, dollar, dashed = key.partition("$")
    if not dollar or not dashed or provider not in PROVIDERS or not PROVIDERS[provider].hosted:
        return None
    argument, options = _provided(provider, _undashed(dashed))
    return ModelSpec(model=argument, options=options)


def _undashed(name: str) -> str:
    """A key has `-` for every `.`: where assay knows a model by that key, its name is the real one."""
    known = [model for model in model_names() if model.replace(".", "-") == name]
    return known[0] if len(known) == 1 else name


def _provided(provider: str, name: str) -> tuple[str, Options]:
    options: Options = {"api_key_env": PROVIDERS[provider].key}
    if provider != "openai":  # whose adapter knows the address, and lets the user's OPENAI_BASE_URL say another
        options["base_url"] = PROVIDERS[provider].address
    return f"openai:{name}", options


def provider_key(named: str) -> tuple[str, str, str]:
    """`openai/gpt-4.1-nano` -> (key, provider, model): the key has `-` for every `.`."""
    provider, _, name = named.partition("/")
    return f"{provider}${name.replace('.', '-').replace('/', '-')}", provider, name


def _key_variable(document: Document, where: FieldPath, written: str | None) -> str | None:
    """The variable that holds the key; a key written into a file is refused."""
    if not written:
        return None
    name = written.strip().removeprefix("$").strip("{}")
    if not written.strip().startswith("$") or not name.isidentifier():
        raise document.error(where, "a key is never written into a file: write `$NAME` and set that variable")
    return name
