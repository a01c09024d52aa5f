"""Commands in processes of their own, forked from one that has imported assay already: a fraction of the time.

The process they are forked from listens on a socket in a private folder and ends with whoever started it. Who asks
hands over where to run, the variables and the three standard streams, and is given the exit code.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]

CLIENT = """\
#!{python} -IS
import json, os, socket, sys
what = json.dumps({{"arguments": sys.argv[1:], "cwd": os.getcwd(), "variables": dict(os.environ)}}).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(what).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(what)
    sys.exit(int(server.recv(16) or b"70"))
"""
"""A program that passes its own arguments, folder, variables and streams on."""


def run_forked(
    cwd: Path, variables: Mapping[str, str], *, arguments: Sequence[str] = (), code: str | None = None
) -> subprocess.CompletedProcess[str]:
    """`assay` with these arguments, or a Python program, to its end."""
    what = {"arguments": [*arguments], "code": code, "cwd": str(cwd), "variables": dict(variables)}
    message = json.dumps(what).encode()
    with contextlib.ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile("w+", errors="strict")) for _ in range(2))
        nothing = stack.enter_context(open(os.devnull))
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.connect(address())
        socket.send_fds(server, [len(message).to_bytes(8, "big")], [each.fileno() for each in (nothing, out, err)])
        server.sendall(message)
        exit_code = int(server.recv(16) or b"70")
        for each in (out, err):
            each.seek(0)
        return subprocess.CompletedProcess(arguments, exit_code, out.read(), err.read())


def address() -> str:
    """The address of a server that ends with this process; one that ended earlier fails a test, and is replaced."""
    status = _servers[-1].poll() if _servers else None
    if not _servers or status is not None:
        _servers.append(_start_server(_folder() / f"socket-{len(_servers)}"))
    if status is not None:  # a warning is an error in a test
        warnings.warn(f"the process that commands are forked from has ended with {status}", stacklevel=2)
    return str(_folder() / f"socket-{len(_servers) - 1}")


_servers: list[subprocess.Popen[bytes]] = []


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="forks-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _start_server(path: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.forks", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()

    def end() -> None:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait()

    atexit.register(end)
    return process


def serve(path: str) -> None:
    """Until standard input ends."""
    import tests.end_to_end.preloaded  # noqa: F401

    gc.collect()
    gc.freeze()  # else the first collection in every command copies all that it shares with this process
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, _count)
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                return
            connection, _ = listener.accept()
            if fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                answer(connection)
            connection.close()


def _count(number: int, frame: object) -> None:
    """Waits for those who have answered, so that their CPU time counts as this process's."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def fork() -> int:
    """As the system's, also while another test has used up all the processes or the memory there may be."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.fork()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def answer(connection: socket.socket) -> NoReturn:
    """Run what is asked for in a child and tell how it ended; who hangs up ends it."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    what = json.loads(connection.makefile("rb").read(int.from_bytes(size, "big")))
    child = fork()
    if child == 0:
        connection.close()
        become(what, streams)
    for stream in streams:
        os.close(stream)
    threading.Thread(target=_watch, args=(connection, child), daemon=True).start()
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    _ended.set()  # from here on its number may become another's
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


_ended = threading.Event()


def _watch(connection: socket.socket, child: int) -> None:
    with contextlib.suppress(OSError):
        if not connection.recv(1) and not _ended.is_set():
            os.kill(child, signal.SIGTERM)


def become(what: Mapping[str, Any], streams: Sequence[int]) -> NoReturn:
    """The process that was asked for."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - for the rest of its life
    variables: Mapping[str, str] = what["variables"]
    os.chdir(what["cwd"])
    os.environ.clear()
    os.environ.update(variables)
    if (coverage := sys.modules.get("coverage")) and (current := coverage.Coverage.current()):
        current.switch_context(variables.get("TEST_FILE", ""))  # what runs from here on is the work of that test
    # as a new Python has it
    installed = (sys.prefix, sys.base_prefix)
    python = [folder for folder in sys.path if folder.startswith(installed) or folder.endswith("site-packages")]
    sys.path[:] = [*variables["PYTHONPATH"].split(os.pathsep), *python]
    if what.get("code") is not None:
        sys.path.insert(0, "")
        sys.argv = ["-c"]
        exec(compile(what["code"], "<string>", "exec"), {"__name__": "__main__"})
        sys.exit(0)
    sys.argv = ["assay", *what["arguments"]]
    from assay.cli.main import main

    sys.exit(main())


if __name__ == "__main__":
    serve(sys.argv[1])
