"""DROP's scores: those of the published rules, and of lm-evaluation-harness's where that is installed."""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import pytest

from assay.metrics.reading import drop_scores

CASES: list[tuple[str, list[list[str]], tuple[float, float]]] = [
    ("The 3", [["3.0"]], (1.0, 1.0)),
    ("three", [["3"]], (0.0, 0.0)),
    ("4 yards", [["3 yards"]], (0.0, 0.0)),
    ("3 long yards", [["3 yards"]], (0.0, 0.8)),
    ("$1,000", [["1000"]], (1.0, 1.0)),
    ("twenty-five", [["twenty five"]], (1.0, 1.0)),
    ("12 May 1998", [["12 May 1998"]], (1.0, 1.0)),
    ("Jets and Bears", [["Bears", "Jets"]], (1.0, 1.0)),
    ("Bears", [["Bears", "Jets"]], (0.0, 0.5)),
    ("Bears, Jets, Rams", [["Bears", "Jets"]], (0.0, 0.67)),
    ("", [["Bears"]], (0.0, 0.0)),
    ("Rams", [["Bears"], ["the Rams"]], (1.0, 1.0)),
    ("anything", [[""], []], (0.0, 0.0)),
]


@pytest.mark.parametrize(("said", "answers", "scores"), CASES)
def test_spans_are_compared_as_published(said: str, answers: list[list[str]], scores: tuple[float, float]) -> None:
    assert drop_scores(said, answers) == scores


MARKS = "'s 3.5% $4 1_0 nan inf U.S. é $1.5 one-a"
WORDS = [*f"the The a 7 7.0 1,000 1000 - -5 twenty-five Bears bears! of yard {MARKS}".split(" ")]


def test_the_scores_are_those_of_lm_evaluation_harness() -> None:
    reference = _reference()
    rng = random.Random(2)

    def some(most: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, most)))

    for _ in range(500):
        said, answers = some(5), [[some(3) for _ in range(rng.choice((1, 1, 3)))] for _ in range(rng.randint(1, 3))]
        theirs = reference.process_results({"answers": [tuple(spans) for spans in answers]}, [said])
        ours = drop_scores(said, answers)
        if all(len(spans) == 1 for spans in answers):
            assert ours == (theirs["em"], theirs["f1"]), (said, answers)
        else:  # a list is read as one here
            assert ours >= (theirs["em"], theirs["f1"]), (said, answers)


def _reference() -> Any:
    """The file of the installed package alone, which needs scipy besides."""
    pytest.importorskip("scipy")
    named = os.environ.get("LM_EVAL")
    packages = sorted(Path(named).parent.parent.glob("lib/python3*/site-packages/lm_eval")) if named else []
    found = importlib.util.find_spec("lm_eval")
    folder = packages[0] if packages else Path(str(found.origin)).parent if found and found.origin else None
    if folder is None or not (folder / "tasks/drop/utils.py").is_file():
        pytest.skip("lm_eval is not installed")
    spec = importlib.util.spec_from_file_location("drop_utils", folder / "tasks/drop/utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
