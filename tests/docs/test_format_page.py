"""The page of the format's properties says of none that it runs which the loader does not know."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from assay.formats.declarative.reference import type_references

PAGE = Path(__file__).parents[2] / "docs" / "format.md"
NO_FIELDS = {
    *(
        "declarative_task",
        "latticeflow$identity…",
        "latticeflow$openai_chat_completion…",
        "latticeflow$openai_responses",
    ),
    "/embeddings",
}
"""Words of the column that are values, not fields or types."""


def test_what_runs_is_a_field_or_a_type_that_the_loader_knows() -> None:
    references = type_references()
    known = {field.name for each in references for field in each.fields} | {each.name for each in references}
    allowed = {str(word) for each in references for field in each.fields for word in field.allowed}
    rows = re.findall(r"^\| (?!---|part)(.+?) \| (.*?) \| .*\|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) > 30
    words = {word for _, runs in rows for word in re.findall(r"`([^`]+)`", runs)}
    assert words - known - allowed - NO_FIELDS == set(), msgspec.json.encode(sorted(words - known - allowed))
