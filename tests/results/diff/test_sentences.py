"""A comparison in words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import stats as scipy_stats
from tests.results.board.scripted_boards import write_run
from tests.results.runs import Adder, run_into, write_sums
from tests.results.scored_runs import Scores, write_scored
from tests.results.yaml_runs import EQUALS, python_scorer, run_task, write_task

from assay.core.describe import ModelOffers
from assay.core.journal import Journal, read_records
from assay.pages.documents.diff import diff_document
from assay.pages.html.diff_page import diff_page as html_page
from assay.pages.markdown import markdown
from assay.results.diff.comparison import diff
from assay.results.diff.differences import BoardDiff


class Warm(Adder):
    """A model of texts that has its own way to learn the temperature."""

    offers = ModelOffers(applies=("temperature",))


def test_changes_of_prompt_targets_and_settings_are_told_apart_from_changes_of_answer(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 12)
    run_into(tmp_path / "a", tasks, Warm([1]), temperature=0.0)
    lines = [msgspec.json.decode(line) for line in tasks.read_bytes().splitlines()]
    lines[2]["prompt"] = "please compute: 2 + 1"
    lines[3]["targets"] = ["four"]
    tasks.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    run_into(tmp_path / "b", tasks, Warm([5]), temperature=0.5, keep_thinking=True)
    found = diff(tmp_path / "a", tmp_path / "b", allow_unequal=True)
    task = found.tasks[0]
    assert task.content == "changed"
    assert task.changes is not None
    assert (task.changes.prompt, task.changes.targets, task.changes.answer, task.changes.same) == (1, 1, 2, 8)
    assert "setting temperature: 0.0 → 0.5" in found.settings_changed
    assert "setting keep_thinking: not set → on" in found.settings_changed


def test_another_score_for_the_same_answer_is_a_change_of_scoring(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 6)
    a = run_into(tmp_path / "a", tasks, Adder())
    b = run_into(tmp_path / "b", tasks, Adder())
    records = list(read_records(b / "journal.jsonl"))
    (b / "journal.jsonl").unlink()
    journal = Journal(b / "journal.jsonl")
    zero = {"values": {"score": 0.0}}
    import asyncio

    async def write() -> None:
        journal.append(
            [msgspec.structs.replace(r, scores=(msgspec.structs.replace(r.scores[0], **zero),)) for r in records[:2]]
            + records[2:]
        )

    asyncio.run(write())
    journal.close()
    changes = diff(a, b).tasks[0].changes
    assert changes is not None
    assert (changes.score_only, changes.answer, changes.same) == (2, 0, 4)


def scripted_diff(folder: Path, tasks: dict[str, tuple[list[float], list[float]]]) -> BoardDiff:
    for at, side in enumerate("ab"):
        write_run(folder / side, {name: [[score] for score in scores[at]] for name, scores in tasks.items()})
    return diff(folder / "a", folder / "b")


def test_what_could_have_been_found_is_said_at_the_corrected_level(tmp_path: Path) -> None:
    """Six of six lost is significant alone (0.031) and not among seven comparisons; nothing larger can happen."""
    same = ([1.0] * 20, [1.0] * 20)
    alone = scripted_diff(tmp_path / "alone", {"lost": ([1.0] * 6, [0.0] * 6)}).tasks[0]
    assert alone.significant
    found = scripted_diff(tmp_path / "six", {"lost": ([1.0] * 6, [0.0] * 6)} | {f"same{n}": same for n in range(5)})
    lost = found.tasks[0]
    assert lost.comparison is not None
    assert not lost.significant
    assert lost.comparison.minimum_detectable_effect is None
    assert "no difference, however large, is significant with 6 pairs like these" in lost.verdict
    # the interval agrees with the verdict
    assert lost.comparison.interval.low == -1.0
    assert lost.comparison.interval.high > 0.0
    assert lost.comparison.interval.level == pytest.approx(1 - 0.05 / 7)
    # 0.05 / 7 takes nine losses and no gain of twenty
    assert found.tasks[1].comparison is not None
    least = found.tasks[1].comparison.minimum_detectable_effect
    assert scipy_stats.binom.sf(8, 20, least) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(
    ("length", "metrics", "said"),
    [
        ("len(sample['q'])", [{"type": "mean", "field": "length"}], "length_mean 1.000 → 2.000"),
        ("1 + 0", [{"type": "mean", "field": "length"}], "a scorer, aggregate or rule changed"),
        ("len(sample['q'])", [], "a scorer, aggregate or rule changed"),
    ],
)
def test_a_change_beside_the_score_is_told(
    length: str, metrics: list[dict[str, str]], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"q": "aa", "a": "aa"}, {"q": "bb", "a": "bb"}]
    for name, body in (("a", "1"), ("b", length)):
        purpose = "score" if metrics else "qa"  # what is in no number is for people to look at
        own = python_scorer(f'{{"length": {body}}}', metrics=metrics, purpose=purpose)
        task = write_task(tmp_path / name, rows, [EQUALS, own])
        monkeypatch.chdir(tmp_path / name)
        run_task(task)
    found = diff(tmp_path / "a" / "run", tmp_path / "b" / "run")
    assert found.tasks[0].flips == 0
    for page in (markdown(diff_document(found)), html_page(found)):
        assert said in page
        assert "nothing" not in page
    assert ("length_mean" in found.verdict) == ("→" in said)


def test_the_same_within_a_margin_is_a_verdict_of_its_own(runs: Path) -> None:
    """2,000 sums of which 40 are lost: worse, and the same within 0.05; of 50 sums nothing of the kind is shown."""
    found = diff(runs / "a", runs / "b", same_within=0.05)
    few, sums = found.tasks
    assert few.same is not None
    assert sums.same is not None
    assert (few.same.same, sums.same.same, sums.significant) == (False, True, True)
    assert "not shown to be the same within 0.05 (98.33 % interval" in few.verdict
    assert "B is worse" in sums.verdict
    assert "; the same within 0.05 (" in sums.verdict
    assert found.verdict.endswith("; the same within 0.05 on sums only")
    assert diff(runs / "a", runs / "b").tasks[1].same is None


def test_a_drop_that_only_gates_find_is_said_beside_the_difference(tmp_path: Path) -> None:
    """Five of five lost: two-sided p = 0.062, one-sided 0.031."""
    a = write_scored(tmp_path / "a", {"q": Scores(np.ones(5))})
    b = write_scored(tmp_path / "b", {"q": Scores(np.zeros(5))})
    lost, gained = diff(a, b), diff(b, a)
    assert lost.verdict == (
        "no significant difference (95 % level, one comparison); tested for a drop alone, as gates do, B is worse on q"
    )
    assert "tested for a drop alone, as gates do, B is worse: one-sided p = 0.031" in lost.tasks[0].verdict
    assert "drop" not in gained.verdict + gained.tasks[0].verdict
    drop = lost.tasks[0].drop
    assert drop is not None
    assert drop.basis is not None
    assert (drop.basis.level, drop.basis.comparisons, drop.basis.correction) == (0.95, 1, "holm")
    assert drop.basis.method == "McNemar's exact test, on the side of a drop"
    assert drop.basis.would_change == "1 of the 5 samples that speak for it turned the other way"
