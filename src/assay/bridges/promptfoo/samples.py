"""The tests of a configuration with each combination of their variables: the samples of its tasks.

They are the same for every prompt and provider, so that these can be compared on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.bridges.promptfoo.config import Config, PlacedValue, read_config
from assay.bridges.promptfoo.promptfoo_assertions import Asserted, program, read_assertions
from assay.bridges.promptfoo.tests import MAX_ROWS, Test, combinations, read_tests
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.types import Sample


@describes(DatasetInfo())
class PromptfooTests:
    """All tests, or those for a prompt and a provider, selected by their names."""

    def __init__(
        self,
        path: str,
        *,
        prompt: Sequence[str] = (),
        provider: Sequence[str] = (),
        allow_outside: bool = False,
    ) -> None:
        self._path = Path(path)
        self._picks = Picks(tuple(prompt), tuple(provider))
        self._allow_outside = allow_outside

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._samples)

    @cached_property
    def _samples(self) -> list[Sample]:
        config = read_config(self._path, allow_outside=self._allow_outside)
        samples = samples_of(config, read_tests(config), self._picks, Asserted())
        config.raise_problems()
        return samples


class Picks:
    """The names of a prompt and of a provider, where tests select some of them."""

    def __init__(self, prompt: tuple[str, ...] = (), provider: tuple[str, ...] = ()) -> None:
        self.prompt = prompt
        self.provider = provider

    def holds(self, test: Test) -> bool:
        return _is_picked(self.prompt, test.prompts) and _is_picked(self.provider, test.providers)


def _is_picked(names: Sequence[str], wanted: Sequence[str] | None) -> bool:
    return wanted is None or not names or any(is_called(names, name) for name in wanted)


def is_called(names: Sequence[str], wanted: str) -> bool:
    """Whether one of these names is selected: in full, by its part before a colon, or by a `*`."""
    return any(
        wanted == name or name.startswith(f"{wanted}:") or (wanted.endswith("*") and name.startswith(wanted[:-1]))
        for name in names
    )


def samples_of(config: Config, tests: Sequence[Test], picks: Picks, needs: Asserted) -> list[Sample]:
    """Each test with each combination of its variables; errors are added to the config's problems."""
    samples: list[Sample] = []
    for number, test in enumerate(tests, 1):
        if not picks.holds(test):
            continue
        for place, variables in enumerate(combinations(config, test), 1):
            if len(samples) == MAX_ROWS:
                config.refuse(test.value, f"more than {MAX_ROWS:,} samples")
                return samples
            extras = _extras(config, test, variables, needs)
            samples.append(
                Sample(
                    id=f"{number}" if place == 1 else f"{number}-{place}",
                    extras=extras,
                    metadata=_metadata(test),
                    row=dict(variables),
                )
            )
    return samples


def _extras(config: Config, test: Test, variables: Mapping[str, Any], needs: Asserted) -> dict[str, Any]:
    extras: dict[str, Any] = {
        "assertions": read_assertions(config, test.asserted, variables, test.options, needs),
    }
    if test.threshold is not None:
        extras["threshold"] = test.threshold
    around = [str(test.options.get(name) or "") for name in ("prefix", "suffix")]
    if any(around):
        extras["around"] = around
    transform = test.options.get("transform") or test.options.get("postprocess")
    for name, written, usual in (("transform", transform, "get_transform"), ("scoring", test.scoring, "get_score")):
        if not written:
            continue
        at = PlacedValue(written, test.value.document, test.value.where)
        try:
            extras[name] = program(config, at, "javascript", {}, needs, python=usual)
        except UsageError as error:
            config.refuse(at, str(error))
    return extras


def _metadata(test: Test) -> dict[str, Any]:
    short = {key: each for key, each in test.metadata.items() if isinstance(each, str | int | float)}
    return {**short, **({"description": test.description} if test.description else {})}
