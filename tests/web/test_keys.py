"""The page on a server that requires keys: it shows the sign-in form, with any protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from mobox.storage.keys import ApiKey
from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import prompt, text
from server.server_with_keys import bearer, give_key_at, revoke_at
from web.browser_watch import Watched
from web.chat_tab import HAS_CHAT
from web.protocol_tabs import PROTOCOLS, Speaking
from web.test_accessible import RULES, RUN

UNKNOWN = r"the server responded with a status of 401"
"""The browser's own console message for it."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keyed") / "data"


@pytest.fixture(scope="module")
def keyed(agents: Path, data: Path) -> Iterator[LiveServer]:
    flags = ("--agents", agents, "--auth", "keys", "--max-streams", "1000")
    with live_server(data, *flags, patience=20 * LIMIT) as server:
        yield server


class Authenticator:
    """The page with its sign-in form."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.field = page.get_by_label("Key", exact=True)
        self.answer = page.get_by_role("article", name="Agent").get_by_text("Hello, Ann.")
        self.composer = page.get_by_role("textbox", name="Your message")

    def open(self, secret: str) -> None:
        self.field.fill(secret)
        self.page.get_by_role("button", name="Sign in").click()


def key_of(data: Path, owner: str) -> tuple[ApiKey, str]:
    made: tuple[ApiKey, str] = in_thread(give_key_at(data, owner))
    return made


def in_thread(work: Any) -> Any:
    """The browser has a loop in this thread already."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result(LIMIT)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_key_works_until_it_is_revoked(
    protocol: str, keyed: LiveServer, data: Path, watched: Watched
) -> None:
    context, watch = watched(keyed.url)
    watch.expect(UNKNOWN)
    speaking = Speaking(context, protocol)
    key, secret = key_of(data, f"ann by {protocol}")
    door = Authenticator(context.new_page())
    door.page.goto("/")
    expect(door.field).to_be_focused()
    expect(door.page.get_by_role("alert")).to_have_count(0)
    door.open(secret)
    door.composer.fill(prompt(text("Hello, Ann.")))
    door.composer.press("Enter")
    expect(door.answer).to_have_text("Hello, Ann.")
    expect(door.page).to_have_url(HAS_CHAT)
    door.page.reload()
    expect(door.answer).to_have_text("Hello, Ann.")
    door.page.wait_for_load_state(
        "networkidle"
    )  # else another request is the first that is refused
    in_thread(revoke_at(data, key))
    door.composer.fill(prompt(text("Still here?")))
    door.composer.press("Enter")
    expect(door.field).to_be_visible()
    expect(door.page.get_by_role("alert")).to_contain_text("Invalid key")
    speaking.assert_spoken()


def test_a_wrong_key_opens_nothing_and_may_be_followed_by_the_right_one(
    keyed: LiveServer, data: Path, watched: Watched
) -> None:
    context, watch = watched(keyed.url)
    watch.expect(UNKNOWN)
    door = Authenticator(context.new_page())
    door.page.goto("/")
    door.open("mbx_wrong")
    expect(door.page.get_by_role("alert")).to_contain_text("Invalid key")
    door.open(key_of(data, "bob")[1])
    expect(door.composer).to_be_visible()


def test_signing_out_leaves_nothing_in_the_tab(
    keyed: LiveServer, data: Path, watched: Watched
) -> None:
    context, watch = watched(keyed.url)
    watch.expect(UNKNOWN)
    _, secret = key_of(data, "eve")
    door = Authenticator(context.new_page())
    door.page.goto("/")
    door.open(secret)
    door.page.get_by_role("button", name="Settings").click()
    door.page.get_by_role("menuitem", name="Sign out").click()
    expect(door.field).to_be_visible()
    kept = "() => JSON.stringify([{...sessionStorage}, {...localStorage}])"
    assert secret not in door.page.evaluate(kept)
    door.page.reload()
    expect(door.field).to_be_visible()


def test_form_is_accessible(keyed: LiveServer, axe: str, watched: Watched) -> None:
    context, watch = watched(keyed.url)
    watch.expect(UNKNOWN)
    door = Authenticator(context.new_page())
    door.page.goto("/")
    door.open("mbx_wrong")
    expect(door.page.get_by_role("alert")).to_be_visible()
    door.page.evaluate(axe)
    assert door.page.evaluate(RUN, RULES) == []


PICTURE = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
    b"\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)


def test_a_picture_of_a_message_is_shown_to_its_owner(
    keyed: LiveServer, data: Path, watched: Watched
) -> None:
    """The page cannot send a key with an image, so its address is signed."""
    _, secret = key_of(data, "ann with a picture")
    headers = bearer(secret)
    with httpx.Client(base_url=keyed.url, headers=headers, trust_env=False) as client:
        form = {"file": ("house.png", PICTURE, "image/png")}
        file = client.post("/api/files", files=form).raise_for_status().json()
        words = {"type": "text", "text": prompt(text("Nice."))}
        message = {"id": "m1", "role": "user", "parts": [words, file]}
        body = {"id": "picture", "messages": [message]}
        client.post("/api/chat", json=body).raise_for_status()
    context, watch = watched(keyed.url)
    watch.expect(UNKNOWN)
    door = Authenticator(context.new_page())
    door.page.goto("/chat/picture")
    door.open(secret)
    picture = door.page.get_by_role("img", name="house.png")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 1)
