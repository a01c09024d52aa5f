"""The prefixes of tasks from installed packages, which are not imported here."""

from __future__ import annotations

LM_EVAL = "lm-eval:"
OPENAI_EVALS = "openai-evals:"
INSPECT = "inspect:"
LIBRARIES = (LM_EVAL, OPENAI_EVALS, INSPECT)
