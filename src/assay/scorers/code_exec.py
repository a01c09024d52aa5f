"""Model-written code, scored by running it: refused until there is a sandbox to run it in."""

from __future__ import annotations

from typing import Any

from assay.core.errors import FailureError
from assay.core.seams import Scorer
from assay.core.types import Failure


def code_exec(key: str, *, context: object = None, **options: Any) -> Scorer:
    """Run the prediction against checks. Refused here: model-written code runs only in a sandbox, never in-process."""
    message = "code_exec needs the sandbox; model-written code is never run without one"
    raise FailureError(Failure(stage="scorer", part=key, kind="unsupported", message=message))
