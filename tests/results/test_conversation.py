"""A record as turns: the order in which it happened, calls with their results, and what all samples begin with."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.results.conversation import (
    Part,
    answer_in,
    call_text,
    common_beginning,
    flat,
    framed_turns,
    last_question,
    prompt_of,
    question_end,
    question_in,
    shared_beginning,
    turns_of,
    worked_examples,
)

CALL = {"id": "1", "function": {"name": "add", "arguments": '{"a": 1}'}}


def kinds(record: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(turn.role, [part.kind for part in turn.parts]) for turn in turns_of(record)]


def test_a_prompt_and_its_answer_are_two_turns_with_reasoning_first() -> None:
    trace = {"prompt": "2+2?", "prediction": "4", "completions": [{"text": "4", "reasoning": "easy"}]}
    assert kinds({"trace": trace}) == [("user", ["text"]), ("assistant", ["reasoning", "text"])]


def test_what_the_run_says_around_each_request_stands_where_it_was_said() -> None:
    def said(record: dict[str, Any]) -> list[tuple[str, str]]:
        return [(turn.role, turn.text()) for turn in framed_turns(turns_of(record), "Be kind.", "So:")]

    answer = {"prediction": "2"}
    assert said({"trace": {"prompt": "1 + 1?", **answer}}) == [
        ("system", "Be kind."),
        ("user", "1 + 1?"),
        ("prefill", "So:"),
        ("assistant", "2"),
    ]
    own = [{"role": "system", "content": "Add."}, {"role": "user", "content": "1 + 1?"}]
    assert said({"trace": {"messages": own, **answer}})[0] == ("system", "Be kind.\nAdd.")
    assert said({"last_request": "1 + 1?"})[-1] == ("prefill", "So:")
    assert said({}) == []


def test_a_call_stands_with_its_result_and_a_result_without_a_call_by_itself() -> None:
    messages = [
        {"role": "user", "content": "add"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "2"},
        {"role": "tool", "tool_call_id": "9", "content": "stray"},
        {"role": "assistant", "content": "done"},
    ]
    found = turns_of({"trace": {"messages": messages, "prediction": "done"}})
    assert [turn.role for turn in found] == ["user", "assistant", "tool", "assistant"]
    (call,) = found[1].parts
    assert (call.name, call.value, call.result and call.result[0].text) == ("add", {"a": 1}, "2")


def test_an_answer_of_calls_only_is_those_calls_in_words() -> None:
    calls = {"completions": [{"text": "", "tool_calls": [CALL, {"function": {"name": "stop"}}]}]}
    assert answer_in({"prompt": "1 + ?", "prediction": "", **calls}) == "add(a=1)\nstop()"
    told = {"messages": [{"role": "user", "content": "1 + ?"}, {"role": "assistant", "tool_calls": [CALL]}]}
    assert answer_in({"prediction": " ", **told}) == "add(a=1)"
    assert answer_in({"prediction": "I add.", **calls}) == "I add."  # what was said comes first
    given_up = [*told["messages"], {"role": "tool", "tool_call_id": "1", "content": "2"}]
    assert answer_in({"prediction": "", "messages": given_up}) == ""


def test_a_call_is_written_as_in_a_program_where_its_arguments_have_names() -> None:
    written = {
        'f(city="São Paulo", days=[1, 2])': {"city": "São Paulo", "days": [1, 2]},
        'f({"two words": 1})': {"two words": 1},
        "f([1])": [1],
        "f({broken)": "{broken",
        "f()": None,
    }
    assert [call_text(Part(kind="call", name="f", value=value)) for value in written.values()] == list(written)


def test_items_of_the_responses_shape_are_read_as_calls() -> None:
    items = [
        {"role": "user", "content": "add"},
        {"type": "function_call", "name": "add", "arguments": "not json", "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "2"},
        {"role": "assistant", "content": "done"},
    ]
    call = turns_of({"trace": {"items": items, "prediction": "done"}})[1].parts[0]
    assert (call.kind, call.value, call.result and call.result[0].text) == ("call", "not json", "2")


def test_an_attempt_that_broke_shows_its_request_and_no_answer() -> None:
    assert kinds({"last_request": "2+2?"}) == [("user", ["text"])]
    assert kinds({}) == []


SHOTS = "Question: one?\nAnswer: 1\n\nQuestion: two?\nAnswer: 2\n\n"


def test_the_question_is_what_differs_between_samples() -> None:
    records = [{"trace": {"prompt": f"{SHOTS}Question: {what}?\nAnswer:"}} for what in ("ducks", "dogs")]
    beginning = common_beginning(*(flat(prompt_of(each)) for each in records))
    shared = shared_beginning(beginning, prompt_of(records[0]))
    assert last_question(prompt_of(records[0]), shared) == "Question: ducks?\nAnswer:"
    assert worked_examples(str(records[0]["trace"]["prompt"]), shared.characters) == 2


def test_turns_that_all_samples_share_are_counted_whole() -> None:
    before = [{"role": "user", "content": "one?"}, {"role": "assistant", "content": "1"}]
    records = [{"trace": {"messages": [*before, {"role": "user", "content": what}]}} for what in ("ducks", "dogs")]
    beginning = common_beginning(*(flat(prompt_of(each)) for each in records))
    shared = shared_beginning(beginning, prompt_of(records[0]))
    assert (shared.turns, shared.characters) == (2, 0)
    assert last_question(prompt_of(records[0]), shared) == "ducks"


def test_a_single_sample_shares_nothing() -> None:
    prompt = prompt_of({"trace": {"prompt": SHOTS}})
    assert last_question(prompt, shared_beginning(flat(prompt), prompt)) == SHOTS


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["role", "content", "text", "tool_calls", "function", "id", "tool_call_id", "messages",
                         "prompt", "items", "completions", "trace", "type", "image_url", "input_audio", "data"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(ANYTHING)
def test_no_record_of_a_stranger_breaks_it(value: Any) -> None:
    record = {"trace": value}
    turns_of(record)
    prompt = prompt_of(record)
    last_question(prompt, shared_beginning("user\x1f", prompt))


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_common_beginning_is_the_longest(one: str, other: str) -> None:
    found = common_beginning(one, other)
    assert one.startswith(found)
    assert other.startswith(found)
    assert one[len(found) : len(found) + 1] != other[len(found) : len(found) + 1] or found in (one, other)


def test_the_end_of_a_long_prompt_holds_its_question() -> None:
    shots = "Question: What is 2 + 2?\nAnswer: 4\n\n" * 40
    assert question_end("Short.", 500) == "Short."
    assert question_end(f"{shots}Question: How many eggs?\nAnswer:", 500).startswith("… Question: What is 2 + 2?")
    long = "Janet's ducks lay sixteen eggs a day, and she eats three of them. How many are left?"
    assert question_end(f"{shots}Question: {long}\nAnswer:", 500) == f"… Question: {long}\nAnswer:"
    assert question_end(f"{shots}{long}\n\nAnswer:", 500) == f"… {long}\n\nAnswer:"
    assert len(question_end("x" * 9000, 500)) == 502


def test_a_question_without_words_names_its_images() -> None:
    url = {"url": "data:image/png;base64,AAAA"}
    parts = [{"image_url": url, "file": "cats/1.png"}, {"image_url": url}]
    record = {"trace": {"messages": [{"role": "user", "content": parts}], "prediction": "a cat"}}
    assert question_in(record, {}) == "(image cats/1.png) (image)"
    parts.insert(0, {"type": "text", "text": "What is it?"})
    assert question_in(record, {}) == "What is it?"


def test_the_question_of_a_conversation_is_its_last_turn() -> None:
    turns = "".join(f"\n\nuser: What is {n} + {n}?" for n in range(2, 10))
    assert question_end(f"system: Be brief.{turns}\n\nuser: How many eggs?", 500) == "… user: How many eggs?"
    assert question_end(f"user: One?{turns}\n\nuser: {'x' * 900}", 500) == f"… {'x' * 500}"
    for whole in ("system: Be brief.\n\nuser: How many?", "user: One?\n\nuser: How many?"):
        assert question_end(whole, 500) == whole
