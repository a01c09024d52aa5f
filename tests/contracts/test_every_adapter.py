"""No model of the catalog goes without the contract suite."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.models.test_presets import HOSTED, LOCAL

from assay.catalog import CATALOG

MODELS = Path(__file__).parents[1] / "models"
CONTRACT_TEST = "test_it_keeps_the_contract_of_a_model"

HELD_IN = {
    "toy": "test_toy.py",
    "stub": "test_stub.py",
    "constant": "test_stub.py",
    "openai": "test_openai_http.py",
    "anthropic": "test_vendors.py",
    "gemini": "test_vendors.py",
    "command": "test_command.py",
    "embedded": "test_embedded.py",
    "transformers": "test_transformers_local.py",
    "litellm": "test_litellm_library.py",
    "module:name": "test_python_callable.py",
    **dict.fromkeys((*LOCAL, *HOSTED), "test_presets.py"),
}
"""Where each model of the catalog (and Python of one's own) is held to the contract; presets one by one."""


def test_every_model_of_the_catalog_is_held_to_the_contract() -> None:
    assert set(HELD_IN) == {*CATALOG["model"], "module:name"}


@pytest.mark.parametrize("file", sorted(set(HELD_IN.values())))
def test_the_contract_test_is_there_and_runs_the_suite(file: str) -> None:
    tree = ast.parse((MODELS / file).read_text(encoding="utf-8"))
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == CONTRACT_TEST]
    assert len(tests) == 1
    called = {
        node.func.id for node in ast.walk(tests[0]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "check_model" in called
