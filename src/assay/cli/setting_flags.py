"""Flags that are settings (`setting.py`): each is made from its field, and what was given becomes the field's value."""

from __future__ import annotations

from argparse import Action, Namespace
from argparse import _ActionsContainer as Parser
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from assay.cli.flags import note_need
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.run_settings import RunSettings
from assay.setting import Flag, Purpose, SettingField, flag_of, settings_of
from assay.text.os_errors import reason


def add_purpose(parser: Parser, purpose: Purpose, *records: type) -> Parser:
    """A group with the flags of all settings of a purpose."""
    group = parser.add_argument_group(purpose.value)
    for record in records:
        names = [name for name, field in settings_of(record).items() if field.setting.purpose is purpose and field.flag]
        add_settings(group, record, *names)
    return group


def add_settings(parser: Parser, record: type, *names: str, needs: str | None = None) -> None:
    """The flags of these settings; one that is not given is None, and leaves the field as it is."""
    for name in names:
        field = settings_of(record)[name]
        if field.flag is not None:
            note_need(_add_setting(parser, field, field.flag, record), needs)


def _add_setting(parser: Parser, field: SettingField, flag: Flag, record: type) -> Action:
    kind, choices = _single(field.type), flag.choices
    if get_origin(kind) is Literal:
        choices = get_args(kind)
    how: dict[str, Any] = {"dest": field.name, "default": None, "help": meaning_of(flag, field.name, record)}
    if kind is bool:
        group = parser.add_mutually_exclusive_group() if flag.opposite else parser
        action = group.add_argument(flag.name, action="store_true", **how)
        if flag.opposite:
            name, how["help"] = flag.opposite
            group.add_argument(name, action="store_false", **how)
        return action
    how["metavar"] = flag.metavar
    if choices is not None:
        how["help"] = how["help"].replace("{choices}", ", ".join(choices))
        return parser.add_argument(flag.name, choices=choices, **how)
    if get_origin(kind) in (tuple, dict, Mapping) and flag.separator is None:
        return parser.add_argument(flag.name, action="append", **how)
    read = kind if kind in (int, float) and flag.none_word is None else str
    return parser.add_argument(flag.name, type=read, **how)


def meaning_of(flag: Flag, name: str, record: type) -> str:
    """What `--help` says of a setting, with the default that the field has, in the unit of the flag."""
    if "{default}" not in flag.meaning:
        return flag.meaning
    default = getattr(record(), name)
    return flag.meaning.replace("{default}", f"{default / flag.unit:g}" if flag.unit != 1 else str(default))


def given_settings(options: Namespace, record: type) -> dict[str, Any]:
    """The settings of a record that were given as flags, each as its field has it."""
    fields = [field for field in settings_of(record).values() if field.flag is not None]
    given = {field.name: (field, vars(options).get(field.name)) for field in fields}
    return {name: _value(field, value) for name, (field, value) in given.items() if value is not None}


def flag_of_run(setting: str) -> str:
    """What the command line calls a setting of a run."""
    return flag_of(RunSettings, setting)


def _value(field: SettingField, given: Any) -> Any:
    kind, flag = _single(field.type), field.flag
    if flag is None:
        return given
    if get_origin(kind) in (dict, Mapping):
        return (json_values if get_args(kind)[1] is Any else key_texts)(given, flag.name)
    if get_origin(kind) is tuple:
        return tuple(given if flag.separator is None else filter(None, map(str.strip, given.split(flag.separator))))
    if flag.none_word is not None and kind is not str:
        return _number_or(flag.none_word, given, flag.name)
    if given == flag.none_word:
        return None
    return given * flag.unit if flag.unit != 1 else given


def _single(kind: Any) -> Any:
    """A type without None."""
    is_union = get_origin(kind) in (Union, UnionType)
    return next(argument for argument in get_args(kind) if argument is not NoneType) if is_union else kind


def _number_or(none_word: str, text: str, flag: str) -> int | None:
    if text == none_word:
        return None
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag}: expected a whole number or `{none_word}`, got `{text}`") from None


def key_texts(pairs: Sequence[str], flag: str) -> dict[str, str]:
    """`key=value` pairs as text; the owner of the key interprets the value."""
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} {pair!r}: expected KEY=VALUE")
        texts[key] = text
    return texts


def config_texts(pairs: Sequence[str]) -> dict[str, str]:
    """The values of `--config`: a text, or `@FILE` for what a file has; `@@` begins a text with `@`."""
    return {
        key: _of_file(key, text) if text.startswith("@") else text for key, text in key_texts(pairs, "--config").items()
    }


def _of_file(key: str, text: str) -> str:
    if text.startswith("@@"):
        return text[1:]
    path = Path(text[1:])
    try:
        return read_regular(path).decode().removesuffix("\n")
    except OSError as error:
        raise UsageError(f"--config {key}={text}: {reason(error)}; `@@` begins a text with `@`") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--config {key}={text}: is not UTF-8 ({error})") from error


def json_values(pairs: Sequence[str], flag: str) -> dict[str, Any]:
    """`key=value` pairs; a value that is JSON (a number, true, a list) is that, anything else is text."""
    values: dict[str, Any] = {}
    for key, text in key_texts(pairs, flag).items():
        try:
            values[key] = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            values[key] = text
    return values
