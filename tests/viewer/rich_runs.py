"""A run whose samples hold Markdown, maths, code, pictures, tool calls, few-shot examples and repeats."""

from __future__ import annotations

import asyncio
import base64
import struct
import zlib
from pathlib import Path

import msgspec
from tests.journals import write_lines
from tests.viewer.demo_runs import programs, record, run_file

from assay.core.types import Completion, Message, Record, Sample
from assay.scorers.from_metric import from_metric

ANSWER = """### Result

The **answer** follows from $a^2+b^2=c^2$ and costs $5 and $6.

So 3*60 = 180, and 30*2 is less.

| x | y |
|--:|---|
| 1 | *two* |

```python
def f(x):
    return x ** 2  # square
```

$$
\\int_0^1 x^2\\,dx = \\frac{1}{3}
$$

\\begin{align} a &= b \\\\ c &= d \\end{align}

1. one `code`
2. two [link](https://example.org/x) <b id="raw">raw</b> ![far](https://example.org/far.png)
"""
SHOTS = "".join(f"Question: What is {n} + {n}?\nAnswer: It is {n + n}.\n\n" for n in range(2, 10))
QUESTIONS = ["Janet's ducks lay 16 eggs a day. How many a week?", "A robe takes 2 bolts. How many for three?"]
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


def make_rich(folder: Path) -> Path:
    folder.mkdir(parents=True)
    run = run_file("rich", 9)
    repeated = msgspec.structs.replace(run, config=msgspec.structs.replace(run.config, repeat=2))
    (folder / "run.json").write_bytes(msgspec.json.encode(repeated))
    lines = [few_shot(0, "112", 1), few_shot(1, "7", 1), few_shot(0, "96", 2), pictured(), with_tools()]
    lines += [record("programs", 2, **programs(2, False)), contained()]
    write_lines(folder / "journal.jsonl", lines)
    return folder


def make_world(folder: Path) -> Path:
    """Other scripts, in other directions, an answer of 100 kB, and a conversation of several turns."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(msgspec.json.encode(run_file("world", 4)))
    turns = [("user", "Plan a trip."), ("assistant", "Where to?"), ("user", "Somewhere cheaper than Rome.")]
    messages = tuple(Message(role=role, content=content) for role, content in turns)
    lines = [
        record("capitals", 0, prompt="日本の首都はどこですか。", answer="東京です。", targets=("東京",), value=1.0),
        record("capitals", 1, prompt="ما هي عاصمة مصر؟", answer="القاهرة", targets=("القاهرة",), value=1.0),
        record("capitals", 2, prompt="Write a lot.", answer="word " * 20_000, targets=("word",), value=0.0),
        record("capitals", 3, messages=messages, answer="Lisbon.", targets=("Lisbon",), value=1.0),
    ]
    write_lines(folder / "journal.jsonl", lines)
    return folder


def make_calls(folder: Path, city: str) -> Path:
    """One sample, answered by a call alone."""
    folder.mkdir(parents=True)
    run = run_file("caller", 1)
    only = tuple(definition for definition in run.definitions if definition.name == "capitals")
    (folder / "run.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(run, definitions=only)))
    call = {"id": "c1", "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'}}
    made = record("capitals", 0, prompt="Weather?", answer="", targets=("sun",), value=0.0)
    assert made.trace is not None
    trace = msgspec.structs.replace(made.trace, completions=(Completion(text="", tool_calls=[call]),))
    line = msgspec.json.encode(msgspec.structs.replace(made, trace=trace))
    write_lines(folder / "journal.jsonl", [line])
    return folder


def few_shot(index: int, said: str, attempt: int) -> Record:
    target = ("112", "6")[index]
    prompt = f"{SHOTS}Question: {QUESTIONS[index]}\nAnswer:"
    made = record(
        "arithmetic", index, prompt=prompt, answer=f"It is {said}.", read=said, targets=(target,),
        value=float(said == target),
    )  # fmt: skip
    return msgspec.structs.replace(made, attempt=attempt, key=f"{index:08x}{attempt:08x}")


def pictured() -> Record:
    parts = [
        {"type": "text", "text": "What colour is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{red_square()}"}},
        {"type": "input_audio", "input_audio": {"data": base64.b64encode(b"RIFF").decode(), "format": "wav"}},
    ]
    messages = (Message(role="system", content="Be brief."), Message(role="user", content=parts))
    return record("capitals", 0, messages=messages, answer=ANSWER, targets=("red",), value=1.0)


def contained() -> Record:
    """Scored by the real scorer, with its evidence."""
    made = record("capitals", 1, answer="It is a green square, not a red one.", targets=("red",), value=1.0)
    assert made.trace is not None
    score = asyncio.run(from_metric("match", metric="contains")(Sample(id="c", targets=("red",)), made.trace))
    return msgspec.structs.replace(made, scores=(score,))


def with_tools() -> Record:
    messages = (
        Message(role="user", content="Weather in Oslo?"),
        Message(role="assistant", content="", tool_calls=[CALL]),
        Message(role="tool", tool_call_id="c1", content='{"temp": 3}'),
        Message(role="assistant", content="It is 3 degrees."),
    )
    held = {"expected": {"reference": "Three degrees above zero."}}
    made = record("summaries", 1, messages=messages, answer="It is 3 degrees.", targets=(), value=0.4, evidence=held)
    assert made.trace is not None
    thought = (
        Completion(text="", tool_calls=[CALL], reasoning="I need the weather."),
        Completion(text="It is 3 degrees.", reasoning="Three degrees."),
    )
    return msgspec.structs.replace(made, trace=msgspec.structs.replace(made.trace, completions=thought))


def red_square() -> str:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes([200, 40, 40]) * 8 for _ in range(8))
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    image = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(image).decode()
