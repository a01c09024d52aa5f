"""Questions to the tiny model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.contracts.model import closing

from assay.core.types import Completion, Request
from assay.models.embedded.model import EmbeddedModel


def ask(folder: Path, *requests: Request, **options: Any) -> list[Completion]:
    async def answers() -> list[Completion]:
        async with closing(EmbeddedModel(folder=str(folder), max_tokens=8, **options)) as model:
            return await asyncio.gather(*(model.generate(request) for request in requests))

    return asyncio.run(answers())
