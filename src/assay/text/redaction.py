"""Keys are cut out of what a server says, after it is decoded: in every string, in whatever form it repeats them.

The forms: plain in upper or lower case; reversed; hexadecimal; base64 of either alphabet, anywhere in a longer text;
escaped for JSON, URLs (`%2D`) or HTML, wholly or where a character is neither letter nor digit; as a list of byte
numbers; each of these with one blank, or with line breaks and punctuation, between the characters; and spread over the
items of a list (content parts, tokens). Not cut: what is compressed, encrypted or encoded twice, and a piece of a key.

Looking must cost next to nothing, for it is done to every answer. A key in any of its forms is a run of characters
without a blank, as long as the key, or has a blank after every character: what holds neither is handed back untouched.
"""

from __future__ import annotations

import base64
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec

MARK = "[key]"
SHORTEST = 16
"""No provider's key is shorter; cutting out a shorter one would spoil honest answers."""
SHORTEST_GIVEN = 6
"""Of a key that the user gave by hand, which is known to be one."""
_SHORTEST_FORM = 12
"""Letters and digits that a key must have to be looked for in disguise."""

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_KEPT = _LETTERS + _LETTERS.upper() + b"0123456789"
_LOWER = bytes.maketrans(_LETTERS.upper(), _LETTERS)
_DROPPED = bytes(number for number in range(256) if number not in _KEPT)
_BREAKS = b" \t\"'`(){}[]<>" + bytes(range(128, 256))
_BETWEEN = "[^a-z0-9]*+"


_CREDENTIAL = re.compile(
    r"(^|[^a-z])(api)?(key|token|secret|sig|signature|pass|passwd|password|pwd|auth|authorization|cookie|jwt|code|"
    r"credentials?)([^a-z]|$)"
)
_SECRET_OPTION = re.compile(r"api-?key|authorization|secret|passwo?r?d|(access|auth|bearer)-token")
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def credential_in(url: str) -> str | None:
    """What a URL holds that is no address, in words that do not repeat it; None when it is only an address."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        return "a user name or password"
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    secret = [name for name in names if _is_credential(name)]
    return f"a secret (`{secret[0]}`)" if secret else None


def secret_option_in(options: object) -> str | None:
    """The name of an option, at any depth, that is called like a secret and holds a text; None when there is none."""
    if isinstance(options, list | tuple):
        return next((name for option in options if (name := secret_option_in(option))), None)
    if not isinstance(options, Mapping):
        return None
    for name, value in options.items():
        if isinstance(value, str) and value and _SECRET_OPTION.search(_words_of(str(name))):
            return str(name)
        if (inner := secret_option_in(value)) is not None:
            return inner
    return None


def secrets_sent(url: str, headers: Mapping[str, str]) -> list[str]:
    """What a request carries that nobody else should read: a login, parameters named like secrets, and its headers."""
    parts = urlsplit(url)
    login = [part for part in (parts.username, parts.password) if part]
    return [
        *login,
        *map(unquote, login),
        *(_without_scheme(value) for name, value in parse_qsl(parts.query) if _is_credential(name)),
        *(
            _without_scheme(value) if _is_credential(name) else value.strip()
            for name, value in headers.items()
            if name.lower() not in _PUBLIC_HEADERS
        ),
    ]


_PUBLIC_HEADERS = ("accept", "accept-charset", "accept-encoding", "accept-language", "content-type", "user-agent")


def _without_scheme(value: str) -> str:
    """A credential without `Bearer`, `Basic` or `Token` before it."""
    return re.sub(r"^[A-Za-z]+ +(?=\S+$)", "", value.strip())


def redactor_of_given(values: Iterable[str]) -> Redactor:
    """For keys that the user gave by hand; of those that are addresses, for their passwords too."""
    given = tuple(values)
    return _redactor_of((*given, *(item for value in given for item in _password_in(value))), SHORTEST_GIVEN)


def cut_keys(text: str) -> str:
    """A message of a program of the user's without the keys of our environment, and without what looks like a key.

    A message may lose a word that was meant; an answer may not, so none comes through here.
    """
    return _LIKE_A_KEY.sub(MARK, _redactor_of(tuple(_secrets_here())).text(text))


def cut_secrets(value: Any) -> Any:
    """Plain data from a program of the user's without the keys of our environment. Changed in place."""
    return _redactor_of(tuple(_secrets_here())).value(value)


_LIKE_A_KEY = re.compile(
    r"\b(?:sk-|gsk_|hf_|AIza|r8_|ghp_|github_pat_|glpat-|xox[bp]-|AKIA|eyJ)[\w.-]{12,}"
    r"|(?<=\bBearer )[\w.~+/=-]{8,}",
    re.IGNORECASE,
)


_CREDENTIAL_VARIABLE = re.compile(
    r"key|token|secret|pass|pwd|auth|credential|cookie|jwt|webhook|dsn|private|signature|(?<![a-z])(pat|sas|pin|otp)(?![a-z])"
)
"""What the name of a variable holds that is a credential; wide, since one that is withheld by mistake is reported."""
_NO_CREDENTIALS = ("PWD", "OLDPWD")
_WITH_LOGIN = re.compile(r"://[^/\s]*@")
_WITH_PASSWORD = re.compile(r"(?i)(key|password|pwd|secret|token)\s*=")
_RANDOM = re.compile(r"(?=(?:[^0-9]*[0-9]){3})(?=[^a-zA-Z]*[a-zA-Z])[\w+=~-]{20,}")
"""Letters and digits without a word in between, as keys are."""


@lru_cache(maxsize=4096)
def is_credential_variable(name: str, value: str) -> bool:
    """Whether an environment variable is a credential, by its name or by its value."""
    if name in _NO_CREDENTIALS or name.startswith("ASSAY_"):
        return False
    return (
        _CREDENTIAL_VARIABLE.search(name.lower()) is not None
        or _WITH_LOGIN.search(value) is not None
        or _WITH_PASSWORD.search(value) is not None
        or _LIKE_A_KEY.search(value) is not None
        or _RANDOM.fullmatch(value) is not None
    )


def _secrets_here() -> Iterator[str]:
    """The values of variables that are credentials, and the passwords in addresses."""
    for name, value in os.environ.items():
        if "@" in value and "://" in value:
            yield from _password_in(value)
        elif len(value) >= SHORTEST and is_credential_variable(name, value):
            yield value


def _password_in(url: str) -> Iterator[str]:
    try:
        password = urlsplit(url).password
    except ValueError:  # no address after all
        return
    if password:
        yield password


@lru_cache(maxsize=16)
def _redactor_of(secrets: tuple[str, ...], shortest: int = 8) -> Redactor:
    return Redactor(secrets, shortest=shortest)


@lru_cache(maxsize=1024)
def _is_credential(name: str) -> bool:
    return _CREDENTIAL.search(_words_of(name)) is not None


def _words_of(name: str) -> str:
    return _NEW_WORD.sub("-", name).lower().replace("_", "-")


class Redactor:
    """Knows some keys in all their forms, and cuts them out."""

    def __init__(self, keys: Iterable[str | None], *, shortest: int = SHORTEST) -> None:
        self._keys = [key for key in keys if key and len(key) >= shortest]
        if not self._keys:
            return
        self._forms = sorted({form for key in self._keys for form in _forms(key)}, key=len)
        plain = [re.escape(key) for key in sorted(self._keys, key=len, reverse=True)]  # one may begin with another
        spelt = [_BETWEEN.join(form.decode()) for form in reversed(self._forms)]
        self._pattern = re.compile("|".join((*plain, *spelt)), re.IGNORECASE | re.ASCII)
        # without letters and digits enough a key is looked for as it is
        self._plain = [key.encode().lower() for key in self._keys if len(_squeezed(key.encode())) < _SHORTEST_FORM]
        length = min(map(len, (*self._keys, *self._forms)))
        breaks = set(_BREAKS).difference("".join(self._keys).encode())
        self._runs = bytes(32 if number in breaks else 97 for number in range(256))
        self._run = b"a" * length
        # with a blank after every character, each second place holds one; looking at every so-many-th is enough
        self._step = 2 * max(1, (length - 1) // 8)
        self._blanks = b" " * ((2 * length - 3) // self._step)

    def body(self, data: bytes) -> bytes:
        """What a server sent, without keys: every string of its JSON, or the text where it is none."""
        if not self._keys or not self._may_hold(data):
            return data
        try:
            whole = [msgspec.json.decode(data)]
            return msgspec.json.encode(whole[0]) if self._cut(whole) else data
        except (msgspec.DecodeError, msgspec.EncodeError, UnicodeDecodeError, RecursionError, OverflowError):
            return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def text(self, text: str) -> str:
        """A text without keys."""
        return _without(text, self._places(text)) if self._keys else text

    def joined(self, parts: Sequence[str]) -> str:
        """Parts as one text, which may hold what none of them does."""
        text = "".join(parts)
        return self.text(text) if len(parts) > 1 else text

    def spelt(self, items: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
        """A list whose items spell a text between them, such as the tokens of an answer; else as it was."""
        if not self._keys:
            return items
        try:
            text = "".join([item[name] for item in items])
        except (LookupError, TypeError):  # of another shape, which the slow way can read
            text = None
        if text is not None and not self._places(text):
            return items
        found: list[dict[str, Any]] = self.value(items)
        return found

    def value(self, value: Any) -> Any:
        """Plain data without keys: in strings, in names, and spread over the items of a list. Changed in place."""
        if not self._keys:
            return value
        whole = [value]
        self._cut(whole)
        return whole[0]

    def _cut(self, whole: list[Any]) -> bool:
        """Cut keys out of everything in a list; whether there were any."""
        found = _Leaves()
        renamed = [self._rename(names) for names in found.collect(whole)]
        return any([*renamed, *[self._cut_spread(leaves) for leaves in found.by_address.values()]])

    def _rename(self, container: dict[str, Any]) -> bool:
        names = [name for name in container if self._places(name)]
        for name in names:
            container[self.text(name)] = container.pop(name)
        return bool(names)

    def _cut_spread(self, leaves: list[_Leaf]) -> bool:
        """Cut out of each what it holds of a key that they spell between them."""
        places = deque(self._places("".join(leaf.text for leaf in leaves)))
        known = bool(places)
        start = 0
        for leaf in leaves:
            end = start + len(leaf.text)
            touched = []
            while places and places[0][0] < end:
                first, last = places[0]
                touched.append((max(first, start) - start, min(last, end) - start))
                if last > end:
                    break  # the next one has the rest of it
                places.popleft()
            if touched:
                leaf.put(_without(leaf.text, touched))
            start = end
        return known

    def _may_hold(self, data: bytes) -> bool:
        """Whether there is a run of characters, or of characters and blanks, that must be looked at more closely."""
        if len(data) < len(self._run):
            return False
        runs = data.translate(self._runs)
        start = runs.find(self._run)
        while start >= 0:
            end = runs.find(b" ", start)
            piece = data[start:] if end < 0 else data[start:end]
            if self._is_known(piece):
                return True
            start = runs.find(self._run, end) if end >= 0 else -1
        if data.count(b" ") < len(self._run) - 1:
            return False
        return self._blanks in data[:: self._step] or self._blanks in data[1 :: self._step]

    def _is_known(self, piece: bytes) -> bool:
        """Whether a run holds a key in one of its forms, or escapes that only decoding undoes."""
        if b"\\" in piece:
            if b"\\u00" in piece:
                return True
            piece = piece.replace(b"\\n", b"").replace(b"\\r", b"").replace(b"\\t", b"")
        squeezed = _squeezed(piece)
        for form in self._forms:
            if len(form) > len(squeezed):
                break
            if form in squeezed:
                return True
        return bool(self._plain) and any(key in piece.lower() for key in self._plain)

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where keys begin and end."""
        known = self._may_hold(text.encode("utf-8", "surrogatepass"))
        return [match.span() for match in self._pattern.finditer(text)] if known else []


class _Leaf:
    """A string, or a number that stands for a character, and where it lies."""

    __slots__ = ("container", "place", "text")

    def __init__(self, container: Any, place: Any, text: str) -> None:
        self.container = container
        self.place = place
        self.text = text

    def put(self, text: str) -> None:
        is_text = isinstance(self.container[self.place], str)
        self.container[self.place] = text if is_text else ord("*")


class _Leaves:
    """Every string and every byte in a list of numbers, in order, by its address without the positions in lists."""

    def __init__(self) -> None:
        self.by_address: dict[int, list[_Leaf]] = {}
        self._addresses: dict[tuple[int, str], int] = {}

    def collect(self, whole: list[Any]) -> Iterator[dict[str, Any]]:
        """Each object on the way, whose names may be changed once it is handed out."""
        waiting: list[tuple[Any, int]] = [(whole, 0)]
        while waiting:
            container, address = waiting.pop()
            below: list[tuple[Any, int]] = []
            if isinstance(container, dict):
                yield container
            items = container.items() if isinstance(container, dict) else enumerate(container)
            for place, value in items:
                where = self._below(address, f".{place}" if isinstance(container, dict) else "*")
                if isinstance(value, dict | list):
                    below.append((value, where))
                elif isinstance(value, str):
                    self.by_address.setdefault(where, []).append(_Leaf(container, place, value))
                elif isinstance(container, list) and isinstance(value, int) and 0 <= value < 256:
                    number = _Leaf(container, place, chr(value))
                    self.by_address.setdefault(self._below(where, "#"), []).append(number)
            waiting += reversed(below)

    def _below(self, address: int, step: str) -> int:
        return self._addresses.setdefault((address, step), len(self._addresses) + 1)


def _without(text: str, places: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in places:
        kept += (text[at:start], MARK)
        at = end
    return "".join((*kept, text[at:])) if places else text


def _forms(key: str) -> set[bytes]:
    """The key in each of its forms, letters and digits only, in lower case."""
    data = key.encode()
    escapes = ("u00%02x", "%02x", "x%02x", "%d")  # of JSON, of URLs, and of HTML twice; what is around them is dropped
    written = [
        data,
        data[::-1],
        data.hex().encode(),
        *(_inner_base64(data, before) for before in range(3)),
        quote(key, safe="").encode(),
        *("".join(escape % byte for byte in data).encode() for escape in escapes),
        *("".join(c if c.isalnum() else escape % ord(c) for c in key).encode() for escape in escapes),
    ]
    return {form for item in written if len(form := _squeezed(item)) >= _SHORTEST_FORM}


def _squeezed(data: bytes) -> bytes:
    return data.translate(_LOWER, _DROPPED)


def _inner_base64(data: bytes, before: int) -> bytes:
    """What base64 makes of the key with so many bytes before it, without the ends that depend on what is around it."""
    encoded = base64.b64encode(b"\0" * before + data).rstrip(b"=")
    loose = (len(data) + before) % 3
    return encoded[(0, 2, 3)[before] : len(encoded) - 1 if loose else len(encoded)]
