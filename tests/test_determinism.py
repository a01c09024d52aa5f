"""`make test` says the same about the same code: nothing in it is drawn at random each time."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
CHANCE = {"os.urandom", "uuid.uuid4", "uuid.uuid1", "time.time"}
GENERATORS = {"random.Random", "np.random.default_rng", "numpy.random.default_rng"}
ALLOWED = {
    "tests/fuzz/explore.py",  # looks for what no one has tried
    "tests/end_to_end/ray_nodes.py",  # the token of a cluster
}


@pytest.mark.skipif("ASSAY_EXPLORE" in os.environ, reason="this run looks for new examples")
def test_property_tests_try_the_same_examples_everywhere() -> None:
    profile = settings.default
    assert profile is not None
    assert (profile.derandomize, profile.database, profile.deadline) == (True, None, None)
    assert HealthCheck.too_slow in profile.suppress_health_check


PROPERTY = """
import conftest
from hypothesis import given, strategies as st

@given(st.text(), st.lists(st.floats()), st.sampled_from("abc"))
def draw(text, numbers, letter):
    print(ascii((text, numbers, letter)))

draw()
"""


def test_the_hash_seed_draws_no_other_examples() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_EXPLORE"}
    environment["PYTHONPATH"] = str(ROOT / "tests")
    command = [sys.executable, "-c", PROPERTY]
    first, second = (
        subprocess.Popen(command, env={**environment, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True)
        for seed in ("1", "2")
    )
    drawn = first.communicate()[0]
    assert len(drawn.splitlines()) >= 100
    assert second.communicate()[0] == drawn
    assert (first.returncode, second.returncode) == (0, 0)


def test_no_test_draws_without_a_seed() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {call}"
        for path in (ROOT / "tests").rglob("*.py")
        if path.relative_to(ROOT).as_posix() not in ALLOWED
        for line, call in unseeded(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


def unseeded(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls of the modules of chance; a generator of one's own that was given a seed is none."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    modules = {name.asname or name.name for node in imports for name in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        call = dotted(node.func)
        if call.partition(".")[0] not in modules:
            continue
        if call in GENERATORS and (node.args or node.keywords):
            continue
        if call in CHANCE or call.startswith(("random.", "np.random.", "numpy.random.", "secrets.")):
            yield node.lineno, call


def dotted(node: ast.expr) -> str:
    """`np.random.choice` as it is written; nothing where something else than names is called."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""
