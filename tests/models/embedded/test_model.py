"""The embedded model: its processes, its tokenizer and chat template, on a tiny model that the test makes itself."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model import Exam, check_model, closing
from tests.models.embedded.asking import ask

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request
from assay.models.embedded.model import EmbeddedModel
from assay.models.model_names import make_model

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")


def failure_kind(folder: Path, request: Request) -> str:
    with pytest.raises(FailureError) as caught:
        ask(folder, request, workers=1)
    return caught.value.failure.kind


def test_it_keeps_the_contract_of_a_model(folder: Path) -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with closing(EmbeddedModel(folder=str(folder), max_tokens=6, workers=2)) as model:
            yield model

    @functools.cache
    def answer(a: int, b: int) -> str:
        with_one = EmbeddedModel(folder=str(folder), max_tokens=6, workers=1, batch_size=1)

        async def alone() -> str:
            async with closing(with_one):
                return (await with_one.generate(Request(prompt=f"compute: {a} + {b}"))).text

        return asyncio.run(alone())

    known = {(n, 1): "" for n in range(40)} | {(2, 3): "", (20, 3): "", (1, 2): ""}
    requests = [Request(prompt=f"compute: {a} + {b}") for a, b in known]
    for key, completion in zip(known, ask_with(folder, requests, max_tokens=6), strict=True):
        known[key] = completion.text
    assert answer(2, 3) == known[2, 3]
    exam = Exam(answer=lambda a, b: known[a, b], breaking=Request(prompt="x" * 500))
    check_model(make_one, exam)


def ask_with(folder: Path, requests: list[Request], **options: Any) -> list[Completion]:
    async def answers() -> list[Completion]:
        async with closing(EmbeddedModel(folder=str(folder), workers=1, batch_size=1, **options)) as model:
            return [await model.generate(request) for request in requests]

    return asyncio.run(answers())


def test_text_and_likelihoods_are_equal_whatever_the_batch_and_the_processes(folder: Path) -> None:
    requests = [Request(prompt=f"say {n}", temperature=n % 2 / 1.5, seed=n) for n in range(12)]
    requests += [Request(prompt=f"say {n % 3}", continuation=f" the {n}") for n in range(12)]
    first, second = (
        ask(folder, *requests, workers=1, batch_size=1),
        ask(folder, *requests, workers=2, batch_size=5),
    )
    assert [each.text for each in first] == [each.text for each in second]
    for one, other in zip(first[12:], second[12:], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)


def test_a_prompt_is_a_message_unless_text_is_asked_for(folder: Path) -> None:
    chat, message, text = (
        ask(folder, Request(prompt="hi"), workers=1)[0],
        ask(folder, Request(messages=(Message(role="user", content="hi"),)), workers=1)[0],
        ask(folder, Request(prompt="hi"), workers=1, mode="text")[0],
    )
    assert chat.text == message.text
    assert (chat.tokens_in, text.tokens_in) == (1 + len("user\nhi") + 1 + 1 + 1 + len("assistant\n"), 2)


def test_what_was_sent_is_known_and_plain_text_gets_no_template(folder: Path) -> None:
    chat, plain, likely, alone = ask(
        folder,
        Request(prompt="hi"),
        Request(prompt="hi", plain=True),
        Request(prompt="hi", continuation=" you"),
        Request(prompt="", continuation="the"),
        workers=1,
    )
    assert chat.sent == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert (plain.sent, plain.tokens_in) == ("hi", 2)
    assert (likely.sent, alone.sent) == ("hi", "<|endoftext|>")


def test_an_answer_goes_on_after_its_beginning(folder: Path) -> None:
    turns = (Message(role="user", content="hi"), Message(role="assistant", content="Well,"))
    begun = ask(folder, Request(messages=turns), workers=1)[0]
    assert begun.sent == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nWell,"


def test_a_prompt_beyond_the_context_keeps_its_end_if_that_is_asked_for(folder: Path) -> None:
    text = "".join(chr(97 + place % 26) for place in range(300))
    long, short, likely, same = ask(
        folder,
        Request(prompt=text, plain=True, too_long="cut-left"),
        Request(prompt=text[-88:], plain=True),
        Request(prompt=text, continuation="XY", too_long="cut-left"),
        Request(prompt=text[-95:], continuation="XY"),
        workers=1,
    )
    assert (long.text, long.tokens_in, long.cut) == (short.text, 88, 212)
    assert (long.sent, short.cut) == (text[-88:], 0)
    assert likely.logprob == pytest.approx(same.logprob, abs=1e-5)
    assert (likely.sent, likely.cut, likely.tokens_in) == (text[-95:], 205, 97)
    with pytest.raises(FailureError, match="has 300 tokens and the text to score 2, and the model's context is 96"):
        ask(folder, Request(prompt=text, continuation="XY"), workers=1)


def test_a_begin_token_is_read_once(folder: Path, tmp_path: Path) -> None:
    for name in ("weights.f32", "tokenizer.json"):
        (tmp_path / name).symlink_to(folder / name)
    about = json.loads((folder / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**about, "begin_token": 0}))
    added, written = ask(
        tmp_path, Request(prompt="hi", plain=True), Request(prompt="<|endoftext|>hi", plain=True), workers=1
    )
    assert (added.sent, added.tokens_in, added.text) == ("<|endoftext|>hi", 3, written.text)
    assert (written.sent, written.tokens_in) == (added.sent, 3)
    one, other = ask(
        tmp_path,
        Request(prompt="hi", continuation=" you"),
        Request(prompt="<|endoftext|>hi", continuation=" you"),
        workers=1,
    )
    assert (one.logprob, one.sent) == (other.logprob, other.sent)
    bare = ask(folder, Request(prompt="<|endoftext|>hi", continuation=" you"), workers=1)[0]
    assert bare.logprob == pytest.approx(one.logprob, abs=1e-6)


def test_a_system_message_of_its_own_goes_first_but_not_twice(folder: Path) -> None:
    said = Message(role="system", content="be brief")
    user = Message(role="user", content="hi")
    with_option = ask(folder, Request(prompt="hi"), workers=1, system="be brief")[0]
    given = ask(folder, Request(messages=(said, user)), workers=1, system="another")[0]
    assert (with_option.text, with_option.tokens_in) == (given.text, given.tokens_in)


def test_the_continuation_is_every_token_that_reaches_into_it(folder: Path) -> None:
    whole, cut, merged = ask(
        folder,
        Request(prompt="a", continuation="bc"),
        Request(prompt="ab", continuation="c"),
        Request(prompt="at", continuation="he"),  # `the` is one token that begins in the prompt
        workers=1,
    )
    b = ask(folder, Request(prompt="a", continuation="b"), workers=1)[0]
    assert whole.logprob == pytest.approx((b.logprob or 0) + (cut.logprob or 0), abs=1e-5)
    assert (merged.tokens_in, merged.raw) == (2, {"continuation_tokens": 1})


def test_a_text_with_nothing_before_it_has_a_likelihood(folder: Path) -> None:
    alone = ask(folder, Request(prompt="", continuation="the"), workers=1)[0]
    assert alone.logprob is not None
    assert alone.logprob < 0


def test_stops_and_lengths_end_an_answer(folder: Path) -> None:
    full = ask(folder, Request(prompt="hi"), workers=1)[0]
    assert (full.finish_reason, full.tokens_out) == ("length", 8)
    stop = full.text[2]
    cut = ask(folder, Request(prompt="hi", stop=(stop,)), workers=1)[0]
    assert (cut.text, cut.finish_reason) == (full.text[: full.text.index(stop)], "stop")
    assert ask(folder, Request(prompt="hi", max_tokens=3), workers=1)[0].tokens_out == 3


def test_log_probabilities_of_what_was_written(folder: Path) -> None:
    found = ask(folder, Request(prompt="hi", logprobs=2), workers=1)[0].logprobs or []
    assert len(found) == 8
    assert all(entry["top_logprobs"][0]["logprob"] == entry["logprob"] for entry in found)  # greedy


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (Request(prompt="x" * 500), "too_long"),
        (Request(prompt="hi", tools=[{"type": "function"}]), "unsupported"),
        (Request(prompt="hi", continuation=""), "bad_request"),
        (Request(prompt="hi", max_tokens=0), "bad_request"),
        (Request(messages=(Message(role="user", content=[{"type": "image"}]),)), "unsupported"),
    ],
)
def test_what_cannot_be_answered_is_a_failure_of_a_kind(folder: Path, request_: Request, kind: str) -> None:
    assert failure_kind(folder, request_) == kind


def test_it_says_what_it_is_and_can_score_texts(folder: Path) -> None:
    model = EmbeddedModel(folder=str(folder))
    assert model.name == "embedded:tiny"
    assert model.offers.likelihoods == "yes"
    assert {"licence", "sha256", "model"} <= set(model.settings)


def test_without_the_weights_it_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match=r"assay model get.*Apache-2\.0.*98 MB"):
        make_model("embedded")
