"""The records of LiveCodeBench, code generation.

The hidden tests of the published files are a text inside base64, zlib and a pickle. The pickle is never loaded: its
instructions are read one by one, and anything but a single text is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any

from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources

WITH_STARTER = (
    "You will use the following starter code to write the solution to the problem and enclose your code within "
    "delimiters."
)
WITHOUT_STARTER = (
    "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample "
    "inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the "
    "inputs, runs the algorithm and writes output to STDOUT."
)
_STARRED = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
)
PRELUDE = (
    "".join(f"from {name} import *\n" for name in _STARRED.split())
    + "from builtins import *\nfrom typing import *\n"
    + "".join(f"import {name}\n" for name in _STARRED.split())
    + "sys.setrecursionlimit(50000)\n"
)
"""What the published evaluation imports before every program."""

TEST_SECONDS = 6
MOST_SECONDS = 60
"""For all calls of one function together: they run in one process."""
MAX_TEST_BYTES = 256 << 20
KEPT_TEST_BYTES = 6 << 20
"""Of one problem's tests: a line of a task file has 8 MiB."""


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    names = [name for form in ("jsonl", "parquet") for name in sources.names(f"*.{form}")]
    kinds = {"livecodebench-stdin": False, "livecodebench-functional": True}
    for task, functional in kinds.items():
        fields = (field for name in names for field in _fields(sources, name, settings, functional=functional))
        if (first := next(fields, None)) is not None:
            yield TaskRecords(task, chain([first], fields))


def _fields(sources: Sources, name: str, settings: RecipeSettings, *, functional: bool) -> Iterator[Fields]:
    for record in sources.records(name):
        public = json.loads(record["public_test_cases"])
        if (public[0]["testtype"] == "functional") is not functional:
            continue
        tests = public if settings.variant == "public" else [*public, *hidden_tests(record["private_test_cases"])]
        kept = _within(tests)
        if len(kept) < len(tests):
            sources.remark(
                f"tests of more than {KEPT_TEST_BYTES >> 20} MiB a problem are left out, the largest first; the "
                "metadata of a sample counts them (`tests_left_out`)"
            )
        yield {
            "file": name,
            "question_id": record["question_id"],
            "question_content": record["question_content"],
            "starter_code": record.get("starter_code"),
            "form": WITH_STARTER if record.get("starter_code") else WITHOUT_STARTER,
            "prelude": PRELUDE,
            "platform": str(record.get("platform", "")),
            "difficulty": str(record.get("difficulty", "")),
            "contest_date": str(record.get("contest_date", ""))[:10],
            "left_out": len(tests) - len(kept),
            **(_called(record, kept) if functional else _printed(kept)),
        }


def _printed(tests: list[dict[str, str]]) -> Fields:
    inputs, outputs = [test["input"] for test in tests], [test["output"] for test in tests]
    return {"inputs": inputs, "outputs": outputs, "seconds": TEST_SECONDS}


def _called(record: dict[str, Any], tests: list[dict[str, str]]) -> Fields:
    """Each line of the input is one argument in JSON; the result is JSON too."""
    pairs = [[[json.loads(line) for line in test["input"].split("\n")], json.loads(test["output"])] for test in tests]
    function = json.loads(record["metadata"])["func_name"]
    return {"pairs": pairs, "function": function, "seconds": min(MOST_SECONDS, TEST_SECONDS * len(pairs))}


def _within(tests: list[dict[str, str]]) -> list[dict[str, str]]:
    """As many tests as there is room for, the smallest first, in their own order."""
    room, kept = KEPT_TEST_BYTES, set()
    sizes = [len(json.dumps([test["input"], test["output"]])) for test in tests]
    for number in sorted(range(len(tests)), key=sizes.__getitem__):
        room -= sizes[number]
        if room < 0:
            break
        kept.add(number)
    return [test for number, test in enumerate(tests) if number in kept]


def hidden_tests(text: str) -> list[dict[str, str]]:
    """The hidden tests of a problem: JSON, or JSON in a pickled text, packed."""
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    try:
        packed = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"the hidden tests are neither JSON nor base64: {error}") from None
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed, MAX_TEST_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"the hidden tests of a problem are larger than {MAX_TEST_BYTES >> 20} MiB")
    return list(json.loads(pickled_text(content)))


_TEXTS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def pickled_text(content: bytes) -> str:
    """The text that a pickle of one text holds, without loading it; `ValueError` for any other pickle."""
    texts: list[str] = []
    end = 0
    for operation, argument, position in pickletools.genops(content):
        if operation.name in _TEXTS:
            texts.append(str(argument))
        elif operation.name not in _AROUND:
            raise ValueError(f"a pickle with the instruction {operation.name}, where a text belongs; it is not loaded")
        end = position or 0
    if len(texts) != 1 or end != len(content) - 1:
        raise ValueError(f"a pickle of {len(texts)} texts and {len(content) - 1 - end} bytes more, not of one text")
    return texts[0]
