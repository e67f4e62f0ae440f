"""Text of agents and users is shown as text. Nothing in it runs, loads or opens a dialog."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from mobox.events import Done
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.settings import OWNER, Settings
from mobox.storage import open_storage
from server.live_server import LIMIT, LiveServer, live_server
from server.scripted_agent import Step, emit, prompt
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.transcript_check import shown

CORPUS = Path(__file__).parent.parent.parent / "web/src/content/hostile.json"
TEXTS: list[str] = [each["text"] for each in json.loads(CORPUS.read_text())]
SOME = 12
GROUPS = [TEXTS[at : at + SOME] for at in range(0, len(TEXTS), SOME)]

FORBIDDEN = "script, iframe, object, embed, style, link, meta, base, frame, audio, video, portal"
FOUND = """
(root, forbidden) => {
  const found = [...root.querySelectorAll(forbidden)].map((each) => each.outerHTML);
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (/^(on.*|srcdoc|action|formaction|xlink:href|ping|srcset)$/.test(name)) found.push(name);
      if (name === "href" && !/^(https?:|mailto:|blob:|\\/|#)/i.test(value)) {
        if (!element.hasAttribute("download")) found.push(value);  // what is saved is not opened
      }
      if (name === "src" && !/^(data:image\\/|blob:)/i.test(value)) found.push(value);
      if (name === "style" && /url\\(|expression/i.test(value)) found.push(value);
    }
  }
  return found;
}
"""


def test_there_is_something_to_be_afraid_of() -> None:
    assert len(TEXTS) >= 50


def pieces_of(text: str, cuts: random.Random) -> list[str]:
    """The text, cut anywhere, so that no piece of it looks dangerous alone."""
    places = (
        sorted(cuts.sample(range(1, len(text)), min(len(text) - 1, 6))) if len(text) > 1 else []
    )
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def said(number: int, text: str) -> Iterator[Step]:
    """All events in which an agent can emit it."""
    cuts = random.Random(text)
    call, block = f"call_{number}", f"block_{number}"
    for kind in ("thinking", "text"):
        for piece in pieces_of(text, cuts):
            yield emit(f"{kind}_delta", id=f"{kind}_{block}", delta=piece)
        yield emit(f"{kind}_end", id=f"{kind}_{block}")
    given = json.dumps({"path": text, text: [text]})
    yield emit("tool_use_start", id=call, name=text[:60])
    for piece in pieces_of(given, cuts):
        yield emit("tool_use_delta", id=call, delta=piece)
    yield emit("tool_use_end", id=call)
    outcome = {"content": {"html": text}} if number % 2 else {"content": text, "is_error": True}
    yield emit("tool_result", tool_use_id=call, **outcome)
    yield emit("status", message=text)
    yield emit("file", media_type="text/html", base64="PGI+aGk8L2I+", name=text[:100])
    yield emit("source", url=f"https://example.org/{number}", title=text)
    yield emit("todo_create", items=[{"content": text, "status": "pending"}])
    yield emit("custom", name="chart", value=chart(text))
    placed = json.dumps(
        {"type": "promql", "tool_call_id": call, "title": text, "data": chart(text)}
    )
    for piece in pieces_of(f"\n\n<<{placed}>>\n\n", cuts):
        yield emit("text_delta", id=f"chart_{block}", delta=piece)
    yield emit("text_end", id=f"chart_{block}")


def chart(text: str) -> dict[str, object]:
    points = [[1700000000, "1"], [1700000060, "2"]]
    return {
        "title": text,
        "resultType": "matrix",
        "result": [{"metric": {"job": text}, "values": points}],
    }


def assert_harmless(root: Locator) -> None:
    found = root.evaluate(FOUND, FORBIDDEN)
    assert not found, found


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_output_of_an_agent_is_text(server: LiveServer, watched: Watched, group: int) -> None:
    tab = Tab(watched(server.url)[0])
    script = [step for number, text in enumerate(GROUPS[group]) for step in said(number, text)]
    tab.say(prompt(*script))
    tab.finish()
    expect(tab.page.get_by_role("alert")).to_have_count(0)  # the run did not fail
    expect(tab.page.locator(".chart-plot:not(:has(canvas))")).to_have_count(0)
    assert_harmless(tab.log)
    shown(tab.messages)  # with all blocks expanded
    assert_harmless(tab.log)
    tab.page.reload()
    expect(tab.answers).to_have_count(1)
    shown(tab.messages)
    assert_harmless(tab.log)


def test_an_error_is_text(server: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(server.url)[0])
    tab.say(prompt(emit("error", message=" ".join(TEXTS))))
    tab.finish()
    expect(tab.page.get_by_role("alert")).to_contain_text("<script>")
    assert_harmless(tab.log)


@pytest.fixture(scope="module")
def titled(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with a chat for each text, with the text as its title."""
    data = tmp_path_factory.mktemp("titled") / "data"
    data.mkdir()
    with ThreadPoolExecutor(1) as thread:  # this thread's loop runs the browser
        thread.submit(asyncio.run, _fill(data)).result(LIMIT)
    with live_server(data, "--agents", agents) as server:
        yield server


async def _fill(data: Path) -> None:
    storage = await open_storage(Settings(data=data).database)
    for number, text in enumerate(TEXTS):
        message = UserMessage(id=f"m{number}", parts=(PromptText(text=text),))
        request = Request(chat_id=f"c{number}", action=Action.SUBMIT, message=message)
        run = (await storage.begin_turn(OWNER, request, "scripted", "emitted")).run
        await storage.append(run.id, run.epoch, [Done(reason="stop")], 1000)
        await storage.rename(OWNER, f"c{number}", text[:200])
    await storage.close()


def test_titles_are_text(titled: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(titled.url)[0])
    chats = tab.page.get_by_role("navigation").get_by_role("listitem").get_by_role("link")
    while (count := chats.count()) < len(TEXTS):  # longer than the first page
        chats.last.scroll_into_view_if_needed()
        expect(chats.nth(count)).to_be_attached()
    assert_harmless(tab.page.get_by_role("navigation").first)


def test_user_text_and_title_are_plain_text(titled: LiveServer, watched: Watched) -> None:
    tab = Tab(watched(titled.url)[0])
    for number in range(0, len(TEXTS), 9):
        tab.page.goto(f"/chat/c{number}")
        expect(tab.messages.first).to_be_visible()
        assert_harmless(tab.page.locator("#root"))
