"""The parser of the command line: what is wrong in one sentence, with the nearest right word, not a page of usage."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from typing import NoReturn

_UNKNOWN_FLAG = re.compile(r"unrecognized arguments: .*?(?<!\S)(--?[\w-]+)")
_UNKNOWN_WORD = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)
_WRONG_TYPE = re.compile(r"argument (\S+): invalid (int|float) value: '(.*)'$", re.DOTALL)
_NUMBERS = {"int": "a whole number", "float": "a number"}


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are for the person who mistyped."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {self._sentence(message)}\n`{self.prog} --help` tells what there is\n")

    def _sentence(self, message: str) -> str:
        if found := _UNKNOWN_FLAG.match(message):
            return f"there is no flag {found[1]}.{_nearest(found[1], self._option_string_actions)}"
        if found := _UNKNOWN_WORD.match(message):
            known = re.findall(r"[^\s,']+", found[3])
            where = "" if found[1] == "COMMAND" or "|" in found[1] else f"{found[1]}: "
            return f"{where}`{found[2]}` is none of {', '.join(known)}.{_nearest(found[2], known)}"
        if found := _WRONG_TYPE.match(message):
            return f"{found[1]}: expected {_NUMBERS[found[2]]}, not `{found[3]}`"
        return message.removeprefix("argument ")


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.65)
    return f" Did you mean {near[0]}?" if near else ""
