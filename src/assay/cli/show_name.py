"""`assay show NAME`: the parts of the catalog and the types of YAML files that are called so."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.cli.output import print_json, show

if TYPE_CHECKING:
    from assay.formats.declarative.reference import FieldReference, TypeReference

CATALOG_KINDS = {"metric": "aggregate", "source": "dataset"}
"""What the catalog calls a kind of thing where YAML files call it something else."""


def show_name(options: argparse.Namespace) -> bool:
    """Whatever is called so: parts of the catalog, types of YAML files and their kinds; False when nothing is."""
    from assay import catalog
    from assay.formats.declarative.reference import types_called

    name = options.what
    if set(name) & set("/:.~"):
        return False  # a path, `module:object` or a task of lm_eval
    types = {CATALOG_KINDS.get(item.kind, item.kind): item for item in types_called(name)}
    parts = {kind: known[name] for kind, known in catalog.CATALOG.items() if name in known}
    installed = {} if parts or types else _published(name)
    for kind, target in installed.items():
        show_own(name, target, options, kind)
    for at, kind in enumerate(dict.fromkeys([*parts, *types])):
        if at and not options.json:
            print()
        _show(kind, parts.get(kind), types.get(kind), options)
    of_kind = _types_of_kind(name)
    if of_kind:
        _show_kind(of_kind, options)
    return bool(parts or types or of_kind or installed)


def _published(name: str) -> dict[str, str]:
    """The parts of installed packages that are called so: by kind, the Python of each."""
    from assay import catalog

    return {kind: catalog.source_name(kind, name) for kind in catalog.CATALOG if name in catalog.published(kind)}


def show_own(name: str, target: str, options: argparse.Namespace, kind: str = "your own") -> None:
    """What Python that is not ours says of itself, out of its source: showing a thing does not run it."""
    from assay.formats.declarative.reference import fields_of
    from assay.formats.own_source import docstring_of, signature_of
    from assay.pages.document import TextTable

    text, signature = docstring_of(target), signature_of(target)
    fields = fields_of(signature) if signature is not None else ()
    if options.json:
        print_json({"kind": kind, "name": name, "object": target, "doc": text, "fields": fields})
        return
    print(f"{kind} {name}   ({target})\n\n{text}")
    if fields:
        print()
        header = ["field in YAML", "type", "default", "meaning"]
        rows = [[field.name, field.type, default_text(field), field.doc] for field in fields]
        show(TextTable(header=header, rows=rows, numeric_from=9, prose=header[1:]), options)


def _show(kind: str, target: str | None, reference: TypeReference | None, options: argparse.Namespace) -> None:
    """What the docstring of a part says and where the part lies; what YAML files may say of it."""
    import inspect

    from assay import catalog

    doc = inspect.getdoc(catalog.import_object(target)) or "" if target else reference.doc if reference else ""
    if options.json:
        shown = {"kind": kind, "name": options.what, "object": target, "doc": doc}
        print_json({**shown, "yaml": reference} if reference else shown)
        return
    print(f"{kind} {options.what}   ({target or 'in YAML files'})\n\n{doc}")
    if reference is not None:
        print()
        _show_fields(reference, options)


def _show_fields(reference: TypeReference, options: argparse.Namespace) -> None:
    from assay.pages.document import TextTable

    rows = [[field.name, field.type, default_text(field), field.doc] for field in reference.ordered()]
    header = ["field in YAML", "type", "default", "meaning"]
    show(TextTable(header=header, rows=rows, numeric_from=9, prose=header[1:]), options)
    names = dict.fromkeys(name for field in reference.fields for name in field.reads)
    if names:
        print(f"\ntemplates read: {', '.join(names)}")
    if reference.gives:
        print(f"\ngives: {', '.join(reference.gives)}")
    print(f"\nexample:\n\n{reference.example}")


def _types_of_kind(name: str) -> list[TypeReference]:
    """All types of a kind (`scorer`, `solver`, …), where there are several to choose from."""
    from assay.formats.declarative.reference import types_of

    types = types_of(name) or types_of(name.removesuffix("s"))
    return types if len(types) > 1 else []


def _show_kind(references: Sequence[TypeReference], options: argparse.Namespace) -> None:
    """The types of a kind, one line each."""
    from assay.pages.document import TextTable

    if options.json:
        print_json({reference.name: reference.doc for reference in references})
        return
    print(f"types of a {references[0].kind} in YAML files; `assay show TYPE` prints the fields of one\n")
    rows = [[reference.name, reference.doc] for reference in references]
    show(TextTable(header=["type", "meaning"], rows=rows, numeric_from=9, prose=("meaning",)), options)


def default_text(field: FieldReference) -> str:
    """The default as it would be written, or that there is none."""
    if field.required:
        return "required"
    return "–" if field.default is None else msgspec.json.encode(field.default).decode()
