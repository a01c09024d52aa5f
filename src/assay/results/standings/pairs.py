"""Every two models of a ranking: which does better on how many samples, and whether the difference is significant."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.stats.intervals import Floats
from assay.stats.pair_tests import PairTests
from assay.stats.ranking import corrected_pairs


class ModelPair(Struct, frozen=True, kw_only=True):
    """Two models on the samples that every model was scored on."""

    first: str
    second: str
    wins: int
    """Samples on which the first has the higher score; of several attempts, the higher mean."""
    losses: int
    ties: int
    difference: float
    """The first's score less the second's, as the ranking uses it."""
    adjusted_p: float
    """Corrected by Holm for the number of pairs."""
    significant: bool

    @property
    def win_share(self) -> float | None:
        """Of the samples on which the two differ; None where they do not."""
        decided = self.wins + self.losses
        return self.wins / decided if decided else None


def model_pairs(labels: Sequence[str], tasks: Sequence[Floats], tested: PairTests, level: float) -> list[ModelPair]:
    """From the samples × models matrices that the models are ranked by, and their tests."""
    differences = tested.differences()
    pairs = []
    for (i, j), corrected in corrected_pairs(tested.p_values(), level).items():
        wins = sum(int((rows[:, i] > rows[:, j]).sum()) for rows in tasks)
        losses = sum(int((rows[:, i] < rows[:, j]).sum()) for rows in tasks)
        pairs.append(
            ModelPair(
                first=labels[i],
                second=labels[j],
                wins=wins,
                losses=losses,
                ties=sum(len(rows) for rows in tasks) - wins - losses,
                difference=float(differences[i, j]),
                adjusted_p=corrected.adjusted_p,
                significant=corrected.significant,
            )
        )
    return pairs
