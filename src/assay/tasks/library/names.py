"""The prefixes of the names of tasks from installed packages: known without importing any of them."""

from __future__ import annotations

LM_EVAL = "lm-eval:"
OPENAI_EVALS = "openai-evals:"
INSPECT = "inspect:"
LIBRARIES = (LM_EVAL, OPENAI_EVALS, INSPECT)
