"""Time and memory of the statistics at a million samples and a thousand resamples.

Run `python -m bench.stats [--samples N] [--resamples N]`. Each line runs in a child process of its own, so that peak
memory is that line's: the child's peak above what it held once its data was ready.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from assay.stats import aggregates
from assay.stats.bootstrap import bootstrap_sums
from assay.stats.intervals import clustered_mean_interval, mean_interval
from assay.stats.paired import compare
from assay.stats.paired_evidence import mcnemar_exact
from assay.stats.permutation import permutation_test
from assay.stats.score_table import ScoreTable

Work = Callable[[], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    samples, resamples = options.samples, options.resamples
    print(f"{samples:,} samples, {resamples:,} resamples\n")
    print(f"| {'what':52} | CPU seconds | extra MB |")
    print(f"|{'-' * 54}|------------:|---------:|")
    for name in CASES:
        seconds, megabytes = measured(name, samples, resamples)
        print(f"| {name:52} | {seconds:11.3f} | {megabytes:8.0f} |", flush=True)


def measured(name: str, samples: int, resamples: int) -> tuple[float, float]:
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=run_case, args=(name, samples, resamples, send))
    child.start()
    result: tuple[float, float] = receive.recv()
    child.join()
    return result


def run_case(name: str, samples: int, resamples: int, send: Connection) -> None:
    work = CASES[name](np.random.default_rng(0), samples, resamples)
    before, start = peak_megabytes(), time.process_time()
    work()
    send.send((time.process_time() - start, peak_megabytes() - before))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bootstrap_mean(values: Any, *, resamples: int, groups: Any = None) -> Any:
    """The mean as what it is to the bootstrap, a ratio of two sums."""
    rows = np.column_stack([values, np.ones(len(values))])
    return bootstrap_sums(rows, lambda sums: sums[:, 0] / sums[:, 1], groups=groups, resamples=resamples)


def f1(sums: Any) -> Any:
    return 2 * sums[:, 0] / (2 * sums[:, 0] + sums[:, 1] + sums[:, 2])


def closed_form(random: np.random.Generator, n: int, _: int) -> Work:
    values = random.random(n)
    return lambda: mean_interval(values)


def closed_form_clustered(random: np.random.Generator, n: int, _: int) -> Work:
    values, groups = random.random(n), random.integers(0, n // 10, n)
    return lambda: clustered_mean_interval(values, groups)


def right_and_wrong(random: np.random.Generator, n: int, resamples: int) -> Work:
    values = (random.random(n) < 0.7).astype(float)
    return lambda: bootstrap_mean(values, resamples=resamples)


def few_distinct(random: np.random.Generator, n: int, resamples: int) -> Work:
    values = random.integers(0, 11, n) / 10
    return lambda: bootstrap_mean(values, resamples=resamples)


def continuous(random: np.random.Generator, n: int, resamples: int) -> Work:
    values = random.random(n)
    return lambda: bootstrap_mean(values, resamples=resamples)


def clusters(random: np.random.Generator, n: int, resamples: int) -> Work:
    values, groups = random.random(n), random.integers(0, n // 10, n)
    return lambda: bootstrap_mean(values, groups=groups, resamples=resamples)


def f1_of_counts(random: np.random.Generator, n: int, resamples: int) -> Work:
    rows = random.poisson([2.0, 1.0, 1.0], size=(n, 3)).astype(float)
    return lambda: bootstrap_sums(rows, f1, resamples=resamples)


def corpus_bleu(random: np.random.Generator, n: int, resamples: int) -> Work:
    rows = random.poisson([20, 18, 16, 14, 12, 9, 7, 5, 20, 20], size=(n, 10)).astype(float)

    def bleu(sums: Any) -> Any:
        ratios = np.log(sums[:, 4:8] / sums[:, 0:4]).mean(axis=1)
        return np.exp(ratios + np.minimum(0.0, 1.0 - sums[:, 9] / sums[:, 8]))

    return lambda: bootstrap_sums(rows, bleu, resamples=resamples)


def sign_flips(random: np.random.Generator, n: int, resamples: int) -> Work:
    differences = random.normal(size=n)
    return lambda: permutation_test(differences, resamples=resamples)


def comparison(random: np.random.Generator, n: int, _: int) -> Work:
    first, second = ((random.random(n) < share).astype(float) for share in (0.7, 0.701))
    return lambda: compare(first, second)


def mcnemar(_: np.random.Generator, n: int, __: int) -> Work:
    return lambda: mcnemar_exact(n // 2, n // 2 + n // 500)


def whole_table(_: np.random.Generator, n: int, __: int) -> Work:
    def fill_and_mean() -> None:
        table = ScoreTable()
        for sample in range(n):
            table.add({"score": float(sample % 3 == 0)}, sample=sample)
        aggregates.mean(table)

    return fill_and_mean


CASES: dict[str, Callable[[np.random.Generator, int, int], Work]] = {
    "mean, closed form": closed_form,
    "mean, clustered closed form": closed_form_clustered,
    "bootstrap mean, right and wrong": right_and_wrong,
    "bootstrap mean, eleven distinct values": few_distinct,
    "bootstrap mean, continuous": continuous,
    "bootstrap mean, clusters of ten": clusters,
    "bootstrap F1 of summed counts": f1_of_counts,
    "bootstrap corpus BLEU (rows of ten counts)": corpus_bleu,
    "sign-flip test, continuous": sign_flips,
    "compare two right/wrong runs": comparison,
    "McNemar exact": mcnemar,
    "fill a score table row by row, then its mean": whole_table,
}

if __name__ == "__main__":
    main()
