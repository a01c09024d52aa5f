"""The seam between the driver of a run and what runs its workers: a part of the catalog, of the kind `executor`.

`core.seams.Executor` keeps attempts in flight in one process. A run that is larger than one process is cut into shards;
each worker makes the attempts of a shard through that same seam and writes them to a file of its own, so that neither
samples nor records pass through the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from assay.core.run import Stop
from assay.runs.leases import Lending
from assay.runs.shard_files import Shard


class Cluster(NamedTuple):
    """Which executor runs the workers, where, and how many there are."""

    executor: str = "ray"
    """A name of the catalog, or `module:name`."""
    address: str | None = None
    workers: int | None = None
    """None: one per CPU of the cluster, or per GPU share when workers need GPUs."""
    cpus: float = 1.0
    """CPUs of each worker, as Ray counts them."""
    gpus: float = 0.0
    """GPUs of each worker; Ray names them in `CUDA_VISIBLE_DEVICES`."""
    resources: dict[str, float] = {}  # noqa: RUF012 - never written to
    """Other things that nodes have by name and each worker needs so much of."""

    def needs(self) -> dict[str, float]:
        """All that a worker needs, by Ray's names."""
        named = {"CPU": self.cpus, "GPU": self.gpus, **self.resources}
        return {name: amount for name, amount in named.items() if amount}


class ShardExecutor(Protocol):
    """Has workers run the shards, in any order. Made of a `Cluster`, and closed after its only run."""

    @property
    def workers(self) -> int:
        """How many shards can run at the same time."""
        ...

    async def run(
        self,
        payload: bytes,
        shards: Iterable[Shard],
        *,
        lending: Lending,
        stop: Stop,
        on_progress: Callable[[Sequence[tuple[int, int]], tuple[int, int]], None],
        say: Callable[[str], None],
    ) -> None:
        """Return when every shard was run, or `stop` was requested.

        A worker is `worker.open_worker(payload)`, in a process of its own; it is given each shard with the `terms` of
        `lending`. `on_progress` takes the attempts made and failed of each worker, and of all that were lost.
        """
        ...

    def close(self) -> None: ...
