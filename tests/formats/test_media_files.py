"""Images and sounds next to a task: read from inside the project alone, and sent in each vendor's words."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model import closing
from tests.models.adapters.vendors import VENDORS, with_keys
from tests.scripted import Scripted
from tests.servers.fake_openai import fake_openai

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.task import task_fingerprint
from assay.core.types import Message, Request, Sample, Trace
from assay.formats import media_files
from assay.formats.media_files import MediaFiles, content_type
from assay.models.adapters.openai import make as openai
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks

environment = pytest.fixture(autouse=True)(with_keys)

PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"
WAV = b"RIFF\x10\x00\x00\x00WAVEfmt "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assay.yaml").touch()
    tasks = tmp_path / "tasks"
    (tasks / "cats").mkdir(parents=True)
    (tasks / "cats" / "1.png").write_bytes(PNG)
    (tasks / "meow.wav").write_bytes(WAV)
    return tasks


def write_task(folder: Path, **extras: Any) -> Path:
    example = {"id": "1", "prompt": "What is it?", "targets": ["cat"], "metric": "exact_match", "extras": extras}
    (folder / "animals.jsonl").write_text(json.dumps(example) + "\n")
    return folder / "animals.jsonl"


def asked_of(path: Path) -> tuple[Request, Trace]:
    """What the model is sent for the only sample, and the trace of it."""
    [task] = [build_task(definition) for definition in load_tasks([str(path)])]
    requests: list[Request] = []
    model = Scripted(lambda request: requests.append(request) or "cat")  # type: ignore[func-returns-value]
    [sample] = task.dataset
    assert task.solve is not None
    trace = asyncio.run(task.solve(sample, model))
    return requests[0], trace


def test_files_of_an_example_are_sent_as_data_and_kept_in_the_trace(folder: Path) -> None:
    request, trace = asked_of(write_task(folder, images=["cats/1.png"], audio=["meow.wav"]))
    [question] = request.messages or ()
    assert question.content == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}},
        {"type": "input_audio", "input_audio": {"data": base64.b64encode(WAV).decode(), "format": "wav"}},
    ]
    assert trace.messages is not None
    text, image, sound = question.content
    assert trace.messages[0].content == [text, {**image, "file": "cats/1.png"}, {**sound, "file": "meow.wav"}]


def test_parts_of_messages_may_name_files_too(folder: Path) -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "cats/1.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]
    request, _ = asked_of(write_task(folder, messages=[{"role": "user", "content": parts}]))
    sent = (request.messages or ())[0].content
    assert sent[0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert sent[0]["image_url"]["detail"] == "low"
    assert sent[1] == parts[1]


def test_a_yaml_task_names_files_next_to_itself(folder: Path) -> None:
    template = (
        '{"messages": [{"role": "user", "content": [{"type": "text", "text": "What?"},'
        ' {"type": "image_url", "image_url": {"url": {{ sample.image | tojson }}}}]}]}'
    )
    (folder / "data.jsonl").write_text('{"image": "cats/1.png", "gt": "cat"}\n')
    (folder / "animals.yaml").write_text(
        "key: animals\ndisplay_name: Animals\ndescription: d\n"
        "definition:\n"
        "  dataset: {key: data}\n"
        f"  solver: {{type: single_turn_solver, input_builder: {{type: generic, template: {json.dumps(template)}}}}}\n"
        "  scorers: [{type: string_equals, ground_truth: '{{ sample.gt }}'}]\n"
    )
    request, _ = asked_of(folder / "animals.yaml")
    assert (request.messages or ())[0].content[1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_another_picture_under_the_same_name_is_another_task(folder: Path) -> None:
    path = write_task(folder, images=["cats/1.png"])
    before = task_fingerprint(load_tasks([str(path)])[0])
    assert task_fingerprint(load_tasks([str(path)])[0]) == before
    (folder / "cats" / "1.png").write_bytes(PNG + b"!")
    assert task_fingerprint(load_tasks([str(path)])[0]) != before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../../secret.png", "outside the project"),
        ("link.png", "outside the project"),
        ("{root}/tasks/cats/1.png", "an absolute path"),
        ("../.keys/1.png", "hidden file"),
        ("none.png", "there is no such file"),
        ("cats", "is a folder"),
        ("cats/1.png\0", "cannot be read"),
        ("meow.wav", "not those of PNG"),
        ("text.png", "not those of PNG"),
        ("large.png", "larger than"),
    ],
)
def test_what_is_not_sent_is_reported_with_its_line(name: str, says: str, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / "secret.png"
    outside.write_bytes(PNG)
    (folder / "link.png").symlink_to(outside)
    (tmp_path / ".keys").mkdir()
    (tmp_path / ".keys" / "1.png").write_bytes(PNG)
    (folder / "text.png").write_text("OPENAI_API_KEY=sk-1")
    (folder / "large.png").write_bytes(PNG + bytes(media_files.MAX_FILE_BYTES))
    path = write_task(folder, images=[name.replace("{root}", str(tmp_path))])
    with pytest.raises(UsageError, match=rf"animals\.jsonl:1: extras: .*{says}"):
        load_tasks([str(path)])


def test_a_request_that_names_what_cannot_be_sent_is_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = MediaFiles(folder / "animals.yaml")
    model = media_files.ReadsMedia(Scripted(lambda request: "x"), files)

    def ask(name: str) -> None:
        part = {"type": "image_url", "image_url": name}
        asyncio.run(model.generate(Request(messages=(Message(role="user", content=[part]),))))

    ask("cats/1.png")
    with pytest.raises(FailureError, match="there is no such file") as caught:
        ask("cats/2.png")
    assert (caught.value.failure.stage, caught.value.failure.retryable) == ("prompt", False)
    kept = Trace(prediction="x", messages=(Message(role="user", content=[{"image_url": "cats/2.png"}]),))
    assert files.filled(kept) is kept
    monkeypatch.setattr(media_files, "MAX_REQUEST_BYTES", 10)
    with pytest.raises(FailureError, match="together"):
        ask("cats/1.png")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"), (b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF89a..", "image/gif"),
        (b"RIFF1234WEBP", "image/webp"), (WAV, "audio/wav"), (b"ID3\x04", "audio/mp3"), (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"), (b"<svg", None), (b"", None), (b"RIFF1234AVI ", None),
    ],
)  # fmt: skip
def test_files_are_known_by_their_first_bytes(data: bytes, kind: str | None) -> None:
    assert content_type(data) == kind


@pytest.mark.parametrize("vendor", [*VENDORS, "openai"])
def test_each_vendor_gets_the_file_in_its_own_words(vendor: str, folder: Path) -> None:
    part = {"type": "image_url", "image_url": {"url": "cats/1.png"}}
    request = Request(messages=(Message(role="user", content=["compute: 1 + 1", part]),))
    encoded = base64.b64encode(PNG).decode()

    async def sent() -> Any:
        serve, adapter = VENDORS.get(vendor, (fake_openai, None))
        async with serve() as server:
            made = adapter("m", base_url=server.address) if adapter else openai("m", base_url=server.base_url)
            async with closing(made) as model:
                await media_files.ReadsMedia(model, MediaFiles(folder / "task.jsonl")).generate(request)
            return server.bodies[0]

    body = asyncio.run(sent())
    wanted = {
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded}},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": encoded}},
        "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
    }
    parts = body["contents"][0]["parts"] if vendor == "gemini" else body["messages"][0]["content"]
    assert parts[1] == wanted[vendor]


def test_a_solver_that_returns_no_trace_is_named_for_it(folder: Path) -> None:
    async def forgetful(sample: Sample, model: Model) -> Trace:
        return None  # type: ignore[return-value]

    solve = MediaFiles(folder / "task.jsonl").around(forgetful)
    with pytest.raises(FailureError, match="the solver returned a NoneType, not a Trace"):
        asyncio.run(solve(Sample(id="1"), Scripted(lambda request: "x")))
