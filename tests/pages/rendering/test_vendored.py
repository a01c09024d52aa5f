"""The vendored libraries: pinned, hashed, licensed and listed, and nothing else lies next to them."""

from __future__ import annotations

import hashlib
import json
from importlib import resources

from assay.viewer.page_files import page_files

FOLDER = resources.files("assay.pages.rendering") / "vendor"
LARGEST = 600_000
"""Bytes of all of them together: a page that takes longer to load than to read helps nobody."""


def test_every_vendored_file_is_listed_with_its_version_hash_and_licence() -> None:
    listed = json.loads((FOLDER / "vendored.json").read_text(encoding="utf-8"))
    named = {name for each in listed for name in (each["file"], each["licence_file"])}
    assert {item.name for item in FOLDER.iterdir()} == {*named, "vendored.json"}
    for each in listed:
        data = (FOLDER / each["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == each["sha256"], each["file"]
        assert each["version"].encode() in data
        assert "ermission" in (FOLDER / each["licence_file"]).read_text(encoding="utf-8")


def test_they_are_small_and_served() -> None:
    served = page_files()
    assert {"vendor/markdown-it.min.js", "vendor/katex.min.js", "vendor/highlight.min.js"} <= set(served)
    assert sum(len(data) for name, data in served.items() if name.startswith("vendor/")) < LARGEST
