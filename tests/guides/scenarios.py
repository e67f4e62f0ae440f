"""What is tested of each client: a scenario per cell of the table."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Locator, expect

from guides.cells import Scenario
from guides.photos import described, photo
from guides.world import World, guide_server, new_key, revoke_keys
from server.live_server import reserved_port
from web.browser_watch import CUT_OFF

__all__ = ["SCENARIOS", "run_cell"]

FIRST, SECOND = "The first half.", "The second half."
REFUSED = r"status of 401"
"""The browser's console message about it."""
SENTENCE: Final = re.compile(r"[A-Z][^{}\[\]]+\.")
"""A sentence for a user: no JSON, no code."""


def send(world: World) -> None:
    tab = world.open()
    tab.send(world.slow)
    expect(tab.answers).to_contain_text(FIRST)  # while the agent still works
    world.gate.open()
    expect(tab.answers).to_contain_text(SECOND)
    tab.finish()
    tab.send("tool")
    expect(tab.answers.last).to_contain_text("High tide is at 12:40.")
    tab.finish()
    tab.send("say goodbye")
    expect(tab.answers.last).to_contain_text("goodbye")
    tab.finish()
    expect(tab.answers).to_have_count(3)
    expect(tab.error).to_have_count(0)
    assert world.stored_runs() == 3  # an answer with a finished tool call is not sent again


def stop(world: World) -> None:
    tab = world.open()
    tab.send(world.slow)
    expect(tab.answers).to_contain_text(FIRST)
    world.gate.wait()
    tab.stop()
    tab.finish()
    world.wait_until_idle()
    world.gate.open()  # the agent is gone: nobody goes on
    assert FIRST in world.stored_text(-1)
    assert SECOND not in world.stored_text(-1)
    tab.send("say on we go")
    expect(tab.answers.last).to_contain_text("on we go")
    tab.finish()
    expect(tab.error).to_have_count(0)


def send_again(world: World) -> None:
    """Right after the client's own stop, which only closes the response."""
    tab = world.open()
    tab.send(world.slow)
    expect(tab.answers).to_contain_text(FIRST)
    world.gate.wait()
    tab.interrupt("say something else")
    expect(tab.answers.last).to_contain_text("something else")
    tab.finish()
    expect(tab.error).to_have_count(0)
    world.wait_until_idle()
    texts = [world.stored_text(index) for index in range(4)]
    assert texts[1:3] == [f"{FIRST} ", "say something else"]
    tab.reload()
    expect(tab.answers).to_have_count(2)


def reload(world: World) -> None:
    tab = world.open()
    tab.send(world.slow)
    expect(tab.answers).to_contain_text(FIRST)
    tab.reload()
    expect(tab.answers).to_contain_text(FIRST)
    world.gate.open()
    expect(tab.answers).to_contain_text(SECOND)
    tab.finish()
    assert_shown_once(tab.answers, FIRST)
    expect(tab.sent).to_have_count(1)
    tab.reload()
    expect(tab.answers).to_contain_text(SECOND)
    assert_shown_once(tab.answers, FIRST)


def assert_shown_once(answers: Locator, text: str) -> None:
    expect(answers).to_have_count(1)
    assert answers.inner_text().count(text) == 1


def two_tabs(world: World) -> None:
    first = world.open()
    first.send(world.slow)
    expect(first.answers).to_contain_text(FIRST)
    second = world.open()
    expect(second.answers).to_contain_text(FIRST)
    world.gate.open()
    for tab in (first, second):
        expect(tab.answers).to_contain_text(SECOND)
        tab.finish()
        assert_shown_once(tab.answers, SECOND)
    second.send("say hello from here")
    expect(second.answers.last).to_contain_text("hello from here")
    first.reload()
    expect(first.answers.last).to_contain_text("hello from here")


def approve(world: World) -> None:
    """Twice, with the same ids; the second time after a reload."""
    tab = world.open()
    tab.send("approve")
    expect(tab.answers.last).to_contain_text("delete_file")
    tab.approve()
    expect(tab.answers.last).to_contain_text("It is deleted.")
    tab.finish()
    tab.send("approve")
    expect(tab.answers).to_have_count(2)
    expect(tab.button("Approve")).to_be_visible()
    tab.reload()
    expect(tab.answers).to_have_count(2)
    tab.approve()
    expect(tab.answers.last).to_contain_text("It is deleted.")
    tab.finish()
    expect(tab.error).to_have_count(0)


def deny(world: World) -> None:
    tab = world.open()
    tab.send("approve")
    expect(tab.answers.last).to_contain_text("delete_file")
    tab.deny()
    expect(tab.answers.last).to_contain_text("It is still there.")
    tab.finish()
    tab.send("say fine")
    expect(tab.answers.last).to_contain_text("fine")
    expect(tab.error).to_have_count(0)


def ask(world: World) -> None:
    """Twice, with the same ids; the second time after a reload."""
    tab = world.open()
    tab.send("ask")
    expect(tab.answers.last).to_contain_text("Which colour?")
    tab.answer("blue")
    expect(tab.answers.last).to_contain_text("You chose blue.")
    tab.finish()
    tab.send("ask")
    expect(tab.answers).to_have_count(2)
    expect(tab.answers.last).to_contain_text("Which colour?")
    tab.reload()
    expect(tab.answers.last).to_contain_text("Which colour?")
    tab.answer("red")
    expect(tab.answers.last).to_contain_text("You chose red.")
    tab.finish()
    expect(tab.answers).to_have_count(2)


def client_tool(world: World) -> None:
    """Twice, with the same ids."""
    tab = world.open()
    for answers in (1, 2):
        tab.send("locate")
        expect(tab.answers).to_have_count(answers)
        expect(tab.answers.last).to_contain_text("You are in Europe/Lisbon.")
        tab.finish()
    expect(tab.error).to_have_count(0)


def typed_tool(world: World) -> None:
    tab = world.open()
    tab.send("locate")
    expect(tab.answers).to_contain_text("📍 Europe/Lisbon")
    expect(tab.answers).to_contain_text("You are in Europe/Lisbon.")
    tab.finish()
    tab.reload()
    expect(tab.answers).to_contain_text("📍 Europe/Lisbon")


def extras(world: World) -> None:
    tab = world.open()
    expected = tab.send_with_extras("extras")
    expect(tab.answers).to_contain_text(expected)
    tab.finish()


def photos(world: World) -> None:
    """Together larger than a request may be, if the whole chat is sent with each message."""
    tab = world.open()
    taken = [photo(f"{number}.png", 3) for number in range(3)]
    tab.attach(taken)
    tab.send("files")
    for one in taken:
        expect(tab.answers).to_contain_text(described(one))
    tab.finish()
    tab.send("say what photos")
    expect(tab.answers.last).to_contain_text("what photos")
    tab.finish()
    expect(tab.error).to_have_count(0)
    tab.reload()
    expect(tab.photos).to_have_count(3)
    for shown in tab.photos.all():
        expect(shown).to_have_js_property("complete", True)
        assert shown.evaluate("photo => photo.naturalWidth") > 0


def edit(world: World) -> None:
    tab = world.open()
    tab.send("say one")
    expect(tab.answers).to_contain_text("one")
    tab.finish()
    tab.edit("say two")
    expect(tab.answers).to_contain_text("two")
    tab.finish()
    expect(tab.answers).to_have_count(1)
    expect(tab.sent).to_have_count(1)
    assert [world.stored_text(index).strip() for index in range(2)] == ["say two", "two"]
    assert len(world.stored()) == 2


def regenerate(world: World) -> None:
    tab = world.open()
    tab.send("number")
    expect(tab.answers).to_contain_text("Number 1.")
    tab.finish()
    tab.regenerate()
    expect(tab.answers).to_contain_text("Number 2.")
    tab.finish()
    expect(tab.answers).to_have_count(1)
    expect(tab.sent).to_have_count(1)
    assert len(world.stored()) == 2


def wrong_key(world: World) -> None:
    """A key that was never valid, and one that is revoked while the page is open."""
    data = world.folder / "data"
    with guide_server(data, world.pages, "--auth", "keys") as server:
        world.expect_complaint(REFUSED)
        key = new_key(data, "ann")
        stranger = world.open(server.url, token="mbx_unknown", wait=False)
        stranger.try_to_send("say hello")
        expect(stranger.error).to_contain_text("key")
        expect(stranger.error).to_have_text(SENTENCE)
        tab = world.open(server.url, token=key)
        tab.send("say hello")
        expect(tab.answers).to_contain_text("hello")
        tab.finish()
        revoke_keys(data)
        tab.send("say it again")
        expect(tab.error).to_have_text(SENTENCE)


def server_killed(world: World) -> None:
    """In the middle of an answer; the next message is sent while no server is there."""
    with reserved_port() as port:
        data = world.folder / "data"
        flags = ("--port", str(port))
        with guide_server(data, world.pages, *flags) as server:
            world.expect_complaint(CUT_OFF)
            tab = world.open(server.url)
            tab.send(world.slow)
            expect(tab.answers).to_contain_text(FIRST)
            world.gate.wait()
            server.kill()
        expect(tab.error).to_be_visible()
        tab.send("say welcome back")
        expect(tab.sent.last).to_contain_text("say welcome back")
        expect(tab.error).to_be_visible()
        with guide_server(data, world.pages, *flags) as server:
            tab.retry()
            expect(tab.answers.last).to_contain_text("welcome back")
            tab.finish()
            tab.reload()
            expect(tab.answers).to_have_count(2)
            expect(tab.answers.first).to_contain_text(FIRST)
            expect(tab.answers.last).to_contain_text("welcome back")


SCENARIOS: Final[dict[str, Scenario]] = {
    "send": send,
    "stop": stop,
    "send again": send_again,
    "reload": reload,
    "two tabs": two_tabs,
    "approve": approve,
    "deny": deny,
    "ask": ask,
    "client tool": client_tool,
    "typed tool": typed_tool,
    "extras": extras,
    "photos": photos,
    "edit": edit,
    "regenerate": regenerate,
    "wrong key": wrong_key,
    "server killed": server_killed,
}


def run_cell(cell: str, world: World) -> None:
    """Run the client's own scenario of a cell, or the one of all clients."""
    (world.client.own.get(cell) or SCENARIOS[cell])(world)
