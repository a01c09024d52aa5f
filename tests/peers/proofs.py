"""Which code is compared with which other program, and when: `proved.json` is written by `make test-peers`.

A proof is of the code as it was: the hash of its syntax trees without docstrings and imports, whatever file a function
is in and whatever its variables are called. So prose, formatting, moves and better names of variables need no new
proof, and every change of what the code does needs one.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

ROOT = Path(__file__).parents[2]
PROVED = Path(__file__).with_name("proved.json")
BRIDGES = "src/assay/bridges"
ADAPTERS = "src/assay/models/adapters"


class Peer(Struct, frozen=True):
    """Another program, the code of ours that must agree with it, and the tests that compare them."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


PEERS = {
    "lm_eval": Peer(
        code=(f"{BRIDGES}/lm_eval", f"{BRIDGES}/process"),
        tests=(
            "tests/bridges/lm_eval",
            "tests/models/adapters/test_beside_lm_eval.py",
            "tests/metrics/test_reading.py",
        ),
    ),
    "inspect_ai": Peer(
        code=(f"{BRIDGES}/inspect", f"{BRIDGES}/process"), tests=("tests/bridges/inspect", "tests/bridges/process")
    ),
    "promptfoo": Peer(code=(f"{BRIDGES}/promptfoo",), tests=("tests/bridges/promptfoo",)),
    "ray": Peer(
        code=("src/assay/runs/driver.py", "src/assay/runs/worker.py", "src/assay/runs/ray_cluster.py"),
        tests=(
            "tests/end_to_end/test_ray_work.py",
            "tests/runs/test_ray_cluster.py",
            "tests/runs/test_same_fingerprints.py",
        ),
    ),
    "transformers": Peer(
        code=(f"{ADAPTERS}/transformers_local.py", f"{ADAPTERS}/transformers_reading.py"),
        tests=(f"tests/{ADAPTERS.removeprefix('src/assay/')}/test_transformers_local.py",),
    ),
    "datasets": Peer(code=("src/assay/datasets/hub.py",), tests=("tests/datasets/test_hub_over_http.py",)),
}


class Proof(Struct, frozen=True):
    """That the tests passed with this version of the other program, and this code of ours."""

    version: str
    python: str
    passed: int
    skipped: int
    code: str


def read_proofs() -> dict[str, Proof]:
    return msgspec.json.decode(PROVED.read_bytes(), type=dict[str, Proof])


def write_proofs(proofs: dict[str, Proof]) -> None:
    PROVED.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(proofs.items()))), indent=2) + b"\n")


def code_hash(peer: Peer) -> str:
    """The hash of what the peer's code does, equal in every version of Python."""
    missing = [name for name in peer.code if not (ROOT / name).exists()]
    assert not missing, f"tests/peers/proofs.py names code that is not there: {', '.join(missing)}"
    files = [
        file for name in peer.code for file in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*"))
    ]
    parts = [part for file in files if file.is_file() and "__pycache__" not in file.parts for part in _parts(file)]
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def _parts(file: Path) -> Iterator[str]:
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        yield text
        return
    for statement in ast.parse(text).body:
        if words := _words(statement, _variables(statement)):
            yield words


def _words(value: Any, variables: dict[str, str]) -> str:
    """A syntax tree as text: `ast.dump` differs between versions of Python."""
    if isinstance(value, ast.Import | ast.ImportFrom) or _is_docstring(value):
        return ""
    if isinstance(value, ast.Name):
        return f"Name({variables.get(value.id, value.id)})"
    if isinstance(value, list):
        return " ".join(words for item in value if (words := _words(item, variables)))
    if isinstance(value, ast.AST):
        fields = [(name, field) for name, field in ast.iter_fields(value) if name not in ("ctx", "kind")]
        written = [f"{name}={words}" for name, field in fields if (words := _words(field, variables))]
        return f"{type(value).__name__}({', '.join(written)})"
    return "" if value is None else repr(value)


def _variables(statement: ast.stmt) -> dict[str, str]:
    """Numbers for the names that functions and comprehensions of the statement assign, in their order."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    scopes = [node for node in ast.walk(statement) if isinstance(node, kinds)]
    names = [node for scope in scopes for node in ast.walk(scope) if isinstance(node, ast.Name)]
    assigned = sorted(
        (node for node in names if isinstance(node.ctx, ast.Store)), key=lambda node: (node.lineno, node.col_offset)
    )
    return {name: f"variable {number}" for number, name in enumerate(dict.fromkeys(node.id for node in assigned))}


def _is_docstring(value: Any) -> bool:
    return isinstance(value, ast.Expr) and isinstance(value.value, ast.Constant) and isinstance(value.value.value, str)
