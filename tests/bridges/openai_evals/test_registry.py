"""Registries: templates with nothing but names in braces, and the package's words without its code."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bridges.openai_evals.registry import ANSWER_PROMPTS, Registry, fields_of
from assay.core.errors import UsageError


def test_a_template_reaches_nothing_but_fields() -> None:
    assert fields_of("{input} and {completion}", "t") == ["input", "completion"]
    with pytest.raises(UsageError, match="only names are allowed in braces"):
        fields_of("{input.__class__}", "t")


def test_the_words_to_a_grader_are_the_packages_where_it_lies_around(tmp_path: Path) -> None:
    (tmp_path / "registry" / "evals").mkdir(parents=True)
    registry = Registry(tmp_path / "registry")
    assert registry.answer_prompts["classify"] == ANSWER_PROMPTS["classify"]
    (tmp_path / "elsuite" / "modelgraded").mkdir(parents=True)
    code = 'raise SystemExit\nANSWER_PROMPTS = {"classify": " One of {choices}. ".strip()}\n'
    (tmp_path / "elsuite" / "modelgraded" / "classify_utils.py").write_text(code)
    assert Registry(tmp_path / "registry").answer_prompts == {"classify": "One of {choices}."}


def test_a_folder_without_evals_is_no_registry(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no folder `evals`"):
        Registry(tmp_path)
