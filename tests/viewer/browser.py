"""Drives a real headless Chromium over its DevTools protocol, with nothing but aiohttp.

The browser keeps what happens in the page: console messages, exceptions, and every request it makes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
from tests.chromium import chromium_program

WAIT_SECONDS = 300.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.console: list[str] = []
        self.requests: list[str] = []
        self._reading = asyncio.ensure_future(self._read())

    def close(self) -> None:
        self._reading.cancel()

    async def _read(self) -> None:
        async for message in self._socket:
            data = json.loads(message.data)
            if "id" in data:
                self._waiting.pop(data["id"]).set_result(data)
            else:
                self._note(data["method"], data["params"])

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(json.dumps(params["args"])[:2000])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = future
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        # what the page waits for itself ends first and says what never held
        answer = await asyncio.wait_for(future, WAIT_SECONDS + 60)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        found: dict[str, Any] = answer["result"]
        return found

    async def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {json.dumps(answer['exceptionDetails'])[:1000]}")
        return answer["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait in the page itself, frame by frame, until the expression holds."""
        waiting = (
            "new Promise((resolve, reject) => { const started = performance.now(); const look = () => {"
            f"let found; try {{ found = ({script}); }} catch (error) {{ found = false; }}"
            "if (found) resolve(found); else if (performance.now() - started < "
            f"{WAIT_SECONDS * 1000}) setTimeout(look, 20); else reject(new Error('never held')); }}; look(); }})"
        )
        for _ in range(5):
            try:
                return await self.run(waiting)
            except RuntimeError as error:
                if "navigated" not in str(error):
                    raise
        raise RuntimeError(f"{script}: the page leads on and on")

    @contextlib.asynccontextmanager
    async def held(self, requests: str) -> AsyncIterator[None]:
        """Requests whose address matches are made, and answered only when the block is over."""
        await self.send("Fetch.enable", patterns=[{"urlPattern": requests}])
        yield
        await self.send("Fetch.disable")

    async def open(self, address: str) -> None:
        await self.send("Page.navigate", url=address)

    async def key(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        common: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    async def size(self, width: int, height: int, *, dark: bool = False) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        await self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    async def picture(self, path: Path, *, whole: bool = True) -> None:
        shot = await self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def chromium() -> Iterator[str]:
    """A browser for as long as the block lasts: the address of its debugging port."""
    program = chromium_program()
    folder = Path(tempfile.mkdtemp(prefix="assay-chromium-"))
    # a file, not a pipe: a browser that says much would wait forever for someone to read it
    log = folder / "chromium.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"], stdout=subprocess.DEVNULL, stderr=stderr
        )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where it listens, as it says."""
    deadline = time.monotonic() + WAIT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        said = log.read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"DevTools listening on ws://([^/]+)/", said):
            return f"http://{found[1]}"
        time.sleep(0.02)
    raise RuntimeError(f"chromium did not start: {log.read_text(errors='replace')[-2000:]}")


@contextlib.asynccontextmanager
async def new_page(address: str) -> AsyncIterator[Page]:
    """A tab for as long as the block lasts."""
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{address}/json/new?about:blank") as answer:
            target = await answer.json()
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Page(socket)
            for domain in ("Page", "Runtime", "Network", "Log"):
                await page.send(f"{domain}.enable")
            yield page
            page.close()
        async with session.get(f"{address}/json/close/{target['id']}"):
            pass
