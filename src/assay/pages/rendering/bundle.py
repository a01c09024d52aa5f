"""The page's modules as one plain script: browsers do not load modules from file:// addresses."""

from __future__ import annotations

import re

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (async function|function|const|class) (\w+)", re.MULTILINE)


def bundle(modules: dict[str, str], entry: str) -> str:
    """Every module as a separate function, in the order they need each other, the entry last."""
    made: dict[str, str] = {}
    _add(modules, entry, made)
    return '"use strict";\nconst modules = {};\n' + "\n".join(made.values())


def _add(modules: dict[str, str], name: str, made: dict[str, str]) -> None:
    if name in made:
        return
    text = modules[name]
    for _, needed in _IMPORT.findall(text):
        _add(modules, needed, made)
    exported = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = modules.{found[2]};\n", text)
    body = _EXPORT.sub(r"\1 \2", body)
    made[name] = f"modules.{name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"
