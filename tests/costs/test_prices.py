"""Prices come from a file people can edit; a mistake in it is a sentence, an unknown price is not zero."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import write_sums

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.types import Completion
from assay.costs.prices import Price, cost_of_answers, find_prices, read_price_file
from assay.results.board.leaderboard import read_leaderboard
from assay.results.report_settings import View


def test_the_users_file_wins_over_the_one_that_comes_along(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("date: 2026-01-02\nmodels:\n  gpt-4o: {input: 1, output: 2}\n")
    prices = find_prices(folder=tmp_path)
    mine, bundled = prices.quote("openai:gpt-4o"), prices.quote("openai:gpt-4o-mini")
    assert mine is not None
    assert bundled is not None
    assert (mine.price.input, mine.date, mine.source) == (1, "2026-01-02", str(tmp_path / "prices.yaml"))
    assert bundled.source == "prices that come with assay"
    assert prices.quote("openai:nobody-knows-this") is None


def test_answers_of_a_free_model_cost_nothing_even_if_it_counts_no_tokens() -> None:
    answers = [Completion(text="x"), Completion(text="y", tokens_in=3, tokens_out=1)]
    assert cost_of_answers(find_prices().quote("toy"), answers) == 0.0
    assert cost_of_answers(find_prices().quote("openai:gpt-4o"), answers) is None


def test_json_will_do_and_the_longest_pattern_wins(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(
        '{"date": "2026-01-02", "currency": "EUR", "models": {"my-*": {"input": 1, "output": 1},'
        ' "my-big-*": {"input": 9, "output": 9}, "my-big-one": {"input": 7, "output": 7}}}'
    )
    prices = find_prices(path)
    found = {name: quote.price.input for name in ("my-x", "my-big-x", "my-big-one") if (quote := prices.quote(name))}
    assert found == {"my-x": 1, "my-big-x": 9, "my-big-one": 7}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("date: x", "missing required field `models`"),
        ("date: x\nmodels: {m: {input: 1}}", "missing required field `output`"),
        ("date: x\nmodels: {m: {input: 1, output: 1, outptu: 2}}", "unknown field `outptu`"),
        ("date: x\nmodels: {m: {input: -1, output: 1}}", "cannot be negative"),
        ("date: x\nmodels: {m: {input: cheap, output: 1}}", "Expected `float`"),
        ("a: [", "not valid YAML"),
        ("- 1", "Expected `object`"),
    ],
)
def test_a_mistake_in_a_price_file_is_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"prices\.yaml") as caught:
        read_price_file(path)
    assert said.lower() in str(caught.value).lower()


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        find_prices(tmp_path / "none.yaml")


def test_tokens_that_the_server_had_cached_cost_what_the_file_says() -> None:
    price = Price(input=10.0, output=20.0, cached_input=1.0)
    assert price.of(1_000_000, 500_000, 400_000) == pytest.approx(6.0 + 0.4 + 10.0)
    assert Price(input=10.0, output=0.0).of(1_000_000, 0, 1_000_000) == 10.0


@pytest.mark.parametrize("named", [True, False])
def test_a_run_keeps_the_prices_it_was_made_with(named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_sums(home / "tasks", "sums", 2)
    price_file = home / ("mine.yaml" if named else "prices.yaml")
    price_file.write_text("date: 2026-01-02\nmodels:\n  toy: {input: 1000, output: 2000}\n")
    monkeypatch.chdir(home)
    flags = ["--prices", "mine.yaml"] if named else []
    assert main(["run", "tasks", "--run-dir", "run", "--quiet", *flags]) == 0
    price_file.unlink()
    monkeypatch.chdir(elsewhere)
    assert main(["report", str(home / "run")]) == 0
    for seen in (read_leaderboard(home / "run/leaderboard.json"), read_leaderboard(home / "run", View())):
        assert seen.cost is not None
        assert seen.cost.date == "2026-01-02"


def test_a_price_file_need_not_have_a_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prices.yaml").write_text("models: {toy: {input: 1000, output: 2000}}\n")
    prices = ["--prices", str(tmp_path / "prices.yaml")]
    write_sums(tmp_path / "tasks", "sums", 2)
    assert main(["run", str(tmp_path / "tasks"), *prices, "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "prices.yaml, without a date" in said.out + said.err
