"""What stands before the name of a task that an installed package brings: known without importing any of it."""

from __future__ import annotations

LM_EVAL = "lm-eval:"
