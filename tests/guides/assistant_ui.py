"""assistant-ui with its runtime for the AI SDK: docs/clients/assistant-ui.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from guides.bundles import PageSource
from guides.cells import Client
from guides.client_tab import ClientTab, Upload

__all__ = ["ASSISTANT_UI"]


class AssistantUITab(ClientTab):
    """Its composer sends nothing while an answer streams; Escape is its own way to stop."""

    def interrupt(self, text: str) -> None:
        self.composer.press("Escape")
        self.send(text)

    def edit(self, text: str) -> None:
        self.button("Edit").click()
        self.page.get_by_role("textbox", name="Edited message").fill(text)
        self.button("Save").click()

    def retry(self) -> None:
        self.button("Regenerate").click()

    def attach(self, files: Sequence[Upload]) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.button("Attach files").click()
        chooser.value.set_files(list(files))
        for file in files:
            self.page.get_by_text(file["name"]).wait_for()

    def send_with_extras(self, text: str) -> str:
        """The tools of the page are sent with each message."""
        self.send(text)
        return '"name": "locate"'


ASSISTANT_UI: Final = Client(
    name="assistant-ui",
    page=PageSource("docs/clients/assistant-ui.md", "main.ts", {"ai": "ai"}),
    tab=AssistantUITab,
)
