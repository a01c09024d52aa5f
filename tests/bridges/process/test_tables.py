"""Files in place of the hub's documents: one for each split, or a folder for each task."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bridges.process.problem import BridgeError
from assay.bridges.process.tables import files_for, missing_split


def test_a_folder_holds_the_splits_of_many_tasks(tmp_path: Path) -> None:
    (tmp_path / "piqa").mkdir()
    for name in ("train.jsonl", "validation.csv", "notes.txt"):
        (tmp_path / "piqa" / name).write_text("")
    found = files_for("piqa", {"": str(tmp_path)})
    assert {split: path.name for split, path in found.items()} == {
        "train": "train.jsonl",
        "validation": "validation.csv",
    }
    assert files_for("piqa", {"test": "a.jsonl"}) == {"test": Path("a.jsonl")}


def test_a_task_without_documents_in_the_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match="no folder `boolq`"):
        files_for("boolq", {"": str(tmp_path)})
    (tmp_path / "boolq").mkdir()
    with pytest.raises(BridgeError, match=r"holds no documents \(.jsonl"):
        files_for("boolq", {"": str(tmp_path)})


def test_a_split_without_a_file_is_named_with_the_flag() -> None:
    one = str(missing_split("arc", "train", ["test"], {"test": "a.jsonl"}))
    assert one == "task `arc` reads the split `train`, and --data has only test; add --data train=FILE"
    many = str(missing_split("arc", "train", ["test"], {"": "documents"}))
    assert many.endswith("--data has only test; add documents/arc/train.jsonl")
