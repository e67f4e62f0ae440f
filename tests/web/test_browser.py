"""The browser has Playwright's settings, and the features switched off by these tests."""

from __future__ import annotations

import re

from playwright.sync_api import Page


def test_playwrights_defaults_are_left_out(page: Page) -> None:
    page.goto("chrome://version")
    told = page.locator("#command_line").inner_text()
    lists = re.findall(r"--disable-features=(\S+)", told)
    theirs, ours = (set(names.split(",")) for names in lists)
    assert theirs
    assert theirs - ours == set()
