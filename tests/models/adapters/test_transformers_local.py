"""Local models of the transformers library, on a tiny random one that the test makes itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model import Exam, check_model, closing, question
from tests.models.adapters.tiny_checkpoints import KINDS, write_checkpoint

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.models.model_names import make_model

torch = pytest.importorskip("torch", reason="needs the extra `transformers`")
transformers = pytest.importorskip("transformers", reason="needs the extra `transformers`")
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]  # the library's own warnings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.models.embedded.tiny_llama import TEMPLATE, byte_symbols
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    place = tmp_path_factory.mktemp("tiny")
    words = ["<|im_start|>", "<|im_end|>", *byte_symbols()]
    tokenizer = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(words[:2])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", bos_token="<|im_start|>", chat_template=TEMPLATE
    )
    fast.save_pretrained(place)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, eos_token_id=1, bos_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(place)
    return place


def ask(folder: Path, *requests: Request, **options: Any) -> list[Completion]:
    async def answers() -> list[Completion]:
        async with closing(make_model(f"transformers:{folder}", {"max_tokens": 6, **options})) as model:
            found = await model.generate_batch(requests)  # type: ignore[attr-defined]
            assert not [each for each in found if isinstance(each, FailureError)]
            return list(found)

    return asyncio.run(answers())


def test_it_keeps_the_contract_of_a_model(folder: Path) -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with closing(make_model(f"transformers:{folder}", {"max_tokens": 6})) as model:
            yield model

    asked = [*((n, 1) for n in range(40)), (2, 3), (20, 3), (1, 2)]
    alone = {pair: ask(folder, question(*pair))[0].text for pair in asked[-3:]}
    known = dict(zip(asked, (each.text for each in ask(folder, *(question(*pair) for pair in asked))), strict=True))
    assert {pair: known[pair] for pair in alone} == alone
    check_model(make_one, Exam(answer=lambda a, b: known[a, b], breaking=Request(prompt="a", tools=[{}])))


def test_answers_are_the_same_alone_and_in_a_batch(folder: Path) -> None:
    requests = [Request(prompt="a" * n) for n in range(1, 6)]
    requests += [Request(prompt="ab", continuation="c" * n) for n in range(1, 4)]
    together = ask(folder, *requests)
    alone = [ask(folder, request)[0] for request in requests]
    assert [each.text for each in together] == [each.text for each in alone]
    for one, other in zip(together[5:], alone[5:], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
    assert {each.finish_reason for each in together[:5]} <= {"stop", "length"}


def test_likelihoods_add_up(folder: Path) -> None:
    whole, first, second, alone = ask(
        folder,
        Request(prompt="a", continuation="bc"),
        Request(prompt="a", continuation="b"),
        Request(prompt="ab", continuation="c"),
        Request(prompt="", continuation="a"),
    )
    assert whole.logprob == pytest.approx((first.logprob or 0) + (second.logprob or 0), abs=1e-4)
    assert whole.raw == {"continuation_tokens": 2}
    assert whole.is_greedy is (first.is_greedy and second.is_greedy)
    assert (alone.logprob or 0) < 0


def test_a_long_text_is_scored_in_windows(folder: Path) -> None:
    text = "abcdefgh"
    whole, rolled, *pieces = ask(
        folder,
        Request(prompt="x", continuation=text, rolling=(0, 0)),
        Request(prompt="x", continuation=text, rolling=(4, 2)),
        Request(prompt="x", continuation="abc"),
        Request(prompt="bc", continuation="de"),
        Request(prompt="de", continuation="fg"),
        Request(prompt="efg", continuation="h"),
    )
    assert rolled.logprob == pytest.approx(sum(each.logprob or 0 for each in pieces), abs=1e-4)
    assert rolled.raw == {"continuation_tokens": 8, "windows": 4}
    assert whole.raw == {"continuation_tokens": 8}


def test_a_seed_repeats_its_sample(folder: Path) -> None:
    request = Request(prompt="a", temperature=1.0, seed=3)
    assert ask(folder, request)[0].text == ask(folder, request, request)[1].text


def test_a_model_that_is_not_there_is_a_failure_and_no_download() -> None:
    async def ask_missing() -> None:
        async with closing(make_model("transformers:no-such/model")) as model:
            await model.generate(Request(prompt="a"))

    with pytest.raises(FailureError, match="loading no-such/model failed"):
        asyncio.run(ask_missing())
    with pytest.raises(UsageError, match="transformers:FOLDER"):
        make_model("transformers:")


def test_a_shared_prompt_is_read_once_and_gives_the_same_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shots = "one two three four five six seven eight nine ten. " * 3
    requests = [
        Request(prompt=f"{shots}{question}", continuation=choice)
        for question in ("first?", "a longer second?")
        for choice in (" yes", " no", " perhaps not")
    ]
    tokens: list[int] = []
    forward = transformers.LlamaForCausalLM.forward

    def counting(model: Any, input_ids: Any, **options: Any) -> Any:
        tokens.append(input_ids.numel())
        return forward(model, input_ids, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", counting)
    alone = [ask(folder, request)[0] for request in requests]
    read_alone = sum(tokens)
    tokens.clear()
    together = ask(folder, *requests)  # a few tokens also whole, to see that both ways agree
    for one, other in zip(alone, together, strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
        assert one.is_greedy == other.is_greedy
    assert sum(tokens) < read_alone * 0.8


@pytest.fixture(scope="module")
def begins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("begins"), KINDS["template with a begin token"])


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("short"), KINDS["learned positions"])


def test_the_begin_token_is_read_once_wherever_it_comes_from(begins: Path) -> None:
    chat, plain, likely, written, alone = ask(
        begins,
        Request(prompt="Question:"),
        Request(prompt="Question:", plain=True),
        Request(prompt="Question:", continuation=" A."),
        Request(prompt="<s>Question:", continuation=" A."),
        Request(prompt="", continuation=" A."),
    )
    assert chat.sent == "<s><|says|>user\nQuestion:</s>\n<|says|>assistant\n"
    assert [each.sent for each in (plain, likely, written, alone)] == ["<s>Question:"] * 3 + ["<s>"]
    assert (likely.logprob, likely.tokens_in) == (pytest.approx(written.logprob), written.tokens_in)


def test_the_begin_token_can_be_asked_for_or_left_out(begins: Path, short: Path) -> None:
    request = Request(prompt="Question:", continuation=" A.")
    assert ask(begins, request, add_bos_token=False)[0].sent == "Question:"
    assert ask(short, request)[0].sent == "Question:"
    assert ask(short, request, add_bos_token=True)[0].sent == "<s>Question:"


def test_a_prompt_beyond_the_context_fails_or_keeps_its_end(short: Path) -> None:
    words = [str(number) for number in range(300)]
    text = " ".join(words)

    async def outcomes(**options: Any) -> list[Completion | FailureError]:
        requests = [
            Request(prompt=text),
            Request(prompt=text, continuation=" 1"),
            Request(prompt=text, too_long="cut-left", max_tokens=28),
            Request(prompt=text, continuation=" 1", too_long="cut-left"),
            Request(prompt="0", max_tokens=500),
        ]
        async with closing(make_model(f"transformers:{short}", options)) as model:
            return list(await model.generate_batch(requests))  # type: ignore[attr-defined]

    for most, options in ((128, {}), (64, {"max_length": 64})):
        refused, unscored, written, scored, fits = asyncio.run(outcomes(**options))
        for failed in (refused, unscored):
            assert isinstance(failed, FailureError)
            assert failed.failure.kind == "too_long"
            assert f"the model's context is {most}" in str(failed)
        assert isinstance(written, Completion)
        assert isinstance(scored, Completion)
        assert isinstance(fits, Completion)
        assert (written.tokens_in, scored.tokens_in) == (most - 28, most + 1)
        assert text.endswith(written.sent or "-")
        assert min(written.cut, scored.cut) > 100
        assert (fits.tokens_in or 0) + (fits.tokens_out or 0) <= most
