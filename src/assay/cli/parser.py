"""The parser of the command line: what is wrong in one sentence, with the nearest right word, not a page of usage."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import NoReturn

from assay.wording import nearest

_UNKNOWN_FLAG = re.compile(r"unrecognized arguments: .*?(?<!\S)(--?[\w-]+)")
_TOO_MANY_WORDS = re.compile(r"unrecognized arguments: (.*)$", re.DOTALL)
_UNKNOWN_WORD = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)
_WRONG_TYPE = re.compile(r"argument (\S+): invalid (int|float) value: '(.*)'$", re.DOTALL)
_NUMBERS = {"int": "a whole number", "float": "a number"}


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are for the person who mistyped."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {self._sentence(message)}\nsee `{self.prog} --help`\n")

    def _sentence(self, message: str) -> str:
        if found := _UNKNOWN_FLAG.match(message):
            return f"unknown flag {found[1]}.{_hint(found[1], self._option_string_actions)}"
        if (found := _TOO_MANY_WORDS.match(message)) and "--evaluator-command" in self._option_string_actions:
            quoted = "a command of several words is one quoted text, such as --evaluator-command 'bash score.sh'"
            return f"unexpected argument `{found[1]}`; {quoted}"
        if found := _UNKNOWN_WORD.match(message):
            known = re.findall(r"[^\s,']+", found[3])
            where = "" if found[1] == "COMMAND" or "|" in found[1] else f"{found[1]}: "
            return f"{where}unknown `{found[2]}`; expected one of {', '.join(known)}.{_hint(found[2], known)}"
        if found := _WRONG_TYPE.match(message):
            return f"{found[1]}: expected {_NUMBERS[found[2]]}, got `{found[3]}`"
        return message.removeprefix("argument ")


def _hint(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f" Did you mean {near}?" if near else ""
