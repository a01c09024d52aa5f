"""A real browser for tests: headless Chromium over its DevTools protocol, watching the console and the network."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from tests.chromium import chromium_program, needs_chromium

__all__ = ["Page", "browser", "in_browser", "keep_picture", "needs_chromium"]


@dataclass
class Page:
    """One open page, and everything it said and asked for."""

    socket: aiohttp.ClientWebSocketResponse
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _number: int = 0
    _answers: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        async for message in self.socket:
            event = json.loads(message.data)
            if "id" in event:
                self._answers.pop(event["id"]).set_result(event)
            else:
                self._note(event["method"], event.get("params", {}))

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            self.console.append(str([argument.get("value") for argument in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded.set()

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[self._number] = answer
        await self.socket.send_json({"id": self._number, "method": method, "params": params})
        found = await answer
        assert "error" not in found, found
        result: dict[str, Any] = found["result"]
        return result

    async def open(self, path: Path) -> None:
        self._loaded.clear()
        await self.send("Page.navigate", url=path.resolve().as_uri())
        await self._loaded.wait()

    async def evaluate(self, expression: str) -> Any:
        found = await self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def screen(self, *, width: int, height: int = 900, dark: bool = False, media: str = "screen") -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.send("Emulation.setEmulatedMedia", media=media, features=scheme)

    async def picture(self) -> bytes:
        found = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    async def printed(self) -> bytes:
        found = await self.send("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        return base64.b64decode(found["data"])


@contextlib.asynccontextmanager
async def browser(profile: Path) -> AsyncIterator[Page]:
    """A fresh browser with one page."""
    profile.mkdir(parents=True, exist_ok=True)
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    process = subprocess.Popen(  # noqa: ASYNC220 - only starts; what could block runs in a thread
        [chromium_program(), *arguments, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        port = await asyncio.to_thread(_port, process)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                target = next(each for each in await answer.json() if each["type"] == "page")
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=1 << 28) as socket:
                page = Page(socket)
                listening = asyncio.ensure_future(page.listen())
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.send(f"{domain}.enable")
                yield page
                listening.cancel()
    finally:
        process.terminate()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _port(process: subprocess.Popen[str]) -> int:
    """The browser says on stderr where it listens."""
    assert process.stderr is not None
    for line in process.stderr:
        if "DevTools listening on ws://" in line:
            return int(line.split("127.0.0.1:")[1].split("/")[0])
    raise AssertionError("chromium ended before it listened")


def in_browser(tmp_path: Path, steps: Callable[[Page], Coroutine[Any, Any, None]]) -> None:
    async def session() -> None:
        async with browser(tmp_path / "profile") as page:
            await steps(page)

    asyncio.run(session())


async def keep_picture(page: Page, name: str) -> None:
    """For people who want to look: set ASSAY_SCREENSHOTS to a folder."""
    folder = os.environ.get("ASSAY_SCREENSHOTS")
    if folder:
        Path(folder, name).with_suffix(".png").write_bytes(await page.picture())
