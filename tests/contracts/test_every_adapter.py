"""No model of the catalog goes without the contract suite."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.models.adapters.test_presets import HOSTED, LOCAL

from assay.catalog import CATALOG

MODELS = Path(__file__).parents[1] / "models"
CONTRACT_TEST = "test_it_keeps_the_contract_of_a_model"

HELD_IN = {
    "toy": "adapters/test_toy.py",
    "stub": "adapters/test_stub.py",
    "constant": "adapters/test_stub.py",
    "echo": "adapters/test_stub.py",
    "openai": "adapters/test_openai.py",
    "anthropic": "adapters/test_vendors.py",
    "gemini": "adapters/test_vendors.py",
    "command": "adapters/test_command.py",
    "adapted": "adapters/test_adapted.py",
    "custom_inference": "adapters/test_adapted.py",
    "embedded": "embedded/test_model.py",
    "transformers": "adapters/test_transformers_local.py",
    "litellm": "adapters/test_litellm_library.py",
    "module:name": "adapters/test_python_callable.py",
    **dict.fromkeys((*LOCAL, *HOSTED), "adapters/test_presets.py"),
}
"""Where each model of the catalog (and Python of one's own) is held to the contract; presets one by one."""


def test_every_model_of_the_catalog_is_checked_against_the_contract() -> None:
    no_answers = {"recorded", "no-model"}  # held to in adapters/test_recorded.py
    assert set(HELD_IN) == {*CATALOG["model"], "module:name"} - no_answers


@pytest.mark.parametrize("file", sorted(set(HELD_IN.values())))
def test_the_contract_test_is_there_and_runs_the_suite(file: str) -> None:
    tree = ast.parse((MODELS / file).read_text(encoding="utf-8"))
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == CONTRACT_TEST]
    assert len(tests) == 1
    called = {
        node.func.id for node in ast.walk(tests[0]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "check_model" in called
