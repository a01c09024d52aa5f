"""`.env` files: a place to look up named keys. Nothing of one is ever put into the environment or passed to a child.

The rule of what may come from where, for the whole program:

- from the environment, else from `.env` of the current folder (`--env FILE` names another): the variable that a model
  reads its key from (`key_variable`) and a `$NAME` of a task file (`variables`);
- from the environment alone, read with `os.environ`: everything else, above all what chooses an address, a proxy, a
  certificate, a cache, a program or the sandbox. A `.env` comes with every cloned folder, and must not decide
  where requests go. `NOT_READ_HERE` lists the names of ours that people try, so that they get a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from urllib.parse import urlsplit

from assay.core.errors import UsageError

NOT_READ_HERE = (
    *("ASSAY_ALLOW_UNSANDBOXED", "ASSAY_CACHE", "ASSAY_CACHE_ANSWERS", "ASSAY_DEBUGGABLE"),
    *("ASSAY_HOME", "ASSAY_PASS_ENV"),
    *("OPENAI_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""What a run reads from the environment alone."""

LARGEST_BYTES = 1 << 20

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_BEGINNINGS = ("sk_", "gsk_", "hf_", "AIza", "r8_", "ghp_", "github_pat_", "glpat_", "xoxb", "eyJ", "AKIA")
_chosen: ContextVar[Path | None] = ContextVar("_chosen", default=None)


def choose(path: Path | None) -> None:
    """Look things up in this file from now on; None: in `.env` of the current folder, where there is one."""
    if path is not None and not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    _chosen.set(path)


@contextmanager
def looking_in(path: Path | None) -> Iterator[None]:
    """Look things up in this file meanwhile, in this task alone; None: wherever one did before."""
    before = _chosen.get()
    choose(path or before)
    try:
        yield
    finally:
        _chosen.set(before)


def chosen() -> Path | None:
    """The file that was chosen, for a worker elsewhere to choose it too; None: `.env` of the current folder."""
    path = _chosen.get()
    return None if path is None else path.resolve()


key_names: set[str] = set()
"""The variables that models have read their keys from in this process, whatever they are called."""


def key_variable(name: str) -> str | None:
    """The value of the variable that a model reads its key from; None when it is set nowhere."""
    key_names.add(name)
    return os.environ[name] if name in os.environ else _of_file().get(name)


def variables() -> dict[str, str]:
    """What may be looked up by name: the environment, and those of the file that it does not have."""
    return {**_of_file(), **os.environ}


def ignored_here() -> list[str]:
    """A sentence for each name in the file that looks like a setting but is not read from it."""
    path = _path()
    words = [name for name in _readable_part() if _is_not_read_here(name) and name not in os.environ]
    return [f"{path}: {name} has no effect there; set it in the environment" for name in words]


def refuse_unused_address(key: str, adapter: str, address: str, instead: str) -> None:
    """`UsageError` when a base URL of the key's server, or of the adapter's, is set where nothing reads it: the key
    would be sent to another server than the one next to it. `instead` is how the address is given.
    """
    for place, name in unread_addresses(key, adapter, address):
        raise UsageError(
            f"{place}: {name} is not read from there, so {key} would be sent to {address} instead; write the "
            f"address after the model's name, {instead}, or remove {name}"
        )


def unread_addresses(key: str, adapter: str, address: str) -> list[tuple[str, str]]:
    """The variables, each with its place, that name another address for the key's server, or the adapter's, and that
    nothing reads.
    """
    services = dict.fromkeys((key.removesuffix("_API_KEY"), adapter.upper().replace("-", "_")))
    names = [f"{service}_{word}" for service in services for word in _ADDRESS_WORDS]
    return [
        (place, name)
        for place, there in (("the environment", os.environ), (str(_path()), _readable_part()))
        for name in (*names, *_OTHER_ADDRESSES.get(adapter, ()))
        if not _is_same_address(there.get(name) or address, address)
    ]


_ADDRESS_WORDS = ("BASE_URL", "API_BASE", "API_BASE_URL", "API_URL")
_OTHER_ADDRESSES = {"gemini": ("GOOGLE_GEMINI_BASE_URL",), "ollama": ("OLLAMA_HOST",)}
_THIS_MACHINE = ("localhost", "127.0.0.1", "0.0.0.0", "::1", "::")  # noqa: S104 -- compared, and not listened on


def _is_same_address(one: str, other: str) -> bool:
    """Whether both name one server; without a scheme and a port, as in OLLAMA_HOST, they are the other's."""
    usual = urlsplit(other)

    def place(text: str) -> tuple[object, ...]:
        try:
            parts = urlsplit(text if "://" in text else f"{usual.scheme}://{text}")
            port = parts.port or (None if "://" in text else usual.port)
        except ValueError:
            return (text,)
        host = "localhost" if parts.hostname in (None, *_THIS_MACHINE) else parts.hostname
        return parts.scheme, host, port, parts.path.rstrip("/").removesuffix("/v1")

    return place(one) == place(other)


def refuse_unset(option: str, names: Iterable[str]) -> None:
    """`UsageError` when a name that is to be passed to a program is none, or is not set."""
    for name in names:
        check_name(option, name)
        if name not in os.environ:
            here = ", and variables of .env are not passed to programs" if name in _readable_part() else ""
            raise UsageError(f"{option} names the variable {name}, which is not set in the environment{here}")


def check_name(option: str, name: object) -> None:
    """`UsageError` when what should be a variable's name is none or is a key, which is not repeated."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or _is_a_key(name):
        raise UsageError(
            f"{option} must be the name of an environment variable, such as OPENAI_API_KEY, and what is given "
            "is no such name (it is not shown, for it may be a key): set the variable to the key and give its name"
        )


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of a `.env` file: `NAME=value` lines, `#` comments, an optional `export`, optional quotes."""
    variables: dict[str, str] = {}
    for number, line in enumerate(_text_of(path).splitlines(), 1):
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


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        if len(data) > LARGEST_BYTES:
            raise UsageError(f"{path}: holds more than {LARGEST_BYTES:,} bytes, which no file of variables does")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start + 1} is not UTF-8") from error


def _of_file() -> dict[str, str]:
    path = _path()
    return {} if path is None else read_env_file(path)


def _readable_part() -> dict[str, str]:
    """The variables of the file; none if it cannot be read, which matters only to those that need a key."""
    try:
        return _of_file()
    except UsageError:
        return {}


def _path() -> Path | None:
    path = _chosen.get() or Path(".env")
    return path if path.is_file() else None


def _is_not_read_here(name: str) -> bool:
    return name.upper() in NOT_READ_HERE or name.startswith("ASSAY_")


def _is_a_key(name: str) -> bool:
    """Many keys could be names: `gsk_…`, `hf_…`, forty hexadecimal digits. A variable's name is set, or has words."""
    mixed = any(c.islower() for c in name) and sum(c.isdigit() for c in name) >= 3
    wordless = "_" not in name
    like_one = len(name) >= 16 and (name.startswith(_KEY_BEGINNINGS) or (len(name) >= 20 and (mixed or wordless)))
    return like_one and name not in os.environ and name not in _readable_part()


def named_variable(text: str) -> str | None:
    """The variable that a text names if it is `$NAME` or `${NAME}` and nothing else."""
    match = re.fullmatch(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", text)
    return (match[1] or match[2]) if match else None
