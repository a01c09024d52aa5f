"""Whole searches with a scripted proposer: they improve, they tell the truth, they go on where they were killed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
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
from assay.core.types import Completion, Request
from assay.core.usage import note
from assay.evaluators import Evaluation, EvaluatorError
from assay.evaluators.payload import failed
from assay.optimize.constraints import Constraints
from assay.optimize.results import Result, in_words
from assay.optimize.run import Settings, optimize

RECORDS = [
    {"words": ["clear", "short"]},
    {"words": ["kind"]},
    {"words": ["exact", "calm"]},
    {"words": ["clear", "kind"]},
    {"words": ["short", "calm"]},
]
OTHERS = [{"words": ["clear", "calm"]}, {"words": ["kind", "exact"]}, {"words": ["short"]}]


def settings(**changes: Any) -> Settings:
    usual: dict[str, Any] = {"seed": "Be", "budget": 80, "target_score": 1.0}
    return Settings(**{**usual, **changes})


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
    assert one == two
    assert one.fingerprint != other.fingerprint


class Killed(BaseException):
    """Not an Exception: nothing on the way may swallow it, like a kill."""


@pytest.mark.parametrize("after", [0, 1, 3, 6, 9, 14, 19])
def test_a_killed_search_goes_on_to_the_same_end(tmp_path: Path, after: int) -> None:
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


def test_a_larger_budget_goes_on_where_the_smaller_one_ended(tmp_path: Path) -> None:
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
        ({"objective": "else"}, "objective"),
        ({"score_range": "any"}, "score range"),
        ({"task_model": "m"}, "task model"),
        ({"constraints": Constraints(max_characters=99)}, "constraints"),
    ],
)
def test_another_search_in_the_same_folder_is_refused(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    searched(tmp_path, dataset=RECORDS)
    with pytest.raises(UsageError, match=f"changed since: .*{part}"):
        searched(tmp_path, **{"dataset": RECORDS, **change})


def test_fresh_puts_the_earlier_search_aside(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    searched(folder)
    optimize(settings(seed="Do"), WordEvaluator(), AddingProposer(), folder=folder, fresh=True, probe=False)
    assert (tmp_path / "run.old-1" / "summary.json").exists()


def test_a_search_that_somebody_else_made_is_not_taken_for_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "search"
    first = searched(folder)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-home"))
    with pytest.raises(UsageError, match="not yours"):
        searched(folder)
    again = optimize(settings(), WordEvaluator(), AddingProposer(), folder=folder, resume_foreign=True, probe=False)
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


def test_after_a_failed_proposer_the_same_command_goes_on(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    searched(tmp_path, evaluator, SayingProposer(refused()), dataset=RECORDS)
    scored = len(evaluator.asked)
    result = searched(tmp_path, evaluator, SayingProposer(fenced("Be clear short kind exact calm")), dataset=RECORDS)
    assert result.valset.best.mean == 1.0
    assert len(evaluator.asked) == scored + 3 + 2  # a minibatch, and the rest of the valset


def test_answers_without_a_text_are_counted_and_end_it_loudly(tmp_path: Path) -> None:
    result = searched(tmp_path, proposer=SayingProposer("I would rather not."), dataset=RECORDS)
    assert result.stop_reason == "proposer_failed"
    assert result.proposals == {"made": 0, "accepted": 0, "rejected": 0, "unusable": 6}
    assert "PROBLEM" in in_words(result)


def test_an_unusable_answer_is_told_why_and_asked_again(tmp_path: Path) -> None:
    proposer = SayingProposer("no fences here", fenced("Be clear short kind exact calm"))
    result = searched(tmp_path, proposer=proposer)
    assert result.valset.best.mean == 1.0
    assert "Your last answer could not be used: it holds no text between ``` fences" in proposer.asked[1]
    assert result.proposals["unusable"] == 1


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
        constraints=Constraints(placeholders=("{x}",), max_characters=40),
        max_proposals=1,
    )
    assert result.best == "{x} clear kind"
    assert {text for text, _ in evaluator.asked} == {"Say {x}", "{x} clear kind"}
    assert result.unusable == {"the text lost {x}": 1, "the text has 123 characters, and 40 are allowed": 1}
    assert "Keep these placeholders exactly as they are: {x}." in proposer.asked[0]


def test_half_a_character_from_the_proposer_breaks_nothing(tmp_path: Path) -> None:
    result = searched(tmp_path, proposer=SayingProposer(fenced("Be clear \ud800 kind")), max_proposals=1)
    assert result.best == "Be clear ? kind"


def test_a_proposer_that_repeats_itself_is_stopped(tmp_path: Path) -> None:
    result = searched(tmp_path, proposer=SayingProposer(fenced("Be")), dataset=RECORDS, budget=1000)
    assert result.stop_reason == "repeating"
    assert result.calls["used"] == len(RECORDS)


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
    assert result.evaluator_failures["exit_code"] > 0
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


@pytest.mark.parametrize("where", ["dataset", "valset"])
def test_one_failure_outweighs_better_scores_beside_it(tmp_path: Path, where: str) -> None:
    def fails_on_one(text: str, example: Any) -> float:
        if text == "Be clear short kind exact calm" and example.get("fatal"):
            raise failed("words", "exit_code", "crashed")
        return word_share(text, example)

    sets: dict[str, Any] = {"dataset": RECORDS[:3], "valset": OTHERS}
    sets[where] = [{**record, "fatal": number == 0} for number, record in enumerate(sets[where])]
    proposer = SayingProposer(fenced("Be clear short kind exact calm"))
    result = searched(tmp_path, WordEvaluator(fails_on_one), proposer, **sets, max_proposals=1)
    assert result.best_is_seed
    assert result.proposals["accepted"] == (1 if where == "valset" else 0)
    assert result.valset.verdict == "no evidence of improvement: no score changed, 3 examples"


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


def test_the_testset_is_scored_apart_with_a_paired_verdict(tmp_path: Path) -> None:
    testset = [{"words": [word]} for word in ("clear", "short", "kind", "exact", "calm") for _ in range(4)]
    result = searched(tmp_path, dataset=RECORDS, testset=testset)
    assert result.testset is not None
    assert (result.testset.seed.mean, result.testset.best.mean, result.testset.pairs) == (0.0, 1.0, 20)
    assert result.testset.verdict.startswith("better by 1, 95 % CI 0.")
    alone = searched(tmp_path / "alone", dataset=RECORDS)
    assert result.calls["used"] == alone.calls["used"]


def test_no_improvement_is_said_as_such(tmp_path: Path) -> None:
    testset = [{"words": ["zebra"]} for _ in range(10)]
    result = searched(tmp_path, dataset=RECORDS, testset=testset)
    assert result.testset is not None
    assert result.testset.verdict.startswith("no evidence of improvement")
    assert "the search selected on it" in in_words(result)


def test_the_lineage_holds_parents_and_diffs(tmp_path: Path) -> None:
    result = searched(tmp_path, dataset=RECORDS)
    seed, first, *_ = result.lineage
    assert (seed.parent, seed.diff) == (None, [])
    assert first.parent == 0
    assert f"-{seed.text}" in first.diff
    assert f"+{first.text}" in first.diff
    assert [each.number for each in result.lineage] == list(range(len(result.lineage)))


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


def test_a_budget_of_one_scores_the_seed_and_says_that_nothing_was_searched(tmp_path: Path) -> None:
    result = searched(tmp_path, budget=1)
    assert (result.calls["used"], result.stop_reason) == (1, "budget")
    assert result.problem is not None
    assert "not a single usable proposal" in result.problem


def test_the_preflight_carries_the_first_example(tmp_path: Path) -> None:
    evaluator = WordEvaluator()
    optimize(settings(dataset=RECORDS), evaluator, AddingProposer(), folder=tmp_path)
    assert evaluator.asked[0] == ("__optimize_anything_preflight__", RECORDS[0])


def test_a_failed_preflight_ends_it(tmp_path: Path) -> None:
    def down(text: str, example: Any) -> float:
        raise failed("words", "connection", "refused")

    with pytest.raises(EvaluatorError, match="refused"):
        optimize(settings(), WordEvaluator(down), AddingProposer(), folder=tmp_path)


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
    plain: dict[str, Any] = msgspec.to_builtins(result)
    return plain


class CountingProposer(AddingProposer):
    """Counts its tokens: ten in, ten out."""

    async def generate(self, request: Request) -> Completion:
        said = await super().generate(request)
        return msgspec.structs.replace(said, tokens_in=10, tokens_out=10)


class CountedJudge(WordEvaluator):
    """Asks a judge of forty tokens for every evaluation."""

    model_names = ("jury",)

    async def __call__(self, candidate: str, example: Any = None, task_model: str | None = None) -> Evaluation:
        said = Completion(text="", tokens_in=30, tokens_out=10)
        note("jury", Request(prompt=candidate), said, judge=True)
        return await super().__call__(candidate, example, task_model)


def test_what_judges_and_proposer_used_is_told_with_its_price(tmp_path: Path) -> None:
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
    first = searched(tmp_path / "a", CountedJudge(), CountingProposer(), dataset=RECORDS, max_total_tokens=300)
    assert first.stop_reason == "spent"
    assert sum(row.tokens_in + row.tokens_out for row in first.spent) <= 300 + 4 * 40
    nothing_new = CountedJudge()
    searched(tmp_path / "a", nothing_new, CountingProposer(), dataset=RECORDS, max_total_tokens=300)
    assert nothing_new.asked == []
    rest = searched(tmp_path / "a", CountedJudge(), CountingProposer(), dataset=RECORDS)
    whole = searched(tmp_path / "b", CountedJudge(), CountingProposer(), dataset=RECORDS)
    assert (rest.stop_reason, rest.best) == (whole.stop_reason, whole.best)


def test_a_budget_that_ends_before_the_seed_is_scored_says_so_and_keeps_what_was_paid(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="before the seed was scored"):
        searched(tmp_path, CountedJudge(), CountingProposer(), dataset=RECORDS, max_total_tokens=100, concurrency=1)
    assert len((tmp_path / "journal.jsonl").read_bytes().splitlines()) == 2


def test_a_budget_of_money_needs_every_price_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--max-cost needs the price of"):
        searched(tmp_path / "run", CountedJudge(), CountingProposer(), max_cost=1.0)
    assert not (tmp_path / "run").exists()
