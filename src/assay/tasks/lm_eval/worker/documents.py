"""Documents from files at hand, in place of those of the hub: a file for each split, or a folder for each task."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.tasks.lm_eval.worker.problem import BridgeError

_LOADERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}


@contextlib.contextmanager
def local_documents(data: dict[str, str], wanted: str, folder: Path) -> Iterator[None]:
    """While this lasts, what the hub is asked for is read from the files; `folder` is for what is made of them."""
    if not data:
        yield
        return
    from lm_eval.api.task import ConfigurableTask, Task

    import datasets

    asking: list[str] = [""]
    real = (datasets.load_dataset, ConfigurableTask.download, Task.download)

    def noting_the_task(download: Any) -> Any:
        def noted(task: Any, *arguments: Any, **options: Any) -> Any:
            asking[0] = _name_of(task) or wanted
            return download(task, *arguments, **options)

        return noted

    def load_dataset(path: Any = None, name: Any = None, split: Any = None, **_: Any) -> Any:
        files = _files_for(asking[0], data)
        whole = datasets.DatasetDict({each: _on_disk(each, file, folder) for each, file in files.items()})
        return whole if split is None else whole[split]

    datasets.load_dataset = load_dataset
    ConfigurableTask.download, Task.download = noting_the_task(real[1]), noting_the_task(real[2])
    try:
        yield
    finally:
        datasets.load_dataset, ConfigurableTask.download, Task.download = real


def _name_of(task: Any) -> str | None:
    """What the task is called; one that is written in Python may not know that yet."""
    with contextlib.suppress(AttributeError):
        name: str | None = task.config.task
        return name
    return None


def _files_for(task: str, data: dict[str, str]) -> dict[str, Path]:
    """The file of each split."""
    if "" not in data:
        return {split: Path(file) for split, file in data.items()}
    folder = Path(data[""]) / task
    if not folder.is_dir():
        raise BridgeError(f"--data {data['']}: it has no folder `{task}` with the documents of that task")
    files = {each.stem: each for each in sorted(folder.iterdir()) if each.suffix in _LOADERS}
    if not files:
        raise BridgeError(f"--data {data['']}: {folder} holds no documents ({', '.join(_LOADERS)})")
    return files


def _on_disk(split: str, path: Path, folder: Path) -> Any:
    """The rows as `datasets` keeps those of the hub: what a task makes of them is made once.

    A task that shuffles choices while it reads would otherwise shuffle them again whenever it is asked for documents.
    """
    import datasets

    loader = _LOADERS.get(path.suffix)
    if loader is None:
        raise BridgeError(f"--data {split}={path}: files of documents end in {', '.join(_LOADERS)}")
    if not path.is_file():
        raise BridgeError(f"--data {split}={path}: there is no such file")
    kept = folder / "documents" / hashlib.sha256(path.suffix.encode() + path.read_bytes()).hexdigest()[:32]
    if not kept.is_dir():
        rows = _read_rows(path, loader)
        partial = kept.with_name(f"{kept.name}.{id(rows):x}.partial")
        rows.save_to_disk(str(partial))
        with contextlib.suppress(OSError):  # somebody else was quicker
            partial.rename(kept)
    return datasets.load_from_disk(str(kept))


def _read_rows(path: Path, loader: str) -> Any:
    import datasets

    if loader == "parquet":
        return datasets.Dataset.from_parquet(str(path))
    if loader == "csv":
        return datasets.Dataset.from_csv(str(path))
    text = path.read_text(encoding="utf-8-sig")
    try:
        rows = (
            json.loads(text)
            if path.suffix == ".json"
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
        return datasets.Dataset.from_list(rows)
    except Exception as error:
        raise BridgeError(f"{path}: not a list of documents that `datasets` can read: {error}") from error
