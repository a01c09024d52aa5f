"""Documents from local files in place of the hub's: a file for each split, or a folder for each task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.bridges.process.tables import files_for, missing_split, on_disk


@contextlib.contextmanager
def local_documents(data: dict[str, str], wanted: str, folder: Path) -> Iterator[None]:
    """Inside this context, hub datasets are read from the files; `folder` is for what is derived from them."""
    if not data:
        yield
        return
    from lm_eval.api.task import ConfigurableTask, Task

    import datasets

    class Splits(datasets.DatasetDict):  # type: ignore[misc] # datasets has no types
        def __missing__(self, split: str) -> Any:
            raise missing_split(asking[0], split, list(self), data)

    asking: list[str] = [""]
    real = (datasets.load_dataset, ConfigurableTask.download, Task.download)

    def noting_the_task(download: Any) -> Any:
        def noted(task: Any, *arguments: Any, **options: Any) -> Any:
            asking[0] = _name_of(task) or wanted
            return download(task, *arguments, **options)

        return noted

    def load_dataset(path: Any = None, name: Any = None, split: Any = None, **_: Any) -> Any:
        files = files_for(asking[0], data)
        whole = Splits({each: on_disk(each, file, folder) for each, file in files.items()})
        return whole if split is None else whole[split]

    datasets.load_dataset = load_dataset
    ConfigurableTask.download, Task.download = noting_the_task(real[1]), noting_the_task(real[2])
    try:
        yield
    finally:
        datasets.load_dataset, ConfigurableTask.download, Task.download = real


def _name_of(task: Any) -> str | None:
    """The name of a task; one written in Python may not have it yet."""
    with contextlib.suppress(AttributeError):
        name: str | None = task.config.task
        return name
    return None
