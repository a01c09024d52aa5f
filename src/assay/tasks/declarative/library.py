"""What a file may name by key: datasets and models given with it, or found in the folders around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import catalog
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec
from assay.models.providers import NO_KEY, PROVIDERS, belongs_to, chosen_address
from assay.tasks.declarative.schema import checked_dataset, checked_model, kind_of
from assay.tasks.declarative.yaml_reader import Document, FieldPath, nearest, read_yaml
from assay.tasks.project import is_hidden

DATA_ENDINGS = (".jsonl", ".csv", ".tsv", ".parquet")
ModelSpec = dict[str, Any]
"""`model` (as after `--model`) and `options`; perhaps `requests_per_minute` and `concurrency`."""
_PACE = ("requests_per_minute", "concurrency")


@dataclass(slots=True)
class Library:
    """Datasets and models by key: those given first, then the YAML and data files of the folders around."""

    home: Path
    """The folder of the file that does the naming."""
    root: Path
    allow_outside: bool = False
    environ: Mapping[str, str] | None = None
    datasets: dict[str, tuple[Document, FieldPath, dict[str, Any]]] = field(default_factory=dict)
    models: dict[str, ModelSpec] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """Files of the folders around that were used."""
    paces: dict[str, dict[str, int]] = field(default_factory=dict)
    """How fast the other models may be asked, by key."""
    models_needed: bool = True
    """False where nothing is asked: a key without a model behind it then stands for itself."""
    only_reads: bool = False
    """True where no server may be asked for a dataset."""
    typed: frozenset[str] = frozenset()
    """Keys of models that the user named on the command line: no file chose those."""
    variables: list[str] = field(default_factory=list)
    """`$NAME`s of the files around that were left as they stood."""

    def dataset(self, key: str, *, num_samples: int | None = None, subsampling: str | None = None) -> DatasetSpec:
        """The dataset with this key, read once for its size and hash."""
        use, options = self._dataset_options(key)
        if num_samples is not None:
            options |= {"num_samples": num_samples, "subsampling": subsampling or "head"}
        made = catalog.resolve("dataset", use)(**options)
        size = 0 if use == "hub" and self.only_reads else len(made)
        return DatasetSpec(use=use, options=options, sha256=made.sha256, size=size)

    def _dataset_options(self, key: str) -> tuple[str, dict[str, Any]]:
        if key in self.datasets:
            return self._source(*self.datasets[key])
        for document in self._files("datasets"):
            if isinstance(document.value, dict) and document.value.get("key") == key:
                self.files.extend(document.files)
                self.variables.extend(document.variables)
                return self._source(document, (), checked_dataset(document, document.value))
        for folder in self._folders("datasets"):
            for ending in DATA_ENDINGS:
                path = folder / f"{key}{ending}"
                if path.is_file():
                    if reason := self._out_of_bounds(path, str(path)):
                        raise UsageError(reason)
                    return "table", {"path": str(path), "name": key}
        as_path = Path(key)
        if as_path.suffix in DATA_ENDINGS and as_path.is_file():
            return "table", {"path": key, "name": as_path.stem}
        places = ", ".join(str(folder) for folder in self._folders("datasets"))
        hint = f" {nearest(key, self.datasets)}" if self.datasets else ""
        raise UsageError(
            f"there is no dataset `{key}`.{hint} Looked for a dataset file with this key, "
            f"or {key}.jsonl, .csv or .parquet, in {places}"
        )

    def _source(self, document: Document, where: FieldPath, dataset: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        self.warnings.extend(document.warnings)
        source = dict(dataset["source"])
        kind = source.pop("type")
        options: dict[str, Any] = {"name": dataset["key"], "filters": source["filters"], "columns": source["columns"]}
        if kind == "inline":
            return "inline", {**options, "samples": source["samples"]}
        if kind == "huggingface":
            hub = {name: source[name] for name in ("path", "split", "revision", "load_dataset_kwargs")}
            # `path` is where a file lies and no part of a task's identity; a repository's name is
            return "hub", {**options, **{("repository" if n == "path" else n): v for n, v in hub.items()}}
        field_path = (*where, "source", "file_path")
        return "table", {**options, "path": str(self._data_file(document, field_path, source["file_path"]))}

    def _data_file(self, document: Document, where: FieldPath, named: str) -> Path:
        path = document.directory(where) / named
        if reason := self._out_of_bounds(path, named):
            raise document.error(where, reason)
        if not path.is_file():
            raise document.error(where, f"there is no file {path}")
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
        for document in self._files("models"):
            if isinstance(document.value, dict) and document.value.get("key") == key:
                self.models[key] = model_spec(document, (), checked_model(document, document.value))
                self.files.extend(document.files)
                self.variables.extend(document.variables)
                return self.models[key]
        if key in catalog.names("model") or not self.models_needed:
            return {"model": key, "options": {}}
        hint = f" {nearest(key, self.models)}" if self.models else ""
        raise UsageError(
            f"there is no model `{key}`.{hint} Say which one it is with --model-for '{key}=MODEL', "
            f"or write a model file with this key into {self.home / 'models'}"
        )

    def other_model(self, key: str) -> ModelSpec:
        """A judge or another model a task asks. Its pace is kept apart: how fast it is asked is no part of the task."""
        spec = self.model(key)
        if pace := {name: spec[name] for name in _PACE if name in spec}:
            self.paces[key] = pace
        return {name: value for name, value in spec.items() if name not in _PACE}

    def _folders(self, kind: str) -> list[Path]:
        found = [self.home, self.home / kind, self.home.parent / kind, self.root / kind]
        return [folder for at, folder in enumerate(found) if folder not in found[:at] and folder.is_dir()]

    def _files(self, kind: str) -> Iterator[Document]:
        """The YAML files around that hold this kind of thing; one that cannot be read is no reason to stop."""
        for folder in self._folders(kind):
            for path in sorted(folder.iterdir()):
                if path.suffix not in (".yaml", ".yml") or not path.is_file():
                    continue
                try:
                    document = read_yaml(path, root=self.root, allow_outside=self.allow_outside, environ=self.environ)
                except UsageError:
                    continue
                if f"{kind_of(document.value)}s" == kind:
                    yield document


def model_spec(document: Document, where: FieldPath, model: dict[str, Any]) -> ModelSpec:
    """A model file as what `--model` and its options would say."""
    config = model["config"]
    kind = config["connection_type"]
    if kind == "assay":
        spec: ModelSpec = {"model": config["model"], "options": dict(config["options"])}
    elif kind == "provider_connection":
        spec = provider_model(document, (*where, "config"), config["provider_id"], config["model_key"])
    else:
        name = config["model_key"] or model["key"]
        spec = {"model": f"openai:{name}", "options": {"base_url": config["url"].removesuffix("/chat/completions")}}
    variable = _key_variable(document, (*where, "config", "api_key"), config.get("api_key"))
    if variable:
        spec["options"]["api_key_env"] = variable
    _keep_key_at_home(spec)
    if model["rate_limit"]:
        spec["requests_per_minute"] = model["rate_limit"]
    if model["max_concurrent_requests"]:
        spec["concurrency"] = model["max_concurrent_requests"]
    return spec


def _keep_key_at_home(spec: ModelSpec) -> None:
    """A file that chooses a host and no key does not get the key of the provider whose protocol it speaks."""
    adapter, _, argument = spec["model"].partition(":")
    address = chosen_address(argument, spec["options"])
    if address and adapter in PROVIDERS and not belongs_to(PROVIDERS[adapter].key, address):
        spec["options"].setdefault("api_key_env", NO_KEY)


def provider_model(document: Document, where: FieldPath, provider: str, name: str) -> ModelSpec:
    known = {word: each for word, each in PROVIDERS.items() if each.hosted}
    if provider not in known:
        raise document.error(where, f"unknown provider `{provider}`. {nearest(provider, known)}")
    options = {"api_key_env": known[provider].key}
    if provider != "openai":  # whose adapter knows the address, and lets the user's OPENAI_BASE_URL say another
        options["base_url"] = known[provider].address
    return {"model": f"openai:{name}", "options": options}


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
