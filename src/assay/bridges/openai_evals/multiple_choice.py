"""The questions of a `MultipleChoice` eval: rows of a hub dataset, with their options in the order of that class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from random import Random
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import Sample
from assay.datasets.hub import Hub
from assay.datasets.rows import Row, RowDataset
from assay.datasets.tables import table

SEED = 20220722
"""The seed that `oaieval` takes unless it is given another."""
COLUMNS = {"hellaswag": ("ctx", "endings", "label"), "hendrycks_test": ("question", "choices", "answer")}
"""Question, answers and label in the datasets that the class knows."""
GENERATION = {"temperature": 0.0, "max_tokens": 1}


class HubAddress(NamedTuple):
    """`hf://hendrycks_test?name=astronomy&split=validation`."""

    repository: str
    split: str
    subset: str | None

    @classmethod
    def read(cls, url: str, where: str) -> HubAddress:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        if parts.scheme != "hf" or parts.netloc not in COLUMNS or query.keys() - {"name", "split"}:
            known = " and ".join(f"hf://{name}" for name in COLUMNS)
            raise UsageError(f"{where}: args.dataset: `{url}` is not supported; {known} are, with `name` and `split`")
        if "split" not in query:
            raise UsageError(f"{where}: args.dataset: `{url}` names no `split`")
        return cls(parts.netloc, query["split"], query.get("name"))


@describes(lambda options, _: DatasetInfo(elsewhere=options.get("path") is None))
class MultipleChoiceSamples:
    """Each row as a question with lettered options; `path` is a local file with the rows of the hub."""

    def __init__(
        self,
        *,
        key: str,
        repository: str,
        split: str,
        subset: str | None = None,
        instructions: str = "",
        path: str | None = None,
        revision: str | None = None,
    ) -> None:
        self._key = key
        self._repository = repository
        self._instructions = instructions
        named = {"name": subset} if subset else {}
        self.rows: RowDataset = (
            table(path=path)
            if path is not None
            else Hub(repository=repository, split=split, revision=revision, load_dataset_kwargs=named)
        )

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _size(self) -> int:
        return sum(1 for _ in self.rows.rows())

    @property
    def sha256(self) -> str:
        return self.rows.sha256

    def __iter__(self) -> Iterator[Sample]:
        for index, row in enumerate(self.rows.rows()):
            yield self._sample(index, row)

    def _sample(self, index: int, row: Row) -> Sample:
        question, answers, label = self._columns(index, row)
        base, split = self._key.split(".")[:2]
        order = list(range(len(answers)))
        Random(f"{base}.{split}.{index}:{SEED}".encode()).shuffle(order)
        options = "\n".join(f"{chr(ord('A') + at)}) {answers[chosen]}" for at, chosen in enumerate(order))
        target = chr(ord("A") + order.index(label))
        asked = f"{self._instructions}\nPlease answer with the letter of the correct answer."
        return Sample(
            id=str(index),
            prompt=f"{asked}\n\n{question}\n{options}",
            targets=(target,),
            extras={"assertions": [{"type": "starts-with", "value": [target]}], "generation": GENERATION},
        )

    def _columns(self, index: int, row: Mapping[str, Any]) -> tuple[str, list[str], int]:
        try:
            question, answers, label = (row[name] for name in COLUMNS[self._repository])
            label = int(label)
            if not isinstance(question, str) or not all(isinstance(answer, str) for answer in answers):
                raise TypeError
            if not 0 <= label < len(answers):
                raise ValueError
        except (LookupError, TypeError, ValueError) as error:
            columns = ", ".join(f"`{name}`" for name in COLUMNS[self._repository])
            raise UsageError(
                f"{self.rows.where}: row {index + 1}: a question of `{self._repository}` has {columns}: a text, a list "
                "of texts and the place of the right one"
            ) from error
        return question, list(answers), label
