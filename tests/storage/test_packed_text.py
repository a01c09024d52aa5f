"""A text stored as what it shares with others is the same text again, and takes little room."""

from __future__ import annotations

import random

import msgspec
import pytest

from assay.core.types import Completion, Message, Trace
from assay.storage.packed_text import pack, sent_texts, sources_of, unpack, with_packed_texts

QUESTION = "Question: which of these rivers flows into the Black Sea?\nAnswer:"


@pytest.mark.parametrize(
    ("text", "sources", "packed"),
    [
        (QUESTION, [QUESTION], ((0, 0, len(QUESTION)),)),
        (f"<s>{QUESTION}", ["", QUESTION], ("<s>", (1, 0, len(QUESTION)))),
        (f"[INST] {QUESTION} [/INST]", [f"  {QUESTION}\n"], ("[INST] ", (0, 2, len(QUESTION) + 2), " [/INST]")),
        (QUESTION[20:], [QUESTION], ((0, 20, len(QUESTION)),)),
        (f"{QUESTION[:40]}!", [QUESTION], ((0, 0, 40), "!")),
        ("short", ["short"], ("short",)),
        ("", [QUESTION], ("",)),
    ],
)
def test_what_a_source_has_is_referred_to(text: str, sources: list[str], packed: object) -> None:
    assert pack(text, sources) == packed
    assert unpack(msgspec.json.decode(msgspec.json.encode(packed)), sources) == text


def test_any_text_comes_back_whatever_the_sources() -> None:
    rng = random.Random(5)
    for _ in range(300):
        sources = ["".join(rng.choices("ab \n", k=rng.randrange(60))) for _ in range(rng.randrange(4))]
        pieces = [source[rng.randrange(5) :] for source in rng.sample(sources, len(sources))]
        text = "".join(rng.choices("ab<>", k=rng.randrange(9))).join(["", *pieces, ""])
        assert unpack(pack(text, sources), sources) == text


def test_pieces_that_do_not_fit_are_no_text() -> None:
    for packed in ([[3, 0, 5]], [[0, 0]], [7], "text", None):
        assert unpack(packed, [QUESTION]) is None
    assert sent_texts({"prompt": QUESTION, "sent": [[[9, 0, 1]]], "messages": "none"}) == []


def test_the_prompts_of_four_choices_after_five_examples_add_little_to_a_line() -> None:
    prompt = QUESTION * 40
    answers = tuple(Completion(text=f" {letter}", logprob=-1.0, sent=f"<s>{prompt}") for letter in "ABCD")
    cut = tuple(
        msgspec.structs.replace(answer, sent=prompt[90 + place :], cut=30) for place, answer in enumerate(answers)
    )
    bare = Trace(
        prediction=" A", prompt=prompt, completions=tuple(Completion(text=a.text, logprob=-1.0) for a in answers)
    )
    for completions, most in ((answers, 40), (cut, 150)):
        trace = with_packed_texts(Trace(prediction=" A", prompt=prompt, completions=completions))
        grown = len(msgspec.json.encode(trace)) - len(msgspec.json.encode(bare))
        assert grown < most, "each of the four has the prompt"
        plain = msgspec.json.decode(msgspec.json.encode(trace))
        assert sent_texts(plain) == list(dict.fromkeys(each.sent for each in completions))
        assert all(each.sent is None for each in trace.completions)


def test_a_conversation_is_stored_as_what_its_template_adds() -> None:
    messages = (Message(role="system", content="Answer with one word, please."), Message(role="user", content=QUESTION))
    sent = f"<s>[SYS] Answer with one word, please. [/SYS] {QUESTION} [/INST]"
    trace = with_packed_texts(Trace(prediction="x", messages=messages, completions=(Completion(text="x", sent=sent),)))
    sources = sources_of(None, [message.content for message in messages])
    assert trace.sent == (("<s>[SYS] ", (1, 0, 29), " [/SYS] ", (2, 0, len(QUESTION)), " [/INST]"),)
    assert unpack(trace.sent[0], sources) == sent


def test_a_trace_of_a_model_that_renders_nothing_stays_as_it_is() -> None:
    trace = Trace(prediction="x", prompt=QUESTION, completions=(Completion(text="x"),))
    assert with_packed_texts(trace) is trace
