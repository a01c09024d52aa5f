"""OpenAI's Responses API, as the two templates of a model with an API of its own (see `adapted.py`).

Parameters that the API does not have (`stop`, `seed`) are sent anyway, so that the server rejects them and nothing is
dropped silently. The templates are part of cache keys and run fingerprints.
"""

from __future__ import annotations

RESPONSES_INPUT = """\
{%- set items = namespace(found=[]) -%}
{%- for message in input.messages -%}
  {%- if message.role == "tool" -%}
    {%- set said = {"type": "function_call_output", "call_id": message.tool_call_id,
                    "output": message.content | default("")} -%}
    {%- set items.found = items.found + [said] -%}
  {%- else -%}
    {%- if message.content | default("") -%}
      {%- set items.found = items.found + [{"role": message.role, "content": message.content}] -%}
    {%- endif -%}
    {%- for call in message.tool_calls | default([], true) -%}
      {%- set made = {"type": "function_call", "call_id": call.id, "name": call.function.name,
                      "arguments": call.function.arguments} -%}
      {%- set items.found = items.found + [made] -%}
    {%- endfor -%}
  {%- endif -%}
{%- endfor -%}
{%- set tools = namespace(found=[]) -%}
{%- for tool in input.tools | default([]) -%}
  {%- set tools.found = tools.found + [{"type": "function"} | merge(tool.function)] -%}
{%- endfor -%}
{"model": {{ model_info.model_key | tojson }}, "input": {{ items.found | tojson }}
{%- if input.max_tokens is defined %}, "max_output_tokens": {{ input.max_tokens }}{% endif -%}
{%- if tools.found %}, "tools": {{ tools.found | tojson }}{% endif -%}
{%- if input.response_format is defined -%}
  {%- set wanted = input.response_format -%}
  , "text": {"format": {{ {"type": wanted.type} | merge(wanted.json_schema | default({})) | tojson }}}
{%- endif -%}
{%- for name in input -%}
  {%- if name not in ("messages", "max_tokens", "tools", "response_format") -%}
    , {{ name | tojson }}: {{ input[name] | tojson }}
  {%- endif -%}
{%- endfor -%}
}"""

RESPONSES_OUTPUT = """\
{%- set answer = body | fromjson -%}
{%- set found = namespace(text=none, refusal=none, calls=[]) -%}
{%- for item in answer.output -%}
  {%- if item.type == "message" -%}
    {%- for part in item.content -%}
      {%- if part.type == "output_text" -%}{%- set found.text = (found.text or "") ~ part.text -%}
      {%- elif part.type == "refusal" -%}{%- set found.refusal = part.refusal -%}{%- endif -%}
    {%- endfor -%}
  {%- elif item.type == "function_call" -%}
    {%- set call = {"name": item.name, "arguments": item.arguments} -%}
    {%- set found.calls = found.calls + [{"id": item.call_id, "type": "function", "function": call}] -%}
  {%- endif -%}
{%- endfor -%}
{%- set why = answer.incomplete_details.reason if answer.incomplete_details | default(none) else none -%}
{%- set ended = "length" if why == "max_output_tokens" else why -%}
{"choices": [{"message": {"role": "assistant",
  "content": {{ found.text | tojson }}, "refusal": {{ found.refusal | tojson }}
{%- if found.calls %}, "tool_calls": {{ found.calls | tojson }}{% endif -%}
}, "finish_reason": {{ (ended or ("tool_calls" if found.calls else "stop")) | tojson }}}]
{%- if answer.usage | default(none) %}, "usage": {"prompt_tokens": {{ answer.usage.input_tokens }},
                       "completion_tokens": {{ answer.usage.output_tokens }}}{% endif -%}
}"""
