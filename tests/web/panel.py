"""The side panel, as a user operates it: by accessible names."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from web.chat_tab import Tab

__all__ = ["Panel"]

ROWS = "(rows) => rows.map((row) => row.textContent.replaceAll('\\u00a0', ' ').trimEnd())"


class Panel:
    """The panel of a tab."""

    def __init__(self, tab: Tab) -> None:
        self._page = tab.page
        self.button = tab.page.get_by_role("button", name="Inspect", exact=True)
        self.box = tab.page.locator("#side-panel")
        self.edge = tab.page.get_by_role("separator", name="Resize the side panel")
        self.files = self.box.get_by_role("navigation", name="Code of this answer")
        self.as_text = self.box.get_by_label("Show as text")
        self.printed = self.box.get_by_role("group", name="Tool output")

    def open(self, pane: str) -> Panel:
        """Open it with this pane."""
        button = self._page.locator("#side-panel-button")  # which the panel may cover
        if button.get_attribute("aria-expanded") == "false":
            self.button.click()
        tab = self.box.get_by_role("tab", name=pane)
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        return self

    @property
    def code(self) -> Locator:
        return self.box.get_by_role("textbox", name="code")

    @property
    def screen(self) -> Locator:
        return self.box.locator(".xterm-rows > div")

    def choose(self, words: str) -> None:
        """Select another piece of code."""
        self.files.get_by_role("button", name=words).click()

    def shows_code(self, *lines: str) -> None:
        """Wait until these lines are there, and no others."""
        expect(self.code.locator(".cm-line")).to_have_text(list(lines))

    def shows(self, *lines: str) -> None:
        """Wait until the screen ends with these rows, followed by empty ones."""
        expect(self.screen.filter(has_text=lines[-1]).last).to_be_visible()
        rows = self.rows()
        assert rows[-len(lines) :] == list(lines), rows

    def rows(self) -> list[str]:
        """The rows of the screen, without the empty ones at its end."""
        rows: list[str] = self.screen.evaluate_all(ROWS)
        while rows and not rows[-1]:
            rows.pop()
        return rows
