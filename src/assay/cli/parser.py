"""The parser of the command line: what is wrong in one sentence, with the nearest right word, not a page of usage."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from assay.cli.flags import register_noting
from assay.overriding import override
from assay.text.wording import nearest

_UNKNOWN_FLAG = re.compile(r"unrecognized arguments: .*?(?<!\S)(--?[\w-]+)")
_TOO_MANY_WORDS = re.compile(r"unrecognized arguments: (.*)$", re.DOTALL)
_UNKNOWN_WORD = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)
_WRONG_TYPE = re.compile(r"argument (\S+): invalid (int|float) value: '(.*)'$", re.DOTALL)
_REQUIRED = re.compile(r"(the following arguments are required: )(.*)$", re.DOTALL)
_NUMBERS = {"int": "a whole number", "float": "a number"}

_KNOWN_ELSEWHERE = {"--grader": "--model-for grader=MODEL"}
"""Flags that people try, and what does it here."""


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are for the person who mistyped, and whose flags note that they were given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})  # a new flag must not change what an old one means
        register_noting(self)

    @override
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {self._sentence(message)}\nsee `{self.prog} --help`\n")

    def _sentence(self, message: str) -> str:
        if match := _UNKNOWN_FLAG.match(message):
            return f"unknown flag {match[1]}.{self._flag_hint(match[1])}"
        if (match := _TOO_MANY_WORDS.match(message)) and "--evaluator-command" in self._option_string_actions:
            quoted = "a command of several words is one quoted text, such as --evaluator-command 'bash score.sh'"
            return f"unexpected argument `{match[1]}`; {quoted}"
        if match := _UNKNOWN_WORD.match(message):
            known = re.findall(r"[^\s,']+", match[3])
            where = "" if match[1] == "COMMAND" or "|" in match[1] else f"{match[1]}: "
            return f"{where}unknown `{match[2]}`; expected one of {', '.join(known)}.{_hint(match[2], known)}"
        if match := _WRONG_TYPE.match(message):
            return f"{match[1]}: expected {_NUMBERS[match[2]]}, got `{match[3]}`"
        if match := _REQUIRED.match(message):
            # parse_intermixed_args counts optional ones too when it finds none at all
            needed = [action.metavar for action in self._get_positional_actions() if action.nargs not in ("*", "?")]
            return f"{match[1]}{', '.join(name for name in match[2].split(', ') if name in needed)}"
        return message.removeprefix("argument ")

    def _flag_hint(self, flag: str) -> str:
        instead = _KNOWN_ELSEWHERE.get(flag, "")
        is_here = instead.partition(" ")[0] in self._option_string_actions
        return f" Write {instead}" if is_here else _hint(flag, self._option_string_actions)


def _hint(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f" Did you mean {near}?" if near else ""
