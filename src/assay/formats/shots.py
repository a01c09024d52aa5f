"""The number of few-shot examples, where the caller sets it: `--num-fewshot` and `--fewshot-as-turns`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.core.errors import UsageError


class Shots(Struct, frozen=True):
    """The caller's settings; a task without few-shot examples cannot use them."""

    count: int | None = None
    as_turns: bool = False

    @property
    def flags(self) -> str:
        given = [f"--num-fewshot {self.count}"] if self.count is not None else []
        return ", ".join([*given, *(["--fewshot-as-turns"] if self.as_turns else [])])

    @property
    def wants_examples(self) -> bool:
        """Whether a task without few-shot examples conflicts with this; a request for none does not."""
        return bool(self.count) or (self.as_turns and self.count is None)

    def of_solver(self, few_shot: object) -> dict[str, Any] | None:
        """A solver's `few_shot` with this number of examples in this style."""
        if not isinstance(few_shot, Mapping):
            if self.wants_examples:
                raise UsageError(f"{self.flags}: the task's solver has no `few_shot` to take few-shot examples from")
            return None
        if self.count == 0:
            return None
        count = {} if self.count is None else {"count": self.count}
        return {**few_shot, **count, **({"style": "turns"} if self.as_turns else {})}

    def of_spec(self, path: Path, category: str, counts: tuple[int, int]) -> dict[str, Any]:
        """The options of a spec file's dataset; `counts` are the fewest and the most examples of a record."""
        fewest, most = counts
        if self.count is not None and self.count > fewest:
            raise UsageError(f"{path}: {self.flags}: a record of `{category}` has {fewest} few_shot_examples")
        if self.wants_examples and not most:
            raise UsageError(f"{path}: {self.flags}: the records of `{category}` have no few_shot_examples")
        count = {} if self.count is None else {"num_fewshot": self.count}
        return {**count, **({"fewshot_as_turns": True} if self.as_turns else {})}

    def refuse_folder(self, path: Path) -> None:
        if self.wants_examples:
            raise UsageError(
                f"{path}: {self.flags}: the prompts of a task folder are sent unchanged, so there are "
                "no few-shot examples to choose from; the frozen spec, YAML tasks and lm-eval: tasks have some"
            )

    def refuse_too_few(self, wanted: object, examples: Sequence[Any]) -> None:
        """Fewer examples than were asked for would be another measure under the same name."""
        if isinstance(wanted, int) and len(examples) < wanted:
            request = self.flags if self.count is not None else f"{wanted:,} few-shot examples are wanted"
            raise UsageError(f"{request}: the task's `few_shot` has {len(examples):,} rows to choose from")
