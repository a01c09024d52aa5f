"""Token numbers and places in a text, on a byte-level vocabulary that the test makes itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tokenizers", reason="needs the extra `embedded`")
pytest.importorskip("gguf", reason="needs the extra `embedded`")

from tests.models.embedded import tiny_llama

from assay.models.embedded import weights as embedded_weights
from assay.models.likelihood.token_texts import TokenTexts


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> TokenTexts:
    place = tmp_path_factory.mktemp("tiny")
    gguf = tiny_llama.write_gguf(place / "model.gguf")
    embedded_weights.convert(gguf, place, about={"name": "tiny", "licence": "none", "sha256": "0"})
    return TokenTexts(place / "tokenizer.json")


def test_each_token_begins_where_the_last_one_ended(texts: TokenTexts) -> None:
    tokens = texts.encode("a thin\nthing")
    assert [texts.text(token) for token in tokens] == ["a", " ", "th", "in", "\n", "th", "in", "g"]
    assert texts.offsets(tokens) == [0, 1, 2, 4, 6, 7, 9, 11]
    assert texts.offsets(tokens, 100)[:2] == [100, 101]


def test_a_piece_of_a_character_is_written_as_bytes_and_begins_with_it(texts: TokenTexts) -> None:
    tokens = texts.encode("a€b")
    assert [texts.text(token) for token in tokens] == ["a", "bytes:\\xe2", "bytes:\\x82", "bytes:\\xac", "b"]
    assert texts.offsets(tokens) == [0, 1, 1, 1, 2]


def test_special_tokens_are_their_names(texts: TokenTexts) -> None:
    tokens = texts.encode("<|im_start|>hi")
    assert (texts.text(tokens[0]), texts.offsets(tokens), texts.decode(tokens)) == (
        "<|im_start|>",
        [0, 12, 13],
        "<|im_start|>hi",
    )


@given(st.text(max_size=40).filter(lambda text: "<|" not in text))
def test_a_text_comes_back_and_its_tokens_stand_where_they_say(texts: TokenTexts, text: str) -> None:
    if any(0xD800 <= ord(c) < 0xE000 for c in text):
        return
    tokens = texts.encode(text)
    assert texts.decode(tokens) == text
    for token, begin in zip(tokens, texts.offsets(tokens), strict=True):
        written = texts.text(token)
        assert written.startswith("bytes:") or text[begin : begin + len(written)] == written
