"""What a sample costs: CPU and memory of the whole run, beside a bare HTTP client on the same fake server.

Each measurement is a process of its own; CPU is user + system time of that process, so that the server and other
jobs on the machine do not count. Peers are measured too where they are installed (`lm_eval`, `inspect`): see
`bench/peers.py`. Sizes: `python -m bench.overhead --quick` for a first look.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.end_to_end.commands import ROOT, environment, fake_server

BARE_CLIENT = """
import asyncio, sys, json, aiohttp
base, count, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
async def main():
    numbers = iter(range(count))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        async def worker():
            for n in numbers:
                body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": f"compute: {n} + 1"}]})
                async with session.post(base + "/chat/completions", data=body,
                                        headers={"content-type": "application/json"}) as answer:
                    json.loads(await answer.read())["choices"][0]["message"]["content"]
        await asyncio.gather(*(worker() for _ in range(concurrency)))
asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    parser.add_argument("--million", action="store_true", help="also a million samples in-process")
    parser.add_argument("--in-process", action="store_true", help="nothing over HTTP")
    parser.add_argument("--rounds", type=int, default=1, help="over HTTP: in turns, and the least of them is told")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as name, fake_server() as server:
        folder = Path(name)
        rows += help_rows(folder)
        sizes = [10_000 // scale, 100_000 // scale, *([1_000_000] if options.million else [])]
        start = min(
            measure(run_command(write_echoes(folder / "one.jsonl", 1), folder, "toy"), folder)[1] for _ in range(3)
        )
        rows += [in_process(folder, size, start) for size in sizes]
        for concurrency in () if options.in_process else (32, 256):
            for size in (10_000 // scale, 100_000 // scale):
                rows += over_http(folder, server.base_url, size, concurrency, options.rounds)
    header = ["what", "samples", "samples/s", "CPU ms/sample", "× bare client", "peak MB"]
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def help_rows(folder: Path) -> list[list[str]]:
    best = min(measure([sys.executable, "-m", "assay", "--help"], folder)[0] for _ in range(5))
    bare = min(measure([sys.executable, "-c", "pass"], folder)[0] for _ in range(5))
    return [["`assay --help`, wall", "", "", f"{best * 1000:.0f} in all (bare Python {bare * 1000:.0f})", "", ""]]


def in_process(folder: Path, count: int, start: float) -> list[str]:
    """`start` is the CPU of a run of one sample, which every run pays once."""
    task = write_echoes(folder / f"in-process-{count}.jsonl", count)
    wall, cpu, peak = measure(run_command(task, folder, "toy"), folder)
    return [
        "assay, in-process toy model",
        f"{count:,}",
        f"{count / wall:,.0f}",
        f"{cpu / count * 1000:.4f} ({(cpu - start) / count * 1000:.4f} without start-up)",
        "",
        f"{peak:.0f}",
    ]


def over_http(folder: Path, base_url: str, count: int, concurrency: int, rounds: int) -> list[list[str]]:
    task = write_sums(folder / f"http-{count}.jsonl", count)
    client = [sys.executable, "-c", BARE_CLIENT, base_url, str(count), str(concurrency)]
    extra = ["--model-arg", f"base_url={base_url}", "--concurrency", str(concurrency), "--no-cache"]
    found = [
        (measure(client, folder), measure(run_command(task, folder, "openai:fake", *extra), folder))
        for _ in range(rounds)
    ]
    (bare_wall, bare_cpu, bare_peak), (wall, cpu, peak) = (
        min(each, key=lambda measured: measured[1]) for each in zip(*found, strict=True)
    )
    where = f"HTTP, {concurrency} at once"
    return [
        [
            f"bare aiohttp client, {where}",
            f"{count:,}",
            f"{count / bare_wall:,.0f}",
            f"{bare_cpu / count * 1000:.3f}",
            "1.0",
            f"{bare_peak:.0f}",
        ],
        [
            f"**assay**, {where}",
            f"{count:,}",
            f"{count / wall:,.0f}",
            f"{cpu / count * 1000:.3f}",
            f"{cpu / bare_cpu:.1f}",
            f"{peak:.0f}",
        ],
    ]


def run_command(task: Path, folder: Path, model: str, *extra: str) -> list[str]:
    place = tempfile.mkdtemp(dir=folder)
    return [
        sys.executable,
        "-m",
        "assay",
        "run",
        str(task),
        "--model",
        model,
        *extra,
        "--quiet",
        "--run-dir",
        f"{place}/run",
    ]


def measure(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (MB) of a command."""
    variables = with_bytecode(environment())
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}\n{said.read().decode()}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def with_bytecode(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables for a process that finds its modules compiled, as those of an installed package are.

    Wherever Python is told to write no bytecode, half of the start-up would be the compiler's.
    """
    kept = {name: value for name, value in variables.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "assay-bench-bytecode")}


def write_echoes(path: Path, count: int) -> Path:
    """Prompts that the toy model says back, so that the harness is measured and not the toy's arithmetic."""
    with path.open("w") as file:
        for n in range(count):
            line = {"id": f"s-{n}", "prompt": f"write: number {n}", "targets": [f"number {n}"], "metric": "exact_match"}
            file.write(json.dumps(line) + "\n")
    return path


def write_sums(path: Path, count: int) -> Path:
    with path.open("w") as file:
        for n in range(count):
            line = {"id": f"s-{n}", "prompt": f"compute: {n} + 1", "targets": [str(n + 1)], "metric": "exact_match"}
            file.write(json.dumps(line) + "\n")
    return path


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
