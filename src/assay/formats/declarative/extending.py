"""`extends`: a task and its parent as one. The task's own fields win, mappings merge, lists merge by `key`.

Works on values whose templates and parameters are still text. Each field keeps the place where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from assay.text.wording import hint

if TYPE_CHECKING:
    from assay.formats.declarative.yaml_reader import FieldPath, Plain, Position

EXTENDS = "extends"
ABSTRACT = "abstract"
MOST_PARENTS = 5
PARTS = ("definition", "config_spec")
"""The fields of a task that hold fields of their own."""
NEVER_INHERITED = ("key", "display_name", "description", ABSTRACT, EXTENDS)
_REMOVE, _REPLACE = "$remove", "$replace"
_TAGS = ("tags",)
_PARAMETERS = ("config_spec",)


@dataclass(frozen=True, slots=True)
class Written:
    """A value as one file has it, under its path in the document that is read."""

    value: Plain
    marks: Mapping[FieldPath, Position]
    moved: dict[FieldPath, FieldPath] = field(default_factory=dict)
    """Where fields stand once they are merged."""


class MergeProblem(NamedTuple):
    """A field of the task that cannot be merged with its parent's."""

    mark: Position
    where: FieldPath
    message: str


class MergedTask(NamedTuple):
    value: Plain
    marks: dict[FieldPath, Position]
    problems: list[MergeProblem]


def merged(parent: Written, own: Written, where: FieldPath) -> MergedTask:
    """The task at this path and its parent as one."""
    merging = _Merging(parent, own, where)
    value = merging.task(_Side(parent, parent.value, where), _Side(own, own.value, where))
    return MergedTask(value, merging.marks, merging.problems)


class _Side(NamedTuple):
    """A value of the parent or of the task, and its path there."""

    written: Written
    value: Plain
    at: FieldPath

    @property
    def mark(self) -> Position:
        marks = self.written.marks
        return next(marks[self.at[:end]] for end in range(len(self.at), -1, -1) if self.at[:end] in marks)

    @property
    def place(self) -> str:
        return f"{self.mark.file}:{self.mark.line}"

    def inner(self, step: str | int) -> _Side:
        return _Side(self.written, self.value[step], (*self.at, step))  # type: ignore[index]

    def items(self) -> Iterator[_Side]:
        if isinstance(self.value, list):
            yield from (self.inner(at) for at in range(len(self.value)))

    def get(self, name: str) -> Plain:
        return self.value.get(name) if isinstance(self.value, dict) else None

    @property
    def kind(self) -> str:
        return "a mapping" if isinstance(self.value, dict) else "a list" if isinstance(self.value, list) else "a value"


@dataclass(slots=True)
class _Merging:
    parent: Written
    own: Written
    top: FieldPath
    marks: dict[FieldPath, Position] = field(default_factory=dict)
    problems: list[MergeProblem] = field(default_factory=list)

    def task(self, parent: _Side, own: _Side) -> Plain:
        inherited = parent._replace(value=_without(parent.value, NEVER_INHERITED))
        result = self._mapping(inherited, own._replace(value=_without(own.value, (EXTENDS,))), self.top)
        if isinstance(result, dict):
            result.setdefault("description", "")
        return result

    def _both(self, parent: _Side, own: _Side, where: FieldPath) -> Plain:
        inside = where[len(self.top) :]
        if parent.value is None or own.value is None:
            return self._kept(own, where)
        if parent.kind != own.kind:
            name = f"`{where[-1]}`"
            self._problem(own, where, f"{name} is {parent.kind} in {parent.place}, here {own.kind}")
            return self._kept(own, where)
        if inside == _TAGS:
            return self._tags(parent, own, where)
        if isinstance(own.value, dict):
            return self._mapping(parent, own, where)
        return self._list(parent, own, where) if isinstance(own.value, list) else self._kept(own, where)

    def _mapping(self, parent: _Side, own: _Side, where: FieldPath) -> Plain:
        parents, owns = parent.value, own.value
        assert isinstance(parents, dict)  # noqa: S101 - the caller has looked
        assert isinstance(owns, dict)  # noqa: S101
        types = parents.get("type"), owns.get("type")
        if _REPLACE in owns or (None not in types and types[0] != types[1]):
            if len(where) - len(self.top) == 2 and where[-2] == _PARAMETERS[0] and _REPLACE not in owns:
                message = f"the parameter is of type `{types[0]}` in {parent.place}; a task may change its default"
                self._problem(own, (*where, "type"), message)
            return self._kept(own, where, replaces=True)
        self._moved(own, where)
        result: dict[str, Plain] = {}
        names = [*(name for name in owns if name in NEVER_INHERITED and where == self.top)]
        for name in dict.fromkeys([*names, *parents, *owns]):
            at = (*where, name)
            if name not in owns:
                result[name] = self._kept(parent.inner(name), at)
            elif owns[name] is not None and name in parents:
                result[name] = self._both(parent.inner(name), own.inner(name), at)
            elif owns[name] is None and name not in NEVER_INHERITED and name not in parents:
                inner = own.inner(name)
                self._problem(inner, at, f"there is nothing to remove: {_file_of(parent)} has no `{name}` here")
            elif owns[name] is not None:
                result[name] = self._kept(own.inner(name), at)
        return result

    def _list(self, parent: _Side, own: _Side, where: FieldPath) -> Plain:
        parents, owns = list(parent.items()), list(own.items())
        if not owns or not any(each.get("key") is not None for each in parents):
            return self._kept(own, where)
        keys = [str(each.get("key")) for each in parents if each.get("key") is not None]
        if len(keys) < len(parents):
            bare = next(each for each in parents if each.get("key") is None)
            self._problem(own, where, f"lists merge by `key`, and the item at {bare.place} has none: give it one")
            return self._kept(own, where)
        by_key = self._by_key(keys, owns, where)
        return self._kept(own, where) if by_key is None else self._items(parent, own, by_key, where)

    def _by_key(self, keys: list[str], owns: list[_Side], where: FieldPath) -> dict[str, _Side] | None:
        """The task's own items; None where they cannot be told apart."""
        by_key: dict[str, _Side] = {}
        named = ", ".join(f"`{key}`" for key in keys)
        for own in owns:
            key, at = own.get("key"), (*where, own.at[-1])
            if key is None:
                self._problem(own, at, f"the parent's {where[-1]} have keys ({named}); give this one a `key`")
            elif str(key) in by_key:
                self._problem(own, (*at, "key"), f"`{key}` is given twice")
            else:
                by_key[str(key)] = own
        return by_key if len(by_key) == len(owns) else None

    def _items(self, parent: _Side, own: _Side, by_key: dict[str, _Side], where: FieldPath) -> list[Plain]:
        """The parent's items in their order, each with what the task says of it, then the task's further ones."""
        self._moved(own, where)
        result: list[Plain] = []
        parents = {str(item.get("key")): item for item in parent.items()}
        for key in dict.fromkeys([*parents, *by_key]):
            mine, at = by_key.get(key), (*where, len(result))
            if mine is not None and _REMOVE in (mine.value if isinstance(mine.value, dict) else ()):
                self._removed(mine, parents, parent, where)
            elif mine is None:
                result.append(self._kept(parents[key], at))
            elif key not in parents:
                result.append(self._kept(mine, at))
            else:
                result.append(self._both(parents[key], mine, at))
        return result

    def _removed(self, mine: _Side, parents: Mapping[str, _Side], parent: _Side, where: FieldPath) -> None:
        key, at = str(mine.get("key")), (*where, mine.at[-1])
        if mine.value != {"key": mine.get("key"), _REMOVE: True}:
            self._problem(mine, at, f"`{{key: {key}, {_REMOVE}: true}}` removes an item; leave out the rest")
        elif key not in parents:
            noun = str(where[-1]).removesuffix("s")
            self._problem(mine, at, f"no {noun} `{key}` in {parent.place}. {hint(key, parents, 'There')}")

    def _tags(self, parent: _Side, own: _Side, where: FieldPath) -> Plain:
        """The tags of both; `!tag` removes one of the parent's."""
        self._moved(own, where)
        tags = {str(each.value): each for each in parent.items()} if own.value else {}
        for item in own.items():
            name = str(item.value)
            if not name.startswith("!"):
                tags.setdefault(name, item)
            elif tags.pop(name[1:], None) is None:
                inherited = hint(name[1:], [str(tag.value) for tag in parent.items()], "Inherited")
                self._problem(item, (*where, item.at[-1]), f"the tag `{name[1:]}` is not inherited. {inherited}")
        return [self._kept(each, (*where, at)) for at, each in enumerate(tags.values())]

    def _kept(self, side: _Side, where: FieldPath, *, replaces: bool = False) -> Plain:
        """A value that only one of them has, with its places."""
        self._moved(side, where)
        value = side.value
        if isinstance(value, list):
            return [self._kept(item, (*where, item.at[-1])) for item in side.items()]
        if not isinstance(value, dict):
            return value
        for word in (_REMOVE, _REPLACE):
            if word in value and not replaces and side.written is self.own:
                verb = word.removeprefix("$")
                self._problem(side.inner(word), where, f"there is nothing to {verb}: the parent has no such item")
            elif word in value and value[word] is not True:
                self._problem(side.inner(word), (*where, word), f"`{word}` is `true` or left out")
        return {name: self._kept(side.inner(name), (*where, name)) for name in value if name not in (_REMOVE, _REPLACE)}

    def _moved(self, side: _Side, where: FieldPath) -> None:
        side.written.moved[side.at] = where
        if (mark := side.written.marks.get(side.at)) is not None:
            self.marks[where] = mark

    def _problem(self, side: _Side, where: FieldPath, message: str) -> None:
        self.problems.append(MergeProblem(side.mark, where, message))


def _without(value: Plain, names: tuple[str, ...]) -> Plain:
    return {name: each for name, each in value.items() if name not in names} if isinstance(value, dict) else value


def _file_of(side: _Side) -> str:
    return side.mark.file
