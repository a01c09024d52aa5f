"""An OpenAI-compatible server for the embedded model's file: that of llama.cpp, from the package `xllamacpp`.

    python -m assay.models.adapters.local_server MODEL.gguf --slots 4 --port 0

It listens on loopback, prints its address as its first line, and ends when its stdin is closed. It generates faster
than the numpy engine but cannot score continuations; its quantised arithmetic gives slightly different answers.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Served
from assay.core.types import Completion, Failure, Request
from assay.models.adapters.openai import OpenAIModel
from assay.models.adapters.providers import NO_KEY
from assay.models.embedded import weights as embedded_weights
from assay.processes.child import Child
from assay.processes.environment import worker_environment

CONTEXT_PER_SLOT = 8192
START_SECONDS = 60.0


class ServedModel:
    """The embedded model behind its own server, which is started with the first request."""

    offers = ModelOffers(cacheable=True)

    def __init__(self, folder: Path, *, max_tokens: int, slots: int = 4, extra: dict[str, Any] | None = None) -> None:
        embedded_weights.require(folder)
        require_xllamacpp()
        about = embedded_weights.describe(folder)
        self.name = f"embedded:{about['name']}"
        self._gguf = folder / "model.gguf"
        self._slots = slots
        self._options = {"max_tokens": max_tokens, "temperature": 0.0, **(extra or {})}
        self.settings = {
            "adapter": "embedded",
            "model": about["name"],
            "sha256": about["sha256"],
            "licence": about["licence"],
            "engine": "xllamacpp",
            "slots": slots,
            "extra": self._options,
        }
        self._server: Child | None = None
        self._model: OpenAIModel | None = None
        self._text_model: OpenAIModel | None = None
        """The same server, for texts that no chat template is applied to."""
        self._starting = asyncio.Lock()

    async def served(self) -> Served:
        """The hash of the published file, which was checked when it was fetched."""
        return Served(strong={"weights sha256": str(self.settings["sha256"])})

    async def generate(self, request: Request) -> Completion:
        async with self._starting:
            if self._model is None or self._server is None or self._server.has_ended:
                await self._stop()
                address = await self._start()
                self._model = OpenAIModel("local", base_url=address, api_key_env=NO_KEY)
                self._text_model = OpenAIModel("local", base_url=address, api_key_env=NO_KEY, mode="completions")
        model = self._text_model if request.plain and self._text_model is not None else self._model
        try:
            return await model.generate(_with_options(request, self._options))
        except FailureError as error:
            failure = msgspec.structs.replace(error.failure, part=self.name)
            raise FailureError(failure, error.retry_after_seconds) from error

    async def aclose(self) -> None:
        self._starting = asyncio.Lock()
        await self._stop()

    async def _stop(self) -> None:
        server, self._server = self._server, None
        models, self._model, self._text_model = (self._model, self._text_model), None, None
        for model in models:
            if model is not None:
                await model.aclose()
        if server is not None:
            await server.end()

    async def _start(self) -> str:
        """Start the server; return its base URL."""
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._server = Child(
            [sys.executable, "-P", "-m", __name__, str(self._gguf), "--slots", str(self._slots)],
            env=worker_environment(),
            on_line=lambda _, line: None if address.done() else address.set_result(line.decode("utf-8", "replace")),
            stderr="dropped",
        )
        waited = (address, self._server.closed)
        await asyncio.wait(waited, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not address.done() or not address.result().startswith("http://"):
            message = "the local server did not start"
            raise FailureError(Failure(stage="model", part=self.name, kind="connection", message=message))
        return f"{address.result().strip()}/v1"


def _with_options(request: Request, options: Mapping[str, Any]) -> Request:
    """What the request leaves open is filled in with the model's options."""
    missing = {name: options[name] for name in ("temperature", "max_tokens") if getattr(request, name) is None}
    extra = {name: value for name, value in options.items() if name not in ("temperature", "max_tokens")}
    return msgspec.structs.replace(request, **missing, extra={**extra, **(request.extra or {})})


def require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError("the llama.cpp engine needs the package `xllamacpp`: pip install xllamacpp")


def serve(gguf: Path, *, slots: int, port: int) -> Any:
    """Start the server; it runs in threads of this process for as long as the returned object is kept."""
    require_xllamacpp()
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(gguf)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = slots
    parameters.n_ctx = CONTEXT_PER_SLOT * slots
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = -1
    return xllamacpp.Server(parameters)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf", type=Path)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = serve(options.gguf, slots=options.slots, port=options.port)
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    leave()


def leave() -> None:
    """End the process: the server's threads do not end by themselves."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
