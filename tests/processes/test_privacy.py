"""No child reads what its parent has, whatever its kind. Root without its capabilities is a user like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import without_capabilities

import assay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

READ_PARENT = "import os; print(open(f'/proc/{os.getppid()}/environ').read())"
PARENT = f"""
import subprocess, sys, threading
sys.path.insert(0, {str(Path(assay.__file__).parents[1])!r})
from assay.processes.environment import bare_environment, child_environment

def start(environment):
    return subprocess.run([sys.executable, "-c", {READ_PARENT!r}], env=environment(), capture_output=True, text=True)

said = [start(child_environment), start(bare_environment)]
thread = threading.Thread(target=lambda: said.append(start(child_environment)))
thread.start()
thread.join()
print([(each.returncode, "PermissionError" in each.stderr) for each in said])
"""


def what_children_of_a_user_get(**variables: str) -> str:
    """Run a parent that holds a key and starts three children, one of them from a thread; how each ended."""
    done = subprocess.run(
        [*without_capabilities(), sys.executable, "-c", PARENT],
        env={"PATH": os.environ["PATH"], "MY_API_KEY": "sk-in-the-parent", **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_child_reads_its_parents_environment() -> None:
    assert what_children_of_a_user_get() == str([(1, True)] * 3)


def test_users_can_allow_a_debugger() -> None:
    assert what_children_of_a_user_get(ASSAY_DEBUGGABLE="1") == str([(0, False)] * 3)
