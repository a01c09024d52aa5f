"""The files that a command runs: the scripts among its words, and the code next to them that those name.

Trust in a command is trust in all of these. What a script loads from elsewhere (installed packages, names that it
computes) is not among them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.reading.python_imports import imported_names
from assay.text.os_errors import is_file

MAX_FILES = 2000
MAX_SCRIPT_BYTES = 4 << 20
_CODE = frozenset({".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".r", ".lua", ".php"})
_FILE_NAME = re.compile(r"[\w./~+@-]+")


def files_of_command(command: str, folders: Sequence[Path]) -> dict[Path, str]:
    """Every file that the command runs, as far as its words and its scripts tell, with the word that names it."""
    found: dict[Path, str] = {}
    words = words_of(command)
    folders = [*folders, *_entered(words, folders)]
    waiting = [(path, word) for word in words for path in _places(word, folders) if is_file(path)]
    while waiting:
        if len(found) > MAX_FILES:
            raise UsageError(
                f"`{command[:80]}`: its scripts name more than {MAX_FILES:,} files of code, too many to record "
                "trust in. Run it with --trust, or name a smaller script."
            )
        path, word = waiting.pop(0)
        path = path.resolve()
        if path not in found:
            found[path] = word
            waiting += [(named, os.path.relpath(named, path.parent)) for named in _named_by(path, folders)]
    return found


def words_of(command: str) -> list[str]:
    """The words of a command, and those of a word that is a command line itself, as after `sh -c`."""
    try:
        words = shlex.split(command)
    except ValueError:  # not a command at all; starting it gives a better message
        return []
    lines = [word for word in words if word != command and any(map(str.isspace, word))]
    return [*words, *(word for line in lines for word in (*_words_of_shell(line), *words_of(line)))]


def _words_of_shell(line: str) -> list[str]:
    """The words of a line as a shell reads it, where `;`, `&&` and the like end a word."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _entered(words: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    """The folders that a command line changes into, where the words after it may be files."""
    places = [_places(folder, folders) for word, folder in pairwise(words) if word == "cd"]
    return [place for each in places for place in each if place.is_dir()]


def _places(word: str, folders: Sequence[Path]) -> Iterator[Path]:
    if "\0" not in word and len(word) < os.pathconf("/", "PC_PATH_MAX"):
        yield from (folder / os.path.expanduser(word) for folder in folders)


def _named_by(script: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """Code that a script names: modules next to a Python script that it imports, files of code in the text of any."""
    if not _is_code(script):
        return
    try:
        text = read_regular(script, MAX_SCRIPT_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    if script.suffix == ".py":
        yield from _imported(text, script.parent)
    nearby = [script.parent, *(folder.resolve() for folder in folders)]
    words = _FILE_NAME.findall(text)
    nearby += [folder.resolve() for folder in _entered(words, nearby)]
    for word in dict.fromkeys(words):
        for path in _places(word, nearby):
            if is_file(path) and _is_code(path) and any(path.resolve().is_relative_to(folder) for folder in nearby):
                yield path


def _is_code(path: Path) -> bool:
    return path.suffix.lower() in _CODE or os.access(path, os.X_OK)


def _imported(text: str, folder: Path) -> Iterator[Path]:
    """The modules and packages in the folder that a Python text imports; of a package, all its modules."""
    for top in sorted({name.partition(".")[0] for name in imported_names(text)}):
        if is_file(folder / f"{top}.py"):
            yield folder / f"{top}.py"
        elif (folder / top).is_dir():
            yield from sorted((folder / top).rglob("*.py"))
