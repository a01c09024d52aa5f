"""The samples of an eval: one JSON object per line; few-shot examples go before the last message."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import Sample
from assay.datasets.json_lines import file_sha256

POINTER = b"version https://git-lfs"


@describes(DatasetInfo())
class EvalSamples:
    """The lines of a data file as samples, the way the eval's class reads them."""

    def __init__(
        self,
        path: str,
        *,
        kind: str,
        ignore_case: bool = False,
        generation: Mapping[str, Any] | None = None,
        few_shot: str | None = None,
        shots: int = 0,
    ) -> None:
        self._path = Path(path)
        self._kind = kind
        self._ignore_case = ignore_case
        self._generation = dict(generation or {})
        self._few_shot = Path(few_shot) if few_shot else None
        self._shots = shots

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _size(self) -> int:
        return sum(1 for _ in records_in(self._path))

    @cached_property
    def sha256(self) -> str:
        return file_sha256(self._path)

    @cached_property
    def _examples(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for number, record in islice(records_in(self._few_shot), self._shots) if self._few_shot else ():
            example = record.get("sample")
            if not isinstance(example, list):
                raise UsageError(f"{self._few_shot}:{number}: a few-shot example has `sample`, a list of messages")
            messages += example
        return messages

    def __iter__(self) -> Iterator[Sample]:
        for number, record in records_in(self._path):
            yield self._sample(number, record)

    def _sample(self, number: int, record: dict[str, Any]) -> Sample:
        where = f"{self._path}:{number}"
        if self._kind == "model_graded":
            return Sample(id=str(number - 1), row=record, extras={"generation": self._generation})
        if "input" not in record or ("ideal" not in record and self._kind != "json_validator"):
            raise UsageError(f"{where}: has no `{'ideal' if 'input' in record else 'input'}`")
        ideal = record.get("ideal")
        targets = tuple(str(item) for item in (ideal if isinstance(ideal, list) else [] if ideal is None else [ideal]))
        question = self._with_examples(record["input"], where)
        extras: dict[str, Any] = {**self._assertions(targets), "generation": self._generation}
        if not isinstance(question, str):
            extras["messages"] = question
        prompt = question if isinstance(question, str) else text_of_chat(question)
        return Sample(id=str(number - 1), prompt=prompt, targets=targets, extras=extras)

    def _with_examples(self, question: Any, where: str) -> str | list[dict[str, Any]]:
        if is_chat(question):
            return [*question[:-1], *self._examples, question[-1]]
        if not isinstance(question, str):
            raise UsageError(f"{where}: `input` is a text or a list of messages with `role` and `content`")
        if self._examples:
            raise UsageError(f"{where}: few-shot examples go before the last message, and `input` is a text")
        return question

    def _assertions(self, targets: Sequence[str]) -> dict[str, Any]:
        kind = _ASSERTIONS.get(self._kind)
        if kind is None:
            return {}
        kind = f"i{kind}" if self._ignore_case else kind
        return {"assertions": [{"type": kind, **({"value": list(targets)} if kind != "is-json" else {})}]}


_ASSERTIONS = {"match": "starts-with", "includes": "contains-any", "json_validator": "is-json"}


def records_in(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file, compressed or not, with their line numbers."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith(POINTER):
                raise UsageError(f"{path}: is a Git LFS pointer; fetch the file itself with `git lfs pull`")
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path}:{number}: not JSON: {error}") from error
            if not isinstance(record, dict):
                raise UsageError(f"{path}:{number}: a JSON object is expected")
            yield number, record


def is_chat(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def text_of_chat(messages: Sequence[Mapping[str, Any]]) -> str:
    """A conversation as a text: each message after its role, a single message without it."""
    if len(messages) == 1:
        return str(messages[0].get("content", ""))
    turns = ((str(message.get("name") or message["role"]), message.get("content", "")) for message in messages)
    lines = (f"{_PREFIXES.get(role, f'{role.capitalize()}: ')}{content}\n" for role, content in turns)
    return "".join(lines).lstrip()


_PREFIXES = {"system": "", "example_user": "User: ", "example_assistant": "Assistant: "}
