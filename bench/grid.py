"""The prompt engineer's grid beside promptfoo: 20 rows of a table, three prompts, two models, one command each.

Both programs read the same table and the same prompt files, ask a loopback server through their own OpenAI-compatible
clients, compare with the target by equality, and print their grid. CPU is user + system time of the program and the
children it waited for, the least of several runs; start-up is most of it, and is what a person waits for.

`python -m bench.grid --folder ~/.cache/assay-peers`; needs the npm registry for the first run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
from pathlib import Path

from bench.peers import Measured, Peer, assay_is_here, promptfoo_install, ratio, run
from tests.end_to_end.commands import fake_server

ROWS = 20
PROMPTS = {"short": "{{ prompt }}", "careful": "Carefully. {{ prompt }}", "steps": "Step by step. {{ prompt }}"}
MODELS = ("fake", "fake-two")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where promptfoo is installed, or is already")
    parser.add_argument("--concurrency", type=int, default=4, help="promptfoo's default")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    folder = options.folder.expanduser().resolve()
    cells = ROWS * len(PROMPTS) * len(MODELS)
    print(f"{cells} cells; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start\n")
    print("| program | CPU s | × assay | wall s | peak MB |\n|---|---:|---:|---:|---:|", flush=True)
    ours: float | None = None
    with fake_server() as server, tempfile.TemporaryDirectory(prefix="assay-grid-") as work:
        for peer in PEERS:
            version = peer.install(folder / peer.name)
            took = least(peer, folder, Path(work), server.base_url, options)
            ours = ours or took.cpu
            shown = [f"{took.cpu:.2f}", ratio(took.cpu, ours), f"{took.wall:.1f}", f"{took.peak_mb:,.0f}"]
            print(f"| {peer.name} {version} | {' | '.join(shown)} |", flush=True)


def least(peer: Peer, folder: Path, work: Path, base_url: str, options: argparse.Namespace) -> Measured:
    runs = (run(peer, folder, work, base_url, ROWS, options.concurrency) for _ in range(options.runs))
    return min(runs, key=lambda took: took.cpu)


def write_table(work: Path) -> None:
    """The samples as a table, and the prompts as files."""
    with (work / "samples.jsonl").open() as samples, (work / "sums.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["prompt", "__expected"])
        table.writerows([row["prompt"], row["targets"][0]] for row in map(json.loads, samples))
    for name, text in PROMPTS.items():
        (work / f"{name}.txt").write_text(text)


def assay_command(place: Path, work: Path, base_url: str, concurrency: int) -> tuple[list[str], dict[str, str]]:
    write_table(work)
    command = [sys.executable, "-m", "assay", "run", "sums.csv", "--target", "__expected", "--plain", "--quiet"]
    command += [word for name in PROMPTS for word in ("--prompt", f"{name}.txt")]
    command += [word for model in MODELS for word in ("--model", f"openai:{model}")]
    # compiled modules are kept, as an installed program has them, whatever the caller's environment says
    variables = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place / "pycache")}
    return [*command, "--model-arg", f"base_url={base_url}", "--concurrency", str(concurrency)], variables


def promptfoo_command(place: Path, work: Path, base_url: str, concurrency: int) -> tuple[list[str], dict[str, str]]:
    write_table(work)
    providers = [{"id": f"openai:chat:{model}", "config": {"apiBaseUrl": base_url}} for model in MODELS]
    prompts = [f"file://{name}.txt" for name in PROMPTS]
    config = {"prompts": prompts, "providers": providers, "tests": "file://sums.csv"}
    (work / "config.json").write_text(json.dumps(config))
    bin_folder = place / "node_modules" / ".bin"
    command = [str(bin_folder / "promptfoo"), "eval", "-c", "config.json", "-j", str(concurrency), "--no-cache"]
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": path, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    # it ends with 100 where an answer was wrong
    return ["sh", "-c", '"$0" "$@" || test $? = 100', *command, "--no-progress-bar"], variables


PEERS = (
    Peer("assay", assay_is_here, assay_command),
    Peer("promptfoo", promptfoo_install, promptfoo_command),
)


if __name__ == "__main__":
    main()
