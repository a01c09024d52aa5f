"""Models: something that answers, by address, provider or name."""

from __future__ import annotations

from assay.tasks.declarative.schema.fields import REFERENCED_KEY, text, word
from assay.tasks.declarative.shape import Anything, Field, MapOf, Number, Shaped, Tagged, Text

_ADAPTER_REF = Field(Shaped("an adapter reference", "", {"key": Field(REFERENCED_KEY)}), None)
MODEL_CONFIG = Tagged(
    "connection type",
    {
        "custom_connection": Shaped(
            "a custom connection",
            "A chat server at an address.",
            {
                "connection_type": word("custom_connection"),
                "adapter": _ADAPTER_REF,
                "url": text(min_length=1),
                "api_key": text("A secret: write `$NAME` and set the variable.", None),
                "model_key": text("The name the server knows the model by.", None),
                "tls_context": Field(Anything(), None),
                "custom_headers": Field(MapOf(Text()), None),
            },
        ),
        "provider_connection": Shaped(
            "a provider connection",
            "A model of a known provider.",
            {
                "connection_type": word("provider_connection"),
                "provider_id": text(min_length=1),
                "model_key": text(min_length=1),
                "api_key": text("A secret: write `$NAME` and set the variable.", None),
            },
        ),
        "assay": Shaped(
            "an assay model",
            "Any model the command line can name.",
            {
                "connection_type": word("assay"),
                "model": text("As after `--model`.", min_length=1),
                "options": Field(MapOf(Anything()), {}, "As after `--model-arg`."),
            },
        ),
    },
    default="custom_connection",
    tag="connection_type",
)
MODEL = Shaped(
    "a model",
    "Something that answers.",
    {
        "key": Field(REFERENCED_KEY),
        "display_name": text(min_length=1),
        "description": text(default=None),
        "rate_limit": Field(Number(whole=True, least=1), None, "Requests per minute."),
        "max_concurrent_requests": Field(Number(whole=True, least=1), None),
        "task": Field(Text(words=("chat_completion", "embeddings", "custom")), "chat_completion"),
        "secrets": Field(Anything(), None),
        "config": Field(MODEL_CONFIG),
    },
)
PROVIDED = Shaped("a provider model", "A model named by provider.", {"$provider": text("`openai/gpt-4.1-nano`.")})
