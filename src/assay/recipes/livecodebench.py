"""LiveCodeBench, code generation: problems of programming contests; every test must pass, in the sandbox.

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

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

SYSTEM = (
    "You are an expert Python programmer. You will be given a question (problem specification) and will generate a "
    "correct Python program that matches the specification and passes all tests."
)
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


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    names = [name for form in ("jsonl", "parquet") for name in sources.names(f"*.{form}")]
    kinds = {"livecodebench-stdin": False, "livecodebench-functional": True}
    for task, functional in kinds.items():
        rows = (row for name in names for row in _rows(sources, name, settings, functional=functional))
        if (first := next(rows, None)) is not None:
            yield task, chain([first], rows)


def _rows(sources: Sources, name: str, settings: RecipeSettings, *, functional: bool) -> Iterator[Row]:
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
            "id": str(record["question_id"]),
            "prompt": (prompt := _prompt(record)),
            "metric": "code_exec",
            "post_process": "extract_last_code_block",
            **(_called(record, prompt, kept) if functional else _printed(prompt, kept)),
            "metadata": {
                "platform": str(record.get("platform", "")),
                "difficulty": str(record.get("difficulty", "")),
                "contest_date": str(record.get("contest_date", ""))[:10],
                "tests_left_out": len(tests) - len(kept),
                "source_sha256": sources.sha256(name),
            },
        }


def _prompt(record: dict[str, Any]) -> str:
    starter = record.get("starter_code")
    form = WITH_STARTER if starter else WITHOUT_STARTER
    return (
        f"### Question:\n{record['question_content']}\n\n### Format: {form}\n"
        f"```python\n{starter or '# YOUR CODE HERE'}\n```\n\n### Answer: (use the provided format with backticks)\n\n"
    )


def _extras(prompt: str, seconds: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}],
        "prelude": PRELUDE,
        "imports": "any",
        "all_or_nothing": True,
        "cpu_seconds": seconds,
        "generation": {"max_tokens": 2000},
    }


def _printed(prompt: str, tests: list[dict[str, str]]) -> dict[str, Any]:
    extras = {"stdout": True, "stdin": [test["input"] for test in tests], "lenient_output": True}
    return {"targets": [test["output"] for test in tests], "extras": {**_extras(prompt, TEST_SECONDS), **extras}}


def _called(record: dict[str, Any], prompt: str, tests: list[dict[str, str]]) -> dict[str, Any]:
    """Each line of the input is one argument in JSON; the result is JSON too."""
    pairs = [[[json.loads(line) for line in test["input"].split("\n")], json.loads(test["output"])] for test in tests]
    function = json.loads(record["metadata"])["func_name"]
    extras = {"io_pairs": pairs, "function": function, "star": True, "class_name": "Solution"}
    seconds = min(MOST_SECONDS, TEST_SECONDS * len(pairs))
    return {"targets": [], "extras": {**_extras(prompt, seconds), **extras}}


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


_HUB = (
    "https://huggingface.co/datasets/livecodebench/code_generation_lite/resolve/"
    "0fe84c3912ea0c4d4a78037083943e8f0c4dd505/"
)

RECIPE = Recipe(
    name="livecodebench",
    title="LiveCodeBench (code generation)",
    source="livecodebench/code_generation_lite on the hub: test.jsonl, test2.jsonl … test6.jsonl (releases v1 to v6)",
    licence="CC (dataset card); the problems are those of AtCoder, LeetCode and Codeforces",
    reference="Jain et al. 2024, LiveCodeBench: Holistic and Contamination Free Evaluation of LLMs for Code",
    variants={
        "all-tests": "public and hidden tests; the program in the last code block must pass every one",
        "public": "the public tests alone, which the problem shows",
    },
    default_shots=0,
    make=_make,
    sha256={},
    downloads=(PublishedFile("test6.jsonl", f"{_HUB}test6.jsonl", 134_303_240),),
    notes=(
        "no sha256 of the published files is known here: they need --accept-other-source, or `assay recipe fetch`; "
        "tested on records made in the published shape",
        "`fetch` downloads what release v6 added (175 problems); the files before it come from the same address",
        "the published limit of 6 seconds a test counts CPU time here; calls of one function share a minute",
        "an answer ends after 2,000 tokens, as published: models that think need more (--max-tokens)",
        "published numbers are of temperature 0.2 and ten answers (--temperature 0.2 --repeat 10)",
    ),
    scales=False,
)
