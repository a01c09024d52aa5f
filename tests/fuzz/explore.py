"""`make fuzz`: the property tests with examples that no one has tried, round after round; each round's seed is printed.

What a round finds is repeated with `make fuzz SEED=…`, and becomes a fixed case (`@example`, or a row of a table) in
the commit that mends it: `make test` itself never looks for anything new.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time

SECONDS = 300


def main() -> int:
    fixed = os.environ.get("SEED")
    ends = time.monotonic() + float(os.environ.get("SECONDS") or SECONDS)
    while True:
        seed = int(fixed) if fixed else secrets.randbelow(1 << 32)
        print(f"seed {seed}; `make fuzz SEED={seed}` repeats this round", flush=True)
        if code := explore(seed):
            print(f"found by seed {seed}: mend it, and keep the example it printed as a fixed case", flush=True)
            return code
        if fixed or time.monotonic() > ends:
            return 0


def explore(seed: int) -> int:
    command = [sys.executable, "-m", "pytest", "-n", "2", "-m", "hypothesis", f"--hypothesis-seed={seed}"]
    command.append("--timeout=900")  # three hundred examples in place of a hundred
    return subprocess.run([*command, *sys.argv[1:]], env={**os.environ, "ASSAY_EXPLORE": "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
