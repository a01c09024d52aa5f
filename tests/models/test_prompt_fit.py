"""What of a prompt fits into a context: whole or refused, or its end, as lm_eval keeps it."""

from __future__ import annotations

import pytest

from assay.models.prompt_fit import TooLongError, after_begin, fit_prompt, fit_scored, sent_text

ROW = list(range(100, 110))


@pytest.mark.parametrize(
    ("context", "max_tokens", "too_long", "kept"),
    [
        (None, 50, "fail", 10),
        (11, 50, "fail", 10),
        (11, 50, None, 10),
        (30, 20, "cut-left", 10),
        (29, 20, "cut-left", 9),
        (21, 20, "cut-left", 1),
    ],
)
def test_a_prompt_leaves_room_for_the_answer(context: int | None, max_tokens: int, too_long: str, kept: int) -> None:
    fitted = fit_prompt(ROW, context=context, max_tokens=max_tokens, too_long=too_long)
    assert fitted == (ROW[10 - kept :], 10 - kept)


@pytest.mark.parametrize(
    ("context", "too_long", "says"),
    [
        (10, None, "the prompt has 10 tokens, and the model's context is 10; --too-long cut-left"),
        (5, "fail", "the prompt has 10 tokens, and the model's context is 5"),
        (20, "cut-left", "an answer may have 20 tokens, and the model's context is 20: nothing of the prompt"),
    ],
)
def test_a_prompt_without_room_is_refused_with_both_lengths(context: int, too_long: str | None, says: str) -> None:
    with pytest.raises(TooLongError, match=says):
        fit_prompt(ROW, context=context, max_tokens=20, too_long=too_long)


def test_the_last_scored_token_is_predicted_and_not_read() -> None:
    for too_long in ("fail", "cut-left"):
        assert fit_scored(ROW, 8, context=9, too_long=too_long) == (ROW, 0)
    assert fit_scored(ROW, 8, context=8, too_long="cut-left") == (ROW[1:], 1)
    assert fit_scored(ROW, 8, context=2, too_long="cut-left") == (ROW[7:], 7)
    with pytest.raises(
        TooLongError, match="the prompt has 8 tokens and the text to score 2, and the model's context is 8"
    ):
        fit_scored(ROW, 8, context=8, too_long=None)
    with pytest.raises(TooLongError, match="the text to score has 2 tokens, and the model's context is 1"):
        fit_scored(ROW, 8, context=1, too_long="cut-left")


def test_a_begin_token_is_there_once() -> None:
    assert after_begin([1], [5, 6]) == [1, 5, 6]
    assert after_begin([1], [1, 5]) == [1, 5]
    assert after_begin([], [5]) == [5]


@pytest.mark.parametrize(("cut", "sent"), [(0, "<s>one two"), (1, "one two"), (2, " two"), (3, "")])
def test_the_text_that_was_sent_is_that_of_the_tokens_that_are_left(cut: int, sent: str) -> None:
    assert sent_text("one two", [(0, 3), (3, 7)], added="<s>", added_tokens=1, cut=cut) == sent
