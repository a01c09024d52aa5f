"""What templates and snippets see of an answer: solver output, messages, traces, readable by attribute and by item.

Needs only the standard library, because the worker processes of snippets load this file by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any


class Node(dict[str, Any]):
    """A mapping whose keys are attributes too, all the way down."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for key, value in dict(*args, **kwargs).items():
            self[key] = as_node(value)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no `{name}` here; there is {', '.join(self) or 'nothing'}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = as_node(value)

    def to_json(self) -> Any:
        return {key: plain(value) for key, value in self.items()}

    model_dump = to_json


class MadeUpValues(Node):
    """Made-up values of a score; `missing` answers for a name that was not made up."""

    def __init__(self, values: dict[str, Any], missing: Callable[[str], Any]) -> None:
        super().__init__(values)
        object.__setattr__(self, "_missing", missing)

    def __missing__(self, name: str) -> Any:
        return object.__getattribute__(self, "_missing")(name)


class Content(list[Any]):
    """The parts of a message; as text, and to `in`, it is the text of its parts."""

    def __str__(self) -> str:
        return "\n".join(text_of_part(part) for part in self)

    def __contains__(self, item: object) -> bool:
        return item in str(self) if isinstance(item, str) else super().__contains__(item)


class ModelOutput(str):
    """The last answer of a model: its text, and the server's response around it (`choices[0].message.content`)."""

    data: Node

    def __new__(cls, text: str, data: dict[str, Any] | None = None) -> ModelOutput:
        made = super().__new__(cls, text)
        made.data = Node(data or {})
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def __getitem__(self, key: Any) -> Any:
        return self.data[key] if isinstance(key, str) else str.__getitem__(self, key)

    def to_json(self) -> Any:
        return self.data.to_json()

    model_dump = to_json


class SolverTrace:
    """A conversation as a list of items: messages, function calls and their outputs."""

    FORMAT = "open_responses"

    def __init__(
        self,
        items: Iterable[Any] = (),
        metadata: dict[str, Any] | None = None,
        *,
        trace: SolverTrace | None = None,
        raw_outputs: Iterable[Any] = (),
    ) -> None:
        """`trace` and `raw_outputs` are for snippets written for other programs."""
        self.items: list[Any] = [as_item(item) for item in (items if trace is None else trace.items)]
        self.metadata = metadata or {}
        self.raw_outputs: list[Any] = list(raw_outputs)
        self.direct_ios: Any = None

    @classmethod
    def from_items(cls, items: Iterable[Any]) -> SolverTrace:
        return cls(items)

    def to_json(self) -> Any:
        return {"FORMAT": self.FORMAT, "items": [plain(item) for item in self.items], "metadata": plain(self.metadata)}

    model_dump = to_json

    # --- writing

    def append(self, item: Any) -> None:
        self.items.append(as_item(item))

    def extend(self, items: Iterable[Any]) -> None:
        for item in items:
            self.append(item)

    def append_system_message(self, text: str) -> None:
        self.append(message("system", text))

    def append_user_message(self, text: str) -> None:
        self.append(message("user", text))

    def append_assistant_message(self, text: str) -> None:
        self.append(message("assistant", text))

    def append_custom_task_input_message(self, content: Any) -> None:
        self.append({"type": "custom_task_input_message", "content": content})

    def add_model_response(self, response: Any) -> None:
        self.extend(response.items)
        self.raw_outputs.append(response.raw_output)

    # --- reading

    @property
    def preamble(self) -> list[Any]:
        """Everything before the first user message."""
        return self.items[: self._first_user()]

    @property
    def conversation_items(self) -> list[Any]:
        return self.items[self._first_user() :]

    @property
    def turns(self) -> list[Node]:
        turns: list[Node] = []
        for item in self.conversation_items:
            if is_message(item, "user"):
                turns.append(Node(user_message=item, assistant_items=[]))
            else:
                turns[-1]["assistant_items"].append(item)
        for turn in turns:
            inner = turn["assistant_items"]
            turn["assistant_messages"] = [item for item in inner if is_message(item, "assistant")]
            turn["function_calls"] = [item for item in inner if item.get("type") == "function_call"]
            turn["function_outputs"] = [item for item in inner if item.get("type") == "function_call_output"]
            turn["function_call_pairs"] = _pairs(turn["function_calls"], turn["function_outputs"])
        return turns

    @property
    def system_messages(self) -> list[Any]:
        return [item for item in self.conversation_items if is_message(item, "system")]

    @property
    def user_messages(self) -> list[Any]:
        return [item for item in self.conversation_items if is_message(item, "user")]

    @property
    def assistant_messages(self) -> list[Any]:
        return [item for item in self.conversation_items if is_message(item, "assistant")]

    @property
    def function_calls(self) -> list[Any]:
        return [item for item in self.conversation_items if item.get("type") == "function_call"]

    @property
    def function_outputs(self) -> list[Any]:
        return [item for item in self.conversation_items if item.get("type") == "function_call_output"]

    def get_last_assistant_text(self) -> str | None:
        return self._last_text("assistant")

    def get_last_user_text(self) -> str | None:
        return self._last_text("user")

    def get_first_system_prompt(self) -> str | None:
        return next((str(item["content"]) for item in self.items if is_message(item, "system")), None)

    def get_function_calls_by_name(self, name: str) -> list[Any]:
        return [call for call in self.function_calls if call.get("name") == name]

    def get_function_output_for_call(self, call_id: str) -> Any:
        return next((item for item in self.function_outputs if item.get("call_id") == call_id), None)

    def get_function_call_pairs(self) -> list[tuple[Any, Any]]:
        return _pairs(self.function_calls, self.function_outputs)

    def get_function_call_arguments(self, call: Any) -> Any:
        arguments = call.get("arguments")
        return as_node(json.loads(arguments)) if isinstance(arguments, str) and arguments.strip() else arguments or {}

    def get_function_output_text(self, output: Any) -> str:
        value = output.get("output")
        return value if isinstance(value, str) else str(Content(value or []))

    def _first_user(self) -> int:
        return next((at for at, item in enumerate(self.items) if is_message(item, "user")), len(self.items))

    def _last_text(self, role: str) -> str | None:
        return next((str(item["content"]) for item in reversed(self.items) if is_message(item, role)), None)


class SolverOutput:
    """What a solver left: the last output, the messages, the trace; also by item."""

    def __init__(self, payload: dict[str, Any]) -> None:
        self.messages = [Node(each) for each in payload.get("messages", ())]
        self.trace = SolverTrace(payload.get("items", ()))
        self.raw_outputs = [ModelOutput(output["text"], output.get("data")) for output in payload.get("outputs", ())]
        prediction = payload.get("prediction", "")
        last = self.raw_outputs[-1] if self.raw_outputs else None
        self.output = (
            last if last is not None and str(last) == prediction else ModelOutput(prediction, chat_answer(prediction))
        )
        self.trace.raw_outputs = self.raw_outputs
        self.direct_ios: Any = None

    @property
    def items(self) -> list[Any]:
        return self.trace.items

    def __getitem__(self, name: str) -> Any:
        if name in ("output", "messages", "trace", "raw_outputs", "items"):
            return getattr(self, name)
        raise KeyError(name)

    def __str__(self) -> str:
        return str(self.output)

    def to_json(self) -> Any:
        return {
            "output": plain(self.output),
            "messages": [plain(each) for each in self.messages],
            "trace": self.trace.to_json(),
        }

    model_dump = to_json


class ModelResponse:
    """What `await model.predict(…)` gives."""

    def __init__(self, text: str | None = None, items: Iterable[Any] = (), raw_output: Any = None) -> None:
        self.items = [as_item(item) for item in items]
        self.text = text if text is not None else SolverTrace(self.items).get_last_assistant_text() or ""
        self.raw_output = (
            as_output(raw_output) if raw_output is not None else ModelOutput(self.text, chat_answer(self.text))
        )


def as_output(output: Any) -> ModelOutput:
    """A model's output, also where a snippet made it of a mapping with `choices`."""
    if isinstance(output, ModelOutput):
        return output
    data = plain(output)
    choices = data.get("choices") if isinstance(data, dict) else None
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    return ModelOutput(str(text or ""), data if isinstance(data, dict) else chat_answer(str(text or "")))


def chat_answer(text: str) -> dict[str, Any]:
    """A plain text in the shape of a chat answer."""
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def message(role: str, text: Any) -> dict[str, Any]:
    """A message item whose text is one part."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "status": "completed", "content": [{"type": kind, "text": str(text)}]}


def is_message(item: Any, role: str) -> bool:
    return bool(item.get("type", "message") == "message" and item.get("role") == role)


def as_item(item: Any) -> Node:
    """One item of a trace; a chat message with plain text becomes a message item with one part."""
    if hasattr(item, "to_json"):
        item = item.to_json()
    if not isinstance(item, dict):
        raise TypeError(f"an item of a trace is a mapping, got {type(item).__name__}")
    made = Node(item)
    if "type" not in made and "role" in made:
        made["type"] = "message"
    if made.get("type") == "message":
        content = made.get("content")
        if isinstance(content, str):
            content = message(str(made.get("role")), content)["content"]
        dict.__setitem__(made, "content", Content(as_node(part) for part in content or []))
    return made


def text_of_part(part: Any) -> str:
    if isinstance(part, dict):
        return str(part.get("text", part.get("refusal", "")))
    return str(part)


def as_node(value: Any) -> Any:
    if isinstance(value, Content):
        return value
    if type(value) is dict:
        return Node(value)
    if type(value) is list:
        return [as_node(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """The JSON form of a view."""
    to_json = getattr(value, "to_json", None)
    if to_json is not None:
        return to_json()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def chat_messages(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Trace items as the messages a chat server takes."""
    messages: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            kept = {name: plain(item[name]) for name in ("name", "tool_calls", "tool_call_id") if item.get(name)}
            messages.append({"role": item.get("role"), "content": _chat_content(item.get("content")), **kept})
        elif kind == "function_call":
            call = {
                "id": item.get("call_id"),
                "type": "function",
                "function": {"name": item.get("name"), "arguments": item.get("arguments", "{}")},
            }
            if item.get("extra_content"):  # its vendor expects it back
                call["extra_content"] = plain(item["extra_content"])
            if messages and messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind == "function_call_output":
            text = item.get("output")
            text = text if isinstance(text, str) else str(Content(text or []))
            messages.append({"role": "tool", "content": text, "tool_call_id": item.get("call_id")})
        elif kind in ("custom_task_input_message", "custom_task_output_message"):
            content = item.get("content")
            role = "user" if kind == "custom_task_input_message" else "assistant"
            text = content if isinstance(content, str) else json.dumps(plain(content), ensure_ascii=False)
            messages.append({"role": role, "content": text})
    return messages


def _chat_content(content: Any) -> Any:
    """The text of a message; where it holds more than text, its parts."""
    parts = plain(content) if isinstance(content, list) else None
    if parts and any(isinstance(part, dict) and "text" not in part and "refusal" not in part for part in parts):
        return parts
    return str(content) if content is not None else ""


def trace_items(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chat messages as trace items."""
    items: list[dict[str, Any]] = []
    for each in messages:
        role, content = str(each.get("role")), each.get("content")
        if role == "tool":
            items.append({"type": "function_call_output", "call_id": each.get("tool_call_id"), "output": content})
            continue
        if content or not each.get("tool_calls"):
            parts = {"content": content} if isinstance(content, list) else {}
            items.append({**message(role, content if content is not None else ""), **parts})
        for call in each.get("tool_calls") or ():
            function = call.get("function", {})
            items.append(
                {
                    "type": "function_call",
                    "call_id": call.get("id"),
                    "name": function.get("name"),
                    "arguments": function.get("arguments", "{}"),
                    "status": "completed",
                    **({"extra_content": call["extra_content"]} if call.get("extra_content") else {}),
                }
            )
    return items


def _pairs(calls: Iterable[Any], outputs: Iterable[Any]) -> list[tuple[Any, Any]]:
    by_call: dict[Any, Any] = {item.get("call_id"): item for item in reversed(list(outputs))}
    return [(call, by_call.get(call.get("call_id"))) for call in calls]
