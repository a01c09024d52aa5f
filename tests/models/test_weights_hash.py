"""The hash of weights is that of their content, is computed once, and costs nothing in the hub's cache."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from assay.models.weights_hash import checkpoint, content_sha256, served_from


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "model-1.safetensors").write_bytes(b"first")
    (folder / "model-2.safetensors").write_bytes(b"second")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "README.md").write_text("about")
    return folder


def test_other_weights_have_another_hash_and_other_notes_do_not(folder: Path) -> None:
    before = served_from(folder)
    assert before is not None
    (folder / "README.md").write_text("changed")
    assert served_from(folder) == before
    (folder / "tokenizer.json").write_text("[]")
    other_tokenizer = served_from(folder)
    assert other_tokenizer is not None
    assert other_tokenizer.strong == before.strong
    assert other_tokenizer.weak != before.weak
    (folder / "model-2.safetensors").write_bytes(b"SECOND")
    after = served_from(folder)
    assert after is not None
    assert after.strong != before.strong


def test_the_same_weights_elsewhere_have_the_same_hash(folder: Path) -> None:
    elsewhere = folder.with_name("moved")
    before = served_from(folder)
    folder.rename(elsewhere)
    assert served_from(elsewhere) == before


def test_a_file_is_read_once(folder: Path) -> None:
    path = folder / "model-1.safetensors"
    first = content_sha256(path)
    assert first == hashlib.sha256(b"first").hexdigest()
    times = path.stat()
    with path.open("r+b") as file:  # the same path, size, time and inode: nothing tells them apart without reading
        file.write(b"FIRST")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert content_sha256(path) == first
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    assert content_sha256(path) == hashlib.sha256(b"FIRST").hexdigest()


def test_without_a_folder_of_the_users_own_it_is_computed_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", "relative")
    assert content_sha256(folder / "model-1.safetensors") == hashlib.sha256(b"first").hexdigest()


def test_the_hubs_cache_names_revision_and_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    model, commit, blob = tmp_path / "models--org--m", "a" * 40, "b" * 64
    for name in ("blobs", "refs", f"snapshots/{commit}"):
        (model / name).mkdir(parents=True)
    (model / "blobs" / blob).write_bytes(b"not read")
    (model / "refs" / "main").write_text(commit)
    (model / "snapshots" / commit / "model.safetensors").symlink_to(model / "blobs" / blob)
    place = checkpoint("org/m")
    assert place is not None
    assert place == checkpoint("org/m", commit)
    assert content_sha256(place / "model.safetensors") == blob
    served = served_from(place)
    assert served is not None
    assert served.strong["revision"] == commit
    assert checkpoint("org/other") is None


def test_a_folder_without_weights_says_nothing_and_a_gguf_file_its_hash(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert served_from(tmp_path / "empty") is None
    (tmp_path / "m.gguf").write_bytes(b"gguf")
    served = served_from(tmp_path / "m.gguf")
    assert served is not None
    assert served.strong == {"weights sha256": hashlib.sha256(b"gguf").hexdigest()}
