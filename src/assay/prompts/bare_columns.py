"""Prompt files may name a column by itself: `{{ question }}` is `{{ sample.question }}`."""

from __future__ import annotations

from assay.part_options import SAMPLE
from assay.prompts.jinja_filters import TEXT
from assay.prompts.template import template_reads

_BEFORE_A_FIELD_OR_FILTER = (".", "|")


def with_sample(source: str) -> str:
    """The template with `sample.` before every name that it reads and does not set itself."""
    bare = {path[0] for path in template_reads(source).paths} - {*SAMPLE}
    if not bare:
        return source
    tokens = list(TEXT.lex(source))
    texts: list[str] = []
    before = ""
    for at, (_, kind, text) in enumerate(tokens):
        is_column = kind == "name" and text in bare and before not in _BEFORE_A_FIELD_OR_FILTER
        texts.append(f"sample.{text}" if is_column and not _is_keyword(tokens, at) else text)
        if kind != "whitespace":
            before = text
    return "".join(texts) + ("\n" if source.endswith("\n") else "")  # the lexer leaves the last line end out


def _is_keyword(tokens: list[tuple[int, str, str]], at: int) -> bool:
    """Whether this is the name in `f(name=…)`, not a value."""
    after = next((text for _, kind, text in tokens[at + 1 :] if kind != "whitespace"), "")
    return after == "="
