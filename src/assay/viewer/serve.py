"""Starts the viewer on this machine and keeps it going until it is told to stop."""

from __future__ import annotations

import socket
import sys
import webbrowser
from pathlib import Path

import uvicorn

from assay.core.errors import UsageError
from assay.viewer.app import make_app
from assay.viewer.guard import new_token
from assay.viewer.library import Library

FIRST_PORT = 8750
TRIES = 20


def serve(roots: list[Path], *, port: int | None, browser: bool) -> None:
    """Serve until interrupted. The link, with its token, is the only thing written to stdout."""
    library = Library(roots)
    library.views()  # a folder that is not there is told before anything is opened
    listening = listen(port)
    number = listening.getsockname()[1]
    token = new_token()
    link = f"http://127.0.0.1:{number}/?token={token}"
    config = uvicorn.Config(
        make_app(library, token=token, port=number),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    print(link, flush=True)
    print("the viewer reads only; stop it with Ctrl-C, no run is disturbed", file=sys.stderr)
    if browser:
        webbrowser.open(link)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        library.builders.stop()
        listening.close()


def listen(port: int | None) -> socket.socket:
    """A loopback socket: on the port asked for, else on the first free one, so that links stay good."""
    wanted = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + TRIES), 0]
    for number in wanted:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", number))
        except (OSError, OverflowError):
            listening.close()
            continue
        listening.listen(128)
        return listening
    raise UsageError(f"port {port} of this machine cannot be used; choose another --port, or leave it out")
