"""Recipes on records made in the published shape: the gold answer scores, and an unknown file is not taken unasked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recipes.made import checked
from tests.recipes.shapes import FILES, tasks_made

from assay.core.errors import UsageError
from assay.recipes.recipe import NAMES, find_recipe


@pytest.mark.parametrize("name", FILES)
def test_the_gold_answers_score_and_empty_ones_do_not(name: str, tmp_path: Path) -> None:
    for task in tasks_made(name, tmp_path):
        assert [*task.dataset]
        assert checked(task).findings == []


def test_files_whose_hash_is_not_known_are_taken_only_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="accept-other-source"):
        tasks_made("arc", tmp_path, accept_unknown=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_says_where_it_comes_from_and_under_what_licence(name: str) -> None:
    recipe = find_recipe(name)
    assert recipe.name == name
    assert recipe.source
    assert recipe.licence
    assert recipe.variants
