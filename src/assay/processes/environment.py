"""What a child process inherits: a list of names, and those that the user passes. There is no other way to a child,
but for an evaluator, which gets the caller's environment without credentials.

The list holds what a program needs to start, to be found, to speak the user's language, to verify a server and to
find its devices and caches. A key, a token or a webhook is not on it, whatever it is called. `.env` is not looked at:
what stands there reaches no child (see `env_file.py`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping

from assay.processes.privacy import keep_environment_private

PASSED = "ASSAY_PASS_ENV"
"""The variable that lists further names every program of the user may inherit, separated by commas or blanks."""

LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "SYSTEMROOT")
"""Without these some interpreters do not find their own library."""

INHERITED = frozenset(
    (
        *LOADER,
        # who and where one is
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TEMP", "TMP", "TZ"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
        # the language; no prefix, for `LC_…` is also what people send their own variables through ssh with
        *("LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT"),
        *("LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME"),
        # interpreters
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE"),
        *("PYTHONSAFEPATH", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONWARNINGS"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "JAVA_HOME", "NODE_PATH"),
        # whom to believe on the network; proxies see below
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
        # devices, threads and the caches of local models
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
        *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM"),
        *("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TORCH_HOME"),
    )
)

OWN_FOLDERS = ("ASSAY_HOME", "ASSAY_CACHE")
"""Where assay keeps what is the user's, which a worker of ours may look for."""

PROXIES = frozenset(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"))
"""In either case. Inherited unless the address holds a login."""

_SEPARATORS = re.compile(r"[,\s]+")


def child_environment(passed: Iterable[str] = (), environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a program of the user's: what is inherited, and the names that the user passes.

    From now on no child can read ours through `/proc` either.
    """
    keep_environment_private()
    environ = os.environ if environ is None else environ
    named = {*passed, *names_in(environ.get(PASSED, ""))}
    return {name: value for name, value in environ.items() if name in named or _is_inherited(name, value)}


def caller_environment(is_withheld: Callable[[str, str], bool], passed: Iterable[str] = ()) -> dict[str, str]:
    """The whole environment, but for variables that are withheld by name and value, unless the user passes them.

    From now on no child can read ours through `/proc` either.
    """
    inherited = child_environment(passed)
    rest = {name: value for name, value in os.environ.items() if not is_withheld(name, value)}
    return {**rest, **inherited}


def worker_environment() -> dict[str, str]:
    """The environment of a Python process of ours that imports what this one can, from the same places.

    To be started with `-P`, or the working directory would come before all of them.
    """
    places = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return {**child_environment(OWN_FOLDERS), "PYTHONPATH": places}


def bare_environment(**variables: str) -> dict[str, str]:
    """The environment of a helper of ours that serves no program of the user's: these variables, and the loader's."""
    keep_environment_private()
    return {name: os.environ[name] for name in LOADER if name in os.environ} | variables


def names_in(text: str) -> list[str]:
    """The names of a list that is one text, such as `A,B` or `A B`."""
    return [name for name in _SEPARATORS.split(text) if name]


def _is_inherited(name: str, value: str) -> bool:
    return name in INHERITED or (name.upper() in PROXIES and "@" not in value)
