"""Reads content parts in the format of chat servers, for the vendors that have other formats."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

AUDIO_TYPES = {"mp3": "audio/mp3", "wav": "audio/wav"}


class Media(Struct, frozen=True, kw_only=True):
    """An image or a sound: its bytes, or its address."""

    kind: Literal["image", "audio"]
    mime_type: str = ""
    data: str = ""
    """Base64; empty where there is an address instead."""
    url: str = ""


def read_part(part: Any) -> str | Media | None:
    """The text or the media of one content part; None for a part in a vendor's own format."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    if isinstance(part.get("text"), str) and part.get("type", "text") in ("text", "input_text", "output_text"):
        return str(part["text"])
    if part.get("type") in ("image_url", "input_image"):
        return _image(part.get("image_url"))
    if part.get("type") == "input_audio":
        return _audio(part.get("input_audio"))
    return None


def text_of_content(content: Any) -> str:
    """The text of a message, without its other content."""
    if not isinstance(content, list):
        return str(content or "")
    return "\n\n".join(text for part in content if isinstance(text := read_part(part), str))


def _image(image: Any) -> Media | None:
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return None
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Media(kind="image", mime_type=head[len("data:") : -len(";base64")].partition(";")[0], data=data)
    return Media(kind="image", url=url)


def _audio(audio: Any) -> Media | None:
    if not isinstance(audio, dict) or not isinstance(audio.get("data"), str):
        return None
    form = str(audio.get("format") or "wav")
    return Media(kind="audio", mime_type=AUDIO_TYPES.get(form, f"audio/{form}"), data=audio["data"])
