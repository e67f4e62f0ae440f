"""A tab with a client's page, operated by accessible names; a client overrides what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from playwright.sync_api import Locator, Page, expect

__all__ = ["ClientTab", "Upload"]


class Upload(TypedDict):
    """A file, as Playwright gives it to a page."""

    name: str
    mimeType: str
    buffer: bytes


class ClientTab:
    """The usual names: a document's component should have them, since users with assistive
    technology need them as much as the tests."""

    def __init__(self, page: Page) -> None:
        self.page = page

    # What is on the page

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def answers(self) -> Locator:
        """The agent's messages, the first first."""
        return self.page.get_by_role("article", name="assistant")

    @property
    def sent(self) -> Locator:
        """The user's messages."""
        return self.page.get_by_role("article", name="user")

    @property
    def error(self) -> Locator:
        """Where the page shows an error."""
        return self.page.get_by_role("alert")

    @property
    def photos(self) -> Locator:
        """The pictures of the user's messages."""
        return self.sent.get_by_role("img")

    def button(self, name: str) -> Locator:
        """The last button with this name: an earlier message may have one as well."""
        return self.page.get_by_role("button", name=name, exact=True).last

    # What a user does

    def wait_until_open(self) -> None:
        """The page is there, with the messages that the chat has."""
        expect(self.composer).to_be_enabled()

    def reload(self) -> None:
        self.page.reload()
        self.wait_until_open()

    def send(self, text: str) -> None:
        self.composer.fill(text)
        self.button("Send").click()

    def try_to_send(self, text: str) -> None:
        """Send, unless the page shows an error instead of the chat."""
        expect(self.composer.or_(self.error).first).to_be_visible()
        if self.composer.is_visible():
            self.send(text)

    def send_with_extras(self, text: str) -> str:
        """Send a message with a field of the application's own; what the agent should show."""
        self.page.get_by_label("Search the web").check()
        self.send(text)
        return '"webSearch": true'

    def interrupt(self, text: str) -> None:
        """Stop as the client itself does, and send the next message at once."""
        self.send(text)

    def retry(self) -> None:
        """Send again what could not be sent."""
        self.button("Retry").click()

    def stop(self) -> None:
        self.button("Stop").click()

    def approve(self) -> None:
        self.button("Approve").click()

    def deny(self) -> None:
        self.button("Deny").click()

    def answer(self, option: str) -> None:
        """Answer the question that is shown, by one of its options."""
        self.button(option).click()

    def edit(self, text: str) -> None:
        """Replace the last message of the user by another text."""
        self.button("Edit").click()
        self.composer.fill(text)
        self.button("Send").click()

    def regenerate(self) -> None:
        self.button("Regenerate").click()

    def attach(self, files: Sequence[Upload]) -> None:
        self.page.get_by_label("Attach files").set_input_files(list(files))

    # What is awaited

    def finish(self) -> None:
        """Wait until the page says that no run is active."""
        expect(self.button("Stop")).to_have_count(0)
        expect(self.composer).to_be_enabled()
