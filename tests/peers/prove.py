"""Compares bridges with the programs they are for, and records what passed: `make test-peers`, in its environment."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

from tests.peers.proofs import PEERS, ROOT, Peer, Proof, code_hash, read_proofs, write_proofs

NODE_MODULES = Path(sys.prefix) / "node" / "node_modules"
SECONDS = 900


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in PEERS]:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(PEERS)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or PEERS:
        print(f"== {name} {version_of(name)}", flush=True)
        if (proof := proved(name, PEERS[name])) is None:
            failed.append(name)
        else:
            write_proofs({**read_proofs(), name: proof})
    if failed:
        print(f"not proved: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def version_of(name: str) -> str:
    if name == "promptfoo":
        return str(json.loads((NODE_MODULES / "promptfoo" / "package.json").read_text())["version"])
    return version(name)


def proved(name: str, peer: Peer) -> Proof | None:
    """The proof that the tests of the peer give; None where one of them fails."""
    programs = {"LM_EVAL": f"{sys.prefix}/bin/lm_eval", "PROMPTFOO": str(NODE_MODULES / ".bin" / "promptfoo")}
    code = code_hash(peer)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "not prove", f"--timeout={SECONDS}", f"--junit-xml={report}"]
        done = subprocess.run([*command, *peer.tests], cwd=ROOT, env={**os.environ, **programs})
        if done.returncode:
            return None
        suite = ElementTree.parse(report).getroot()[0]
    tests, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    return Proof(
        version=version_of(name),
        python=".".join(platform.python_version_tuple()[:2]),
        passed=tests - skipped,
        skipped=skipped,
        code=code,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
