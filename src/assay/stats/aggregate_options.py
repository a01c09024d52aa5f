"""Options that several aggregates have."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from assay.part_options import Doc, InFiles, ValueName

ReadValue = Annotated[str, Meta(min_length=1), ValueName("The score value it reads."), InFiles()]
OutputName = Annotated[str | None, Doc("What the number is called.")]
