"""Assertions that an npm package decides, as it does for promptfoo: SQL by node-sql-parser, METEOR by natural.

The package runs in the node process of the task's programs, from the `node_modules` folder that it is installed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.scorers.assertions.graded_assertions import Graded
from assay.snippets.programs import Programs

PACKAGES = {"is-sql": "node-sql-parser", "contains-sql": "node-sql-parser", "meteor": "natural"}
METEOR_WEIGHTS = ("alpha", "beta", "gamma")
USUAL_METEOR = 0.5
_SCRIPT = str(Path(__file__).with_suffix(".mjs"))


async def check_by_package(
    programs: Programs, kind: str, node: Mapping[str, Any], text: str, homes: Mapping[str, str]
) -> Graded:
    """Whether the text is SQL, or how close it is to its references; `homes` are the folders above `node_modules`."""
    if kind == "meteor" and not text:
        return Graded(False, 0.0, "no answer")
    fields = {name: node[name] for name in ("value", *METEOR_WEIGHTS) if node.get(name) is not None}
    program = {"language": "javascript", "file": _SCRIPT, "name": kind}
    result = await programs.run(program, text, {"home": homes[PACKAGES[kind]], **fields})
    if kind == "meteor":
        wanted = USUAL_METEOR if node.get("threshold") is None else float(node["threshold"])
        return Graded(result >= wanted, result, f"{result:.3f}")
    return Graded(not result, float(not result), result)
