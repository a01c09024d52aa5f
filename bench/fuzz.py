"""Coverage-guided fuzzing of every reader of other people's bytes, with atheris; bounded by `--seconds` a reader.

`python -m bench.fuzz [NAME…] [--seconds N]`; the readers and what counts as a refusal are those of `tests/fuzz`, which
runs the same calls with hypothesis and needs no atheris. A finding is printed as the bytes that made it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ONE = """
import sys
import atheris
with atheris.instrument_imports(include=["assay"]):
    from tests.fuzz.targets import TARGETS
target = TARGETS[sys.argv.pop(1)]
atheris.Setup(sys.argv, target.feed)
atheris.Fuzz()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=int, default=20, help="of each reader")
    options = parser.parse_args()
    try:
        import atheris  # noqa: F401
    except ImportError:
        sys.exit("needs atheris: pip install atheris")
    from tests.fuzz.targets import TARGETS

    broken = []
    for name in options.names or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            for number, seed in enumerate(TARGETS[name].seeds):
                (Path(folder) / f"seed-{number}").write_bytes(seed)
            # a slow input is a finding, and so is one that needs much memory
            limits = [f"-max_total_time={options.seconds}", "-timeout=10", "-rss_limit_mb=1024", "-max_len=20000"]
            command = [sys.executable, "-c", ONE, name, *limits, f"-artifact_prefix={folder}/found-", folder]
            done = subprocess.run(command, capture_output=True, text=True)
            ran = [line for line in done.stderr.splitlines() if line.startswith("Done ")] or ["ended early"]
            print(f"{name}: {ran[-1]}", flush=True)
            if done.returncode:
                broken.append(name)
                found = sorted(Path(folder).glob("found-*"))
                print(done.stdout[-2000:], done.stderr[-3000:], *(path.read_bytes() for path in found), sep="\n")
    if broken:
        sys.exit(f"broken: {', '.join(broken)}")


if __name__ == "__main__":
    main()
