"""The conversation of an attempt, turn by turn: the one human-readable form of a record.

Built from a record as unchecked plain data: the viewer, reports and the terminal show the same turns. A tool call
includes its result, and reasoning comes before the text it led to.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, AnyStr, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.formats.media_files import FILE
from assay.results.server_template import applies_template, is_served
from assay.scorers.expected import unseen_columns
from assay.storage.packed_text import sent_texts
from assay.text.wording import count_of, shortened

SHORT_QUESTION = 60
"""Characters: a last paragraph shorter than this ("Answer:") is not a question by itself."""


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a turn."""

    kind: str
    """`text`, `reasoning`, `refusal`, `image`, `audio`, `call`, `result` (without its call), or `data`."""
    text: str = ""
    """The text, or the address of an image or a sound."""
    name: str = ""
    """Of a tool; of an image or a sound, that of its file."""
    value: Any = None
    """The arguments of a call, parsed or as text; or content of an unknown type."""
    result: tuple[Part, ...] | None = None
    """The result of a call."""


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of the conversation."""

    role: str
    parts: tuple[Part, ...]
    name: str = ""

    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if part.kind == "text")


def turns_of(record: Mapping[str, Any]) -> list[Turn]:
    """The whole conversation of an attempt, its answer last."""
    trace = _mapping(record.get("trace"))
    if not trace:
        prompt = record.get("last_request")
        return [_turn("user", prompt)] if isinstance(prompt, str) and prompt else []
    completions = [_mapping(item) for item in _list(trace.get("completions"))]
    messages = _messages(trace)
    if not messages or _mapping(messages[-1]).get("role") != "assistant":
        messages = [*messages, _answer(trace, completions)]
    return list(_joined(messages, _thoughts(messages, completions)))


def framed_turns(turns: Sequence[Turn], system: str | None, prefill: str | None) -> list[Turn]:
    """The turns with what the run adds to each request, which its records leave out because all share it.

    The system message comes first, in one turn with the task's own; the prefill before the last answer.
    """
    framed = list(turns)
    if not framed:
        return framed
    if prefill:
        answered = framed[-1].role == "assistant"
        framed.insert(len(framed) - 1 if answered else len(framed), _turn("prefill", prefill))
    if system:
        task_parts = framed.pop(0).parts if framed[0].role == "system" else ()
        framed.insert(0, Turn(role="system", parts=(Part(kind="text", text=system), *task_parts)))
    return framed


class SentPrompt(Struct, frozen=True, kw_only=True):
    """What the model really got: the text where assay rendered it, else who did."""

    texts: list[str]
    """The different ones of the attempt's requests, in their order."""
    note: str | None
    """Where the conversation above is all that assay sent."""


def sent_prompt(record: Mapping[str, Any], model: Mapping[str, Any]) -> SentPrompt:
    """The prompts of an attempt as they were sent to the model of this identity (`RunFile.model`)."""
    trace = _mapping(record.get("trace"))
    texts = sent_texts(trace)
    if texts:
        whole = texts == [trace.get("prompt")]
        return SentPrompt(texts=texts, note="as it is, without a chat template" if whole else None)
    if not trace or not is_served(model):
        return SentPrompt(texts=[], note=None)
    if applies_template(model):
        return SentPrompt(texts=[], note="as messages; template applied by the server")
    return SentPrompt(texts=[], note="as it is; the server adds its own begin token, if it has one")


def prompt_of(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Role and text of every turn before the last answer."""
    trace = _mapping(record.get("trace"))
    if not trace:
        return [("user", str(record.get("last_request") or ""))]
    messages = [_mapping(message) for message in _messages(trace)]
    if messages and messages[-1].get("role") == "assistant":
        messages.pop()
    return [(str(message.get("role", "")), _words_or_files(message.get("content"))) for message in messages]


def _words_or_files(content: Any) -> str:
    """The text of a message; of one without words, what else it holds."""
    words = words_of(content)
    media = [part for part in _content(content) if part.kind in ("image", "audio")] if not words else []
    return words or " ".join(f"({part.kind} {part.name})" if part.name else f"({part.kind})" for part in media)


class HasPrediction(Protocol):
    """A trace, decoded as far as its reader needs it."""

    @property
    def prediction(self) -> str: ...


def answer_of(trace: HasPrediction) -> str:
    """The model's answer as text, or the calls that it made instead."""
    answer = trace.prediction
    return answer if answer and not answer.isspace() else answer_in(msgspec.json.decode(msgspec.json.encode(trace)))


def answer_in(trace: Mapping[str, Any]) -> str:
    """The same of a trace as plain data."""
    answer = str(trace.get("prediction", ""))
    if answer and not answer.isspace():
        return answer
    turns = turns_of({"trace": trace})
    calls = [part for part in turns[-1].parts if part.kind == "call"] if turns else []
    return "\n".join(map(call_text, calls)) or answer


def call_text(call: Part) -> str:
    """A call in the form of a program: `get_weather(city="Oslo")`; arguments without names as text or JSON."""
    arguments = call.value
    if isinstance(arguments, dict) and all(isinstance(name, str) and name.isidentifier() for name in arguments):
        inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    elif arguments is None or isinstance(arguments, str):
        inside = arguments or ""
    else:
        inside = json.dumps(arguments, ensure_ascii=False)
    return f"{call.name}({inside})"


def words_of(content: Any) -> str:
    """A message's content as text: plain, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.text for part in _content(content) if part.kind == "text")
    return "" if content is None else str(content)


def described(content: Any) -> str:
    """A message's content as text to read and to compare: an image or a sound is only mentioned."""
    return content if isinstance(content, str) else "\n".join(map(_described, _content(content)))


def _described(part: Part) -> str:
    if part.kind in ("image", "audio"):
        return mention(part)
    return json.dumps(part.value, ensure_ascii=False, default=str) if part.kind == "data" else part.text


def mention(part: Part) -> str:
    """An image or a sound in words: `(image cats/1.png, image/png, 1,524 bytes, sha256 0520f7df)`."""
    name = f"{part.kind} {shortened(part.name, 100)}" if part.name else part.kind
    head, _, data = part.text.partition(",")
    if not head.startswith("data:"):
        return f"({name}, not loaded: {shortened(part.text, 200)})"
    try:
        content = base64.b64decode(data, validate=True) if head.endswith(";base64") else data.encode(errors="replace")
    except ValueError:
        content = data.encode(errors="replace")
    kind = shortened(head.removeprefix("data:").partition(";")[0], 40) or "text/plain"
    return f"({name}, {kind}, {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()[:8]})"


class SharedBeginning(Struct, frozen=True, kw_only=True):
    """How much of the prompt is the same in every sample of the task."""

    turns: int = 0
    """Whole turns at the start."""
    characters: int = 0
    """Of the turn after those."""


SEPARATOR = "\x1e"
LONGEST_SHARED = 200_000


def flat(turns: Sequence[tuple[str, str]]) -> str:
    """The prompt as one text, of which the samples of a task share a beginning."""
    return SEPARATOR.join(f"{role}\x1f{text}" for role, text in turns)[:LONGEST_SHARED]


def common_beginning(first: AnyStr, second: AnyStr) -> AnyStr:
    """The longest text that both begin with."""
    if second.startswith(first):
        return first
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if second.startswith(first[:middle]) else (low, middle - 1)
    return first[:low]


def shared_beginning(beginning: str, prompt: Sequence[tuple[str, str]]) -> SharedBeginning:
    """Where the shared beginning ends in this prompt: after whole turns and paragraphs, never at its end."""
    whole, turns = flat(prompt), beginning.count(SEPARATOR)
    if turns >= len(prompt) or not whole.startswith(beginning) or len(whole) <= len(beginning):
        return SharedBeginning()
    role, text = prompt[turns]
    most = len(beginning) - (beginning.rfind(SEPARATOR) + 1) - len(role) - 1
    return SharedBeginning(turns=turns, characters=_paragraph_end(text, max(0, most)))


def _paragraph_end(text: str, most: int) -> int:
    """The end of the last blank line within the first `most` characters; 0 where there is none."""
    at = text.rfind("\n\n", 0, most)
    return 0 if at < 0 else at + 2


def last_question(prompt: Sequence[tuple[str, str]], shared: SharedBeginning | None = None) -> str:
    """The sample's own question: the last turn that is not the model's, without the shared beginning."""
    place = next((at for at in range(len(prompt) - 1, -1, -1) if prompt[at][0] not in ("assistant", "tool")), None)
    if place is None:
        return ""
    text = prompt[place][1]
    return text[shared.characters :] if shared is not None and shared.turns == place else text


def beginnings_of(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The shared beginning of these records' prompts, by task."""
    beginnings: dict[str, str] = {}
    for record in records:
        task, text = str(record.get("task", "")), flat(prompt_of(record))
        beginnings[task] = common_beginning(beginnings[task], text) if task in beginnings else text
    return beginnings


def question_in(record: Mapping[str, Any], beginnings: Mapping[str, str]) -> str:
    """The sample's own question, without the shared beginning of its task."""
    prompt = prompt_of(record)
    return last_question(prompt, shared_beginning(beginnings.get(str(record.get("task", "")), ""), prompt))


def expected_in(record: Mapping[str, Any], columns: Collection[str] = ()) -> str | None:
    """What the answer was compared with where the sample has no targets, as its scorers recorded it.

    Where they did not, because the attempt failed, the short ones of the columns that a judge would have been shown.
    """
    scores = record.get("scores")
    for score in scores if isinstance(scores, list | tuple) else ():
        metadata = score.get("metadata") if isinstance(score, dict) else None
        if not isinstance(metadata, dict):
            continue
        expected = metadata.get("expected")
        if isinstance(expected, dict) and expected:
            return _cells(expected)
        for name in ("answer_gt", "ground_truth_correct_choice"):
            if isinstance(metadata.get(name), str):
                return str(metadata[name])
    row = _mapping(_mapping(record.get("metadata")).get("sample"))
    return _cells(unseen_columns(row, columns, "\n".join(text for _, text in prompt_of(record)))) or None


def _cells(columns: Mapping[str, Any]) -> str:
    alone = len(columns) == 1
    return "\n".join(str(cell) if alone else f"{name}: {cell}" for name, cell in columns.items())


def ends_kept(text: str, longest: int) -> str:
    """A long text without its middle: what a prompt asks for is at its beginning or at its end."""
    if len(text) <= longest:
        return text
    head = longest // 3
    return f"{text[:head]} … ({len(text) - longest:,} more characters) … {text[head - longest :]}"


USER_TURN = "\n\nuser: "
"""Where `per_example.question` begins another turn of a conversation."""


def question_end(text: str, longest: int) -> str:
    """The last of several turns, or the last paragraphs of a long prompt: the question after few-shot examples."""
    if text.count(USER_TURN) > 1:
        return f"… {text[text.rindex(USER_TURN) :].lstrip()[-longest:]}"
    if len(text) <= longest:
        return text
    paragraphs = text.rstrip().split("\n\n")
    kept = paragraphs.pop()
    while paragraphs and len(kept) < SHORT_QUESTION and len(kept) + len(paragraphs[-1]) < longest:
        kept = f"{paragraphs.pop()}\n\n{kept}"
    return f"… {kept[-longest:]}"


def without_examples(record: Mapping[str, Any], beginning: str) -> list[Turn]:
    """The turns of an attempt, with a count in place of the few-shot examples that its task's samples share."""
    turns, prompt = turns_of(record), prompt_of(record)
    shared = shared_beginning(beginning, prompt)
    begin = next((at for at, turn in enumerate(turns) if turn.role not in ("system", "developer")), 0)
    shown, cut = turns[begin : shared.turns], shared.characters
    examples = sum(turn.role == "assistant" for turn in shown)
    if examples:
        return [*turns[:begin], _turn("user", _example_count(examples)), *turns[shared.turns :]]
    place = shared.turns
    examples = worked_examples(prompt[place][1], cut) if cut else 0
    if not examples or turns[place].parts[0].kind != "text":
        return turns
    first, *rest = turns[place].parts
    parts = (Part(kind="text", text=f"{_example_count(examples)}\n\n{first.text[cut:]}"), *rest)
    return [*turns[:place], replace(turns[place], parts=parts), *turns[place + 1 :]]


def _example_count(examples: int) -> str:
    return f"({count_of(examples, 'few-shot example')}, the same in every sample)"


def worked_examples(text: str, characters: int) -> int:
    """How many questions in the shared beginning of a prompt have the form of the sample's own."""
    mark = text[characters:].lstrip().partition(":")[0]
    if not mark or len(mark) > 20 or "\n" in mark:
        return 0
    return sum(block.startswith(f"{mark}:") for block in text[:characters].split("\n\n"))


def _messages(trace: Mapping[str, Any]) -> list[Any]:
    """The trace as chat messages: its own, its prompt as one, or its items where they have tool calls."""
    items = [_mapping(item) for item in _list(trace.get("items"))]
    if any(item.get("type") == "function_call" for item in items):
        return [message for item in items for message in _message_of(item)]
    messages = _list(trace.get("messages"))
    prompt = trace.get("prompt")
    return messages or ([{"role": "user", "content": prompt}] if isinstance(prompt, str) else [])


def _message_of(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An item of the Responses API as a chat message."""
    kind = item.get("type", "message")
    if kind == "function_call":
        call = {"name": item.get("name"), "arguments": item.get("arguments")}
        yield {"role": "assistant", "tool_calls": [{"id": item.get("call_id"), "function": call}]}
    elif kind == "function_call_output":
        yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    elif "role" in item:
        yield dict(item)


def _answer(trace: Mapping[str, Any], completions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    last = completions[-1] if completions else {}
    calls = {"tool_calls": last["tool_calls"]} if last.get("tool_calls") else {}
    return {"role": "assistant", "content": trace.get("prediction", ""), **calls}


def _thoughts(messages: Sequence[Any], completions: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The completion behind each message, matched from the last one back while their texts are equal."""
    thoughts: dict[int, Mapping[str, Any]] = {}
    answers = [at for at, message in enumerate(messages) if _mapping(message).get("role") == "assistant"]
    if len(completions) == 1 and answers:
        return {answers[-1]: completions[0]}
    remaining = list(completions)
    for at in reversed(answers):
        text = words_of(_mapping(messages[at]).get("content"))
        if remaining and text == str(remaining[-1].get("text", "")):
            thoughts[at] = remaining.pop()
    return thoughts


def _joined(messages: Sequence[Any], thoughts: Mapping[int, Mapping[str, Any]]) -> Iterator[Turn]:
    """Each message as a turn; the result of a call goes with the call."""
    calls = {
        call.get("id") for message in messages for call in map(_mapping, _list(_mapping(message).get("tool_calls")))
    }
    results: dict[Any, list[Part]] = {}
    for message in map(_mapping, messages):
        if message.get("role") == "tool" and message.get("tool_call_id") in calls:
            results.setdefault(message.get("tool_call_id"), []).extend(_content(message.get("content")))
    for at, message in enumerate(map(_mapping, messages)):
        role = str(message.get("role", ""))
        if role == "tool" and message.get("tool_call_id") in results:
            continue
        parts = [*_thought(thoughts.get(at, {})), *_content(message.get("content"))]
        parts += [_call(call, results) for call in map(_mapping, _list(message.get("tool_calls")))]
        name = message.get("name")
        yield Turn(role=role, parts=tuple(parts), name=name if isinstance(name, str) else "")


def _thought(completion: Mapping[str, Any]) -> Iterator[Part]:
    for kind in ("reasoning", "refusal"):
        if isinstance(text := completion.get(kind), str) and text:
            yield Part(kind=kind, text=text)


def _call(call: Mapping[str, Any], results: Mapping[Any, list[Part]]) -> Part:
    function = _mapping(call.get("function")) or call
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            pass  # shown as text
    result = results.get(call.get("id"))
    return Part(
        kind="call",
        name=str(function.get("name") or "?"),
        value=arguments,
        result=None if result is None else tuple(result),
    )


def _content(content: Any) -> list[Part]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Part(kind="text", text=content)]
    if not isinstance(content, list):
        return [Part(kind="data", value=content)]
    return [_part(item) for item in content]


def _part(part: Any) -> Part:
    """A content part in any of the formats of chat servers."""
    if isinstance(part, str):
        return Part(kind="text", text=part)
    fields = _mapping(part)
    if isinstance(text := fields.get("text"), str):
        return Part(kind="text", text=text)
    image = fields.get("image_url")
    address = image.get("url") if isinstance(image, dict) else image
    name = file if isinstance(file := fields.get(FILE), str) else ""
    if isinstance(address, str):
        return Part(kind="image", text=address, name=name)
    sound = _mapping(fields.get("input_audio"))
    if isinstance(sound.get("data"), str):
        kind = sound.get("format") if sound.get("format") in ("wav", "mp3", "ogg", "flac") else "wav"
        return Part(kind="audio", text=f"data:audio/{kind};base64,{sound['data']}", name=name)
    return Part(kind="data", value=part)


def _turn(role: str, text: str) -> Turn:
    return Turn(role=role, parts=(Part(kind="text", text=text),))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
