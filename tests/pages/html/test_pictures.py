"""Images and sounds of questions in reports and comparisons: inside the page, bounded, and never from elsewhere."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import wave
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.results.browser import Page, in_browser, keep_picture, needs_chromium
from tests.results.runs import Adder, run_into, write_sums

from assay import open_run
from assay.cli.main import main
from assay.core.types import Completion, Request
from assay.pages.html.element import inside
from assay.pages.html.page import page as html_page
from assay.pages.html.pictures import MOST_BYTES, PICTURE, SOUND, Pictures
from assay.pages.html.report_page import report_page
from assay.pages.rendering.libraries import modules
from assay.results.conversation import Part
from assay.results.report_settings import View

SVG = "data:image/svg+xml;base64," + base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg"/>').decode()


def png(*colour: int, width: int = 160, height: int = 90) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(b"\x80" * 4000)
    return file.getvalue()


class Seer:
    """Says the same of every picture."""

    def __init__(self, name: str, answer: str) -> None:
        self.name = name
        self._answer = answer

    async def generate(self, request: Request) -> Completion:
        return Completion(text=self._answer)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over three pictures next to the task, a sound, an SVG document, and an image of another host."""
    folder = tmp_path_factory.mktemp("pictures")
    tasks = folder / "tasks"
    (tasks / "colours").mkdir(parents=True)
    (tasks / "colours" / 'a"<b>.png').write_bytes(png(200, 30, 30))
    (tasks / "colours" / "2.png").write_bytes(png(30, 160, 60, width=900, height=900))
    (tasks / "beep.wav").write_bytes(wav())
    parts = [
        {"type": "text", "text": "And these?"},
        {"type": "image_url", "image_url": {"url": SVG}},
        {"type": "image_url", "image_url": {"url": "https://example.org/far.png"}},
    ]
    rows: list[dict[str, Any]] = [
        {"id": "one", "prompt": "Which colour?", "extras": {"images": ['colours/a"<b>.png'], "audio": ["beep.wav"]}},
        {"id": "two", "prompt": "Which colours?", "extras": {"images": ["colours/2.png", 'colours/a"<b>.png']}},
        {"id": "far", "prompt": "And these?", "extras": {"messages": [{"role": "user", "content": parts}]}},
    ]
    lines = [json.dumps({"metric": "exact_match", "targets": ["red"], **row}) + "\n" for row in rows]
    (tasks / "colours.jsonl").write_text("".join(lines))
    for name, answer in (("blue", "blue"), ("red", "red")):
        run_into(folder / name, tasks, Seer(name, answer), include_per_example=True)
    return folder


SEEN = """(() => {
  const of = (name) => [...document.querySelectorAll(name)];
  return {
    images: of('.flip img').map((each) => [each.alt, each.naturalWidth, each.complete, each.src.slice(0, 22)]),
    sounds: of('.flip audio').map((each) => [each.ariaLabel, each.controls]),
    tallest: Math.max(...of('.flip img').map((each) => each.clientHeight)),
    wide: document.documentElement.scrollWidth > innerWidth,
    markup: of('.flip b b, .flip svg, .flip object, .flip iframe').length,
    policy: document.querySelector('meta[http-equiv]').content,
  };
})()"""


@needs_chromium
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", ["report", "diff"])
def test_the_pictures_of_a_question_are_shown_inside_the_page(
    name: str, width: int, runs: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.html"
    if name == "report":
        assert main(["report", str(runs / "blue"), "--output", str(path)]) == 0
    else:
        assert main(["diff", str(runs / "blue"), str(runs / "red"), "--html", str(path)]) == 0

    async def steps(page: Page) -> None:
        await page.screen(width=width)
        await page.open(path)
        seen = await page.evaluate(SEEN)
        assert seen["images"] == [
            ['colours/a"<b>.png of sample one', 160, True, "data:image/png;base64,"],
            ["colours/2.png of sample two", 900, True, "data:image/png;base64,"],
            ['colours/a"<b>.png of sample two', 160, True, "data:image/png;base64,"],
        ]
        assert seen["sounds"] == [["beep.wav of sample one", True]]
        assert seen["tallest"] <= 330
        assert not seen["wide"]
        assert seen["markup"] == 0
        assert "img-src data:;" in f"{seen['policy']};"
        assert "media-src data:" in seen["policy"]
        assert page.console == []
        assert {each.partition(":")[0] for each in page.requests} <= {"file", "data"}, "nothing is fetched"
        shown = await page.evaluate("document.body.innerText")
        assert "(image, not loaded: https://example.org/far.png)" in shown
        assert "(image, image/svg+xml, 41 bytes, sha256 " in shown
        assert re.search(r"\(image colours/2\.png, image/png, [\d,]+ bytes, sha256 \w{8}\)", shown)
        await keep_picture(page, f"pictures-{name}-{width}.html")

    in_browser(tmp_path, steps)


def test_a_page_without_pictures_is_not_a_byte_longer(tmp_path: Path) -> None:
    write_sums(tmp_path / "tasks", "sums", 3)
    page = report_page([run_into(tmp_path / "run", tmp_path / "tasks", Adder({1}))], View())
    assert ".media" not in page
    assert "media-src" not in page
    assert "<img" not in page


def test_a_leaderboard_file_names_pictures_and_holds_none(runs: Path) -> None:
    text = (runs / "blue" / "leaderboard.json").read_text()
    assert "(image colours/2.png, image/png, " in text
    assert "base64" not in text
    page = report_page([runs / "blue" / "leaderboard.json"], View())
    assert "(image colours/2.png, image/png, " in page
    assert "<img" not in page


def test_what_a_notebook_shows_of_a_sample_has_its_pictures(runs: Path) -> None:
    shown = open_run(runs / "blue").sample("one")._repr_html_()
    assert shown.count('<img class="picture"') == shown.count("<audio ") == 1


def image(size: int, letter: str = "A") -> Part:
    return Part(kind="image", text=f"data:image/png;base64,{letter * size}", name=f"{letter}.png")


def test_over_the_bound_an_image_is_shown_once_and_then_linked_or_named_with_the_command() -> None:
    pictures = Pictures(most_bytes=300)
    first = inside([pictures.of([image(200), image(200, "B")], "s1", "runs/x")])
    assert first.count("<img ") == 1
    assert "1 file left out, as a page holds 0.000286 MiB of them: <code>assay view runs/x</code>" in first
    again = inside([pictures.of([image(200)], "s2", "runs/x")])
    assert "<img" not in again
    [anchor] = re.findall(r'href="#([\w-]+)">A.png: shown above</a>', again)
    assert f'id="{anchor}"' in first
    assert "left out" not in again


def test_while_there_is_room_every_sample_shows_its_own() -> None:
    pictures = Pictures()
    shown = inside([pictures.of([image(200)], sample, "runs/x") for sample in ("s1", "s2")])
    assert shown.count("<img ") == 2
    assert shown.count(' id="') == 1
    assert inside([pictures.of([image(MOST_BYTES)], "s3", "runs/x")]).count("8 MiB") == 1


@pytest.mark.parametrize(
    "address",
    [
        SVG, "https://example.org/a.png", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,<script>",
        'data:image/png;base64,AA"onerror="alert(1)', "data:image/png;base64,AA'", "data:image/png,AAAA", "",
        "data:image/png;base64,", "data:audio/wav;base64,AAAA",
    ],
)  # fmt: skip
def test_nothing_but_the_data_of_a_raster_image_is_an_image(address: str) -> None:
    assert Pictures().of([Part(kind="image", text=address)], "s", "runs/x") is None


def test_the_patterns_are_those_of_the_script() -> None:
    script = modules()["render"]
    for name, pattern in (("PICTURE", PICTURE), ("SOUND", SOUND)):
        written = re.search(rf"^const {name} = /\^(.+)\$/;$", script, re.MULTILINE)
        assert written is not None
        assert written[1] == pattern.pattern


def test_a_policy_without_scripts_lets_a_page_show_what_it_embeds_and_no_more() -> None:
    page = html_page("t", "", [("a", "A", Pictures().of([image(8)], "s", "runs/x"))])
    [policy] = re.findall(r'Security-Policy" content="([^"]+)"', page)
    assert policy.endswith("form-action &#x27;none&#x27;; img-src data:")
