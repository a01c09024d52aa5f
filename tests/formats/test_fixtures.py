"""The starter tasks are copied without harm, and the toy model answers every one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.fixtures import STARTER_TASKS, seed_fixture_tasks
from assay.formats.folder.reader import load_all_tasks
from assay.formats.folder.rules import Example
from assay.models.adapters.toy import answer


def test_seeding_makes_the_folder_and_can_be_repeated(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "tasks"
    first = seed_fixture_tasks(target)
    assert first == seed_fixture_tasks(target) == sorted(target.iterdir())
    assert load_all_tasks(target) == load_all_tasks(STARTER_TASKS)


def test_seeding_brings_back_a_missing_file(tmp_path: Path) -> None:
    paths = seed_fixture_tasks(tmp_path)
    paths[0].unlink()
    assert seed_fixture_tasks(tmp_path) == paths
    assert paths[0].exists()


def test_a_file_with_other_content_is_never_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "summary.jsonl"
    mine.write_text("mine\n")
    with pytest.raises(UsageError, match=r"summary\.jsonl: is there already with other content"):
        seed_fixture_tasks(tmp_path)
    assert list(tmp_path.iterdir()) == [mine]
    assert mine.read_text() == "mine\n"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        seed_fixture_tasks(tmp_path / "file" / "tasks")


ALL = [(name, example) for name, examples in load_all_tasks(STARTER_TASKS).items() for example in examples]


@pytest.mark.parametrize(("name", "example"), ALL, ids=[example.id for _, example in ALL])
def test_the_toy_model_answers_every_starter_task(name: str, example: Example) -> None:
    said = answer(example.prompt)
    if name == "generation":
        assert any(target.lower() in said.lower() for target in example.targets)
    elif name == "code-exec":
        namespace: dict[str, object] = {}
        exec(said, namespace)  # our own code, not a model's
        f = namespace["f"]
        assert callable(f)
        assert [f(given) for given, _ in example.extras["io_pairs"]] == [out for _, out in example.extras["io_pairs"]]
    else:
        assert said in example.targets
