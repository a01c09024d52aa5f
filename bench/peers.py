"""assay beside lm-evaluation-harness, Inspect and promptfoo: the same samples, the same server, the same concurrency.

Each peer is installed into an environment of its own below `--folder` (never in this repository), asked the same sums
over a loopback server by its own OpenAI-compatible client, and scored by its own exact match. Every measurement is one
process: CPU is user + system time of it and of the children it waited for, memory the peak of the largest of them,
bytes what it left on the disk. Start-up is the wall time of a run of one sample.

`python -m bench.peers --folder ~/.cache/assay-peers`; needs the Python and npm registries for the first run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from bench.overhead import write_sums
from tests.end_to_end.commands import environment, fake_server

INSPECT_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import exact
from inspect_ai.solver import generate

@task
def sums():
    to_sample = lambda row: Sample(id=row["id"], input=row["prompt"], target=row["targets"][0])
    return Task(dataset=json_dataset("samples.jsonl", to_sample), solver=generate(), scorer=exact())
"""
LM_EVAL_TASK = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: samples.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{prompt}}"
doc_to_target: "{{targets[0]}}"
generation_kwargs: {until: [], max_gen_toks: 16}
metric_list: [{metric: exact_match}]
"""


class Measured(NamedTuple):
    """What one run of one program took."""

    wall: float
    cpu: float
    peak_mb: float
    disk_bytes: int


class Peer(NamedTuple):
    """How a program is installed, told what to do, and told apart by its version."""

    name: str
    install: Callable[[Path], str]
    """Into this folder, unless it is there; answers with the version."""
    command: Callable[[Path, Path, str, int], tuple[list[str], dict[str, str]]]
    """(environment, work folder with samples.jsonl, base URL, concurrency) -> command and variables."""


Ours = dict[int, tuple[float, float]]
"""Samples -> our CPU per sample, with and without start-up."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the peers are installed, or are already")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of: " + ", ".join(peer.name for peer in PEERS))
    options = parser.parse_args()
    folder = options.folder.expanduser().resolve()
    wanted = [peer for peer in PEERS if not options.only or peer.name in options.only]
    print(
        f"{options.concurrency} requests at once; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start\n"
    )
    header = ["program", "samples", "samples/s", "CPU ms/sample", "× assay", "… without start-up", "× assay"]
    header += ["start-up s", "peak MB", "kB/sample on disk"]
    print("| " + " | ".join(header) + " |\n|---|" + "---:|" * (len(header) - 1), flush=True)
    ours: Ours = {}
    with fake_server() as server, tempfile.TemporaryDirectory(prefix="assay-peers-") as work:
        for peer in wanted:
            for row in rows_of(peer, folder, Path(work), server.base_url, options, ours):
                print("| " + " | ".join(row) + " |", flush=True)


def rows_of(
    peer: Peer,
    folder: Path,
    work: Path,
    base_url: str,
    options: argparse.Namespace,
    ours: dict[int, tuple[float, float]],
) -> Iterable[list[str]]:
    try:
        version = peer.install(folder / peer.name)
        start = min((run(peer, folder, work, base_url, 1, options.concurrency) for _ in range(2)), key=lambda s: s.cpu)
        for size in options.sizes:
            took = run(peer, folder, work, base_url, size, options.concurrency)
            whole, alone = took.cpu / size * 1000, (took.cpu - start.cpu) / (size - 1) * 1000
            our_whole, our_alone = ours.setdefault(size, (whole, alone))
            yield [
                f"{peer.name} {version}",
                f"{size:,}",
                f"{size / took.wall:,.0f}",
                f"{whole:.2f}",
                ratio(whole, our_whole),
                f"{alone:.2f}",
                ratio(alone, our_alone),
                f"{start.wall:.1f}",
                f"{took.peak_mb:,.0f}",
                f"{took.disk_bytes / size / 1000:.2f}",
            ]
    except (subprocess.CalledProcessError, OSError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines() or ["?"]
        yield [peer.name, "does not run here: " + said[-1][:200]] + [""] * 8


def ratio(theirs: float, ours: float) -> str:
    return f"{theirs / ours:.0f}" if theirs > 2 * ours else f"{theirs / ours:.1f}"


def run(peer: Peer, folder: Path, work: Path, base_url: str, size: int, concurrency: int) -> Measured:
    place = Path(tempfile.mkdtemp(dir=work))
    write_sums(place / "samples.jsonl", size)
    command, variables = peer.command(folder / peer.name, place, base_url, concurrency)
    before = set(place.rglob("*"))
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            cwd=place,
            env=environment(HOME=str(place), OPENAI_API_KEY="none", **variables),
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=text[-3000:])
    wrote = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and path not in before)
    shutil.rmtree(place)
    return Measured(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, wrote)


# -- the programs --------------------------------------------------------------------------------------------------


def assay_is_here(place: Path) -> str:
    return ""


def assay_command(place: Path, work: Path, base_url: str, concurrency: int) -> tuple[list[str], dict[str, str]]:
    address = ["--model", "openai:fake", "--model-arg", f"base_url={base_url}"]
    rest = ["--concurrency", str(concurrency), "--no-cache", "--quiet", "--run-dir", "run"]
    return [sys.executable, "-m", "assay", "run", "samples.jsonl", *address, *rest], {}


def python_package(requirement: str, distribution: str, *more: str) -> Callable[[Path], str]:
    def install(place: Path) -> str:
        python = place / "bin" / "python"
        if not python.exists():
            quietly([sys.executable, "-m", "venv", str(place)])
            quietly([str(python), "-m", "pip", "install", "--quiet", requirement, *more])
        code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
        return quietly([str(python), "-c", code]).strip()

    return install


def lm_eval_command(place: Path, work: Path, base_url: str, concurrency: int) -> tuple[list[str], dict[str, str]]:
    (work / "sums.yaml").write_text(LM_EVAL_TASK)
    model = f"base_url={base_url}/chat/completions,model=fake,num_concurrent={concurrency},tokenized_requests=False"
    command = [str(place / "bin" / "lm_eval"), "run", "--model", "local-chat-completions", "--model_args", model]
    command += ["--tasks", "sums", "--include_path", ".", "--apply_chat_template", "--output_path", "out"]
    return [*command, "--log_samples"], {"HF_HUB_OFFLINE": "1", "HF_HOME": str(work / "hf")}


def inspect_command(place: Path, work: Path, base_url: str, concurrency: int) -> tuple[list[str], dict[str, str]]:
    (work / "task.py").write_text(INSPECT_TASK)
    command = [str(place / "bin" / "inspect"), "eval", "task.py", "--model", "openai/fake", "-M", "responses_api=false"]
    command += ["--model-base-url", base_url, "--max-connections", str(concurrency), "--display", "none"]
    return [*command, "--log-dir", "logs"], {}


def promptfoo_install(place: Path) -> str:
    if not (place / "node_modules" / ".bin" / "promptfoo").exists():
        place.mkdir(parents=True, exist_ok=True)
        # promptfoo asks for a newer Node than most systems have; npm carries one
        quietly(["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", "promptfoo", "node@24"])
    package = place / "node_modules" / "promptfoo" / "package.json"
    version: str = json.loads(package.read_text())["version"]
    return version


def promptfoo_command(place: Path, work: Path, base_url: str, concurrency: int) -> tuple[list[str], dict[str, str]]:
    with (work / "samples.jsonl").open() as samples, (work / "tests.jsonl").open("w") as tests:
        for line in samples:
            row = json.loads(line)
            right = {"type": "equals", "value": row["targets"][0]}
            tests.write(json.dumps({"vars": {"prompt": row["prompt"]}, "assert": [right]}) + "\n")
    provider = {"id": "openai:chat:fake", "config": {"apiBaseUrl": base_url}}
    config = {"prompts": ["{{prompt}}"], "providers": [provider], "tests": "file://tests.jsonl"}
    (work / "config.json").write_text(json.dumps(config))
    bin_folder = place / "node_modules" / ".bin"
    command = [str(bin_folder / "promptfoo"), "eval", "-c", "config.json", "-j", str(concurrency), "--no-cache"]
    command += ["--no-table", "--no-progress-bar", "-o", "out.json"]
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    return command, {"PATH": path, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}


def quietly(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


PEERS = (
    Peer("assay", assay_is_here, assay_command),
    Peer("lm_eval", python_package("lm_eval[api]", "lm_eval"), lm_eval_command),
    Peer("inspect", python_package("inspect_ai", "inspect_ai", "openai"), inspect_command),
    Peer("promptfoo", promptfoo_install, promptfoo_command),
)


if __name__ == "__main__":
    main()
