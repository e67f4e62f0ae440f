"""What docs/clients/use-chat.md and assistant-ui.md have besides the cells of the table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from guides.assistant_ui import ASSISTANT_UI
from guides.cells import Client
from guides.use_chat import USE_CHAT_6, USE_CHAT_7
from guides.world import MakeWorld


@pytest.mark.parametrize("client", [USE_CHAT_6, USE_CHAT_7], ids=lambda client: client.id)
def test_the_smallest_page_shows_an_answer(client: Client, world: MakeWorld) -> None:
    smallest = replace(client, name=f"smallest {client.name}")
    smallest = replace(smallest, page=replace(client.page, entry="smallest.tsx"))
    tab = world(smallest).open()
    tab.send("say hello")
    expect(tab.page.get_by_text("assistant: hello")).to_be_visible()


@pytest.mark.parametrize(
    "client", [USE_CHAT_6, USE_CHAT_7, ASSISTANT_UI], ids=lambda client: client.id
)
def test_a_question_without_options_is_answered_with_a_text(
    client: Client, world: MakeWorld
) -> None:
    tab = world(client).open()
    tab.send("name")
    expect(tab.answers).to_contain_text("What is your name?")
    answer = tab.page.get_by_role("textbox", name="Answer")
    answer.fill("Ann")
    answer.press("Enter")
    expect(tab.answers).to_contain_text("Hello, Ann.")
    tab.finish()
