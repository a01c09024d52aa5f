"""Too little memory is one sentence and exit code 2, wherever it runs out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.memory import ran_out

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="`ulimit -v` is for Linux")

QUESTION = {"id": "q", "prompt": "2+2?", "targets": ["4"], "metric": "exact_match"}
CODE = {"id": "c", "prompt": "f", "targets": [], "metric": "code_exec", "extras": {"io_pairs": [[1, 2]]}}


def ends_under(limit_mb: int, line: dict[str, object], folder: Path) -> str:
    """How a run under a limit on address space ends: well, out of memory, or what it says instead."""
    (folder / "t.jsonl").write_text(json.dumps(line) + "\n")
    command = f"ulimit -v {limit_mb * 1000}; exec {sys.executable} -P -m assay run t.jsonl --fresh --run-dir run"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        return "done"
    known = done.returncode == 2 and "out of memory" in done.stderr and done.stderr.count("\n") == 1
    return "out of memory" if known else f"{done.returncode}: {done.stderr}"


@pytest.mark.parametrize("limit", [60, 110, 143, 160])
def test_little_memory_is_one_sentence(limit: int, tmp_path: Path) -> None:
    assert ends_under(limit, QUESTION, tmp_path) == "out of memory"


@pytest.mark.prove
@pytest.mark.parametrize("line", [QUESTION, CODE], ids=["question", "code"])
def test_every_limit_ends_well_or_out_of_memory(line: dict[str, object], tmp_path: Path) -> None:
    ends = {limit: ends_under(limit, line, tmp_path) for limit in range(60, 400, 4)}
    assert {limit: end for limit, end in ends.items() if end not in ("done", "out of memory")} == {}
    assert set(ends.values()) == {"done", "out of memory"}


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_memory_has_many_names(error: Exception) -> None:
    assert ran_out(error)
    wrapped = ValueError("something else")
    wrapped.__cause__ = error
    assert ran_out(wrapped)


def test_other_errors_are_not_about_memory() -> None:
    assert not ran_out(RuntimeError("no such thread"))
    assert not ran_out(OSError(28, "No space left on device"))
