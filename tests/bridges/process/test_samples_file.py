"""Samples are kept in a file that is called by what it holds."""

from __future__ import annotations

from pathlib import Path

from assay.bridges.process.samples_file import write_samples
from assay.datasets.built import BuiltSamples


def test_what_is_written_is_read_again_and_found_under_its_hash(tmp_path: Path) -> None:
    samples = [{"id": str(n), "prompt": f"日本 {n}"} for n in range(3)]
    path, sha256 = write_samples("a/b c", samples, tmp_path / "new")
    assert path.name == f"a_b_c-{sha256[:16]}.jsonl"
    assert [each.prompt for each in BuiltSamples(str(path), 3, sha256)] == ["日本 0", "日本 1", "日本 2"]
    assert write_samples("a/b c", samples, tmp_path / "new") == (path, sha256)
    assert [each.name for each in (tmp_path / "new").iterdir()] == [path.name]
