"""Whether a model that answered an earlier run is the one that would answer now, under the same name and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core.seams import Model, Served, offers_of
from assay.models.served import served_by
from assay.results.board.stretches import answering, read_stretches
from assay.runs.stretches import agree


class SameWeights:
    """What the models of an earlier run said that they serve, against what those of this one say."""

    def __init__(
        self, folder: Path, judges: Mapping[str, Model], asked_by: Mapping[tuple[str, str], Sequence[Model]]
    ) -> None:
        self._names = {id(judge): name for name, judge in judges.items()}
        self._asked_by = asked_by
        self._stretches, damaged = read_stretches(folder)
        if damaged:
            self._stretches = []
        self._served: dict[int, Served] = {}

    async def of_model(self, model: Model) -> str | None:
        """Why the evaluated model may be another; None where it is the same."""
        why = await self._why(model, [stretch.served for stretch in answering(self._stretches)])
        return why and f"the model {why}"

    async def of_judges(self, task: str, scorer: str) -> str | None:
        """Why a judge of a scorer may be another; None where all are the same."""
        for judge in self._asked_by.get((task, scorer), ()):
            name = self._names[id(judge)]
            asked = [each for each in self._stretches if name in each.judges or not each.scores_only]
            if why := await self._why(judge, [stretch.judges.get(name) for stretch in asked]):
                return f"the judge of `{scorer}` {why}"
        return None

    async def _why(self, model: Model, before: Sequence[Served | None]) -> str | None:
        """Own code is known by its hash, in the settings."""
        if id(model) not in self._served:
            self._served[id(model)] = await served_by(model) or Served()
        now = self._served[id(model)].strong
        said = [served.strong for served in before if served is not None and served.strong]
        if now and said and len(said) == len(before):
            return None if all(agree(strong, now) for strong in said) else "has other weights"
        offers = offers_of(model)
        if not offers.cache and ((said and not now) or (offers.remote and not offers.cacheable)):
            return "may have changed under the same name, and does not say which weights it serves"
        return None
