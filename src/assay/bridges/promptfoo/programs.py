"""Programs that a configuration names; those that compute tests and variables run while it is read.

Their results are kept in a file, so that they run only once, after the user has allowed it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from assay.bridges.promptfoo.config import FILE, Config, PlacedValue
from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import DatasetSpec, Sample
from assay.datasets.json_lines import file_sha256
from assay.run_file import write_text
from assay.snippets.programs import Programs
from assay.user.cache_folder import cache_folder

_NAMED = re.compile(r"(.*?\.(\w+))(?::([\w.]+))?")
_LANGUAGES = {**dict.fromkeys(("js", "cjs", "mjs", "ts", "cts", "mts"), "javascript"), "py": "python"}


def program_file(config: Config, value: PlacedValue, written: str, usual: str | None) -> dict[str, Any]:
    """A function of a file to run; `usual` is the default name of a Python function."""
    shape = _NAMED.fullmatch(written.removeprefix(FILE))
    language = _LANGUAGES.get(shape[2]) if shape else None
    if shape is None or language is None:
        raise UsageError(f"`{written}`: programs are JavaScript, TypeScript (where node reads it) or Python")
    paths = config.named(value, shape[1])
    name = shape[3] or (usual if language == "python" else None)
    return {"language": language, "file": str(paths[0]) if paths else "", **({"name": name} if name else {})}


def run_now(config: Config, value: PlacedValue, program: dict[str, Any], *arguments: Any) -> Any:
    """What a program returns; None while programs may not run, and where it fails."""
    shown = str(program.get("file") or program.get("code"))
    (config.python if program["language"] == "python" else config.node).append(shown)
    if not config.runs_programs:
        return None
    results: list[Any] = []
    thread = Thread(target=lambda: results.append(asyncio.run(_run(program, arguments))))  # a loop may run here already
    thread.start()
    thread.join()
    if results and not isinstance(results[0], FailureError):
        return results[0]
    config.refuse(value, f"`{shown}`: {results[0].failure.message if results else 'it could not be run'}")
    return None


async def _run(program: dict[str, Any], arguments: Sequence[Any]) -> Any:
    programs = Programs("promptfoo", BuildContext(own_code=True), stage="dataset")
    try:
        return await programs.run(program, *arguments)
    except FailureError as error:
        return error
    finally:
        await programs.aclose()


def kept(samples: Sequence[Sample]) -> DatasetSpec:
    """The dataset of samples that programs computed, in a file of the cache."""
    lines = b"".join(msgspec.json.encode(sample) + b"\n" for sample in samples)
    path = cache_folder() / "promptfoo" / f"{hashlib.sha256(lines).hexdigest()[:32]}.jsonl"
    if not path.is_file():
        write_text(path, lines.decode())
    sha256 = file_sha256(Path(path))
    return DatasetSpec(
        use="built",
        options={"path": str(path), "size": len(samples), "sha256": sha256},
        sha256=sha256,
        size=len(samples),
    )
