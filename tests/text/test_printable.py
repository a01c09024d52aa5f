"""What cannot be seen is shown as an escape; what people write in any script stays as it is."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest

from assay.text.printable import one_line, printable

CHARACTERS = [chr(code) for code in range(0x110000)]
JOINERS = {"\u200c", "\u200d"}
DIRECTIONS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


def changed(character: str) -> bool:
    return printable(character) != character


def test_every_control_and_direction_character_is_escaped_but_line_breaks_and_tabs() -> None:
    kept = {
        character
        for character in CHARACTERS
        if (
            unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
            or unicodedata.bidirectional(character) in DIRECTIONS
            or character in "\u200e\u200f\u061c"
        )
        and not changed(character)
    }
    assert kept == {"\n", "\t"}


def test_nothing_that_can_be_seen_is_escaped() -> None:
    seen = [character for character in CHARACTERS if character.isprintable() or unicodedata.category(character) == "Zs"]
    assert [character for character in seen if changed(character)] == []
    assert not any(map(changed, JOINERS))


@pytest.mark.parametrize("text", ["größer – 日本　語", "👩‍👩‍👧", "می‌خواهم", "a\tb\nc", "e\u0301\ufe0f"])
def test_people_s_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_json_stays_the_same_json() -> None:
    value = {"".join(CHARACTERS[:0xD800]): "".join(CHARACTERS[0xE000:])}
    assert json.loads(printable(json.dumps(value, ensure_ascii=False))) == value


def test_line_ends_of_windows_are_line_ends_and_a_lone_return_is_not() -> None:
    assert printable("a\r\nb\rc") == "a\nb\\u000dc"


def test_one_line_is_one_line() -> None:
    assert one_line("a\r\n b\u2028c\x85d\x1be") == r"a b c d\u001be"
    assert one_line("x" * 400, 10) == "x" * 9 + "…"


def test_the_viewer_shows_the_same_characters() -> None:
    script = Path("src/assay/pages/rendering/dom.js")
    source = (Path(__file__).parents[2] / script).read_text()
    found = re.search(r"INVISIBLE = new RegExp\((.*?)\);", source, re.DOTALL)
    assert found is not None
    written = "".join(re.findall(r"String\.raw`([^`]*)`", found[1]))
    pattern = re.compile(re.sub(r"\\u\{(\w+)\}", lambda code: f"\\U{int(code[1], 16):08x}", written))
    shown = {character for character in CHARACTERS if pattern.match(character)}
    assert shown == {character for character in CHARACTERS if changed(character)} - {"\r"}
