"""`--data`: reads local files as the tables that `datasets` would have loaded from the hub."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from assay.bridges.process.problem import BridgeError

_LOADERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}


def files_for(task: str, data: dict[str, str]) -> dict[str, Path]:
    """The file of each split."""
    if "" not in data:
        return {split: Path(file) for split, file in data.items()}
    folder = Path(data[""]) / task
    if not folder.is_dir():
        raise BridgeError(f"--data {data['']}: has no folder `{task}` with the documents of that task")
    files = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in _LOADERS}
    if not files:
        raise BridgeError(f"--data {data['']}: {folder} holds no documents ({', '.join(_LOADERS)})")
    return files


def missing_split(task: str, split: str, given: list[str], data: dict[str, str]) -> BridgeError:
    """The error of a task that reads a split for which there is no file."""
    add = f"add {data['']}/{task}/{split}.jsonl" if "" in data else f"add --data {split}=FILE"
    return BridgeError(f"task `{task}` reads the split `{split}`, and --data has only {', '.join(given)}; {add}")


def on_disk(split: str, path: Path, folder: Path) -> Any:
    """The rows on disk, as `datasets` keeps those of the hub, so that it caches what a task maps them to.

    Otherwise a task that shuffles choices while reading would shuffle them again at every read.
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
        with contextlib.suppress(OSError):  # another process was faster
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
