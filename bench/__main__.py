"""`python -m bench [NAME…]`: the measurements, each a script of its own that prints one Markdown table."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
LONG = {"before", "fuzz", "lm_eval_bridge", "lm_eval_parity", "optimize_noise", "peers", "soak"}
"""Only when asked for by name: they take many minutes, install other programs, or need an argument."""


def main() -> None:
    known = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    asked = sys.argv[1:] or [name for name in known if name not in LONG]
    if {"-h", "--help"} & set(asked):
        print(f"{__doc__}\n\nThere are: {', '.join(known)}. `python -m bench.NAME --help` tells the options of one.")
        return
    sys.argv[1:] = []
    for name in asked:
        if name not in known:
            sys.exit(f"no benchmark `{name}`; there are: {', '.join(known)}")
        print(f"\n## {name}\n", flush=True)
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
