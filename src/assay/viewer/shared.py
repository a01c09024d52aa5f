"""The beginning that all samples of a task share, found while indexing: pages show each sample's own question."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.results.conversation import LONGEST_SHARED, common_beginning, flat, prompt_of
from assay.viewer.journal_lines import PromptTrace


class SharedBeginnings:
    """Per task, the beginning that every question so far has had; it only ever gets shorter."""

    def __init__(self, known: dict[str, str]) -> None:
        self.texts = known
        self._raw: dict[str, bytes] = {}
        """The beginning of the messages as they were written: only what differs there is decoded."""

    def add(self, task: str, trace: PromptTrace) -> None:
        if trace.prompt is None:
            raw = bytes(trace.messages)[:LONGEST_SHARED]
            if task in self._raw and raw.startswith(self._raw[task]):
                return
            self._raw[task] = common_beginning(self._raw.get(task, raw), raw)
        known = self.texts.get(task)
        text = flat(prompt_of({"trace": {"prompt": trace.prompt, "messages": _decoded(trace)}}))
        self.texts[task] = text if known is None else common_beginning(known, text)


def _decoded(trace: PromptTrace) -> Any:
    try:
        return msgspec.json.decode(trace.messages)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
