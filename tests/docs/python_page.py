"""The reference page of the public Python names: signatures, docstrings and fields, read from the source."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import assay
from assay.cli.setting_flags import meaning_of
from assay.setting import Purpose, settings_of
from assay.tasks.task_settings import TaskSettings

HEAD = """\
# Python

After this page you can look up every public name of `assay`, with its fields and methods. Generated from the
docstrings; `make docs` regenerates it.
Guides: [run from Python](../how-to/run-from-python.md), [analyse a run](../how-to/analyse-in-python.md).

| name | description |
| --- | --- |
"""
LONGEST = 100


def python_page() -> str:
    table = "".join(f"| [`{name}`](#{name.lower()}) | {_first(doc_of(name))} |\n" for name in assay.__all__)
    return HEAD + table + "".join(f"\n{_entry(name)}" for name in assay.__all__)


def doc_of(name: str) -> str:
    """The docstring of a public name; that of a value stands below it."""
    found = getattr(assay, name)
    below = None if callable(found) else dict(_documented(_tree(assay._HOME[name]).body)).get(name)
    text = inspect.getdoc(found) if callable(found) else below
    if not text:
        raise SystemExit(f"assay.{name} has no docstring")
    return inspect.cleandoc(text)


def _entry(name: str) -> str:
    found = getattr(assay, name)
    lines = [f"## {name}", "", f"`{assay._HOME[name]}`", ""]
    if inspect.isfunction(found):
        lines += ["```text", _signature(name, found), "```", ""]
    lines += [_prose(doc_of(name)), ""]
    if inspect.isfunction(found) and "EvaluationKeywords" in str(inspect.signature(found)):
        lines += ["The settings of a run are those of [`RunConfig`](#runconfig); those of reading tasks:", ""]
        lines += [*members(TaskSettings), ""]
    if inspect.isclass(found):
        lines += members(found)
    return "\n".join(lines).rstrip() + "\n"


def _signature(name: str, function: Any) -> str:
    """On one line where it fits, else one line for each parameter."""
    signature = inspect.signature(function)
    plain = list(_parameters(signature))
    returns = str(signature.return_annotation).strip("'")
    line = f"{name}({', '.join(plain)}) -> {returns}"
    if len(line) <= LONGEST:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in plain), f") -> {returns}"])


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    """As they were written, with the star before those that need their name."""
    keyword_only = False
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        bare = each.replace(annotation=inspect.Parameter.empty, default=inspect.Parameter.empty)
        default = "" if each.default is inspect.Parameter.empty else f" = {each.default!r}"
        yield f"{bare}: {each.annotation}{default}"


def members(kind: type) -> list[str]:
    """Fields, properties and methods, those of our own base classes first."""
    fields: dict[str, str] = {}
    methods: dict[str, str] = {}
    settings: dict[Purpose, list[str]] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("assay."):
            node = next(each for each in _tree(base.__module__).body if _is_class(each, base.__name__))
            docs = dict(_documented(node.body))
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    name = each.target.id
                    if "Setting(" in ast.unparse(each.annotation):
                        purpose = settings_of(base)[name].setting.purpose
                        settings.setdefault(purpose, []).append(_setting_line(base, each, docs.get(name)))
                    elif not name.startswith("_"):
                        fields[name] = _line(ast.unparse(each), docs.get(name))
                elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("_"):
                    methods[each.name] = _line(_head(each), ast.get_docstring(each))
    found = ["Fields:", "", *fields.values(), ""] if fields else []
    for purpose, lines in sorted(settings.items(), key=lambda each: [*Purpose].index(each[0])):
        found += [f"{purpose.value.capitalize()}:", "", *lines, ""]
    return found + (["Properties and methods:", "", *methods.values(), ""] if methods else [])


def _setting_line(record: type, node: ast.AnnAssign, text: str | None) -> str:
    """A setting by its plain type, with its flag and what `--help` says of it."""
    field = settings_of(record)[ast.unparse(node.target)]
    assert isinstance(node.annotation, ast.Subscript)
    assert isinstance(node.annotation.slice, ast.Tuple)
    code = ast.AnnAssign(node.target, node.annotation.slice.elts[0], node.value, node.simple)
    said = [] if field.flag is None else [f"`{field.flag.words}`: {meaning_of(field.flag, field.name, record)}"]
    return _line(ast.unparse(code), ". ".join([*said, *([text] if text else [])]))


def _is_class(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == name


def _head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = "" if node.returns is None else ast.unparse(node.returns)
    if any(ast.unparse(each).endswith("property") for each in node.decorator_list):
        return f"{node.name}: {returns}"
    arguments = re.sub(r"^self(, )?", "", ast.unparse(node.args))
    begin = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{begin}{node.name}({arguments}) -> {returns}"


def _line(code: str, text: str | None) -> str:
    return f"- `{code}`" + (f": {' '.join(_escaped(text).split())}" if text else "")


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Names with the text that stands below them."""
    for node, below in pairwise(body):
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            [target, *_] = node.targets
        text = below.value if isinstance(below, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield target.id, inspect.cleandoc(text.value)


def _tree(module: str) -> ast.Module:
    import importlib

    return ast.parse(inspect.getsource(importlib.import_module(module)))


def _prose(text: str) -> str:
    """Paragraphs as Markdown, examples and whatever is set in as they are."""
    parts = []
    for part in re.split(r"\n\s*\n", text):
        is_code = part.startswith((">>>", "    "))
        parts.append(f"```text\n{part}\n```" if is_code else _escaped(part))
    return "\n\n".join(parts)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


def _first(text: str) -> str:
    paragraph = " ".join(_escaped(text.partition("\n\n")[0]).split())
    sentence = re.match(r".*?[.:](?= |$)", paragraph)
    return (sentence[0] if sentence else paragraph).replace("|", "\\|").rstrip(":")
