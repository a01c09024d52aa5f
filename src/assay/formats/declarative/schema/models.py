"""Models: something that answers, by address, provider or name."""

from __future__ import annotations

from assay.formats.declarative.code_shapes import TemplateText
from assay.formats.declarative.from_annotations import REFERENCED_KEY
from assay.formats.declarative.schema.fields import (
    DESCRIPTION,
    GENERATION,
    LONG_DESCRIPTION,
    NAME,
    mapping,
    snippet,
    text,
    word,
)
from assay.formats.declarative.schema.together import ADAPTED
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Fields,
    MapOf,
    Number,
    ObjectOf,
    OrWithField,
    Report,
    Tagged,
    Text,
)
from assay.formats.declarative.yaml_reader import FieldPath

VENDOR = "latticeflow$"
"""Keys with this prefix name models built into that ecosystem, which are not in any file."""
IDENTITIES = ("latticeflow$identity", "latticeflow$openai_chat_completion")
"""Keys with this prefix name an adapter that changes nothing: the server speaks the chat completions protocol."""
RESPONSES = "latticeflow$openai_responses"
"""The adapter of servers that speak OpenAI's Responses API."""
_CODE = mapping(
    "adapter code",
    "A template.",
    language=Field(Text(words=("jinja",)), "jinja", "Templates are Jinja."),
    source_code=Field(TemplateText(None, 1), doc="The template."),
)
_INPUT = Field(_CODE, doc="Renders the body out of `input`, `model_info` and `kwargs`.")
_OUTPUT = Field(_CODE, doc="Renders a chat completion out of `body` and `status_code`.")
ADAPTER = mapping(
    "a model adapter",
    "Templates between a chat and a model of another shape.",
    key=Field(REFERENCED_KEY, doc="The key that models use."),
    display_name=text("Display name.", None),
    description=DESCRIPTION,
    long_description=LONG_DESCRIPTION,
    task=Field(Anything(), None, "Old; ignored."),
    process_input=_INPUT,
    process_output=_OUTPUT,
)


def _adapter_rule(result: Fields, where: FieldPath, report: Report) -> None:
    templates = [name for name in ("process_input", "process_output") if result[name] is not None]
    if (result["key"] is None) is (not templates) or (templates and len(templates) < 2):
        report.wrong(where, "an adapter is a `key`, or `process_input` and `process_output`")
    key = result["key"]
    if isinstance(key, str) and key.startswith(VENDOR) and key != RESPONSES and not key.startswith(IDENTITIES):
        known = ", ".join(f"`{each}…`" for each in (*IDENTITIES, RESPONSES))
        message = (
            f"there is no adapter `{key}` here. Known: {known}; or write one with `process_input` and `process_output`"
        )
        report.wrong((*where, "key"), message)


_ADAPTER_REF = Field(
    mapping(
        "an adapter reference",
        "The key of a model adapter, or its two templates.",
        _adapter_rule,
        ADAPTED,
        key=Field(REFERENCED_KEY, None, "Of a file in `model_adapters/`, or of the run file."),
        process_input=Field(_CODE, None, _INPUT.doc),
        process_output=Field(_CODE, None, _OUTPUT.doc),
    ),
    None,
    "Templates for a server of another shape than OpenAI's.",
)
MODEL_CONFIG = Tagged(
    "connection type",
    {
        "custom_connection": mapping(
            "a custom connection",
            "A chat server at an address.",
            connection_type=word("custom_connection"),
            adapter=_ADAPTER_REF,
            url=text("The server's base address, such as `http://localhost:8000/v1`.", min_length=1),
            api_key=text("A secret: write `$NAME` and set the variable.", None),
            model_key=text("The name the server knows the model by.", None),
            tls_context=Field(Anything(), None, "Not used here, with a warning."),
            custom_headers=Field(MapOf(Text()), None, "Not used here, with a warning."),
        ),
        "custom_inference": mapping(
            "a custom inference",
            "A Python function as model, in a process of its own.",
            connection_type=word("custom_inference"),
            adapter=_ADAPTER_REF,
            run_inference_snippet=snippet("run_inference", "`run_inference(body, environment)` gives the answer."),
            environment=Field(MapOf(Text()), {}, "What it is given; `$NAME` is the variable of that name."),
            timeout=Field(Number(above=0), 60, "Seconds for one answer."),
            model_key=text("The name that `body` has for the model.", None),
        ),
        "provider_connection": mapping(
            "a provider connection",
            "A model of a known provider.",
            connection_type=word("provider_connection"),
            provider_id=text("Such as `openai` or `anthropic`.", min_length=1),
            model_key=text("The name the provider knows the model by.", min_length=1),
            api_key=text("A secret: write `$NAME` and set the variable.", None),
        ),
        "assay": mapping(
            "an assay model",
            "Any model the command line can name.",
            connection_type=word("assay"),
            model=text("As after `--model`.", min_length=1),
            options=Field(MapOf(Anything()), {}, "As after `--model-arg`."),
        ),
    },
    default="custom_connection",
    tag="connection_type",
)
MODEL = mapping(
    "a model",
    "Something that answers.",
    key=Field(REFERENCED_KEY, doc="The key that tasks and run files use."),
    display_name=NAME,
    description=DESCRIPTION,
    rate_limit=Field(Number(whole=True, least=1), None, "Requests per minute."),
    cache=Field(Boolean(), None, "Whether to cache its answers; true even if it may change under its name."),
    max_concurrent_requests=Field(Number(whole=True, least=1), None, "Requests at once."),
    task=Field(Text(words=("chat_completion", "embeddings", "custom")), "chat_completion", "What it is for."),
    secrets=Field(Anything(), None, "Ignored: a key is named by its variable."),
    generation=GENERATION,
    config=Field(MODEL_CONFIG, doc="How it is reached."),
)
PROVIDED = ObjectOf("a provider model", "A model named by provider.", {"$provider": text("`openai/gpt-4.1-nano`.")})
ANY_MODEL = OrWithField(MODEL, PROVIDED, "$provider")
