"""The ASGI app: the page's files, the JSON API in threads, and a stream that notifies the page of changes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from assay.core.errors import UsageError
from assay.results.query.syntax import QueryError
from assay.viewer.api import Api, Params, Reader
from assay.viewer.downloads import Download
from assay.viewer.entry import SessionLinks
from assay.viewer.guard import Guard
from assay.viewer.page_files import TYPES, page_files
from assay.viewer.run_list import RunList, UnknownRunError

LOOK_SECONDS = 1.0
QUIET_LOOKS = 15
LONGEST_BODY = 64 * 1024


def make_app(run_list: RunList, *, entry: SessionLinks, port: int) -> ASGIApp:
    """The whole viewer, guarded."""
    api = Api(run_list)
    reads: dict[str, Reader] = {
        "runs": api.runs,
        "run": api.run,
        "samples": api.samples,
        "neighbours": api.neighbours,
        "sample": api.sample,
        "slices": api.slices,
        "compare": api.compare,
        "marks": api.marks,
        "charts": api.charts,
        "history": api.history,
        "download": api.download,
    }
    routes = [Route(f"/api/{name}", _reading(read), methods=["GET"]) for name, read in reads.items()]
    routes.append(Route("/api/marks", _writing(api.mark), methods=["POST"]))
    routes.append(Route("/api/events", _events(run_list), methods=["GET"]))
    files = page_files()
    for name, data in files.items():
        if not name.endswith(tuple(TYPES)):
            continue  # licences
        routes.append(Route("/" if name == "index.html" else f"/{name}", _file(name, data), methods=["GET"]))
    # requested by browsers on their own when redirected to the page
    routes.append(Route("/favicon.ico", _file("icon.svg", files["icon.svg"]), methods=["GET"]))
    return Guard(Starlette(routes=routes), entry=entry, port=port)


def _file(name: str, data: bytes) -> Callable[[Request], Any]:
    kind = TYPES[name[name.rindex(".") :]]

    async def answer(request: Request) -> Response:
        return Response(data, media_type=kind)

    return answer


def _reading(read: Reader) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return await _answered(lambda: read(Params(request.query_params.multi_items())))

    return answer


def _writing(write: Callable[[bytes], Any]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _json({"error": "a mark is sent as application/json"}, 415)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                return _json({"error": "a mark is shorter than that"}, 413)
        return await _answered(lambda: write(bytes(body)))

    return answer


async def _answered(work: Callable[[], Any]) -> Response:
    try:
        return await asyncio.to_thread(lambda: _response(work()))
    except QueryError as error:
        return _json({"error": str(error), "at": error.at}, 400)
    except UnknownRunError as error:
        return _json({"error": str(error)}, 404)
    except UsageError as error:
        return _json({"error": str(error)}, 400)
    except (sqlite3.Error, OSError) as error:
        # the run was moved, or its index is being rebuilt: the page requests it again
        return _json({"error": f"the run could not be read just now: {error}"}, 503)


def _response(answer: Any) -> Response:
    if not isinstance(answer, Download):
        return _json(answer)
    headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
    return Response(answer.data, media_type=answer.media_type, headers=headers)


def _json(data: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(data), status_code=status, media_type="application/json")


def _events(run_list: RunList) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return StreamingResponse(_changes(run_list), media_type="text/event-stream")

    return answer


async def _changes(run_list: RunList) -> AsyncIterator[bytes]:
    """Names of runs that changed, as they change; a comment now and then, so that a closed page is noticed."""
    seen = await asyncio.to_thread(run_list.stamps)
    yield b"retry: 2000\n\n"
    quiet = 0
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = await asyncio.to_thread(run_list.stamps)
        changed = [name for name in {*seen, *now} if seen.get(name) != now.get(name)]
        seen, quiet = now, quiet + 1
        if changed:
            yield b"data: " + msgspec.json.encode({"changed": sorted(changed)}) + b"\n\n"
            quiet = 0
        elif quiet >= QUIET_LOOKS:
            yield b": still here\n\n"
            quiet = 0
