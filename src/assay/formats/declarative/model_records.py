"""What a file says of models: how they are reached, and the templates between them and a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from assay.formats.declarative.records import Description, LongDescription, Name, Options, OtherName
from assay.formats.declarative.yaml_reader import Plain
from assay.part_options import Choice, Doc, ModelKey, Problem, PythonOption, TemplateOption, part
from assay.schema_rules import absent, all_of, given
from assay.solvers.conversation_options import GENERATION_DOC
from assay.task_records import ModelTask

VENDOR = "latticeflow$"
"""Keys with this prefix name models built into that ecosystem, which are not in any file."""
IDENTITIES = ("latticeflow$identity", "latticeflow$openai_chat_completion")
"""Keys with this prefix name an adapter that changes nothing: the server speaks the chat completions protocol."""
RESPONSES = "latticeflow$openai_responses"
"""The adapter of servers that speak OpenAI's Responses API."""


@part(
    "A template.",
    name="adapter code",
    example="""{language: jinja, source_code: '{"query": {{ input.messages[-1].content | tojson }}}'}\n""",
)
class AdapterCode(Struct, frozen=True, kw_only=True):
    language: Annotated[Literal["jinja"], Doc("Templates are Jinja.")] = "jinja"
    source_code: Annotated[str, Meta(min_length=1), TemplateOption("The template.", None)]


_INPUT = Doc("Renders the body out of `input`, `model_info` and `kwargs`.")
_OUTPUT = Doc("Renders a chat completion out of `body` and `status_code`.")


def _key_or_templates(options: Mapping[str, Any]) -> list[Problem]:
    templates = [name for name in ("process_input", "process_output") if options[name] is not None]
    key = options["key"]
    problems: list[Problem] = []
    if (key is None) is (not templates) or (templates and len(templates) < 2):
        problems.append(((), "an adapter is a `key`, or `process_input` and `process_output`"))
    if isinstance(key, str) and key.startswith(VENDOR) and key != RESPONSES and not key.startswith(IDENTITIES):
        known = ", ".join(f"`{identity}…`" for identity in (*IDENTITIES, RESPONSES))
        message = (
            f"there is no adapter `{key}` here. Known: {known}; or write one with `process_input` and `process_output`"
        )
        problems.append((("key",), message))
    return problems


@part(
    "The key of a model adapter, or its two templates.",
    name="an adapter reference",
    example="{key: bot}\n",
    check=_key_or_templates,
    editor=(
        {
            "oneOf": [
                all_of(given("key"), absent("process_input", "process_output")),
                all_of(given("process_input"), given("process_output"), absent("key")),
            ]
        },
    ),
)
class AdapterReference(Struct, frozen=True, kw_only=True):
    key: Annotated[str | None, ModelKey("Of a file in `model_adapters/`, or of the run file.")] = None
    process_input: Annotated[AdapterCode | None, _INPUT] = None
    process_output: Annotated[AdapterCode | None, _OUTPUT] = None


@part(
    "Templates between a chat and a model of another shape.",
    name="a model adapter",
    example="""\
key: bot
process_input: {source_code: '{"query": {{ input.messages[-1].content | tojson }}}'}
process_output: {source_code: '{"choices": [{"message": {"content": {{ (body | fromjson).reply | tojson }}}}]}'}
""",
)
class AdapterEntry(AdapterReference, frozen=True, kw_only=True):
    key: Annotated[str, ModelKey("The key that models use.")]
    display_name: OtherName = None
    description: Description = None
    long_description: LongDescription = None
    task: Annotated[Plain, Doc("Old; ignored.")] = None
    process_input: Annotated[AdapterCode, _INPUT]
    process_output: Annotated[AdapterCode, _OUTPUT]


Adapter = Annotated[AdapterReference | None, Doc("Templates for a server of another shape than OpenAI's.")]
ApiKey = Annotated[str | None, Doc("A secret: write `$NAME` and set the variable.")]


@part(
    "A Python function as model, in a process of its own.",
    name="a custom inference",
    example="""\
connection_type: custom_inference
run_inference_snippet: |
  import json

  def run_inference(body, environment):
      question = json.loads(body)["messages"][-1]["content"]
      return json.dumps({"choices": [{"message": {"role": "assistant", "content": question.upper()}}]})
""",
)
class CustomInference(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="custom_inference"):
    adapter: Adapter = None
    run_inference_snippet: Annotated[
        str,
        PythonOption(
            "`run_inference(body, environment, sample)` gives the answer; it may leave out the last two. "
            "`sample` is the row, or null outside a task.",
            "run_inference",
            ("body", "environment", "sample"),
            1,
        ),
    ]
    environment: Annotated[dict[str, str], Doc("What it is given; `$NAME` is the variable of that name.")] = {}
    timeout: Annotated[Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)], Doc("Seconds for one answer.")] = 60
    model_key: Annotated[str | None, Doc("The name that `body` has for the model.")] = None


@part(
    "A chat server at an address.",
    name="a custom connection",
    example="""\
url: http://localhost:8000/v1
model_key: qwen
api_key: $OUR_SERVER_KEY
""",
)
class CustomConnection(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="custom_connection"):
    adapter: Adapter = None
    url: Annotated[str, Meta(min_length=1), Doc("The server's base address, such as `http://localhost:8000/v1`.")]
    api_key: ApiKey = None
    model_key: Annotated[str | None, Doc("The name the server knows the model by.")] = None
    tls_context: Annotated[Plain, Doc("Refused: SSL_CERT_FILE names your certificates.")] = None
    custom_headers: Annotated[dict[str, str] | None, Doc("Refused: a `custom_inference` sends what it likes.")] = None


@part(
    "A model of a known provider.",
    name="a provider connection",
    example="""\
connection_type: provider_connection
provider_id: openai
model_key: gpt-4.1-mini
""",
)
class ProviderConnection(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="provider_connection"):
    provider_id: Annotated[str, Meta(min_length=1), Doc("Such as `openai` or `anthropic`.")]
    model_key: Annotated[str, Meta(min_length=1), Doc("The name the provider knows the model by.")]
    api_key: ApiKey = None


@part("Any model the command line can name.", name="an assay model", example="model: openai:gpt-4.1-mini")
class NamedModel(Struct, frozen=True, kw_only=True, tag_field="connection_type", tag="assay"):
    model: Annotated[str, Meta(min_length=1), Doc("As after `--model`.")]
    options: Annotated[Options, Doc("As after `--model-arg`.")] = {}


@part(
    "Something that answers.",
    name="a model",
    example="""\
key: our-server
display_name: Our server
rate_limit: 60
config:
  url: http://localhost:8000/v1
  model_key: qwen
  api_key: $OUR_SERVER_KEY
""",
)
class ModelEntry(Struct, frozen=True, kw_only=True):
    key: Annotated[str, ModelKey("The key that tasks and run files use.")]
    display_name: Name
    description: Description = None
    rate_limit: Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Requests per minute.")] = None
    cache: Annotated[bool | None, Doc("Whether to cache its answers; true even if it may change under its name.")] = (
        None
    )
    max_concurrent_requests: Annotated[Annotated[int, Meta(ge=1)] | None, Doc("Requests at once.")] = None
    task: Annotated[
        ModelTask,
        Doc(
            "What it is. A `custom` model gets the JSON that a `generic` template renders, and answers with any JSON; "
            "an `embeddings` model answers with a list of numbers."
        ),
    ] = "chat_completion"
    secrets: Annotated[Plain, Doc("Ignored: a key is named by its variable.")] = None
    generation: Annotated[Options | None, GENERATION_DOC] = None
    config: Annotated[
        CustomConnection | CustomInference | ProviderConnection | NamedModel,
        Choice("connection type", "{}", default="custom_connection"),
        Doc("How it is reached."),
    ]


@part("A model named by provider.", name="a provider model", example="{$provider: openai/gpt-4.1-nano}\n")
class ProvidedModel(Struct, frozen=True, kw_only=True, rename={"provider": "$provider"}):
    provider: Annotated[str, Doc("`openai/gpt-4.1-nano`.")]
