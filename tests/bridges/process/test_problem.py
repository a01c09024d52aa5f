"""Why a task cannot be had is a sentence with what to do."""

from __future__ import annotations

from assay.bridges.process.problem import not_loaded


def test_documents_that_cannot_be_fetched_can_be_given() -> None:
    error = ConnectionError("Couldn't reach 'piqa' on the Hub")
    assert "Pass them as files: --data SPLIT=FILE" in not_loaded("lm-eval:piqa", error)


def test_a_missing_package_is_named_as_it_is_installed() -> None:
    missing = ModuleNotFoundError("No module named 'no_such.part'", name="no_such.part")
    assert not_loaded("lm-eval:t", missing) == "`lm-eval:t` needs the package `no_such`: pip install no_such"
    moved = ModuleNotFoundError("No module named 'json.old'", name="json.old")
    assert "`json.old`, which the installed version of json does not have" in not_loaded("lm-eval:t", moved)
    own = ModuleNotFoundError("`sympy` is required; pip install lm-eval[math]")
    assert not_loaded("t", own) == "`t` needs a package: `sympy` is required; pip install lm-eval[math]"


def test_anything_else_is_reported_with_its_kind() -> None:
    assert not_loaded("lm-eval:t", KeyError("question")) == "`lm-eval:t` cannot be loaded: KeyError: 'question'"


def test_python_that_leaves_says_why() -> None:
    left = SystemExit("Error: swipl is not installed")
    assert not_loaded("t", left) == "`t` cannot be loaded: SystemExit: Error: swipl is not installed"


def test_errors_that_are_each_other_s_cause_come_to_an_end() -> None:
    first, second = KeyError("a"), ConnectionError("b")
    first.__cause__, second.__cause__ = second, first
    assert "Pass them as files" in not_loaded("t", first)
