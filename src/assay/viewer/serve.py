"""Starts the viewer on this machine and runs it until it is stopped."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from pathlib import Path

import uvicorn

from assay.core.errors import UsageError
from assay.viewer.app import make_app
from assay.viewer.entry import SessionLinks
from assay.viewer.run_list import RunList

FIRST_PORT = 8750
TRIES = 20


def serve(roots: list[Path], *, port: int | None, browser: bool, awaited: bool = False) -> None:
    """Serve until interrupted. Links, each of which opens the viewer once, are all that is written to stdout.

    Roots that are `awaited` need not be there yet: their runs are shown as they appear.
    """
    run_list = RunList(roots, awaited=awaited)
    if not run_list.views():  # which refuses a folder that is not there, before anything is opened
        places = ", ".join(map(str, roots))
        print(f"no run in {places} yet: runs appear on the page as `assay run` writes them", file=sys.stderr)
    listening = listen(port)
    number = listening.getsockname()[1]
    entry = SessionLinks(f"http://127.0.0.1:{number}/", lambda link: print(link, flush=True))
    config = uvicorn.Config(
        make_app(run_list, entry=entry, port=number),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    entry.show_link()
    print(
        "the link works in one browser; the viewer never changes results; Ctrl-C stops the viewer, not a run",
        file=sys.stderr,
    )
    try:
        if browser:
            # in a thread: one that runs in the terminal comes back only when it is closed
            threading.Thread(target=webbrowser.open, args=[entry.file().as_uri()], daemon=True).start()
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        entry.close()
        run_list.builders.stop()
        listening.close()


def listen(port: int | None) -> socket.socket:
    """A loopback socket: on the requested port, else on the first free one, so that links stay good."""
    wanted = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + TRIES), 0]
    for number in wanted:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # taken over by every connection: head and body of an answer never wait for each other, which costs 40 ms
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            listening.bind(("127.0.0.1", number))
        except (OSError, OverflowError):
            listening.close()
            continue
        listening.listen(128)
        return listening
    raise UsageError(f"port {port} cannot be used; choose another --port, or leave it out")
