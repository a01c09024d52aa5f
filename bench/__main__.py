"""`python -m bench [NAME… [OPTIONS]]`: the measurements, each a script of its own that prints one Markdown table."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
LONG = {"before", "coverage", "fuzz", "grid", "lm_eval_census", "lm_eval_cpu", "lm_eval_parity", "optimize_noise",
        "peers", "promptfoo_census", "soak"}  # fmt: skip
"""Only when asked for by name: they take many minutes, install other programs, or need an argument."""


def main() -> None:
    known = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    begin = next((place for place, word in enumerate(sys.argv) if place and word[0] == "-"), len(sys.argv))
    asked, options = sys.argv[1:begin], sys.argv[begin:]
    asked = asked or [name for name in known if name not in LONG]
    if {"-h", "--help"} & set(options):
        print(f"{__doc__}\n\nThere are: {', '.join(known)}. `python -m bench.NAME --help` shows the options of one.")
        return
    sys.argv[1:] = options
    for name in asked:
        if name not in known:
            sys.exit(f"no benchmark `{name}`; there are: {', '.join(known)}")
        print(f"\n## {name}\n", flush=True)
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
