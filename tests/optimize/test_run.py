"""Whole searches with a scripted proposer: they improve, they tell the truth, they go on where they were killed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.evaluators.loopback import Answer, serving
from tests.optimize.scripted import (
    AddingProposer,
    SayingProposer,
    WordEvaluator,
    breaking,
    fenced,
    missing,
    refused,
    word_share,
)

from assay.core.errors import UsageError
from assay.core.journal import lock_journal
from assay.core.types import Completion, Request
from assay.core.usage import note
from assay.evaluators import Evaluation, EvaluatorError, http_evaluator
from assay.evaluators.payload import build_payload, failed
from assay.evaluators.preflight import SENTINEL
from assay.optimize.constraints import Constraints
from assay.optimize.page import page
from assay.optimize.results import Result, in_words
from assay.optimize.run import SearchFolder, SearchProgress, SearchSettings, aoptimize, optimize
from assay.optimize.search_settings import SearchStrategy

RECORDS = [
    {"words": ["clear", "short"]},
    {"words": ["kind"]},
    {"words": ["exact", "calm"]},
    {"words": ["clear", "kind"]},
    {"words": ["short", "calm"]},
]
OTHERS = [{"words": ["clear", "calm"]}, {"words": ["kind", "exact"]}, {"words": ["short"]}]


def settings(**changes: Any) -> SearchSettings:
    usual: dict[str, Any] = {"seed": "Be", "budget": 80, "target_score": 1.0}
    return SearchSettings(**{**usual, **changes})


def searched(folder: Path, evaluator: Any = None, proposer: Any = None, **changes: Any) -> Result:
    return optimize(
        settings(**changes), evaluator or WordEvaluator(), proposer or AddingProposer(), folder=folder, probe=False
    )


MODES = {
    "single": {},
    "dataset": {"dataset": RECORDS},
    "dataset and valset": {"dataset": RECORDS, "valset": OTHERS},
    "seedless": {"seed": None, "objective": "good words", "dataset": RECORDS},
}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_improves_its_seed(tmp_path: Path, mode: str) -> None:
    result = searched(tmp_path, **MODES[mode])
    assert result.valset.best.mean == 1.0
    assert (result.valset.seed.mean or 0.0) < 1.0
    assert result.stop_reason == "target_reached"
    assert result.problem is None
    assert result.proposals["accepted"] == len(result.lineage) - 1 > 0
    assert (tmp_path / "best.txt").read_text(encoding="utf-8") == result.best
    assert msgspec.json.decode((tmp_path / "summary.json").read_bytes(), type=Result) == result


def test_a_valset_is_never_shown_to_the_proposer_and_decides_alone(tmp_path: Path) -> None:
    evaluator, proposer = WordEvaluator(), AddingProposer()
    marked = [{**record, "secret": "VALSET"} for record in OTHERS]
    result = searched(tmp_path, evaluator, proposer, dataset=RECORDS, valset=marked)
    assert not any("VALSET" in prompt for prompt in proposer.asked)
    assert result.valset.pairs == len(OTHERS)
    assert all(change.part == "valset" for change in result.examples)


def test_without_a_dataset_no_example_is_sent(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    searched(tmp_path, evaluator)
    assert {example for _, example in evaluator.asked} == {None}


def test_the_proposer_sees_score_example_and_side_information(tmp_path: Path) -> None:
    proposer = AddingProposer()
    searched(tmp_path, proposer=proposer, dataset=RECORDS, objective="good words", background="for a hotel")
    for piece in ("## score", "## example", "## missing", "good words", "for a hotel"):
        assert piece in proposer.asked[0]


def test_the_same_seed_gives_the_same_result(tmp_path: Path) -> None:
    one = searched(tmp_path / "one", dataset=RECORDS, valset=OTHERS, random_seed=7)
    two = searched(tmp_path / "two", dataset=RECORDS, valset=OTHERS, random_seed=7)
    other = searched(tmp_path / "other", dataset=RECORDS, valset=OTHERS, random_seed=8)
    assert _plain(one) == _plain(two)
    assert one.fingerprint != other.fingerprint


class Killed(BaseException):
    """Not an Exception: nothing on the way may swallow it, like a kill."""


@pytest.mark.parametrize("after", [0, 1, 3, 6, 9, 14, 19])
def test_a_killed_search_resumes_to_the_same_end(tmp_path: Path, after: int) -> None:
    straight = searched(tmp_path / "straight", dataset=RECORDS, valset=OTHERS)
    calls = 0

    def killed(candidate: str, example: Any) -> float:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Killed
        return word_share(candidate, example)

    killed.__qualname__ = word_share.__qualname__
    with pytest.raises(Killed):
        searched(tmp_path / "run", WordEvaluator(killed), dataset=RECORDS, valset=OTHERS)
    evaluator = WordEvaluator()
    result = searched(tmp_path / "run", evaluator, dataset=RECORDS, valset=OTHERS)
    assert {**_plain(result), "calls": None} == {**_plain(straight), "calls": None}
    assert result.calls["used"] == straight.calls["used"]
    assert len(evaluator.asked) == straight.calls["used"] - after


def test_a_larger_budget_resumes_where_the_smaller_one_ended(tmp_path: Path) -> None:
    small = searched(tmp_path, dataset=RECORDS, budget=20)
    assert small.stop_reason == "budget"
    evaluator, proposer = WordEvaluator(), AddingProposer()
    large = searched(tmp_path, evaluator, proposer, dataset=RECORDS, budget=80)
    assert large.stop_reason == "target_reached"
    assert len(evaluator.asked) == large.calls["used"] - small.calls["used"]
    assert len(proposer.asked) == large.proposals["made"] - small.proposals["made"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"seed": "Be good"}, "seed"),
        ({"dataset": RECORDS[1:]}, "dataset"),
        ({"valset": OTHERS}, "valset"),
        ({"random_seed": 3}, "random seed"),
        ({"minibatch": 2}, "minibatch"),
        ({"score_range": "any"}, "score range"),
        ({"task_model": "m"}, "task model"),
        ({"repeat": 2}, "repeat"),
    ],
)
def test_another_search_in_the_same_folder_is_refused(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    searched(tmp_path, dataset=RECORDS)
    with pytest.raises(UsageError, match=f"holds another run: .*{part}"):
        searched(tmp_path, **{"dataset": RECORDS, **change})


def test_fresh_puts_the_earlier_search_aside(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    searched(folder)
    optimize(
        settings(seed="Do"),
        WordEvaluator(),
        AddingProposer(),
        folder=SearchFolder(path=folder, fresh=True),
        probe=False,
    )
    assert (tmp_path / "run.old-1" / "summary.json").exists()


def test_fresh_leaves_a_search_alone_that_another_process_writes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    searched(folder)
    held = lock_journal(folder / "journal.jsonl")
    with pytest.raises(UsageError, match="another process is writing"):
        optimize(
            settings(seed="Do"),
            WordEvaluator(),
            AddingProposer(),
            folder=SearchFolder(path=folder, fresh=True),
            probe=False,
        )
    os.close(held)
    assert (folder / "summary.json").exists()


def test_a_journal_line_that_was_changed_is_refused(tmp_path: Path) -> None:
    searched(tmp_path)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"score":0.', b'"score":1.', 1))
    with pytest.raises(UsageError, match="its checksum does not match"):
        searched(tmp_path)


def test_a_search_runs_where_an_event_loop_runs_already(tmp_path: Path) -> None:
    async def in_a_notebook() -> Result:
        assert searched(tmp_path / "waited").valset.best.mean == 1.0
        return await aoptimize(settings(), WordEvaluator(), AddingProposer(), folder=tmp_path / "awaited", probe=False)

    assert asyncio.run(in_a_notebook()).valset.best.mean == 1.0


def test_who_cancels_a_search_gets_it_ended(tmp_path: Path) -> None:
    class Hanging(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            begun.set()
            try:
                return await asyncio.Future()
            finally:
                ended.append(candidate)

    async def cancelled() -> None:
        search = asyncio.ensure_future(aoptimize(settings(), Hanging(), AddingProposer(), folder=tmp_path, probe=False))
        await begun.wait()
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search

    begun, ended = asyncio.Event(), []
    asyncio.run(cancelled())
    assert ended == ["Be"]


def test_a_search_that_somebody_else_made_is_not_taken_for_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "search"
    first = searched(folder)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-home"))
    with pytest.raises(UsageError, match="not yours"):
        searched(folder)
    again = optimize(
        settings(),
        WordEvaluator(),
        AddingProposer(),
        folder=SearchFolder(path=folder, resume_foreign=True),
        probe=False,
    )
    assert again.best == first.best
    assert searched(folder).best == first.best, "from then on it is one's own"


def test_a_pipe_in_the_place_of_the_journal_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    searched(folder)
    (folder / "journal.jsonl").unlink()
    os.mkfifo(folder / "journal.jsonl")
    with pytest.raises(UsageError, match="is a pipe, not a regular file"):
        searched(folder)


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "search", tmp_path / "mine.txt"
    searched(folder)
    other.write_text("mine")
    (folder / "engine.log").unlink()
    (folder / "engine.log").symlink_to(other)
    searched(folder)
    assert other.read_text() == "mine"


def test_the_log_steers_no_terminal_that_shows_it(tmp_path: Path) -> None:
    searched(tmp_path, proposer=SayingProposer(fenced("Be clear \x1b[31m kind \u202e")), max_proposals=1)
    log = (tmp_path / "engine.log").read_text(encoding="utf-8")
    assert r"Be clear \u001b[31m kind \u202e" in log
    assert "\x1b" not in log


def test_a_run_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": "run.v1"}', encoding="utf-8")
    with pytest.raises(UsageError, match=r"not the run\.json of a search"):
        searched(tmp_path)


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "best.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty"):
        searched(tmp_path)
    assert (tmp_path / "best.txt").read_text(encoding="utf-8") == "mine"


def test_a_failing_proposer_stops_the_search_and_is_named(tmp_path: Path) -> None:
    proposer = SayingProposer(refused())
    result = searched(tmp_path, proposer=proposer, dataset=RECORDS)
    assert result.stop_reason == "proposer_failed"
    assert result.problem == "the proposer failed: 403: no key"
    assert len(proposer.asked) == 1
    assert result.best_is_seed
    assert result.proposals["made"] == 0


def test_a_proposer_that_fails_later_leaves_what_was_found(tmp_path: Path) -> None:
    result = searched(tmp_path, proposer=SayingProposer(fenced("Be clear, kind, calm"), refused()), dataset=RECORDS)
    assert result.stop_reason == "proposer_failed"
    assert result.best == "Be clear, kind, calm"
    assert result.problem is not None


def test_after_a_failed_proposer_the_same_command_resumes(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    searched(tmp_path, evaluator, SayingProposer(refused()), dataset=RECORDS)
    scored = len(evaluator.asked)
    result = searched(tmp_path, evaluator, SayingProposer(fenced("Be clear short kind exact calm")), dataset=RECORDS)
    assert result.valset.best.mean == 1.0
    assert len(evaluator.asked) == scored + 3 + 2  # a minibatch, and the rest of the valset


def test_answers_without_a_text_are_counted_and_end_it_loudly(tmp_path: Path) -> None:
    result = searched(tmp_path, proposer=SayingProposer("I would rather not."), dataset=RECORDS)
    assert result.stop_reason == "proposer_failed"
    assert result.proposals == {"made": 0, "accepted": 0, "rejected": 0, "repeated": 0, "unusable": 6}
    assert "PROBLEM" in in_words(result)


def test_after_an_unusable_answer_the_proposer_is_called_again_with_the_reason(tmp_path: Path) -> None:
    proposer = SayingProposer("no fences here", fenced("Be clear short kind exact calm"))
    result = searched(tmp_path, proposer=proposer)
    assert result.valset.best.mean == 1.0
    assert "Your last answer could not be used: it holds no text between ``` fences" in proposer.asked[1]
    assert result.proposals["unusable"] == 1


def test_an_answer_without_fences_is_taken_on_the_second_try_if_it_is_a_version_of_the_text(tmp_path: Path) -> None:
    proposer = SayingProposer("Be clear and kind", "Be clear and kind", "I would rather not", "I would rather not")
    result = searched(tmp_path, proposer=proposer, dataset=RECORDS, max_proposals=1)
    assert (result.best, result.proposals["unusable"]) == ("Be clear and kind", 1)
    refusing = SayingProposer("I would rather not")
    result = searched(tmp_path / "refusing", proposer=refusing, dataset=RECORDS, max_proposals=1)
    assert (result.stop_reason, result.best) == ("proposer_failed", "Be")


def test_texts_that_break_a_rule_are_never_evaluated(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    proposer = SayingProposer(
        fenced("clear short kind exact calm"), fenced("{x} " + "clear " * 20), fenced("{x} clear kind")
    )
    result = searched(
        tmp_path,
        evaluator,
        proposer,
        seed="Say {x}",
        constraints=Constraints(placeholders={"text": ("{x}",)}, max_characters=40),
        max_proposals=1,
    )
    assert result.best == "{x} clear kind"
    assert {text for text, _ in evaluator.asked} == {"Say {x}", "{x} clear kind"}
    assert result.unusable == {"the text lost {x}": 1, "the text has 124 characters, and 40 are allowed": 1}
    assert "Keep these placeholders exactly as they are: {x}." in proposer.asked[0]


def test_half_a_character_from_the_proposer_breaks_nothing(tmp_path: Path) -> None:
    result = searched(tmp_path, proposer=SayingProposer(fenced("Be clear \ud800 kind")), max_proposals=1)
    assert result.best == "Be clear ? kind"


MANY = [{"words": [f"word{number}"]} for number in range(40)]


@pytest.mark.parametrize("data", [{}, {"dataset": RECORDS}, {"dataset": MANY}], ids=["text", "few", "many"])
def test_a_proposer_that_only_repeats_itself_is_stopped(tmp_path: Path, data: dict[str, Any]) -> None:
    """Also where every minibatch is another one, so that the same text needs new evaluations."""
    proposer = SayingProposer(fenced("Be no better"))
    result = searched(tmp_path, proposer=proposer, budget=1000, max_repeats=4, **data)
    assert result.stop_reason == "repeating"
    assert len(proposer.asked) == 1 + 4 * 2, "of each repeat it is told, and asked again"
    assert "it was a text that was tried before; write a different one. Answer again." in proposer.asked[2]
    assert result.proposals["repeated"] == 4
    assert result.problem is None, "one text was tried"
    words = in_words(result)
    assert "stopped: the proposer only repeated itself; a higher --temperature or another --model may help" in words
    assert "4 repeated (80 %)" in words


@pytest.mark.parametrize("where", ["same", "branch"])
def test_after_repeats_another_temperature_asks_again(tmp_path: Path, where: str) -> None:
    lines = [fenced("Be clear"), fenced("Be clear kind"), fenced("Be clear")]
    first = searched(tmp_path / "run", proposer=SayingProposer(*lines), dataset=RECORDS)
    assert (first.stop_reason, first.best) == ("repeating", "Be clear kind")
    better = SayingProposer(fenced("Be clear short kind exact calm"))
    folder = SearchFolder(path=tmp_path / "run")
    if where == "branch":
        folder = SearchFolder(path=tmp_path / "new", branch=tmp_path / "run")
    changed = settings(dataset=RECORDS, proposer_request=Request(temperature=0.9))
    second = optimize(changed, WordEvaluator(), better, folder=folder, probe=False)
    assert len(better.asked) == 1, "what it found before it repeated itself is not asked for again"
    assert second.valset.best.mean == 1.0
    again = optimize(changed, WordEvaluator(), SayingProposer("never asked"), folder=folder, probe=False)
    assert (again.best, again.proposals) == (second.best, second.proposals)


def test_a_proposer_that_only_gives_the_seed_back_has_searched_nothing(tmp_path: Path) -> None:
    proposer = SayingProposer(fenced("Be"))
    result = searched(tmp_path, proposer=proposer, dataset=RECORDS, budget=1000)
    assert "it was the current text; write a different one" in proposer.asked[1]
    assert (result.stop_reason, result.proposals["repeated"]) == ("repeating", 20)
    assert result.calls["used"] == len(RECORDS)
    assert result.problem == "the proposer only gave the seed back, so nothing was searched"


def test_a_repeat_now_and_then_ends_nothing(tmp_path: Path) -> None:
    lines = [fenced(text) for text in ("Be b", "Be b", "Be c", "Be c", "Be c", "Be d", "Be d", "Be clear kind calm")]
    proposer = SayingProposer(*lines)
    result = searched(tmp_path, proposer=proposer, dataset=RECORDS, max_proposals=5, max_repeats=2)
    assert (result.stop_reason, result.proposals["repeated"]) == ("proposals", 1)
    assert result.best == "Be clear kind calm"
    complaint = proposer.asked[4].rpartition("These were tried as well:")[2]
    assert "Be b" in complaint, "what else was tried is shown with the repeat"


def test_a_repeated_text_is_remembered_once(tmp_path: Path) -> None:
    proposer = SayingProposer(fenced("Be b"), fenced("Be c"), fenced("Be b"), fenced("Be b"), fenced("Be d"))
    searched(tmp_path, proposer=proposer, max_proposals=4)
    assert (proposer.asked[-1].count("Be b"), proposer.asked[-1].count("Be c")) == (1, 1)


def test_a_kept_text_that_failed_by_chance_is_scored_once_more_before_the_best_is_chosen(tmp_path: Path) -> None:
    tries: list[str] = []

    def unlucky(candidate: str, example: Any) -> float:
        if "calm" in candidate and example == OTHERS[0] and len(tries) < 3:
            tries.append(candidate)
            raise failed("words", "exit_code", "the program crashed")
        return word_share(candidate, example)

    proposer = SayingProposer(fenced("Be clear short kind exact calm"))
    sets = {"dataset": RECORDS, "valset": OTHERS, "holdout": 0.0}
    result = searched(tmp_path, WordEvaluator(unlucky), proposer, max_proposals=1, **sets)
    assert len(tries) == 3
    assert (result.valset.best.mean, result.valset.best.failed) == (1.0, 0)
    assert (result.unresolved, result.problem) == (0, None)


@pytest.mark.parametrize("score_range", ["unit", "any"])
def test_a_failing_text_never_beats_a_valid_one(tmp_path: Path, score_range: Any) -> None:
    """In `any` all valid scores here are far below 0, which a failure taken for 0 would beat."""
    score = breaking if score_range == "any" else (lambda text, example: breaking(text, example) + 5.0)
    proposer = SayingProposer(fenced("boom clear short kind exact calm"), fenced("Be clear"), fenced("boom again"))
    result = searched(
        tmp_path,
        WordEvaluator(score),
        proposer,
        dataset=RECORDS,
        score_range=score_range,
        target_score=None,
        max_proposals=3,
    )
    assert result.best == "Be clear"
    assert result.evaluator_failures == {}, "two texts failed, and the evaluator did not"
    assert list(result.failed_texts) == [1, 3]
    assert [each.score for each in result.rejected] == [None, None]
    assert result.rejected[0].reason == "an evaluation failed"


def test_a_text_that_fails_only_on_the_valset_is_not_the_best(tmp_path: Path) -> None:
    def fails_on_valset(text: str, example: Any) -> float:
        if "exact" in text and example.get("part") == "val":
            raise failed("words", "timeout", "too slow")
        return word_share(text, example)

    valset = [{**record, "part": "val"} for record in OTHERS]
    proposer = SayingProposer(fenced("Be clear short kind exact calm"))
    result = searched(tmp_path, WordEvaluator(fails_on_valset), proposer, dataset=RECORDS, valset=valset)
    assert result.best_is_seed
    assert result.lineage[1].failed == len(OTHERS)
    assert result.lineage[1].mean is None


def fails_on_some(text: str, example: Any) -> float:
    if text == "Be clear short kind exact calm" and example.get("fatal"):
        raise failed("words", "exit_code", "crashed")
    return word_share(text, example)


def test_a_text_that_fails_where_its_parent_did_not_is_not_accepted(tmp_path: Path) -> None:
    records = [{**record, "fatal": number == 0} for number, record in enumerate(RECORDS[:3])]
    proposer = SayingProposer(fenced("Be clear short kind exact calm"))
    result = searched(tmp_path, WordEvaluator(fails_on_some), proposer, dataset=records, valset=OTHERS, max_proposals=1)
    assert (result.best_is_seed, result.proposals["accepted"]) == (True, 0)
    assert result.rejected[0].reason == "an evaluation failed"


@pytest.mark.parametrize(("fatal", "wins"), [(1, True), (5, False)])
def test_texts_are_compared_on_the_examples_that_both_have_if_those_are_enough(
    tmp_path: Path, fatal: int, wins: bool
) -> None:
    valset = [{"words": ["clear", "kind"], "id": number, "fatal": number < fatal} for number in range(20)]
    proposer = SayingProposer(fenced("Be clear short kind exact calm"))
    result = searched(
        tmp_path,
        WordEvaluator(fails_on_some),
        proposer,
        dataset=RECORDS[:3],
        valset=valset,
        max_proposals=1,
        holdout=0.0,
    )
    assert result.best_is_seed is not wins
    assert result.unresolved == fatal
    assert result.problem is not None, "and the exit code is not 0"
    assert "crashed" in result.problem


def test_one_hiccup_does_not_spoil_the_baseline(tmp_path: Path) -> None:
    hiccups = iter([True])

    def once(text: str, example: Any) -> float:
        if next(hiccups, False):
            raise failed("words", "bad_output", "not JSON this time")
        return word_share(text, example)

    result = searched(tmp_path, WordEvaluator(once), dataset=RECORDS)
    assert result.valset.seed.failed == 0
    assert result.evaluator_failures == {}


def test_an_evaluator_that_is_down_ends_the_search(tmp_path: Path) -> None:
    def down(text: str, example: Any) -> float:
        raise failed("words", "connection", "refused")

    result = searched(tmp_path, WordEvaluator(down), dataset=RECORDS)
    assert result.stop_reason == "evaluator_failed"
    assert result.problem is not None
    assert result.valset.best.mean is None
    assert result.calls["used"] == len(RECORDS)


def crashing(candidate: str, example: Any) -> float:
    """A program that a bad text breaks, as a regular expression or code breaks it."""
    if "boom" in candidate:
        raise failed("words", "exit_code", "ended with exit code 1", {"stderr": f"SyntaxError: {candidate}"})
    return word_share(candidate, example)


def test_what_a_text_failed_with_is_shown_to_the_proposer(tmp_path: Path) -> None:
    proposer = SayingProposer(fenced("boom one"), fenced("boom two"), fenced("Be clear"))
    result = searched(tmp_path, WordEvaluator(crashing), proposer, dataset=RECORDS, max_proposals=3)
    tried = proposer.asked[1].partition("## Already Tried")[2]
    assert "ended with exit code 1" in tried
    assert "SyntaxError: boom one" in tried
    assert "SyntaxError: boom two" in proposer.asked[2]
    assert result.rejected[0].failure is not None
    assert result.problem is None


def test_a_text_that_fails_while_its_parent_scores_is_not_retried_and_not_the_evaluators_fault(tmp_path: Path) -> None:
    """Three evaluations of it and one of another text, to see that the evaluator still scores; not nine."""
    evaluator = WordEvaluator(crashing)
    lines = [fenced(f"boom {number}") for number in range(12)]
    proposer = SayingProposer(*lines, fenced("Be clear short kind"))
    result = searched(tmp_path, evaluator, proposer, dataset=[*RECORDS, OTHERS[0]], max_proposals=13)
    assert len(result.failed_texts) == 12, "more failures than end a search when the evaluator is at fault"
    of_bad_texts = [text for text, _ in evaluator.asked if "boom" in text]
    assert len(of_bad_texts) == 12 * 3
    assert (result.calls["retries"], result.calls["used"]) == (0, len(evaluator.asked))
    assert (result.stop_reason, result.evaluator_failures, result.best) == ("proposals", {}, "Be clear short kind")
    assert "texts that failed: 12, while the evaluator scored others" in in_words(result)


def test_where_every_text_failed_the_result_says_so_with_the_reason(tmp_path: Path) -> None:
    lines = [fenced(f"boom {number}") for number in range(9)]
    result = searched(tmp_path, WordEvaluator(crashing), SayingProposer(*lines), dataset=RECORDS, max_proposals=4)
    expected = "not one of the 4 proposed texts could be evaluated. The last one: words: ended with exit code 1"
    assert result.problem == expected


def test_an_evaluator_that_breaks_down_later_is_at_fault_itself(tmp_path: Path) -> None:
    calls = 0

    def breaks_down(candidate: str, example: Any) -> float:
        nonlocal calls
        calls += 1
        if calls > 8:
            raise failed("words", "exit_code", "the disk is full")
        return word_share(candidate, example)

    lines = [fenced(f"text {number}") for number in range(40)]
    result = searched(tmp_path, WordEvaluator(breaks_down), SayingProposer(*lines), dataset=RECORDS, budget=300)
    assert (result.stop_reason, result.failed_texts) == ("evaluator_failed", {})
    assert result.problem == "the evaluator kept failing. The last one: words: the disk is full"


def test_a_text_that_fails_on_some_examples_is_retried_there(tmp_path: Path) -> None:
    """One call in ten fails: that is no fault of the texts."""
    calls = 0

    def flaky(candidate: str, example: Any) -> float:
        nonlocal calls
        calls += 1
        if calls % 10 == 7:
            raise failed("words", "exit_code", "try again")
        return word_share(candidate, example)

    result = searched(tmp_path, WordEvaluator(flaky), dataset=RECORDS, budget=200)
    assert (result.valset.best.mean, result.evaluator_failures, result.failed_texts) == (1.0, {}, {})
    assert result.calls["retries"] > 0


class ByPrompt:
    """Adds a word, breaks the text or repeats it, as the prompt's hash has it: the same to the same prompt."""

    name = "by prompt"

    def __init__(self) -> None:
        self._adding = AddingProposer()

    async def generate(self, request: Request) -> Completion:
        prompt = request.text()
        number = int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % 5
        current = re.search(r"## Current Component.*?```\n(.*?)\n```", prompt, re.DOTALL)
        assert current is not None
        if number < 2:
            return Completion(text=fenced(f"boom {len(prompt) % 7}"), finish_reason="stop")
        return Completion(text=fenced(current[1])) if number == 2 else await self._adding.generate(request)


def killed_after(after: int) -> Callable[[str, Any], float]:
    """`crashing`, until it was called so many times."""
    calls = 0

    def killed(candidate: str, example: Any) -> float:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Killed
        return crashing(candidate, example)

    killed.__qualname__ = crashing.__qualname__
    return killed


@pytest.mark.parametrize("after", range(0, 60, 6))
def test_a_search_with_repeats_and_broken_texts_resumes_to_the_same_end_after_a_kill(
    tmp_path: Path, after: int
) -> None:
    sets: dict[str, Any] = {"dataset": RECORDS, "valset": OTHERS, "budget": 100}
    straight = searched(tmp_path / "straight", WordEvaluator(crashing), ByPrompt(), **sets)
    assert straight.failed_texts
    assert straight.proposals["repeated"]
    with pytest.raises(Killed):
        searched(tmp_path / "run", WordEvaluator(killed_after(after)), ByPrompt(), **sets)
    evaluator = WordEvaluator(crashing)
    result = searched(tmp_path / "run", evaluator, ByPrompt(), **sets)
    assert {**_plain(result), "calls": None} == {**_plain(straight), "calls": None}
    assert result.calls["used"] == straight.calls["used"]
    again = WordEvaluator(crashing)
    assert _plain(searched(tmp_path / "run", again, ByPrompt(), **sets))["failed_texts"] == straight.failed_texts
    assert not again.asked, "what a text failed with is as final as a score"


TESTSET = [{"words": [word], "id": f"{word} {number}"} for word in ("clear", "exact", "calm") for number in range(4)]


def test_the_testset_is_scored_apart_with_a_paired_verdict(tmp_path: Path) -> None:
    result = searched(tmp_path, dataset=RECORDS, testset=TESTSET)
    assert result.testset is not None
    assert (result.testset.seed.mean, result.testset.best.mean, result.testset.pairs) == (0.0, 1.0, 12)
    assert result.verdict.startswith("better by 1, 95 % CI 0.")
    assert result.better is True
    alone = searched(tmp_path / "alone", dataset=RECORDS)
    assert result.calls["used"] == alone.calls["used"]


def test_no_improvement_is_said_as_such(tmp_path: Path) -> None:
    result = searched(tmp_path, dataset=RECORDS, testset=[{"words": ["zebra"], "id": n} for n in range(10)])
    assert result.verdict.startswith("no evidence of improvement")
    assert result.better is False
    assert "selected on, so biased upwards" in in_words(result)


def test_on_selected_data_there_is_no_verdict_and_no_interval(tmp_path: Path) -> None:
    result = searched(tmp_path, dataset=RECORDS)
    assert (result.valset.best.mean, result.better) == (1.0, None)
    assert (result.valset.low, result.valset.high, result.valset.p_value) == (None, None, None)
    assert "selected on" in result.valset.verdict
    assert result.verdict.startswith("none: nothing was held out (5 records are too few")
    for text in (in_words(result), page(result), (tmp_path / "summary.json").read_text()):
        assert "better by" not in text
        assert "selected on" in text


def test_a_single_text_has_no_interval(tmp_path: Path) -> None:
    result = searched(tmp_path)
    assert result.verdict == "0 to 1; without examples there is nothing to verify it on"
    assert "CI" not in in_words(result)


def test_a_part_of_the_data_is_held_out_and_never_seen(tmp_path: Path) -> None:
    records = [
        {"words": [word], "id": f"ID-{number}-{word}"} for number in range(8) for word in ("clear", "kind", "calm")
    ]
    evaluator, proposer = WordEvaluator(), AddingProposer()
    result = searched(tmp_path, evaluator, proposer, dataset=records)
    assert (result.held_out, result.valset.pairs) == (7, 17)
    assert result.testset is not None
    assert result.verdict.endswith("held out of the dataset")
    held = {each.record["id"] for each in result.examples if each.part == "testset" and each.record}
    assert len(held) == 7
    assert not any(name in prompt for prompt in proposer.asked for name in held)
    others = {text for text, example in evaluator.asked if example["id"] in held}
    assert others == {result.seed, result.best}
    none = searched(tmp_path / "none", dataset=records, holdout=0.0)
    assert (none.held_out, none.testset, none.valset.pairs) == (0, None, 24)


def test_the_first_text_is_written_without_the_held_out_records(tmp_path: Path) -> None:
    records = [{"words": ["clear"], "id": f"ID-{number}"} for number in range(40)]
    proposer = AddingProposer()
    result = searched(tmp_path, proposer=proposer, seed=None, objective="Be", dataset=records, random_seed=2)
    held = [each.record["id"] for each in result.examples if each.part == "testset" and each.record]
    assert proposer.asked[0].count("ID-") == 3
    assert not [name for name in held if f'"{name}"' in proposer.asked[0]]


def test_a_testset_that_shares_records_is_refused(tmp_path: Path) -> None:
    for sets in ({"testset": RECORDS[:1]}, {"valset": OTHERS, "testset": OTHERS[1:]}):
        with pytest.raises(UsageError, match=r"the testset and the (dataset|valset) share records: record 1 of the"):
            searched(tmp_path / "run", dataset=RECORDS, **sets)
    with pytest.raises(UsageError, match="--demonstrations are picked from the dataset, and 1 records"):
        searched(tmp_path / "run", dataset=RECORDS, valset=[*OTHERS, RECORDS[0]], demonstrations=2)
    assert not (tmp_path / "run").exists()


def test_records_that_dataset_and_valset_share_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = searched(tmp_path / "some", dataset=RECORDS, valset=[*OTHERS, RECORDS[0]])
    assert "1 of 4 records of the valset are in the dataset too" in caplog.text
    assert result.valset.best.mean == 1.0
    searched(tmp_path / "same file", dataset=RECORDS, valset=RECORDS)
    assert "5 of 5 records of the valset are in the dataset too" in caplog.text


def test_a_testset_that_is_added_scores_seed_and_best_and_nothing_else(tmp_path: Path) -> None:
    records = [{"words": [word], "id": number} for number in range(8) for word in ("clear", "kind", "calm")]
    first = searched(tmp_path, dataset=records)
    evaluator, proposer = WordEvaluator(), AddingProposer()
    added = [{"words": ["calm"], "id": f"new {number}"} for number in range(10)]
    second = searched(tmp_path, evaluator, proposer, dataset=records, testset=added)
    assert proposer.asked == []
    assert {(text, example["id"][:3]) for text, example in evaluator.asked} == {
        (first.seed, "new"),
        (first.best, "new"),
    }
    assert second.verdict.endswith("of the testset")
    assert second.testset is not None
    assert second.testset.pairs == 10


class HeardProgress(SearchProgress):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


class BetterProposer(AddingProposer):
    name = "better"


def test_another_proposer_continues_the_search_and_says_so(tmp_path: Path) -> None:
    searched(tmp_path, dataset=RECORDS, max_proposals=2, objective="words")
    evaluator, proposer, progress = WordEvaluator(), BetterProposer(), HeardProgress()
    result = optimize(
        settings(
            dataset=RECORDS,
            objective="good words",
            feedback_characters=5000,
            proposer_request=Request(temperature=0.9),
            budget=90,
        ),
        evaluator,
        proposer,
        folder=tmp_path,
        progress=progress,
        probe=False,
    )
    (said,) = [each for each in progress.sentences if each.startswith("continuing")]
    for changed in (
        "proposer",
        "proposer settings",
        "objective and background",
        "reflection",
        "budget",
        "when to stop",
    ):
        assert changed in said
    assert result.valset.best.mean == 1.0
    assert result.proposer == "adding, better"
    assert len(proposer.asked) == result.proposals["made"] - 2, "what was proposed before is not asked for again"
    assert len(evaluator.asked) == result.calls["used"] - 15


def test_after_unusable_answers_the_same_command_asks_again(tmp_path: Path) -> None:
    texts = [fenced("Be clear kind calm"), *["I would rather not."] * 6]
    first = searched(tmp_path, proposer=SayingProposer(*texts), dataset=RECORDS)
    assert (first.stop_reason, first.best) == ("proposer_failed", "Be clear kind calm")
    better = SayingProposer(fenced("Be clear short kind exact calm"))
    second = searched(tmp_path, proposer=better, dataset=RECORDS)
    assert len(better.asked) == 1
    assert second.valset.best.mean == 1.0
    assert second.problem is None


def test_evaluations_of_another_search_are_reused_and_cost_nothing(tmp_path: Path) -> None:
    first = searched(tmp_path / "first", dataset=RECORDS)
    evaluator = WordEvaluator()
    folder = SearchFolder(path=tmp_path / "second", reuse=(tmp_path / "first",))
    second = optimize(settings(dataset=RECORDS, minibatch=2), evaluator, AddingProposer(), folder=folder, probe=False)
    assert second.valset.best.mean == 1.0
    assert second.calls["reused"] > 0
    assert len(evaluator.asked) == second.calls["used"] < first.calls["used"]
    alone = WordEvaluator()
    again = searched(tmp_path / "second", alone, dataset=RECORDS, minibatch=2)
    assert alone.asked == [], "and from then on the folder needs no other"
    assert (again.best, again.calls["used"]) == (second.best, second.calls["used"])


def test_a_branch_continues_another_search_and_leaves_it_alone(tmp_path: Path) -> None:
    searched(tmp_path / "first", dataset=RECORDS, max_proposals=2)
    before = (tmp_path / "first" / "journal.jsonl").read_bytes()
    evaluator, proposer = WordEvaluator(), AddingProposer()
    folder = SearchFolder(path=tmp_path / "branch", branch=tmp_path / "first")
    branch = optimize(settings(dataset=RECORDS), evaluator, proposer, folder=folder, probe=False)
    whole = searched(tmp_path / "whole", dataset=RECORDS)
    assert branch.best == whole.best
    assert len(proposer.asked) == whole.proposals["made"] - 2
    assert len(evaluator.asked) < whole.calls["used"]
    assert (tmp_path / "first" / "journal.jsonl").read_bytes() == before


def test_answers_of_somebody_else_are_not_borrowed_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched(tmp_path / "first", dataset=RECORDS)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-home"))
    folder = SearchFolder(path=tmp_path / "second", reuse=(tmp_path / "first",))
    with pytest.raises(UsageError, match="not yours"):
        optimize(settings(dataset=RECORDS), WordEvaluator(), AddingProposer(), folder=folder, probe=False)


def test_another_version_of_the_engine_is_another_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched(tmp_path, dataset=RECORDS)
    monkeypatch.setattr("assay.optimize.settings.engine_version", lambda: "gepa 9.9.9")
    with pytest.raises(UsageError, match=r"engine changed.*--reuse"):
        searched(tmp_path, dataset=RECORDS)


SEED_WITH_A_BLOCK = 'Answer in exactly this form:\n\n```\n{"label": "x"}\n```\n\nNo other text.\n'


def test_a_seed_with_a_fenced_block_can_be_improved_character_by_character(tmp_path: Path) -> None:
    class Echo(SayingProposer):
        """The current text and one word, between the fences that were asked for."""

        async def generate(self, request: Request) -> Completion:
            prompt = request.text()
            self.asked.append(prompt)
            fence = re.search("between one pair of (`+) fences", prompt)
            assert fence is not None
            current = re.search(f"## Current Component.*?\n{fence[1]}\n(.*?)\n{fence[1]}\n", prompt, re.DOTALL)
            assert current is not None
            return Completion(text=f"{fence[1]}\n{current[1]}Be kind\u2028\x0c.\n{fence[1]}", finish_reason="stop")

    evaluator = WordEvaluator(lambda text, example: float("kind" in text))
    result = searched(tmp_path, evaluator, Echo(""), seed=SEED_WITH_A_BLOCK)
    assert result.best == SEED_WITH_A_BLOCK + "Be kind\u2028\x0c."
    assert (tmp_path / "best.txt").read_bytes().decode() == result.best


@pytest.mark.parametrize(
    "record",
    [
        {"docs": [f"some words of context number {number}" for number in range(300)]},
        {"contexts": ["a passage " * 400 for _ in range(6)], "question": "q"},
        {"messages": [{"role": "user", "content": "a turn of the chat " * 30} for _ in range(40)]},
        {f"field {number}": "x" * 2000 for number in range(5)},
    ],
    ids=["300 strings", "six passages", "40 messages", "five large fields"],
)
def test_the_reasoning_of_the_evaluator_reaches_the_proposer_whatever_the_record(
    tmp_path: Path, record: dict[str, Any]
) -> None:
    class Reasoning(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            self.asked.append((candidate, example))
            side_info = {"reasoning": "THE-REASON", "scores": {"odd": [1, None]}, "output": "THE-OUTPUT"}
            return Evaluation(score=0.3, side_info=side_info)

    proposer = SayingProposer(fenced("another"))
    records = [{**record, "id": number} for number in range(2)]
    result = searched(tmp_path, Reasoning(), proposer, dataset=records, max_proposals=1)
    prompt = proposer.asked[0]
    assert prompt.count("THE-REASON") == prompt.count("THE-OUTPUT") == 2
    assert prompt.count("## scores\n### odd") == 2
    assert prompt.count("## example\n") == 2
    assert len(prompt) < 2 * 9000 + 2000
    assert result.feedback_cut >= 2
    assert f"feedback: {result.feedback_cut} examples were cut to fit (--feedback-chars)" in in_words(result)
    assert "left out" in prompt or "characters in total" in prompt


def test_what_was_rejected_is_remembered_and_why(tmp_path: Path) -> None:
    proposer = SayingProposer(fenced("Be odd"), fenced("Be clear short kind exact calm"))
    searched(tmp_path, proposer=proposer, dataset=RECORDS)
    assert "## Already Tried" not in proposer.asked[0]
    assert "scored 0 where the current text scores 0" in proposer.asked[1]
    assert "+Be odd" in proposer.asked[1]


def test_a_template_of_ones_own_is_used(tmp_path: Path) -> None:
    proposer = SayingProposer(fenced("Be clear"))
    template = "IMPROVE <curr_param> BY <side_info>"
    searched(tmp_path, proposer=proposer, seed="Be <side_info>", dataset=RECORDS, template=template, max_proposals=1)
    assert proposer.asked[0].startswith("IMPROVE Be <side_info> BY # Example 1\n## score\n")
    with pytest.raises(UsageError, match="has no <side_info>"):
        searched(tmp_path / "b", template="<curr_param>")


def test_a_function_of_ones_own_proposes(tmp_path: Path) -> None:
    seen: list[Any] = []

    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> dict[str, str]:
        seen.append(feedback["text"][0])
        return {"text": f"{candidate['text']} {feedback['text'][0]['missing'][0]}"}

    result = optimize(
        settings(), WordEvaluator(), SayingProposer("never asked"), folder=tmp_path, propose=propose, probe=False
    )
    assert result.valset.best.mean == 1.0
    assert seen[0] == {"score": 0.0, "example": None, "missing": ["clear", "short", "kind", "exact", "calm"]}


def proposing(folder: Path, propose: Any, evaluator: Any, **changes: Any) -> Result:
    return optimize(settings(**changes), evaluator, None, folder=folder, propose=propose, probe=False)


def test_a_function_is_shown_what_was_rejected_and_what_failed(tmp_path: Path) -> None:
    texts = iter(["Be a", "boom", "Be clear"])
    seen: list[list[dict[str, Any]]] = []

    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> str:
        seen.append([record for record in feedback["text"] if "rejected" in record])
        return next(texts)

    result = proposing(tmp_path, propose, WordEvaluator(crashing), dataset=RECORDS, max_proposals=3)
    assert seen[0] == []
    rejected, broken = seen[2]
    assert [*rejected] == ["score", "example", "rejected", "reason"]
    assert (rejected["score"], rejected["rejected"], rejected["reason"][:6]) == (None, "Be a", "scored")
    assert (broken["rejected"], broken["reason"]) == ("boom", "an evaluation failed")
    assert "SyntaxError: boom" in broken["error"]
    assert "texts that failed: 1, while the evaluator scored others; each failure was shown" in in_words(result)


def test_a_failure_that_no_proposer_was_shown_is_not_called_shown(tmp_path: Path) -> None:
    result = searched(tmp_path, WordEvaluator(crashing), SayingProposer(fenced("boom")), max_proposals=1)
    assert (len(result.failed_texts), result.failures_shown) == (1, 0)
    assert "texts that failed: 1, while the evaluator scored others; none of the failures" in in_words(result)
    result = searched(
        tmp_path / "none", WordEvaluator(crashing), SayingProposer(fenced("boom"), fenced("boom 2")), max_proposals=2
    )
    assert "1 of the failures was shown to the proposer" in in_words(result)


def test_a_function_that_repeats_itself_or_breaks_a_rule_is_called_once_more_with_the_reason(tmp_path: Path) -> None:
    texts = iter(["Be", "Be clear", "x" * 101, "Be clear kind"])
    seen: list[dict[str, Any]] = []

    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> str:
        seen.append(feedback["text"][-1])
        return next(texts)

    rules = Constraints(max_characters=100)
    result = proposing(tmp_path, propose, WordEvaluator(), constraints=rules, max_proposals=2)
    assert (seen[1]["rejected"], seen[1]["reason"]) == ("Be", "it was the current text; write a different one")
    assert seen[3]["rejected"] == "x" * 101
    assert "100" in seen[3]["reason"]
    assert (result.best, result.proposals["repeated"]) == ("Be clear kind", 0)


@pytest.mark.parametrize("after", range(0, 60, 12))
def test_a_search_with_a_function_resumes_to_the_same_end_after_a_kill(tmp_path: Path, after: int) -> None:
    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> str:
        number = int(hashlib.sha256(repr(feedback).encode()).hexdigest(), 16) % 5
        if number < 2:
            return f"boom {number}"
        return candidate["text"] if number == 2 else f"{candidate['text']} {feedback['text'][0]['missing'][0:1]}"

    sets: dict[str, Any] = {"dataset": RECORDS, "valset": OTHERS, "budget": 100}
    straight = proposing(tmp_path / "straight", propose, WordEvaluator(crashing), **sets)
    assert straight.failures_shown
    with pytest.raises(Killed):
        proposing(tmp_path / "run", propose, WordEvaluator(killed_after(after)), **sets)
    resumed = proposing(tmp_path / "run", propose, WordEvaluator(crashing), **sets)
    assert {**_plain(resumed), "calls": None} == {**_plain(straight), "calls": None}


def test_a_function_that_is_killed_before_its_second_try_is_told_the_same_again(tmp_path: Path) -> None:
    seen: list[Any] = []

    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> str:
        seen.append(feedback)
        if len(seen) == 2:
            raise Killed
        return "Be" if len(seen) == 1 else "Be clear"

    with pytest.raises(Killed):
        proposing(tmp_path, propose, WordEvaluator(), max_proposals=1)
    assert proposing(tmp_path, propose, WordEvaluator(), max_proposals=1).best == "Be clear"
    assert seen[2] == seen[1] != seen[0]


def test_a_function_receives_whole_records_so_none_is_reported_as_cut(tmp_path: Path) -> None:
    sizes: list[int] = []

    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> dict[str, str]:
        sizes.append(len(feedback["text"][0]["example"]["passage"]))
        return {"text": f"{candidate['text']} {feedback['text'][0]['missing'][0]}"}

    records = [{"passage": "p" * 20_000, "number": number} for number in range(4)]
    result = optimize(
        settings(dataset=records, holdout=0.0, budget=20),
        WordEvaluator(),
        None,
        folder=tmp_path,
        propose=propose,
        probe=False,
    )
    assert set(sizes) == {20_000}
    assert result.feedback_cut == 0


def test_components_are_rewritten_in_turn_and_sent_to_the_evaluator(tmp_path: Path) -> None:
    sent: list[Any] = []

    class Parts(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            sent.append(build_payload(candidate, example, task_model))
            parts = sent[-1]["components"]
            score = 0.5 * ("clear" in parts["system"]) + 0.5 * ("kind" in parts["tools"])
            return Evaluation(score=score, side_info={})

    proposer = SayingProposer(fenced("Be clear"), fenced("Be kind"))
    result = searched(tmp_path, Parts(), proposer, seed={"system": "Be", "tools": "none"})
    assert sent[0]["candidate"] == "## system\n\nBe\n\n## tools\n\nnone"
    assert sent[0]["components"] == {"system": "Be", "tools": "none"}
    assert result.best_components == {"system": "Be clear", "tools": "Be kind"}
    assert (tmp_path / "best" / "tools.txt").read_text() == "Be kind"
    assert "The component being optimized, `tools`:" in proposer.asked[1]
    assert "### system\n\nBe clear" in proposer.asked[1]


@pytest.mark.parametrize(
    "strategy",
    [
        SearchStrategy(selector="current_best", acceptance="improvement_or_equal"),
        SearchStrategy(selector="epsilon_greedy", frontier="hybrid"),
        SearchStrategy(selector="top_k_pareto", proposals=3),
        SearchStrategy(proposals=2, sampling="same_parent", frontier="objective", objectives=("score", "length")),
        SearchStrategy(frontier="cartesian"),
    ],
    ids=lambda each: f"{each.selector} {each.frontier} {each.proposals}",
)
def test_the_engine_can_be_given_its_own_options(tmp_path: Path, strategy: SearchStrategy) -> None:
    result = searched(tmp_path, dataset=RECORDS, strategy=strategy, budget=200)
    assert result.valset.best.mean == 1.0
    again = WordEvaluator()
    assert searched(tmp_path, again, dataset=RECORDS, strategy=strategy, budget=200).best == result.best
    assert again.asked == []


@pytest.mark.parametrize(
    "strategy", [SearchStrategy(chosen_by="nonsense"), SearchStrategy(objectives=("score", "nonsense"))]
)
def test_an_objective_that_no_evaluation_has_is_refused_when_the_seed_is_scored(
    tmp_path: Path, strategy: SearchStrategy
) -> None:
    proposer = AddingProposer()
    with pytest.raises(
        UsageError, match="no evaluation of the seed has the objective `nonsense`; there are: score, length"
    ):
        searched(tmp_path, proposer=proposer, dataset=RECORDS, strategy=strategy)
    assert proposer.asked == []


def test_components_of_two_texts_are_merged_and_a_text_that_comes_again_is_kept_once(tmp_path: Path) -> None:
    words = {"a": ["alpha", "bravo"], "b": ["search", "fetch"]}
    records = [{"at": at, "word": word, "n": n} for n in range(3) for at, listed in words.items() for word in listed]

    class Both(WordEvaluator):
        """What helps the records of one component costs those of the other a little, so that texts differ."""

        async def __call__(self, candidate: Any, example: Any = None, task_model: str | None = None) -> Evaluation:
            at, word = example["at"], example["word"]
            score = 0.9 if word in candidate.components[at].split() else 0.3
            others = sum(len(text.split()) for name, text in candidate.components.items() if name != at)
            return Evaluation(score=score - 0.03 * others, side_info={} if score > 0.5 else {"needs": [at, word]})

    def propose(candidate: dict[str, str], feedback: Any, components: list[str]) -> dict[str, str]:
        at = components[0]
        needs = [each["needs"][1] for each in feedback[at] if each.get("needs", [""])[0] == at]
        return {at: f"{candidate[at]} {needs[0] if needs else 'more'}"}

    result = optimize(
        settings(
            seed={"a": "x", "b": "y"},
            dataset=records,
            strategy=SearchStrategy(merges=5),
            holdout=0.0,
            target_score=None,
            budget=250,
        ),
        Both(),
        None,
        folder=tmp_path / "run",
        propose=propose,
        probe=False,
    )
    assert result.problem is None
    kept = {each.number: each for each in result.lineage}
    assert len(kept) == len(result.lineage)
    assert result.proposals["made"] > result.proposals["accepted"] + result.proposals["rejected"]
    merged = [each for each in result.lineage if each.merged_with is not None]
    assert merged
    assert result.merges is not None
    assert result.merges >= len(merged)
    for each in merged:
        assert each.parent is not None
        assert each.merged_with is not None
        parents = kept[each.parent], kept[each.merged_with]
        assert all(text in [parent.components[at] for parent in parents] for at, text in each.components.items())
    one = merged[0]
    heading = f"candidate {one.number}, merged from {one.parent} and {one.merged_with}: "
    assert heading in (tmp_path / "run" / "page.html").read_text(encoding="utf-8")


def test_a_merge_that_was_asked_for_and_never_made_is_reported(tmp_path: Path) -> None:
    proposer = SayingProposer(*(fenced(f"no better {number}") for number in range(9)))
    parts: dict[str, Any] = {"seed": {"a": "x", "b": "y"}, "dataset": RECORDS, "max_proposals": 3}
    result = searched(tmp_path / "run", proposer=proposer, strategy=SearchStrategy(merges=5), **parts)
    assert "merges: none was made; --merge had no effect" in in_words(result)
    assert "merges" not in in_words(searched(tmp_path / "without", proposer=proposer, **parts))


def test_sub_scores_length_and_tokens_make_a_front(tmp_path: Path) -> None:
    class Two(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            made = await super().__call__(candidate, example, task_model)
            return Evaluation(score=made.score, side_info={**made.side_info, "scores": {"brevity": 1 / len(candidate)}})

    result = searched(tmp_path, Two(), dataset=RECORDS)
    assert result.front is not None
    assert result.front.objectives == ["score", "brevity"]
    assert {0, result.best_number} <= set(result.front.numbers)
    shortest = searched(
        tmp_path / "b",
        Two(),
        dataset=RECORDS,
        strategy=SearchStrategy(objectives=("score", "length"), chosen_by="length"),
        target_score=None,
        max_proposals=3,
    )
    assert shortest.best_is_seed
    assert "was chosen by length" in in_words(shortest)


def test_the_lineage_holds_parents_and_diffs(tmp_path: Path) -> None:
    result = searched(tmp_path, dataset=RECORDS)
    seed, first, *_ = result.lineage
    assert (seed.parent, seed.diff) == (None, [])
    assert first.parent == 0
    assert f"-{seed.text}" in first.diff
    assert f"+{first.text}" in first.diff
    assert {each.number for each in result.lineage}.isdisjoint(each.number for each in result.rejected)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"budget": 0}, "--budget"),
        ({"budget": -1}, "--budget"),
        ({"dataset": []}, "dataset holds no records"),
        ({"dataset": RECORDS, "valset": []}, "valset holds no records"),
        ({"valset": OTHERS}, "needs a dataset"),
        ({"seed": None}, "--objective"),
        ({"minibatch": 0}, "--minibatch"),
        ({"repeat": 0}, "--repeat"),
        ({"seed": {"../evil": "x"}}, "becomes a file's name"),
        ({"holdout": 1.0}, "--holdout"),
        ({"target_score": float("nan")}, "--target-score"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_called(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    evaluator = WordEvaluator()
    with pytest.raises(UsageError, match=reason):
        searched(tmp_path / "run", evaluator, **change)
    assert evaluator.asked == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("sets", "budget"), [({}, 1), ({"dataset": RECORDS}, 5)])
def test_a_budget_that_buys_no_proposal_is_refused_first(tmp_path: Path, sets: dict[str, Any], budget: int) -> None:
    evaluator = WordEvaluator()
    with pytest.raises(UsageError, match="leaves no call for a proposal: scoring the seed takes"):
        searched(tmp_path / "run", evaluator, budget=budget, **sets)
    assert evaluator.asked == []
    assert not (tmp_path / "run").exists()


def test_the_preflight_carries_the_first_example(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    optimize(settings(dataset=RECORDS), evaluator, AddingProposer(), folder=tmp_path)
    assert evaluator.asked[0] == ("__optimize_anything_preflight__", RECORDS[0])


def test_the_preflight_of_components_has_them_too(tmp_path: Path) -> None:
    """An evaluator of components reads `components`, which it gets with every candidate."""
    payloads: list[dict[str, Any]] = []

    class Parts(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
            payloads.append(build_payload(candidate, example, task_model))
            return Evaluation(score=1.0, side_info={})

    optimize(settings(seed={"a": "one", "b": "two"}), Parts(), AddingProposer(), folder=tmp_path)
    sentinel = "__optimize_anything_preflight__"
    assert payloads[0] == {"_protocol_version": 2, "candidate": sentinel, "components": {"a": sentinel, "b": sentinel}}


def test_a_failed_preflight_ends_it(tmp_path: Path) -> None:
    def down(text: str, example: Any) -> float:
        raise failed("words", "connection", "refused")

    with pytest.raises(EvaluatorError, match="refused"):
        optimize(settings(), WordEvaluator(down), AddingProposer(), folder=tmp_path)


@pytest.mark.parametrize("batch", [None, 2])
def test_a_service_that_breaks_now_and_then_does_not_keep_a_search_from_starting(
    tmp_path: Path, batch: int | None
) -> None:
    """Unlike one that does not listen, it hung up, and was busy when it was called again."""
    troubles = iter([Answer(hang_up=True), Answer(status=503, headers={"Retry-After": "0"})])

    def answer(payload: Any) -> Answer:
        scores = [{"score": 1.0}] * len(payload.get("batch", []))
        return next(troubles, Answer(json.dumps({"results": scores} if scores else {"score": 1.0}).encode()))

    with serving(answer) as server:
        evaluator = http_evaluator(server.url, batch=batch)
        result = optimize(settings(dataset=RECORDS), evaluator, AddingProposer(), folder=tmp_path)
    assert (result.stop_reason, result.evaluator_failures) == ("target_reached", {})
    candidates = [json.dumps(each.payload) for each in server.received]
    assert [SENTINEL in each for each in candidates[:4]] == [True, True, True, batch is not None]


def test_a_retryable_failure_of_an_evaluator_that_is_not_a_service_is_retried(tmp_path: Path) -> None:
    def busy_at_first(candidate: str, example: Any) -> float:
        if evaluator.asked.count((candidate, example)) < 3:
            raise failed("words", "busy", "not now", retryable=True)
        return 1.0

    evaluator = WordEvaluator(busy_at_first)
    result = optimize(settings(dataset=RECORDS), evaluator, AddingProposer(), folder=tmp_path)
    assert (result.stop_reason, result.evaluator_failures) == ("target_reached", {})


def test_nothing_is_printed_or_left_behind_by_the_engine(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    searched(tmp_path, dataset=RECORDS)
    assert capfd.readouterr() == ("", "")
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"run.json", "journal.jsonl", "engine.log", "summary.json", "best.txt", "page.html", "seals"}


def test_side_information_of_any_shape_does_not_break_the_engine(tmp_path: Path) -> None:
    shapes: list[Any] = [
        {"scores": [1]},
        {"scores": {"a": "x"}},
        {"scores": {"a": 1}},
        {"log": 1},
        {"a": "x" * 100_000},
    ]

    class Odd(WordEvaluator):
        async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Any:
            evaluation = await super().__call__(candidate, example)
            odd = shapes[len(self.asked) % len(shapes)]
            return msgspec.structs.replace(evaluation, side_info={**evaluation.side_info, **odd})

    proposer = AddingProposer()
    result = searched(tmp_path, Odd(), proposer, dataset=RECORDS)
    assert result.valset.best.mean == 1.0
    assert max(len(prompt) for prompt in proposer.asked) < 40_000


def test_a_command_evaluator_works_as_fitness(tmp_path: Path) -> None:
    from assay.evaluators import command_evaluator

    code = "import json, sys; c = json.load(sys.stdin)['candidate']\n"
    code += "m = [w for w in ['clear', 'kind'] if w not in c]\n"
    code += "print(json.dumps({'score': 1 - len(m) / 2, 'missing': m}))"
    (tmp_path / "score.py").write_text(code, encoding="utf-8")
    evaluator = command_evaluator([sys.executable, "-S", str(tmp_path / "score.py")])
    result = optimize(settings(), evaluator, AddingProposer(), folder=tmp_path / "run")
    assert result.best == "Be clear kind"
    journal = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines()]
    assert sum(entry["kind"] == "evaluation" for entry in journal) == result.calls["used"]
    assert missing(result.best, {"words": ["clear", "kind"]}) == []


def _plain(result: Result) -> dict[str, Any]:
    """Everything but how long it took."""
    plain: dict[str, Any] = msgspec.to_builtins(result)
    for row in plain["evaluations"]:
        row.pop("seconds", None)
    return plain


class CountingProposer(AddingProposer):
    """Counts its tokens: ten in, ten out."""

    async def generate(self, request: Request) -> Completion:
        said = await super().generate(request)
        return msgspec.structs.replace(said, tokens_in=10, tokens_out=10)


class CountedJudge(WordEvaluator):
    """Asks a judge of forty tokens for every evaluation."""

    called_models = (SimpleNamespace(name="jury"),)

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        said = Completion(text="", tokens_in=30, tokens_out=10)
        note("jury", Request(prompt=candidate), said, judge=True)
        return await super().__call__(candidate, example, task_model)


def test_what_judges_and_proposer_used_is_reported_with_its_price(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    models = "{jury: {input: 1000, output: 2000}, adding: {input: 0, output: 100}}"
    prices.write_text(f"date: 2026-01-01\nmodels: {models}\n")
    result = searched(tmp_path / "run", CountedJudge(), CountingProposer(), dataset=RECORDS, prices=str(prices))
    judge, proposer = sorted(result.spent, key=lambda row: row.role)
    assert (judge.role, judge.answers) == ("judge", result.calls["made_now"])
    assert (judge.tokens_in, judge.tokens_out) == (30 * judge.answers, 10 * judge.answers)
    assert judge.cost.amount == pytest.approx(0.05 * judge.answers)
    assert (proposer.role, proposer.tokens_out) == ("proposer", 10 * proposer.answers)
    assert f"{judge.answers} answers" in in_words(result)

    again = searched(tmp_path / "run", CountedJudge(), CountingProposer(), dataset=RECORDS, prices=str(prices))
    assert again.spent == result.spent  # known answers cost nothing, and what they did cost is still told


def test_a_budget_of_tokens_ends_the_search_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    first = searched(tmp_path / "a", CountedJudge(), CountingProposer(), dataset=RECORDS, budget_tokens=300)
    assert first.stop_reason == "spent"
    assert sum(row.tokens_in + row.tokens_out for row in first.spent) <= 300 + 4 * 40
    nothing_new = CountedJudge()
    searched(tmp_path / "a", nothing_new, CountingProposer(), dataset=RECORDS, budget_tokens=300)
    assert nothing_new.asked == []
    rest = searched(tmp_path / "a", CountedJudge(), CountingProposer(), dataset=RECORDS)
    whole = searched(tmp_path / "b", CountedJudge(), CountingProposer(), dataset=RECORDS)
    assert (rest.stop_reason, rest.best) == (whole.stop_reason, whole.best)


def test_a_budget_that_ends_before_the_seed_is_scored_says_so_and_keeps_what_was_paid(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="before the seed was scored"):
        searched(tmp_path, CountedJudge(), CountingProposer(), dataset=RECORDS, budget_tokens=100, concurrency=1)
    assert len((tmp_path / "journal.jsonl").read_bytes().splitlines()) == 3


def test_a_budget_of_money_needs_every_price_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--budget-cost needs the price of"):
        searched(tmp_path / "run", CountedJudge(), CountingProposer(), budget_cost=1.0)
    assert not (tmp_path / "run").exists()
