"""Frames between verifier and candidate: no forged one makes a verdict."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from tests.sandbox.replies import (
    CASES_EACH,
    LIMITS,
    PROGRAMS,
    SCRIPTS,
    SETTINGS,
)

from assay.sandbox import Outcome, Sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


FORGER = """
import json, os, struct, sys
frames = sys.modules['_assay_inside.frames']
honest, script, said = frames.send, json.loads({script!r}), [0]
def forged(message):
    if 'value' not in message and 'error' not in message:
        return honest(message)
    word = script[said[0] % len(script)]
    said[0] += 1
    data = bytes(word) if isinstance(word, list) else json.dumps({{'id': message['id'], **word}}).encode()
    os.write(4, struct.pack('<I', len(data)) + data)
frames.send = forged
class E(Exception): pass
class P:
    def __init__(self, x): pass
def f(*a, **k): return 1
def g(*a, **k): return 1
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox(workers=1)
    box.start_here()
    yield box
    box.close()


@seed(0)
@settings(SETTINGS, max_examples=200 // CASES_EACH)
@given(script=SCRIPTS, first=st.integers(0, len(PROGRAMS) - 1))
def test_no_forged_frame_makes_a_pass_or_a_failure(
    sandbox: Sandbox, script: list[dict[str, Any] | bytes], first: int
) -> None:
    code = FORGER.format(script=json.dumps([list(word) if isinstance(word, bytes) else word for word in script]))

    async def run_some() -> list[Outcome]:
        programs = [PROGRAMS[(first + step) % len(PROGRAMS)] for step in range(CASES_EACH)]
        return [await sandbox.run(msgspec.structs.replace(program, code=code), LIMITS) for program in programs]

    for outcome in asyncio.run(run_some()):
        assert outcome.outcome != "pass", outcome
    assert sandbox.replaced == 0
