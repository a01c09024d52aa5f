"""Content parts of chat servers, in the words of vendors that have others."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.adapters.vendors import sent, with_keys

from assay.core.errors import FailureError
from assay.core.types import Message, Request
from assay.models.adapters.content_parts import Media, read_part, text_of_content

environment = pytest.fixture(autouse=True)(with_keys)

PIXEL = "iVBORw0KGgo="
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
REMOTE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ("plain", "plain"),
        ({"type": "text", "text": "a"}, "a"),
        ({"type": "input_text", "text": "a"}, "a"),
        (IMAGE, Media(kind="image", mime_type="image/png", data=PIXEL)),
        (REMOTE, Media(kind="image", url="https://example.org/a.png")),
        (
            {"type": "input_image", "image_url": "https://example.org/a.png"},
            Media(kind="image", url="https://example.org/a.png"),
        ),
        (SOUND, Media(kind="audio", mime_type="audio/wav", data="UklGRg==")),
        ({"type": "document", "source": {}}, None),
        ({"type": "image_url"}, None),
        ({"type": "input_audio", "input_audio": 3}, None),
        (3, None),
    ],
)
def test_a_part_is_text_or_media_or_in_a_vendors_own_words(part: Any, read: Any) -> None:
    assert read_part(part) == read


def test_the_text_of_a_message_leaves_the_rest_out() -> None:
    assert text_of_content([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]) == "a\n\nb"
    assert text_of_content("plain") == "plain"
    assert text_of_content(None) == ""


def asked(*parts: dict[str, Any]) -> Request:
    return Request(messages=(Message(role="user", content=[{"type": "text", "text": "compute: 1 + 1"}, *parts]),))


def test_images_reach_anthropic_and_gemini_in_their_own_words() -> None:
    assert sent("anthropic", asked(IMAGE, REMOTE))["messages"][0]["content"][1:] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    assert sent("gemini", asked(IMAGE, REMOTE))["contents"][0]["parts"][1:] == [
        {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
        {"fileData": {"fileUri": "https://example.org/a.png"}},
    ]


def test_sound_reaches_gemini_and_is_unsupported_by_anthropic() -> None:
    spoken = sent("gemini", asked(SOUND))["contents"][0]["parts"][1]
    assert spoken == {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}
    with pytest.raises(FailureError, match="takes no audio") as caught:
        sent("anthropic", asked(SOUND))
    assert caught.value.failure.kind == "unsupported"
