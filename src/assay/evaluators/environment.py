"""The environment an evaluator command gets: the caller's own, without what looks like a secret."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from assay.env_file import KEY_NAMES

TASK_MODEL_VARIABLE = "OPTIMIZE_ANYTHING_TASK_MODEL"

_SECRET_NAME = re.compile(
    r"(^|_)(KEYS?|API_?KEYS?|TOKENS?|SECRETS?|CREDENTIALS?|CREDS|AUTH|COOKIES?|PASS|PAT|DSN)(_|$)|PASSW(OR)?D|APIKEY",
    re.IGNORECASE,
)
_LOGIN_IN_URL = re.compile(r"://[^/\s:@]+:[^/\s@]+@")


def clean_environment(inherited: Mapping[str, str], passed: Collection[str], task_model: str | None) -> dict[str, str]:
    """The inherited variables without secrets, those `passed` by name whatever they look like, and the task model.

    A secret is what is named like one, what holds a login, and what a model of this process reads its key from.
    The task model's variable is there exactly when a task model is given: a stale one of the caller's is not inherited.
    """
    kept = {
        name: value
        for name, value in inherited.items()
        if name in passed or not (name in KEY_NAMES or _SECRET_NAME.search(name) or _LOGIN_IN_URL.search(value))
    }
    kept.pop(TASK_MODEL_VARIABLE, None)
    if task_model is not None:
        kept[TASK_MODEL_VARIABLE] = task_model
    return kept
