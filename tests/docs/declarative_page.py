"""The reference page of YAML files: every type of thing, its fields, and an example of each."""

from __future__ import annotations

import re

from assay.cli.show_name import default_text
from assay.formats.declarative.reference import FieldReference, TypeReference, grouped, type_references
from assay.part_options import ANSWER

HEAD = f"""\
# YAML files, field by field

After this page you can look up any field of a task, dataset, model or run file: its type, its default and an example.
Generated from the definitions that also validate files and produce the JSON Schema; `make docs` regenerates it.
`assay show TYPE` prints the same in the terminal, `assay show scorer` lists the types of a kind.
[Declarative tasks](../declarative.md) explains the concepts, and
[a first YAML task](../how-to/first-yaml-task.md) explains one file line by line.

- A **key** is a name of up to 250 letters, digits, `_` and `-`; a reference to one may also contain `$`.
- A **template** is Jinja over the row: `{{{{ sample.COLUMN }}}}`. A **template over the answer** may also read
  {", ".join(f"`{name}`" for name in ANSWER[1:])}.
- An **expression** is the part between the braces; the braces may be omitted.
- **Python with `f`** is a snippet that defines the function `f`; `!include FILE` reads it from a file.
- Any value except a key or a template may be `<< config.x >>`, a task parameter. Any mapping may be `$ref: FILE`.
- **–** as default: none, or the one described in the last column.
"""


def declarative_page() -> str:
    references = type_references()
    lines = [HEAD, "| file | |", "| --- | --- |"]
    for kind in ("task", "dataset", "model", "run file", "model adapter"):
        (doc,) = {each.doc for each in references if each.kind == each.name == kind}
        lines.append(f"| [{kind}](#{_anchor(kind)}) | {doc} |")
    by_kind: dict[str, list[TypeReference]] = {}
    for reference in references:
        by_kind.setdefault(reference.kind, []).append(reference)
    for kind, found in by_kind.items():
        lines += ["", f"## {kind}", ""]
        lines += _single(found[0]) if len(found) == 1 else _several(found)
    return "\n".join(lines).rstrip() + "\n"


def _anchor(kind: str) -> str:
    return re.sub(r"[^\w -]", "", kind.lower()).replace(" ", "-")


def _single(reference: TypeReference) -> list[str]:
    return [reference.doc, "", *_table(reference), "", "```yaml", *reference.example.rstrip().splitlines(), "```"]


def _several(references: list[TypeReference]) -> list[str]:
    tag = references[0].tag
    lines = [f"`{tag}` is one of {', '.join(f'`{each.name}`' for each in references)}."]
    for group in grouped(references):
        lines += ["", f"### {', '.join(f'`{each.name}`' for each in group)}", ""]
        if len(group) == 1:
            lines += [group[0].doc]
        else:
            lines += [f"- `{each.name}`: {each.doc}" for each in group]
        lines += ["", *_table(group[0])]
        if group[0].gives:
            lines += ["", f"Gives {', '.join(f'`{name}`' for name in group[0].gives)}."]
        lines += ["", "```yaml", *_examples(group), "```"]
    return lines


def _examples(group: list[TypeReference]) -> list[str]:
    if len(group) == 1:
        return group[0].example.rstrip().splitlines()
    return [f"- {each.example.rstrip()}" for each in group]


def _table(reference: TypeReference) -> list[str]:
    rows = [f"| `{each.name}` | {_linked(each)} | {_default(each)} | {each.doc} |" for each in _fields(reference)]
    return ["| field | type | default | meaning |", "| --- | --- | --- | --- |", *rows]


def _fields(reference: TypeReference) -> list[FieldReference]:
    """Without the one that chooses the type, which the heading says."""
    own = [each for each in reference.ordered() if each.name != reference.tag]
    return own or reference.ordered()


def _default(field: FieldReference) -> str:
    text = default_text(field)
    return text if text in ("required", "–") else f"`{text}`"


def _linked(field: FieldReference) -> str:
    """The type, its kinds linked to where they are described."""
    text = field.type
    for kind in field.kinds:
        text = re.sub(rf"\b{re.escape(kind)}$|\b{re.escape(kind)}(?= \()", f"[{kind}](#{_anchor(kind)})", text)
    return text
