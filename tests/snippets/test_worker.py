"""The process that runs an author's Python: what it prints, its type names, and its end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from assay.core.seams import BuildContext
from assay.snippets.process import Snippet

ALLOWED = BuildContext(own_code=True)


def call(source: str, *values: Any, function: str = "f", limit: float = 20.0, **options: Any) -> Any:
    async def run() -> Any:
        snippet = Snippet(
            source, function=function, stage="scorer", part="p", time_limit_seconds=limit, context=ALLOWED
        )
        try:
            return await snippet.call(*({"value": value} for value in values), **options)
        finally:
            await snippet.aclose()

    return asyncio.run(run())


def test_what_a_snippet_prints_does_not_disturb_the_pipe() -> None:
    source = "import sys, os\nprint('top')\ndef f(x):\n print('hello'); os.write(1, b'raw'); return x\n"
    assert call(source, 1) == 1


def test_a_function_may_take_fewer_arguments() -> None:
    assert call("def f(a): return a", 1, 2, fit=True) == 1
    assert call("def f(*all): return list(all)", 1, 2, fit=True) == [1, 2]


def test_the_type_names_of_existing_snippets_can_be_imported() -> None:
    source = (
        "from latticeflow.core.dtypes import SampleScore, SolverTrace, Message, MessageRole, OutputTextContent\n"
        "from latticeflow.assessment.dtypes import RawSample, ModelUsage, TraceItem, UserMessage\n"
        "def f(x):\n"
        "  m = Message(role=MessageRole.ASSISTANT, content=[OutputTextContent(text='hi')])\n"
        "  t = SolverTrace(); t.append_user_message('q'); t.append(m)\n"
        "  return [t.get_last_assistant_text(), 'h' in m.content, str(m.content)]\n"
    )
    assert call(source, 0) == ["hi", True, "hi"]


ORPHAN = """
import asyncio, time
from assay.core.seams import BuildContext
from assay.snippets.process import Snippet

async def main():
    source, allowed = "import os\\ndef f(x): return os.getpid()", BuildContext(own_code=True)
    snippet = Snippet(source, function="f", stage="scorer", part="p", context=allowed)
    print(await snippet.call({"value": 0}), flush=True)
    time.sleep(1000)

asyncio.run(main())
"""


def test_a_worker_ends_with_the_process_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 120
    while alive(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(process: int) -> bool:
    """Whether it runs: where the first process of a container waits for no one, an orphan that ended stays listed."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
