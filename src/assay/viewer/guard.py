"""Who may talk to the viewer: this machine's browser, from the viewer's own page, after it was let in by a link.

Any page in a browser can send requests to a port of this machine; what it cannot do is know the session, name our
address in `Host` after DNS rebinding, or send our own `Origin`. All three are required.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.viewer.entry import SessionLinks

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # text stays text: the page may not turn any string into markup or script
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
LONGEST_TARGET = 8192
COME_IN = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>assay view</title>'


class Guard:
    """Wraps the app: refuses what does not come from our own page, and adds the headers every answer has."""

    def __init__(self, app: ASGIApp, *, entry: SessionLinks, port: int) -> None:
        self._app = app
        self._links = entry
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"assay-view-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._refusal(scope) or self._entry(scope)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        origin = headers.get("origin")
        ours = origin is None or origin in {f"http://{name}" for name in self._hosts}
        from_our_page = path == "/" or headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        reads = method in ("GET", "HEAD")
        hosts = headers.getlist("host")
        for holds, status, sentence in (
            (len(hosts) <= 1, 400, "A request names one host."),
            (hosts != [] and hosts[0] in self._hosts, 421, "This viewer answers only to 127.0.0.1 and localhost."),
            (ours and from_our_page, 403, "This viewer answers only to its own page."),
            (len(scope["raw_path"]) + len(scope["query_string"]) <= LONGEST_TARGET, 414, "The address is too long."),
            (reads or (method, path) == ("POST", "/api/marks"), 405, "The viewer writes nothing but marks."),
            (reads or origin is not None, 403, "A mark must come from the viewer's own page."),
        ):
            if not holds:
                return _refused(status, sentence)
        return None

    def _entry(self, scope: Scope) -> Response | None:
        """None when the request may pass; a link trades the token in its address for a cookie, once."""
        known = self._links.is_session(_cookie(Headers(scope=scope), self._cookie))
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if (scope["method"], scope["path"]) != ("GET", "/") or not given:
            return None if known else _refused(403, "This page needs the link that `assay view` printed.")
        if known:
            return HTMLResponse(COME_IN)
        state = self._links.use(given)
        if state == "opened":
            # a page instead of a redirect: after a redirect from another site a browser would not send the cookie
            answer = HTMLResponse(COME_IN)
            answer.set_cookie(self._cookie, self._links.session, httponly=True, samesite="strict", path="/")
            return answer
        if state == "used":
            self._links.show_link()
            return _refused(403, "This link was used already. `assay view` printed a new one where it was started.")
        return _refused(403, "This page needs the link that `assay view` printed.")


def _cookie(headers: Headers, name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel is not None else ""


def _refused(status: int, sentence: str) -> Response:
    return PlainTextResponse(sentence + "\n", status_code=status)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending
