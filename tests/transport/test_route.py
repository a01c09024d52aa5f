"""Where a URL leads and what every request to it begins with; the environment's proxies."""

from __future__ import annotations

import os

import pytest

from assay.transport.route import Hop, ProxyError, Route, route_to, shown_host


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def start(route: Route) -> str:
    return route.head.decode().partition("\r\n")[0]


def header(route: Route, name: str) -> list[str]:
    lines = [line.partition(": ") for line in route.head.decode().split("\r\n")]
    return [value for key, _, value in lines if key.lower() == name]


@pytest.mark.parametrize(
    ("url", "hop", "line", "host"),
    [
        ("http://h/v1", Hop("h", 80, False), "POST /v1 HTTP/1.1", "h"),
        ("https://h", Hop("h", 443, True), "POST / HTTP/1.1", "h"),
        ("http://h:8000/a?b=c#d", Hop("h", 8000, False), "POST /a?b=c HTTP/1.1", "h:8000"),
        ("http://[::1]:8000/", Hop("::1", 8000, False), "POST / HTTP/1.1", "[::1]:8000"),
        ("http://h/a b/%20/ü?q=ä ", Hop("h", 80, False), "POST /a%20b/%20/%C3%BC?q=%C3%A4%20 HTTP/1.1", "h"),
        ("http://bücher.example/", Hop("bücher.example", 80, False), "POST / HTTP/1.1", "xn--bcher-kva.example"),
    ],
)
def test_a_url_is_taken_apart(url: str, hop: Hop, line: str, host: str) -> None:
    route = route_to(url, {})
    assert (route.hops, start(route), header(route, "host")) == ((hop,), line, [host])


@pytest.mark.parametrize("url", ["", "h", "ftp://h/", "http://", "http://h:x/", "http://h:99999/", "http://[::1/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address that can be called"):
        route_to(url, {})


def test_a_request_has_its_length_and_ends_with_its_body() -> None:
    request = route_to("http://h/", {"X-A": "1"}).request(b'{"a": 1}')
    assert request.endswith(b'X-A: 1\r\nContent-Length: 8\r\n\r\n{"a": 1}')


def test_headers_of_the_caller_replace_ours_whatever_their_case() -> None:
    route = route_to("http://h/", {"user-agent": "mine", "ACCEPT-ENCODING": "identity"})
    assert (header(route, "user-agent"), header(route, "accept-encoding")) == (["mine"], ["identity"])


@pytest.mark.parametrize(
    ("name", "value"), [("X", "a\r\nEvil: 1"), ("X", "a\n"), ("X\r\nEvil", "1"), ("X Y", "1"), ("", "1"), ("X", "\0")]
)
def test_a_header_cannot_smuggle_another(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="a header cannot be sent") as caught:
        route_to("http://h/", {name: value})
    assert "Evil" not in str(caught.value)


def test_a_path_cannot_smuggle_a_header() -> None:
    assert b"Evil" not in route_to("http://h/a\r\nEvil: 1", {}).head.replace(b"Evil:%201", b"")


def test_a_login_in_the_address_is_sent_as_a_header_and_shown_nowhere() -> None:
    url = "http://user:p%40ss@h:1/"
    assert header(route_to(url, {}), "authorization") == ["Basic dXNlcjpwQHNz"]
    assert header(route_to(url, {"authorization": "Bearer t"}), "authorization") == ["Bearer t"]
    assert shown_host(url) == "h:1"


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_a_proxy_is_asked_for_the_whole_address(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable == "HTTP_PROXY":
        monkeypatch.delenv("REQUEST_METHOD", raising=False)
    monkeypatch.setenv(variable, "http://u:p@proxy:3128")
    route = route_to("http://h:8000/v1?a=b", {})
    assert route.hops == (Hop("proxy", 3128, False),)
    assert start(route) == "POST http://h:8000/v1?a=b HTTP/1.1"
    assert (header(route, "host"), header(route, "proxy-authorization")) == (["h:8000"], ["Basic dTpw"])


def test_the_proxys_login_is_not_sent_to_the_server_behind_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy:3128")
    assert route_to("https://h/", {}).hops == (Hop("proxy", 3128, False), Hop("h", 443, True))
    monkeypatch.setenv("https_proxy", "https://u:p@proxy")
    route = route_to("https://h/v1", {})
    assert route.hops == (Hop("proxy", 443, True), Hop("h", 443, True))
    assert (start(route), header(route, "proxy-authorization")) == ("POST /v1 HTTP/1.1", [])
    assert route.proxy_headers == b"Proxy-Authorization: Basic dTpw\r\n"


def test_hosts_that_need_no_proxy_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "localhost,.inside.example")
    assert route_to("http://localhost:1/", {}).hops == (Hop("localhost", 1, False),)
    assert route_to("http://a.inside.example/", {}).hops == (Hop("a.inside.example", 80, False),)


def test_a_proxy_of_another_kind_is_refused_without_its_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://user:hidden@127.0.0.1:1")
    with pytest.raises(ProxyError, match="socks5") as caught:
        route_to("http://h/", {})
    assert "hidden" not in str(caught.value)
