"""Search: words in any order, the last as a beginning, phrases in quotes; and no query is too odd for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journals import add_lines
from tests.viewer.demo_runs import make_demo, make_hostile

from assay.viewer.builders import Builders
from assay.viewer.run_view import RunView


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return RunView("run", make_demo(tmp_path_factory.mktemp("words") / "run"), Builders())


def said(view: RunView, query: str) -> list[str]:
    return [str(view.record(row)["trace"]["prediction"]) for row in view.search(query)[0].tolist()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("committee postponed", True),
        ("postponed COMMITTEE", True),
        ("commit", True),
        ("commit ", False),
        ('"the committee met"', True),
        ('"committee the met"', False),
        ("zebra", False),
        ("…!?", False),
    ],
)
def test_words_and_phrases(view: RunView, query: str, expected: bool) -> None:
    assert any("committee" in answer for answer in said(view, query)) is expected


def test_prompts_are_searched_too(view: RunView) -> None:
    assert said(view, "minutes meeting")
    assert said(view, "geography")


def test_what_is_added_later_is_found(tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run", each=3)
    lines = (folder / "journal.jsonl").read_bytes()
    grown = RunView("run", folder, Builders())
    before = len(grown.search("committee")[0])
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(lines)
    assert len(grown.search("committee")[0]) == 2 * before > 0


@settings(max_examples=60)
@given(query=st.text(max_size=40))
def test_no_query_breaks_search(view: RunView, query: str) -> None:
    hits, reach, _ = view.search(query)
    assert reach == 1.0
    assert len(hits) <= view.snapshot().rows


def test_a_very_long_answer_is_found_by_its_beginning(tmp_path: Path) -> None:
    view = RunView("run", make_hostile(tmp_path / "run"), Builders())
    assert len(view.search("long answer")[0]) == 1


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """One sample that says something in every place there is, in several scripts."""
    folder = make_demo(tmp_path_factory.mktemp("everything") / "run", each=2)
    call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Reykjavik"}'}}
    line = {
        "key": "5" * 16, "task": "capitals", "sample_id": "gsm8k-0123", "index": 7, "targets": ["vermilion"],
        "metadata": {"topic": "ornithology"},
        "trace": {
            "prediction": "日本の首都は東京です。 العاصمة هي الرياض ภาษาไทยง่าย हिन्दी",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a cheaper trip"},
                                             {"type": "image_url", "image_url": {"url": "data:image/png,zzyzx"}}]},
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "hailstorm"},
            ],
            "completions": [{"text": "", "reasoning": "let me ponder", "logprobs": [{"token": "quuxtoken"}]}],
        },
        "scores": [{"name": "judge", "values": {"score": 0.0}, "reason": "misses the punchline",
                    "metadata": {"verdict": {"reasoning": "lukewarm"}}}],
        "failures": [{"stage": "model", "kind": "bad_request", "message": "context length exceeded"}],
    }  # fmt: skip
    add_lines(folder / "journal.jsonl", line)
    return RunView("run", folder, Builders())


@pytest.mark.parametrize(
    "query",
    [
        *("gsm8k-0123", "gsm8k-01", "vermilion", "ornithology", "cheaper", "get_weather", "Reykjavik", "hailstorm"),
        *("ponder", "punchline", "lukewarm", '"context length"', "bad_request"),
        *("東京", "首都", "京", "日本の首都", "す", "الرياض", "العاصمة", "ไทย", "हिन्दी", "東京 ponder"),
    ],
)
def test_a_sample_is_found_by_whatever_it_holds_in_any_script(everything: RunView, query: str) -> None:
    assert len(everything.search(query)[0]) == 1


@pytest.mark.parametrize("query", ["京東", "東首", "zzyzx", "quuxtoken", "本日の", "gsm8k-9"])
def test_what_it_does_not_hold_does_not_find_it(everything: RunView, query: str) -> None:
    assert len(everything.search(query)[0]) == 0
