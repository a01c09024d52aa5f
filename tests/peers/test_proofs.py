"""Every bridge is proved against the program it is for: its code as it is, and the locked version of that program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.peers import proofs
from tests.peers.proofs import PEERS, ROOT, Peer, code_hash, read_proofs


@pytest.mark.parametrize("name", PEERS)
def test_the_code_is_not_newer_than_its_proof(name: str) -> None:
    proof = read_proofs().get(name)
    assert proof is not None, f"{name} was never compared: `make test-peers ONLY={name}`"
    assert proof.code == code_hash(PEERS[name]), (
        f"{', '.join(PEERS[name].code)}: changed since it was compared with {name} {proof.version}; "
        f"`make test-peers ONLY={name}` compares again and writes tests/peers/proved.json"
    )


@pytest.mark.parametrize("name", PEERS)
def test_the_proof_is_of_the_version_that_is_locked(name: str) -> None:
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements-peers.lock").read_text(), re.MULTILINE))
    locked |= json.loads((ROOT / "tests" / "peers" / "package.json").read_text())["devDependencies"]
    assert read_proofs()[name].version == locked[name.replace("_", "-")]


@pytest.mark.parametrize("name", PEERS)
def test_a_proof_is_made_of_tests_that_ran(name: str) -> None:
    proof = read_proofs()[name]
    assert proof.passed > 3 * proof.skipped


BEFORE = '"""Prose."""\nimport os\nLIMIT = 3\ndef double(x):\n    """Twice."""\n    return x * 2\n'


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ("import sys\nLIMIT = 3\n\n\ndef double(x):\n    # why\n    return (x * 2)\n", True),
        ("def double(x):\n    return x * 2\nLIMIT = 3\n", True),
        (BEFORE.replace("* 2", "* 3"), False),
        (BEFORE.replace("LIMIT = 3", "LIMIT = '3'"), False),
        (BEFORE.replace("x * 2", "2 * x"), False),
    ],
)
def test_prose_imports_and_moves_leave_the_hash_and_code_changes_it(
    after: str, same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "ROOT", tmp_path)
    (tmp_path / "before.py").write_text(BEFORE)
    (tmp_path / "after.py").write_text(after)
    hashes = {code_hash(Peer(code=(name,), tests=())) for name in ("before.py", "after.py")}
    assert (len(hashes) == 1) is same


def test_a_variable_may_be_called_otherwise_but_not_confused_with_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "ROOT", tmp_path)
    texts = {
        "loop": "def total(rows, extra):\n    return sum(each + extra for each in rows)\n",
        "renamed": "def total(rows, extra):\n    return sum(row + extra for row in rows)\n",
        "confused": "def total(rows, extra):\n    return sum(row + row for row in rows)\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    loop, renamed, confused = (code_hash(Peer(code=(f"{name}.py",), tests=())) for name in texts)
    assert loop == renamed != confused


def test_code_that_is_not_python_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "ROOT", tmp_path)
    (tmp_path / "bridge").mkdir()
    peer = Peer(code=("bridge",), tests=())
    empty = code_hash(peer)
    (tmp_path / "bridge" / "worker.mjs").write_text("process.exit(0)")
    assert code_hash(peer) != empty
