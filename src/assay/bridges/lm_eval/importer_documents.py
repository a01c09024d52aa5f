"""The documents of an lm-evaluation-harness task: the test set, and the pool of few-shot examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.bridges.lm_eval.importer_fields import Document, Function
from assay.core.errors import UsageError
from assay.formats.imported import Imported, inside, read_records, shaped

_DATASET_KWARGS = {"data_files", "trust_remote_code"}


class Documents(Struct, frozen=True, kw_only=True):
    """The test set, and how few-shot examples are drawn."""

    test: list[Document]
    pool: list[Document]
    shots: int
    in_order: bool
    """Every question gets the first ones; otherwise each gets its own draw."""
    from_test: bool
    """The pool is the test set: no question is its own example."""


def documents_of(
    path: Path, config: dict[str, Any], data: Path | None, shots_data: Path | None, imported: Imported
) -> Documents:
    """Read the local files of a task; other files are a loss, or an error when it is the test set."""
    kwargs = config.get("dataset_kwargs") or {}
    by_split = _by_split(kwargs.get("data_files"))
    split = config.get("test_split") or config.get("validation_split") or "test"
    if data is None and (named := by_split.get(split) or by_split.get("test")):
        for name in kwargs.keys() - _DATASET_KWARGS:
            imported.lose("documents", f"dataset_kwargs.{name}: has no counterpart here")
        test = _local(path, named)
    else:
        test = read_records(data) if data else None
    if test is None:
        source = config.get("dataset_path", "nothing")
        raise UsageError(f"{path}: its data is `{source}`, not a local file; give the file with --data FILE")
    count = int(config.get("num_fewshot") or 0)
    if count < 0:
        raise UsageError(f"{path}: num_fewshot must be 0 or more, got {count}")
    pool, from_test = _pool(path, config, by_split, test, shots_data, imported) if count else ([], False)
    return Documents(
        test=test,
        pool=pool,
        shots=count if pool else 0,
        in_order=(config.get("fewshot_config") or {}).get("sampler") == "first_n",
        from_test=from_test,
    )


def _by_split(files: Any) -> dict[str, Any]:
    """Split -> its files. Files without a split are the test set."""
    if isinstance(files, dict):
        return {str(split): named for split, named in files.items()}
    return {"test": files} if files else {}


def _pool(
    path: Path,
    config: dict[str, Any],
    by_split: dict[str, Any],
    test: list[Document],
    shots_data: Path | None,
    imported: Imported,
) -> tuple[list[Document], bool]:
    """Where few-shot examples come from: the split of that name, a list in the file, else the training, validation or
    test split, in this order."""
    settings = config.get("fewshot_config") or {}
    if problem := _unreadable(settings):
        imported.lose("prompt", f"fewshot_config.{problem}")
        return [], False
    test_split = config.get("test_split")
    split = settings.get("split") or config.get("fewshot_split")
    samples = settings.get("samples") if split is None else None
    if shots_data is not None:
        if samples is not None:  # lm_eval uses these whatever splits there are
            raise UsageError(
                f"{path}: has few-shot examples of its own (fewshot_config.samples): leave --fewshot-data out"
            )
        return read_records(shots_data), split == test_split
    if samples is not None:
        return shaped(samples, list[Document], f"{path}: fewshot_config.samples"), test_split is None
    pool_split = split or config.get("training_split") or config.get("validation_split") or test_split
    if pool_split == (test_split or config.get("validation_split")):
        return test, split == test_split
    pool = _local(path, by_split.get(str(pool_split)))
    if pool is None:
        shots = f"{config.get('num_fewshot')} few-shot examples out of the split `{pool_split}`"
        imported.lose("prompt", f"{shots}; give its file with --fewshot-data FILE")
    return pool or [], split == test_split


def _unreadable(settings: dict[str, Any]) -> str | None:
    """The first few-shot setting that cannot be carried over."""
    if (sampler := settings.get("sampler", "default")) not in ("default", "first_n"):
        return f"sampler: {sampler}: has no counterpart here"
    for name in ("process_docs", "samples"):
        if isinstance(settings.get(name), Function):
            return f"{name}: !function {settings[name]}: Python of the task's own is not run"
    return None


def _local(path: Path, named: Any) -> list[Document] | None:
    """The documents of one file or several; None when they are not local."""
    names = named if isinstance(named, list) else [named]
    if not names or not all(isinstance(name, str) and "://" not in name for name in names):
        return None
    return [document for name in names for document in read_records(_file(path, name))]


def _file(path: Path, name: str) -> Path:
    for place in (path.parent / name, Path(name)):
        if place.is_file():
            return inside(path, place)
    raise UsageError(f"{path}: its data file {name} does not exist")
