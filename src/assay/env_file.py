"""`.env` files: secrets and settings by name, read where they are needed and never put into the environment.

A variable of the process wins over one of the file. What is read here is not passed on to child processes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay.core.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

KEY_NAMES: set[str] = set()
"""Variables that a model of this process reads its key from, whatever they are called: no program gets them unasked."""


def variable(name: str, path: Path | None = None) -> str | None:
    """The value a name has in the environment, else in `.env` of the current folder; None when in neither."""
    if name in os.environ:
        return os.environ[name]
    path = path or Path(".env")
    return read_env_file(path).get(name) if path.is_file() else None


def key_variable(name: str) -> str | None:
    """The value of a variable that holds a key, which is remembered as such."""
    KEY_NAMES.add(name)
    return variable(name)


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of a `.env` file: `NAME=value` lines, `#` comments, an optional `export`, optional quotes."""
    variables: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()):
            raise UsageError(f"{path}:{number}:1: expected `NAME=value`")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        variables[name.strip()] = value
    return variables
