"""The page about the interface, at the root of a server and below somebody else's."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest

from server.app_client import app_client


@pytest.mark.parametrize("root", ["", "/below"])
async def test_the_page_about_the_interface_finds_what_it_is_made_of(
    tmp_path: Path, root: str
) -> None:
    async with app_client(tmp_path, root=root) as (_, client):
        page = await client.get(f"{root}/docs")
        links = re.findall('(?:href|src)="([^"#][^"]*)"', page.text)
        assert len(links) == 2
        for link in links:
            assert (await client.get(urljoin(str(page.url), link))).status_code == 200
    assert f"curl http://localhost{root}/api/chats\n" in page.text.replace("</code>", "\n")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
