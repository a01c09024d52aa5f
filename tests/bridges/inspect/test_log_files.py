"""Logs that Inspect wrote are rows; archives that it did not write are refused, and fill neither memory nor disk."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from assay.bridges.inspect import log_files as inspect_logs
from assay.core.errors import UsageError
from assay.datasets.traces import TraceFile

zstandard = pytest.importorskip("zstandard", reason="the inspect extra is not installed")
QUIZ = Path(__file__).parent / "logs" / "quiz.eval"
"""Two samples, written by inspect_ai 0.3.285 with its mock model, packed with Zstandard."""


def members() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with QUIZ.open("rb") as file, zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            packed = inspect_logs._packed(file, info)  # type: ignore[arg-type]
            found[info.filename] = inspect_logs._without_zstandard(packed, QUIZ)
    return found


def archive(path: Path, files: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return [sample.row or {} for sample in TraceFile(path=str(path))]


def sample(**fields: Any) -> bytes:
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    return json.dumps({"id": 1, "epoch": 1, "input": "q", "target": "t", "messages": talk, **fields}).encode()


def test_a_log_of_inspect_is_read() -> None:
    first, second = rows(QUIZ)
    assert (first["sample_id"], first["input"], first["output"]) == ("sum", "What is 1+1?", "The sum is 2.")
    assert (first["target"], first["scores"], first["metadata"]) == ("2", {"includes": "C"}, {"kind": "maths"})
    assert (first["model"], first["task"]) == ("mockllm/model", "quiz")
    kinds = [item["type"] for item in first["trace"]["items"]]
    assert kinds == ["message", "message", "message", "function_call", "function_call_output", "message"]
    call = first["trace"]["items"][3]
    assert (call["name"], json.loads(call["arguments"])) == ("addition", {"x": 1, "y": 1})
    assert second["target"] == ["Paris", "paris"]
    assert second["output"].startswith("Lyon, very")


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_older_logs_are_packed_otherwise_and_hold_the_same(how: int, tmp_path: Path) -> None:
    assert rows(archive(tmp_path / "old.eval", members(), how)) == rows(QUIZ)


def test_a_log_in_json_holds_the_same(tmp_path: Path) -> None:
    found = members()
    samples = [json.loads(data) for name, data in found.items() if name.startswith("samples/")]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**json.loads(found["header.json"]), "samples": samples}))
    assert rows(path) == rows(QUIZ)


def test_a_sample_that_failed_has_its_error_and_no_trace(tmp_path: Path) -> None:
    (row,) = rows(archive(tmp_path / "x.eval", {"samples/1_epoch_1.json": sample(error={"message": "rate limit"})}))
    assert (row["error"], row["trace"]) == ("rate limit", None)


def test_epochs_are_told_apart_and_long_texts_are_put_back(tmp_path: Path) -> None:
    attached = sample(
        epoch=2,
        messages=[
            {"role": "assistant", "content": [{"type": "reasoning"}, {"type": "text", "text": "attachment://k"}]}
        ],
        attachments={"k": "long"},
    )
    found = rows(archive(tmp_path / "x.eval", {"samples/a.json": sample(), "samples/b.json": attached}))
    assert [(row["sample_id"], row["output"]) for row in found] == [("1", "a"), ("1#2", "long")]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"PK\x05\x06", b"not a zip at all", QUIZ.read_bytes()[:-30], b"\0" * 100_000):
        (tmp_path / "x.eval").write_bytes(data)
        with pytest.raises(UsageError, match=r"not an \.eval log"):
            rows(tmp_path / "x.eval")


def test_a_sample_that_unpacks_to_too_much_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_logs, "MAX_CONVERSATION_BYTES", 1 << 20)
    bomb = b" " * (50 << 20)
    with pytest.raises(UsageError, match="unpacks to more than 1 MB"):
        rows(archive(tmp_path / "deflate.eval", {"samples/1.json": bomb}))
    with pytest.raises(UsageError, match="unpacks to more than 1 MB"):
        rows(zstandard_archive(tmp_path / "zstd.eval", bomb))


def test_samples_that_unpack_to_too_much_together_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_logs, "MAX_UNPACKED_BYTES", 3000)
    many = {f"samples/{n}.json": sample(id=n, metadata={"x": "y" * 1000}) for n in range(5)}
    with pytest.raises(UsageError, match="the limit for a log"):
        rows(archive(tmp_path / "x.eval", many))


def test_an_archive_that_lists_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_logs, "MAX_INDEX_BYTES", 1000)
    with pytest.raises(UsageError, match="more files than a log has"):
        rows(archive(tmp_path / "x.eval", {f"samples/{n}.json": b"{}" for n in range(50)}))


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.eval", {"samples/1.json": sample(), "samples/2.json": sample()})
    data = path.read_bytes()
    at = data.rfind(b"PK\x01\x02")
    path.write_bytes(data[: at + 42] + bytes(4) + data[at + 46 :])  # the second member now begins where the first does
    with pytest.raises(UsageError, match="shares its bytes"):
        rows(path)


def test_nothing_is_written_whatever_the_names_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = archive(tmp_path / "x.eval", {"samples/../../evil.json": sample(), "/etc/evil": b"x", "../evil": b"x"})
    assert [row["sample_id"] for row in rows(path)] == ["1"]
    assert [each.name for each in tmp_path.iterdir()] == ["x.eval"]


def test_a_sample_that_is_none_is_reported_with_its_name(tmp_path: Path) -> None:
    for data in (b"[]", b'{"id": null}', b"{", b"[" * 100_000):
        with pytest.raises(UsageError, match=r"x\.eval: samples/1\.json: "):
            rows(archive(tmp_path / "x.eval", {"samples/1.json": data}))


def zstandard_archive(path: Path, data: bytes) -> Path:
    """A zip with one member of method 93, which the standard library does not write yet."""
    packed = zstandard.ZstdCompressor().compress(data)
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as made:
        made.writestr("samples/1.json", packed)
    raw = bytearray(stored.getvalue())
    for mark, method_at, size_at in ((b"PK\x03\x04", 8, 22), (b"PK\x01\x02", 10, 24)):
        at = raw.find(mark)
        raw[at + method_at : at + method_at + 2] = (93).to_bytes(2, "little")
        raw[at + size_at : at + size_at + 4] = len(data).to_bytes(4, "little")
    path.write_bytes(raw)
    return path
