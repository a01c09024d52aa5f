"""JSON lines as tasks: a file of the frozen spec, or one of a task folder, known by its first record."""

from __future__ import annotations

from pathlib import Path

from assay.core.regular_file import open_regular
from assay.core.types import TaskDefinition
from assay.formats.task_source import NoOptions, SourceContext


class JsonLinesSource:
    """The source of `.jsonl` files."""

    Options = NoOptions
    uses_shots = True

    def read(self, text: str, options: NoOptions, context: SourceContext) -> list[TaskDefinition]:
        path = Path(text)
        if looks_like_spec_file(path):
            from assay.formats.frozen_spec.reader import read_spec_file

            return read_spec_file(path, allow_bad=context.allow_bad, shots=context.shots)
        context.shots.refuse_folder(path)
        from assay.formats.folder.reader import read_task_file

        return [read_task_file(path, allow_bad=context.allow_bad)]


def looks_like_spec_file(path: Path) -> bool:
    """Whether the first record of a JSONL file is of the frozen spec rather than of a task folder."""
    with open_regular(path) as file:
        for _ in range(1000):
            line = file.readline(1 << 16)
            if not line:
                return False
            text = line.lstrip(b"\xef\xbb\xbf \t\r\n")
            if text and not text.startswith(b"#"):
                return b'"task_id"' in text or b'"metric_name"' in text
    return False


def begins_like_rows(head: bytes) -> bool:
    """Whether a file does not begin with a record of a task: what only tasks have is in none of its first keys."""
    lines = (line.strip() for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return first != b"" and not any(word in first for word in _OF_TASKS)


_OF_TASKS = (b'"task_id"', b'"metric_name"', b'"metric"', b'"targets"')
