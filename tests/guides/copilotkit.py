"""CopilotKit's components, v1 and v2: docs/clients/copilotkit.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from playwright.sync_api import Locator, expect

from guides.bundles import PageSource
from guides.cells import Client, Scenario
from guides.client_tab import ClientTab, Upload
from guides.http_agent import BROKEN_BODY, FAILED, reported
from guides.world import World
from web.browser_watch import CUT_OFF

__all__ = ["COPILOTKIT_V1", "COPILOTKIT_V2"]

REPORTS: Final = (
    r"\[CopilotKit\]",
    "Agent default not found",
    "load runtime info",
    "The runtime appears to be unreachable",
    "Runtime answered the identification request",
    BROKEN_BODY,
)
"""What its core writes to the console about failures, which the page shows too."""


class CopilotTab(ClientTab):
    """The components have names of their own; an answer is one or more messages."""

    ANSWER: ClassVar[str]
    SENT: ClassVar[str]
    QUEUE: ClassVar[str]
    RUNNING: ClassVar[str]
    REGENERATE: ClassVar[str] = "Regenerate"

    @property
    def composer(self) -> Locator:
        return self.page.get_by_test_id("copilot-chat-textarea")

    @property
    def answers(self) -> Locator:
        """The last message of each answer."""
        return self.page.locator(f"{self.ANSWER}:not(:has(+ {self.ANSWER}))")

    @property
    def sent(self) -> Locator:
        return self.page.locator(self.SENT)

    def wait_until_open(self) -> None:
        super().wait_until_open()
        expect(self.page.locator("[inert]")).to_have_count(0)

    def send(self, text: str) -> None:
        self.composer.fill(text)
        self.composer.press("Enter")

    def stop(self) -> None:
        self.page.get_by_test_id("copilot-send-button").click()

    def interrupt(self, text: str) -> None:
        self.stop()
        self.send(text)

    def edit(self, text: str) -> None:
        self.sent.last.hover()
        self.button("Edit").click()
        self.page.get_by_label("Edited message").fill(text)
        self.button("Save").click()

    def regenerate(self) -> None:
        self.answers.last.hover()
        self.button(self.REGENERATE).click()

    def attach(self, files: Sequence[Upload]) -> None:
        self.page.locator("input[type=file]").first.set_input_files(list(files))
        expect(self.page.locator(self.QUEUE).get_by_role("img")).to_have_count(len(files))

    def finish(self) -> None:
        expect(self.page.locator(self.RUNNING)).to_have_count(0)


class V1Tab(CopilotTab):
    ANSWER = ".copilotKitAssistantMessage"
    REGENERATE = "Regenerate response"
    SENT = ".copilotKitUserMessage"
    QUEUE = ".copilotKitAttachmentQueue"
    RUNNING = "[data-copilotkit-in-progress=true]"

    def send(self, text: str) -> None:
        """By the button: Enter does nothing while the page still reads the thread."""
        ClientTab.send(self, text)

    def interrupt(self, text: str) -> None:
        """Sends as soon as the composer allows it: when the run has ended."""
        self.stop()
        self.finish()
        self.send(text)


class V2Tab(CopilotTab):
    ANSWER = "[data-testid=copilot-assistant-message]"
    SENT = "[data-testid=copilot-user-message]"
    QUEUE = "[data-testid=copilot-attachment-queue]"
    RUNNING = "[data-testid=copilot-loading-cursor]"


def approve(world: World) -> None:
    """As other clients; but what is approved is no part of a message."""
    tab = world.open()
    call = tab.page.get_by_text("🔧 delete_file")
    for answers in (1, 2):
        tab.send("approve")
        expect(call).to_have_count(answers)
        expect(tab.button("Approve")).to_be_visible()
        if answers == 2:
            tab.reload()
            expect(call).to_have_count(answers)
        tab.approve()
        expect(tab.answers).to_have_count(answers)
        expect(tab.answers.last).to_contain_text("It is deleted.")
        tab.finish()
    expect(tab.error).to_have_count(0)


def deny(world: World) -> None:
    """As other clients; but what is denied is no part of a message."""
    tab = world.open()
    tab.send("approve")
    expect(tab.page.get_by_text("🔧 delete_file")).to_be_visible()
    tab.deny()
    expect(tab.answers.last).to_contain_text("It is still there.")
    tab.finish()
    tab.send("say fine")
    expect(tab.answers.last).to_contain_text("fine")
    expect(tab.error).to_have_count(0)


def ask(world: World) -> None:
    """As other clients; but the question is no part of a message."""
    tab = world.open()
    for answers, colour in ((1, "blue"), (2, "red")):
        tab.send("ask")
        question = tab.page.get_by_role("group", name="Which colour?")
        expect(question).to_be_visible()
        if answers == 2:
            tab.reload()
            expect(question).to_be_visible()
        tab.answer(colour)
        expect(tab.answers.last).to_contain_text(f"You chose {colour}.")
        tab.finish()
        expect(tab.answers).to_have_count(answers)


def typed_tool(world: World) -> None:
    """As other clients; but the call and the text are two messages."""
    tab = world.open()
    tab.send("locate")
    expect(tab.answers).to_contain_text("You are in Europe/Lisbon.")
    tab.finish()
    shown = tab.page.get_by_text("📍 Europe/Lisbon")
    expect(shown).to_be_visible()
    tab.reload()
    expect(shown).to_be_visible()


OWN: Final[dict[str, Scenario]] = {
    "approve": approve,
    "deny": deny,
    "ask": ask,
    "typed tool": typed_tool,
    **reported("wrong key", FAILED, *REPORTS),
    **reported("server killed", FAILED, CUT_OFF, *REPORTS),
}
DOCUMENT: Final = "docs/clients/copilotkit.md"
COPILOTKIT_V1: Final = Client(
    name="CopilotKit v1", page=PageSource(DOCUMENT, "copilotkit-v1.ts"), tab=V1Tab, own=OWN
)
COPILOTKIT_V2: Final = Client(
    name="CopilotKit v2", page=PageSource(DOCUMENT, "copilotkit-v2.ts"), tab=V2Tab, own=OWN
)
