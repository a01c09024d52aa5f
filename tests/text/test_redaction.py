"""A key comes out of what a server says in none of its forms, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.redaction import MARK, SHORTEST, Redactor, credential_in, secret_option_in

KEY = "sk-live-Zq83hVtt-0192837465-do-not-tell"
redactor = Redactor([KEY])

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "reversed": lambda key: key[::-1],
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal in upper case, in pairs": lambda key: key.encode().hex(":").upper(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 in a header": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of a login": lambda key: base64.b64encode(f"me:{key}\n".encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"?{key}".encode()).decode(),
    "base64 in lines": lambda key: "\n".join(re.findall("..?.?.?", base64.b64encode(key.encode()).decode())),
    "percent, where it must be": lambda key: key.replace("-", "%2D"),
    "percent, quoted": lambda key: quote(key, safe=""),
    "percent, all of it": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "JSON twice": lambda key: json.dumps(key.replace("-", "\\u002d")),
    "JSON escapes, all of it": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "HTML": lambda key: key.replace("-", "&#45;"),
    "HTML in hexadecimal": lambda key: key.replace("-", "&#x2d;"),
    "spaced": " ".join,
    "spaced by dashes": "-".join,
    "spaced by commas": ",".join,
    "one character a line": "\n".join,
}


def only_scraps(text: str) -> bool:
    """What is left next to the mark: what stood around the key, and the ends of base64 that hold a bit of both."""
    return all(len(piece) < 20 for piece in text.split(MARK))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["{}", "I was sent {} by you", "key={}&more=1", '{{"key": "{}"}}'])
def test_a_key_is_cut_out_of_a_text_in_every_form(form: str, around: str) -> None:
    written = FORMS[form](KEY)
    found = redactor.text(around.format(written))
    assert MARK in found
    assert only_scraps(found.replace("I was sent ", "").replace(" by you", ""))


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_cut_out_of_every_place_of_an_answer(form: str) -> None:
    written = FORMS[form](KEY)
    answer: Any = {
        "text": written,
        "list": [written, 1, None],
        "deep": [{"a": {"b": written}}],
        written: True,
        "n": 1.5,
    }
    found = json.loads(redactor.body(json.dumps(answer).encode()))
    (named,) = found.keys() - answer.keys()
    texts = [found["text"], found["list"][0], found["deep"][0]["a"]["b"], named]
    assert all(MARK in text and only_scraps(text) for text in texts)
    assert (found["list"][1:], found["n"], found[named]) == ([1, None], 1.5, True)


@pytest.mark.parametrize("keys", ["sk-live-Zq83hVtt/0192837465+do=not~tell", "0123456789abcdef", "A" * 200])
@pytest.mark.parametrize("form", ["plain", "base64 in a header", "percent, quoted", "spaced", "hexadecimal"])
def test_keys_of_other_shapes_too(keys: str, form: str) -> None:
    assert MARK in Redactor([keys]).text(f"see {FORMS[form](keys)}.")


def test_escapes_of_json_are_undone_before_it_is_looked_for() -> None:
    for escaped in (KEY.replace("-", "\\u002d"), KEY.replace("l", "\\u006c"), KEY.replace("-", "\\u002D")):
        assert json.loads(redactor.body(f'{{"text": "it is {escaped}"}}'.encode())) == {"text": f"it is {MARK}"}
    with_slash = KEY.replace("-", "/")
    body = json.dumps({"text": with_slash}).replace("/", "\\/").encode()
    assert json.loads(Redactor([with_slash]).body(body)) == {"text": MARK}


def test_what_is_spread_over_the_items_of_a_list_is_cut_out_of_each() -> None:
    parts = [{"type": "text", "text": f"it is {KEY[:15]}"}, {"type": "text", "text": f"{KEY[15:]}, keep it"}]
    assert [part["text"] for part in redactor.value(parts)] == [f"it is {MARK}", f"{MARK}, keep it"]
    assert redactor.joined([KEY[:15], KEY[15:], "!"]) == f"{MARK}!"
    tokens = [{"token": piece, "bytes": list(piece.encode())} for piece in ("The ", *KEY, " end")]
    found = redactor.spelt(tokens, "token")
    assert {entry["token"] for entry in found[1:-1]} == {MARK}
    assert {number for entry in found[1:-1] for number in entry["bytes"]} == {ord("*")}
    assert (found[0], found[-1]["token"]) == ({"token": "The ", "bytes": list(b"The ")}, " end")


def test_a_list_of_byte_numbers_is_a_text() -> None:
    assert redactor.body(json.dumps({"bytes": list(KEY.encode())}, separators=(",", ":")).encode()).count(b"42") >= 30


def test_a_body_that_is_no_json_is_a_text() -> None:
    assert redactor.body(b"<html>\xff" + KEY.encode() + b"</html>") == b"<html>\xff[key]</html>"
    deep = b"[" * 20_000 + json.dumps(KEY).encode() + b"]" * 20_000
    assert KEY.encode() not in redactor.body(deep)
    assert KEY.encode() not in redactor.body(b'{"n": 1' + b"0" * 400 + b', "key": "' + KEY.encode() + b'"}')


def test_nesting_as_deep_as_the_decoder_takes_is_read() -> None:
    value: Any = KEY
    for _ in range(5_000):
        value = [value]
    found = redactor.value(value)
    while isinstance(found, list):
        (found,) = found
    assert found == MARK


def test_an_answer_without_a_key_is_handed_back_as_it_is() -> None:
    body = json.dumps({"text": "Of course: 42. " * 300, "url": "https://host/" + "a/b" * 50}).encode()
    assert redactor.body(body) is body
    twice = b'{"text": "' + b"long" * 20 + b'", "text": "x"}'  # what its reader has to see
    assert redactor.body(twice) is twice
    short = b'{"text": "5"}'
    assert redactor.body(short) is short
    tokens = [{"token": "a"}, {"token": None}, {"other": 1}]
    assert redactor.spelt(tokens, "token") == tokens


@given(st.text(max_size=300))
def test_no_other_text_is_changed(text: str) -> None:
    if "zq83" not in text.lower():
        assert redactor.text(text) == text


@given(st.text(max_size=60), st.sampled_from(sorted(FORMS)), st.text(max_size=60))
def test_whatever_stands_around_it_a_key_is_found(before: str, form: str, after: str) -> None:
    assert MARK in redactor.text(f"{before} {FORMS[form](KEY)} {after}")


def test_a_word_in_place_of_a_key_is_none() -> None:
    for word in ("EMPTY", "none", "x" * (SHORTEST - 1), "", None):
        assert Redactor([word]).text(f"the set is {word}") == f"the set is {word}"


def test_keys_without_number_are_cut_in_one_pass() -> None:
    many = [{"token": piece} for piece in (KEY[:20], KEY[20:]) * 5_000]
    assert {each["token"] for each in redactor.value(many)} == {MARK}


def test_hostile_text_takes_no_time() -> None:
    # quadratic matching would take hours here
    for text in ("s" * 1_000_000, "s-" * 500_000, (KEY[:-1] + "-") * 20_000, " s" * 500_000, "-" * 1_000_000):
        assert MARK not in redactor.text(text)


@pytest.mark.parametrize(
    "query",
    ["subscription-key", "api_key", "Ocp-Apim-Subscription-Key", "accessToken", "sig", "x-api-key", "code", "apikey"],
)
def test_a_credential_in_an_address_is_seen_and_not_repeated(query: str) -> None:
    assert credential_in(f"https://host/v1?api-version=1&{query}={KEY}") == f"a secret (`{query}`)"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"api_key": "x"}, "api_key"),
        ({"extra": {"headers": [{"Authorization": "Bearer x"}]}}, "Authorization"),
        ({"extra": {"apiKey": "x"}}, "apiKey"),
        ({"client_secret": "x"}, "client_secret"),
        ({"password": "x"}, "password"),
        ({"access_token": "x"}, "access_token"),
        ({"api_key": None, "api_key_env": "", "max_tokens": 5, "stop_token_ids": [1], "eos_token": "</s>"}, None),
        ({"prompt_cache_key": "x", "secretary": 1, "user": "me"}, None),
    ],
)
def test_an_option_that_is_called_like_a_secret_is_seen_at_any_depth(options: Any, name: str | None) -> None:
    assert secret_option_in(options) == name


def test_a_login_in_an_address_is_seen() -> None:
    for login in (f"me:{KEY}", KEY, f":{KEY}"):
        assert credential_in(f"https://{login}@host/v1") == "a user name or password"


@pytest.mark.parametrize("query", ["", "?api-version=2024-10-21-preview", "?deployment=gpt-4o-2024-08-06&monkey=1"])
def test_an_address_is_only_an_address(query: str) -> None:
    assert credential_in(f"https://host:8000/v1{query}") is None
