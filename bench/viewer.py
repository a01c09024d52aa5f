"""The viewer on a run of a million samples: how fast the index grows, how soon any page is there, how much memory.

    python -m bench.viewer [--samples N]

The index is built as the viewer builds it: columns and words in two processes at once. Times are of whole HTTP
answers from a real server, the slowest of several, first-time questions apart from repeated ones.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from bench._viewer_run import key_of, make_run

from assay.viewer.builders import Builders
from assay.viewer.index import index_path
from assay.viewer.word_index import words_path

QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("first page", {}),
    ("page 5,000", {"offset": "500000"}),
    ("last page", {"offset": "999900"}),
    ("filter: task", {"task": "choices"}),
    ("filter: outcome", {"outcome": "wrong"}),
    ("filter: failure kind", {"failure": "model/timeout"}),
    ("filter: score range", {"low": "0.4", "high": "0.6"}),
    ("filter: metadata", {"meta": "topic=topic-7"}),
    ("filter: metadata and outcome and task", {"meta": "difficulty=hard", "outcome": "wrong", "task": "entities"}),
    ("sort: score", {"sort": "score", "dir": "desc"}),
    ("sort: time", {"sort": "seconds"}),
    ("sort: tokens", {"sort": "tokens_out"}),
    ("filter and sort", {"outcome": "wrong", "sort": "seconds", "dir": "desc"}),
    ("flipped against another run", {"against": "other", "flip": "flipped"}),
    ("not flipped, sorted by change", {"against": "other", "flip": "same", "sort": "changed"}),
    ("search: a rare word", {"q": "123456"}),
    ("search: two words", {"q": "question 77"}),
    ("search: a word in every sample", {"q": "question"}),
    (
        "query: numbers, metadata and a word",
        {"q": 'score<1 and task:choices and metadata.topic:topic-7 and "question"'},
    ),
    ("query: ids that begin so", {"q": "id:s-00012*"}),
    ("query: ids with a part inside", {"q": "id:s-*99*7"}),
    ("query: read answers, every one another", {"q": "answer:*ab*"}),
    ("query: attempts that differ", {"q": "attempts:mixed or retries>0"}),
    ("query: two fields", {"q": "tokens_in>tokens_out and not failure:*"}),
    ("query: by cost, sorted by tokens", {"q": "cost>0 or not cost:*", "sort": "tokens"}),
    ("several runs in one table, sorted", {"run": "other", "sort": "seconds", "q": "outcome:wrong"}),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    samples = parser.parse_args().samples
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = make_run(folder / "run", samples)
        other = make_run(folder / "other", samples, model="other-model", skill=0.75, seed=1)
        size = (run / "journal.jsonl").stat().st_size
        print(f"{samples:,} samples, {size / samples:.0f} bytes each\n")
        print("| what | measured |\n|---|---:|")
        index(run, samples)
        builders = Builders()
        for job in ("index", "words", "board"):
            builders.start(job, other)
        builders.start("board", run)
        builders.wait()
        serve(folder, samples)


def index(run: Path, samples: int) -> None:
    builders = Builders()
    started = time.perf_counter()
    for job in ("index", "words"):
        builders.start(job, run)
    builders.wait()
    seconds = time.perf_counter() - started
    print(f"| index, full text included | {samples / seconds:,.0f} samples/s ({seconds:.1f} s) |")
    for label, path in (("columns", index_path(run)), ("words", words_path(run))):
        print(f"| size of the {label} | {path.stat().st_size / samples:.0f} bytes a sample |")


def serve(folder: Path, samples: int) -> None:
    command = [sys.executable, "-m", "assay", "view", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        link = urlsplit(process.stdout.readline().strip())
        server = http.client.HTTPConnection("127.0.0.1", link.port or 0)
        server.request("GET", f"/?{link.query}")
        opened = server.getresponse()
        opened.read()
        cookie = (opened.getheader("set-cookie") or "").partition(";")[0]
        print(f"| list of runs, first time | {ask(server, cookie, 'runs', {}) * 1000:.0f} ms |")
        print(f"| one run from above, first time | {ask(server, cookie, 'run', {'run': 'run'}) * 1000:.0f} ms |")
        worst = 0.0
        for label, params in QUESTIONS:
            if int(params.get("offset", "0")) >= samples:
                continue
            asked = {"limit": "100", **{name: value for name, value in params.items() if name != "run"}}
            runs = ["run", *([params["run"]] if "run" in params else [])]
            first, again = (ask(server, cookie, "samples", asked, runs) for _ in range(2))
            worst = max(worst, first)
            print(f"| {label} | {first * 1000:.0f} ms, again {again * 1000:.0f} ms |")
        key = {"run": "run", "key": key_of(min(12345, samples - 1))}
        print(f"| one sample | {ask(server, cookie, 'sample', key) * 1000:.0f} ms |")
        print(f"| slices by topic | {ask(server, cookie, 'slices', {'run': 'run', 'by': 'topic'}) * 1000:.0f} ms |")
        print(f"| comparison of both runs | {ask(server, cookie, 'compare', {}, ['run', 'other']) * 1000:.0f} ms |")
        print(f"| slowest page of the table | {worst * 1000:.0f} ms |")
        print(f"| memory of the server, at its peak | {peak(process.pid):.0f} MB |")
    finally:
        process.terminate()
        process.wait()


def ask(
    server: http.client.HTTPConnection, cookie: str, what: str, params: dict[str, str], runs: list[str] | None = None
) -> float:
    query = urlencode([*params.items(), *(("run", name) for name in runs or [])])
    started = time.perf_counter()
    server.request("GET", f"/api/{what}?{query}", headers={"cookie": cookie})
    answer = server.getresponse()
    body = answer.read()
    seconds = time.perf_counter() - started
    assert answer.status == 200, (what, query, json.loads(body))
    return seconds


def peak(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    main()
