"""The watch of the other tests: it detects forbidden behaviour of a page."""

from __future__ import annotations

import re

import pytest

from server.live_server import LiveServer
from web.browser_watch import Watched

INLINE = (
    "(() => { const s = document.createElement('script'); s.text = '1'; document.body.append(s) })"
)
ASKING = "fetch('http://127.0.0.2:9/x').catch(() => {})"
LOADING = "new Promise((r) => { const i = new Image(); i.onerror = r; i.src = '//127.0.0.2:9/x' })"


@pytest.mark.parametrize(
    ("done", "seen"),
    [
        ("alert('hello')", "dialog alert: hello"),
        ("console.error('oh')", "console error: oh"),
        ("console.warn('hm')", "console warning: hm"),
        ("void setTimeout(() => { throw new Error('thrown') })", "error: .*thrown"),
        (f"{INLINE}()", "policy: script-src-elem does not allow inline"),
        (ASKING, "policy: connect-src does not allow http://127.0.0.2:9/x"),
        (LOADING, "policy: img-src does not allow http://127.0.0.2:9/x"),
    ],
)
def test_the_watch_sees(demo: LiveServer, watched: Watched, done: str, seen: str) -> None:
    context, watch = watched(demo.url)
    page = context.new_page()
    page.goto("/")
    page.evaluate(done)
    page.wait_for_function("document.readyState === 'complete'")
    page.evaluate("new Promise((done) => setTimeout(done))")
    assert any(re.search(seen, complaint) for complaint in watch.complaints), watch.complaints
    watch.expect("")


def test_watch_detects_requests_to_other_hosts(demo: LiveServer, watched: Watched) -> None:
    context, watch = watched(demo.url)
    page = context.new_page()
    page.goto("/openapi.json")
    context.new_page().goto("about:blank")
    page.route("http://127.0.0.2:9/**", lambda route: route.fulfill(body="hello"))
    page.goto("http://127.0.0.2:9/there")
    assert watch.complaints == ["request: GET http://127.0.0.2:9/there"]
    watch.expect("/there")


def test_an_ordinary_page_is_no_reason_to_complain(demo: LiveServer, watched: Watched) -> None:
    context, watch = watched(demo.url)
    page = context.new_page()
    for path in ("/openapi.json", "/"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
    assert watch.complaints == []
