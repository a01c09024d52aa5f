"""The scripted model and the build context of `assay.testing`, by their short names."""

from __future__ import annotations

from assay.testing import ScriptedModel, context_with

Scripted = ScriptedModel
Context = context_with
