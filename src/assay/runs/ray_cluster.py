"""The Ray executor: keeps one shard in flight per worker, and repeats the shards of workers that are lost.

A worker is an actor that builds all it needs from plain bytes, so nothing that is open or live is ever pickled. It
answers with a few numbers; records go to files. The only file that knows Ray (extra `ray`). Keys of services are read
from each node's own environment, never sent by the driver.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.runs.executor import Cluster
from assay.runs.leases import Lending, WorkerReport
from assay.runs.shard_files import Shard

if TYPE_CHECKING:
    from assay.runs.worker import ClusterWorker

WAIT_SECONDS = 0.2
PROGRESS_SECONDS = 1.0
GONE_AFTER_SECONDS = 5.0
MOST_LOSSES = 8
"""A shard that has lost this many workers will lose the next one too: the run ends with an error."""


class RayExecutor:
    """A Ray cluster that was joined, or one that was started on this machine and ends with us."""

    def __init__(self, cluster: Cluster) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
        try:
            import ray
        except ImportError as error:
            raise UsageError("--executor ray needs Ray: pip install 'assay-eval[ray]'") from error
        self._ray = ray
        self._cluster = cluster
        place = {"_node_ip_address": ip} if (ip := _own_address(cluster.address)) else {}
        address = "local" if cluster.address is None and remembers_a_cluster_that_is_gone() else cluster.address
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level="ERROR",
                include_dashboard=None if cluster.address else False,
                runtime_env={"env_vars": {"PYTHONPATH": _import_path()}},
                **place,
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            where = f"the Ray cluster at {cluster.address}" if cluster.address else "a Ray cluster"
            raise UsageError(f"--executor ray: {where} cannot be reached: {_first_line(error)}") from error
        places = self._places()
        self.workers = cluster.workers or places

    def close(self) -> None:
        self._ray.shutdown()

    def _places(self) -> int:
        has = self._ray.cluster_resources()
        needs = self._cluster.needs()
        for name, amount in needs.items():
            there = has.get(name, 0)
            if there < amount and name != "CPU":
                self.close()
                # Ray itself would silently wait forever for such a node
                raise UsageError(f"--executor ray: a worker needs {amount:g} {name}, and the cluster has {there:g}")
        return max(1, min((int(has.get(name, 0) / amount) for name, amount in needs.items()), default=1))

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
        """Have every shard run by some worker; each is opened with the payload."""
        run = _Run(self._ray, self._cluster, payload, shards, lending, say)
        asked_to_stop = False
        stop.bind(run.give_up)
        run.start(self.workers)
        try:
            while run.busy:
                run.wait()
                if run.out_of is not None:
                    stop.end(run.out_of)
                await asyncio.sleep(0.001)  # lets the signal handlers run
                if stop.requested and not asked_to_stop:
                    asked_to_stop = True
                    run.ask_to_stop()
                on_progress(*run.made())
        finally:
            run.kill()


def remembers_a_cluster_that_is_gone() -> bool:
    """Whether the cluster that Ray would join by itself does not listen any more.

    Ray records the last one that was started on this machine, and tries for a quarter of an hour to reach it, also
    when it was killed.
    """
    if "RAY_ADDRESS" in os.environ:
        return False  # set by the user
    try:
        folder = os.environ.get("RAY_TMPDIR", "/tmp")  # noqa: S108 - where Ray keeps it; only an address is read
        text = Path(folder, "ray", "ray_current_cluster").read_text(encoding="utf-8")
    except OSError:
        return False
    host, _, port = text.strip().rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=GONE_AFTER_SECONDS).close()
    except (OSError, ValueError):
        return True
    return False


class _Member:
    """One worker as the driver sees it."""

    def __init__(self, number: int, actor: Any) -> None:
        self.number = number
        self.actor = actor
        self.open = False
        self.shard: Shard | None = None
        self.report = WorkerReport()
        self.asked_at = 0.0


class _Run:
    """Which worker does what: every pending reference, with the worker and the call it belongs to."""

    def __init__(
        self,
        ray: Any,
        cluster: Cluster,
        payload: bytes,
        shards: Iterable[Shard],
        lending: Lending,
        say: Callable[[str], None],
    ) -> None:
        self._ray = ray
        self._payload, self._lending, self._say = payload, lending, say
        self._shards = deque(shards)
        self._losses: Counter[Shard] = Counter()
        self._waiting: dict[Any, tuple[str, _Member]] = {}
        self._members: list[_Member] = []
        self._hired = 0
        self._lost: tuple[int, int] = (0, 0)
        self.out_of: str | None = None
        """What the run has used up, so that nothing new may be begun."""
        self._stopping = self._given_up = False
        self._actor = ray.remote(_Actor).options(
            num_cpus=cluster.cpus,
            num_gpus=cluster.gpus,
            resources=dict(cluster.resources),
            max_concurrency=2,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )

    @property
    def busy(self) -> bool:
        if self._given_up:
            return False
        return bool(self._working) or (bool(self._shards) and not self._stopping)

    def start(self, workers: int) -> None:
        for _ in range(min(workers, len(self._shards))):
            self._hire()

    def wait(self) -> None:
        """Deal with whatever was answered within a moment."""
        self._ask_how_far()
        ready, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=WAIT_SECONDS)
        for reference in ready:
            question, member = self._waiting.pop(reference)
            try:
                answer = self._ray.get(reference)
            except Exception as error:  # whatever a dying worker raises, the worker is lost
                self._lose(member, error)
                continue
            self._deal_with(question, member, answer)
        self._hand_out()

    def made(self) -> tuple[list[tuple[int, int]], tuple[int, int]]:
        """Of each worker that is alive, and of all that were lost together."""
        return [member.report[:2] for member in self._members], self._lost

    def ask_to_stop(self) -> None:
        self._stopping = True
        for member in self._members:
            member.actor.stop.remote()

    def give_up(self) -> None:
        self._stopping = self._given_up = True

    def kill(self) -> None:
        for member in self._members:
            self._ray.kill(member.actor)

    def _hire(self) -> None:
        self._hired += 1
        member = _Member(self._hired, self._actor.remote())
        self._members.append(member)
        self._waiting[member.actor.open.remote(self._payload)] = ("open", member)

    def _deal_with(self, question: str, member: _Member, answer: Any) -> None:
        if isinstance(answer, _Refusal):
            raise UsageError(answer.sentence)
        if question == "shard" and member.shard is not None:
            if not answer.all_made:
                self._shards.appendleft(member.shard)
            self._lending.give_back(member.number, answer.report)
        self._heard(member, answer.report)
        if question != "progress":
            member.open = True
            member.shard = None

    def _heard(self, member: _Member, report: WorkerReport) -> None:
        member.report = report
        for sentence in report.messages:
            self._say(sentence)

    def _hand_out(self) -> None:
        """Every worker that has nothing to do gets a shard, as long as there are any."""
        for member in self._members:
            if not self._shards or self._stopping or not member.open or member.shard is not None:
                continue
            used_up = self._lending.used_up()
            if used_up is not None:
                # a busy worker may return part of its budget; when none is busy, the budget is used up
                self.out_of = None if self._working else used_up
                return
            member.shard = self._shards.popleft()
            terms = self._terms(member)
            self._waiting[member.actor.run.remote(*member.shard, terms)] = ("shard", member)

    @property
    def _working(self) -> int:
        return sum(member.shard is not None for member in self._members)

    def _terms(self, member: _Member) -> bytes:
        return self._lending.terms(member.number, member.report, self._working)

    def _ask_how_far(self) -> None:
        now = time.monotonic()
        queried = {id(member) for question, member in self._waiting.values() if question == "progress"}
        for member in self._members:
            if member.shard is not None and id(member) not in queried and now - member.asked_at >= PROGRESS_SECONDS:
                member.asked_at = now
                self._waiting[member.actor.report.remote(self._terms(member))] = ("progress", member)

    def _lose(self, member: _Member, error: Exception) -> None:
        if member not in self._members:
            return  # another call to the same worker has already reported it
        self._members.remove(member)
        self._waiting = {ref: entry for ref, entry in self._waiting.items() if entry[1] is not member}
        self._lost = (self._lost[0] + member.report.made, self._lost[1] + member.report.failed)
        shard = member.shard
        if shard is not None:
            self._losses[shard] += 1
            if self._losses[shard] >= MOST_LOSSES:
                raise UsageError(
                    f"samples {shard.start} to {shard.stop} have cost {MOST_LOSSES} workers; "
                    f"the last one ended with: {_first_line(error)}. Rerun the same command to resume."
                )
            self._shards.appendleft(shard)
        left = len(self._members)
        self._say(f"lost a worker ({type(error).__name__}); {left} left, its unfinished attempts will be retried")
        if self._shards and not self._stopping:
            # takes its place as soon as the cluster has one: on another node, or on this one when it is back
            self._hire()


class _Refusal(NamedTuple):
    """What a worker cannot do and the user can fix."""

    sentence: str


class _Answer(NamedTuple):
    """What a worker reports when it has opened, when its progress is queried, and when a shard is done."""

    report: WorkerReport
    all_made: bool = True


class _Actor:
    """Lives in a worker process, and with it whatever was built from the payload: models are loaded once."""

    def __init__(self) -> None:
        self._worker: ClusterWorker | None = None

    def open(self, payload: bytes) -> _Refusal | _Answer:
        from assay.runs.worker import open_worker

        try:
            self._worker = open_worker(payload)
        except UsageError as error:
            return _Refusal(f"on node {os.uname().nodename}: {error}")
        return self.report(None)

    def run(self, start: int, stop: int, terms: bytes) -> _Refusal | _Answer:
        assert self._worker is not None  # noqa: S101 - the driver opens before it asks
        try:
            all_made = self._worker.run(start, stop, terms)
        except UsageError as error:
            return _Refusal(f"on node {os.uname().nodename}: {error}")
        return _Answer(self._worker.report(None), all_made)

    def report(self, terms: bytes | None) -> _Answer:
        return _Answer(self._worker.report(terms) if self._worker is not None else WorkerReport())

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()


def _own_address(address: str | None) -> str | None:
    """The driver's own address, where Ray's guess would leave the loopback interface that everything else is on."""
    if address is None:
        # a cluster of our own listens on loopback only
        ours = sys.platform == "linux" and not os.environ.get("RAY_ADDRESS")
        return "127.0.0.2" if ours else None
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    return host if host.startswith("127.") else None


def _import_path() -> str:
    """What workers must find: this assay, and the modules that the driver's folder holds."""
    ours = str(Path(__file__).parents[2])
    return os.pathsep.join(part for part in (ours, os.getcwd(), os.environ.get("PYTHONPATH", "")) if part)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
