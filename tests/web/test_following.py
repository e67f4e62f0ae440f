"""The conversation follows its end while an answer streams, until the person scrolls up."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab

LENGTHS = {1500: 14, 4000: 39}
"""Characters in a second, and how long a word is for that: there is one every 10 ms."""
FROM_END = "(list) => list.scrollHeight - list.clientHeight - list.scrollTop"
HELD = """
(list) => new Promise((done) => {
  const { scrollTop, scrollHeight } = list;
  const look = () => {
    // Until two screens more have arrived.
    if (list.scrollHeight < scrollHeight + 120) requestAnimationFrame(look);
    else done(list.scrollTop - scrollTop);
  };
  requestAnimationFrame(look);
})
"""


def words(length: int, count: int) -> Step:
    """A text that comes word by word."""
    return ["count", "w" * (length - 5), 1000, 1000 + count, 0.01]


@pytest.mark.parametrize("rate", LENGTHS)
def test_one_wheel_move_up_holds_while_text_streams_fast(
    server: LiveServer, watched: Watched, gate: Gate, rate: int
) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(text("Line.\n\n" * 60), words(LENGTHS[rate], 3000)))
    tab.sees(".1100")
    tab.log.hover()
    end = tab.page.get_by_role("button", name="Scroll to the end")
    for _ in range(5):
        tab.page.mouse.wheel(0, -100)
        expect(end).to_be_visible()
        moved = tab.log.evaluate(HELD)
        assert moved <= 0, f"pulled back by {moved} pixels"
        assert tab.log.evaluate(FROM_END) > 70
        end.click()
        expect(end).to_have_count(0)
    tab.stop.click()
    tab.finish()


def test_edited_message_is_in_sight(server: LiveServer, watched: Watched) -> None:
    """Also where the conversation just fills the screen, and is at its end."""
    context, _ = watched(server.url)
    tab = Tab(context)
    lines = "\n".join(f"{number}" for number in range(18))
    tab.say(prompt(text("Short.")))
    tab.finish()
    tab.say(prompt(text(f"```\n{lines}\n```")))
    tab.finish(2)
    height = tab.log.evaluate("(list) => list.scrollHeight - list.clientHeight")
    size = tab.page.viewport_size
    assert size is not None
    tab.page.set_viewport_size({"width": size["width"], "height": size["height"] + height})
    first = tab.page.get_by_role("article", name="You").first
    first.hover()
    first.get_by_role("button", name="Edit").click()
    field = tab.page.get_by_role("textbox", name="Edit your message")
    expect(field).to_be_focused()
    tab.settle()
    top = tab.log.evaluate("(list) => list.getBoundingClientRect().top")
    box = field.bounding_box()
    assert box is not None
    assert box["y"] >= top
