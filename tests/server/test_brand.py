"""The page under another name: its logo, colours and texts, and who may embed it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from mobox import mount
from mobox.errors import InvalidSetting
from mobox.library import BrandOptions
from mobox.server.app import create_app, open_services
from mobox.server.brand import Brand, contrast, shades
from mobox.settings import FEATURES, Settings, read_settings
from server.live_server import AGENTS

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
SHOP = "https://shop.example"
LIGHT, DARK = ("#ffffff", "#f7f7f4", "#ecebe6"), ("#17171a", "#111113", "#26262b")


@asynccontextmanager
async def served(data: Path, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(data=data, agents=AGENTS, database_url="memory:", **options)
    async with open_services(settings) as services:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


def shown(page: httpx.Response) -> Any:
    """The brand as the page's script reads it."""
    found = re.search('<meta name="mobox-brand" content="([^"]*)"', page.text)
    return json.loads(html.unescape(found[1])) if found else None


async def test_a_page_without_a_brand_is_as_it_was_built(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        page = await client.get("/")
        assert "<title>Mobox</title>" in page.text
        assert shown(page) is None
        assert (await client.get("/brand.css")).status_code == 404


async def test_the_page_has_the_name_logo_colours_and_texts(tmp_path: Path) -> None:
    logo = tmp_path / "ours.svg"
    logo.write_bytes(SVG)
    brand = {
        "brand_name": "Acme <\"&'> Help",
        "brand_logo": logo,
        "brand_accent": "#0a7d5a",
        "brand_welcome": "Ask us anything",
        "brand_starters": ("Where is my order?", "Hi | there"),
        "hidden": ("protocol", "demo"),
    }
    async with served(tmp_path, **brand) as client:
        for path in ("/", "/chat/c1"):
            page = await client.get(path)
            assert shown(page) == {
                "name": "Acme <\"&'> Help",
                "logo": "./logo.svg",
                "welcome": "Ask us anything",
                "starters": ["Where is my order?", "Hi | there"],
                "hidden": ["protocol", "demo"],
            }
            assert "<title>Acme &lt;&quot;&amp;&#x27;&gt; Help</title>" in page.text
            assert '<link rel="icon" href="./logo.svg"' in page.text
            assert '<link rel="stylesheet" href="./brand.css" />' in page.text
        styles = await client.get("/brand.css")
        assert styles.headers["content-type"].startswith("text/css")
        assert "html:root{--accent:#0a7857;--accent-ink:#ffffff}" in styles.text, "a little darker"


async def test_modules_are_served_from_the_pages_origin_by_their_content(tmp_path: Path) -> None:
    one, other = tmp_path / "one.js", tmp_path / "other.mjs"
    one.write_text("export default () => 1;")
    other.write_text("export default () => 2;")
    async with served(tmp_path, page_modules=(one, other)) as client:
        page = await client.get("/")
        modules = shown(page)["modules"]
        for module, path in zip(modules, (one, other), strict=True):
            got = await client.get(module.removeprefix("."))
            assert got.text == path.read_text()
            assert got.headers["content-type"] == "text/javascript; charset=utf-8"
            assert "immutable" in got.headers["cache-control"]
        assert "script-src 'self';" in page.headers["content-security-policy"]
    one.write_text("export default () => 3;")
    async with served(tmp_path, page_modules=(one,)) as client:
        assert shown(await client.get("/"))["modules"][0] not in modules


@pytest.mark.parametrize(
    ("name", "body", "problem"),
    [
        ("views.ts", "", "expected a file .js, .mjs"),
        ("missing.js", None, "cannot read this file: No such file"),
        ("large.js", "x" * (2 << 20) + "x", "expected at most 2048 KB"),
    ],
)
def test_a_module_that_cannot_be_served_is_refused_at_the_start(
    tmp_path: Path, name: str, body: str | None, problem: str
) -> None:
    if body is not None:
        (tmp_path / name).write_text(body)
    with pytest.raises(InvalidSetting, match=problem):
        Brand.of(Settings(page_modules=(tmp_path / name,)))


async def test_a_logo_cannot_run_scripts(tmp_path: Path) -> None:
    logo = tmp_path / "ours.svg"
    logo.write_bytes(SVG)
    async with served(tmp_path, brand_logo=logo) as client:
        for path in ("/logo.svg", "/favicon.ico"):
            got = await client.get(path)
            assert (got.content, got.headers["content-type"]) == (SVG, "image/svg+xml")
            policy = got.headers["content-security-policy"]
            assert "default-src 'none'" in policy and policy.endswith("sandbox")
            assert got.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "body", "problem"),
    [
        ("logo.html", b"<html>", "expected a file"),
        ("logo.png", b"<svg>", "not a png picture"),
        ("logo.svg", b"\x89PNG\r\n\x1a\n", "not a svg picture"),
        ("logo.webp", b"RIFF", "not a webp picture"),
        ("logo.png", b"\x89PNG\r\n\x1a\n" + bytes(600_000), "at most 512 KB"),
        ("logo.jpg", None, "cannot read"),
    ],
)
def test_another_file_is_no_logo(
    tmp_path: Path, name: str, body: bytes | None, problem: str
) -> None:
    path = tmp_path / name
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(InvalidSetting, match=problem):
        Brand.of(Settings(brand_logo=path))


@pytest.mark.parametrize(
    "accent", ["#0a7d5a", "#ffff00", "#000000", "#ffffff", "#4f46e5", "#808080", "#ff0000"]
)
def test_every_accent_is_readable_in_both_themes(accent: str) -> None:
    for shade, grounds in zip(shades(accent), (LIGHT, DARK), strict=True):
        assert all(contrast(shade.colour, ground) >= 4.5 for ground in grounds)
        assert contrast(shade.colour, shade.ink) >= 4.5


def test_an_accent_that_is_readable_is_not_changed() -> None:
    assert shades("#4f46e5")[0] == ("#4f46e5", "#ffffff")
    assert shades("#8d89fa")[1].colour == "#8d89fa"
    assert round(contrast("#000000", "#ffffff"), 2) == 21


def test_grounds_are_those_of_the_page() -> None:
    styles = Path(__file__).parents[2] / "web" / "src" / "index.css"
    light, dark = re.split(r"\n\.dark \{", styles.read_text())[:2]
    found = [re.findall(r"--ground(?:-[23])?: (#\w{6})", text)[:3] for text in (light, dark)]
    assert found == [list(LIGHT), list(DARK)]


@pytest.mark.parametrize(
    ("flag", "text", "problem"),
    [
        ("brand_accent", "green", "expected a colour such as #0a7d5a"),
        ("brand_accent", "#12345", "expected a colour"),
        ("brand_accent", "url(x)", "expected a colour"),
        ("brand_name", "x" * 61, "1 to 60 characters"),
        ("brand_welcome", "two\nlines", "one line"),
        ("brand_starters", "|".join("abcdefghi"), "at most 8"),
        ("hidden", "everything", "known: agents"),
        ("embed_origins", "shop.example", "is not an origin"),
    ],
)
def test_nonsense_is_refused(flag: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidSetting, match=problem) as raised:
        read_settings({}, {flag: text})
    assert raised.value.name == "--" + flag.replace("_", "-")


def test_settings_come_from_flags_and_variables() -> None:
    variables = {"MOBOX_BRAND_NAME": "Acme", "MOBOX_HIDDEN": "demo, protocol"}
    settings = read_settings(
        variables, {"brand_accent": "#0A7", "brand_starters": "One, two|Three"}
    )
    assert (settings.brand_name, settings.hidden) == ("Acme", ("demo", "protocol"))
    assert (settings.brand_accent, settings.brand_starters) == ("#00aa77", ("One, two", "Three"))


async def test_an_app_gives_its_brand_to_what_it_mounts(tmp_path: Path) -> None:
    app = Starlette()
    brand: BrandOptions = {
        "name": "Acme",
        "accent": "#0a7",
        "starters": ["Hi, you", "There"],
        "hidden": ["demo"],
    }
    box = mount(
        app,
        "/help",
        principal=lambda _: "ann",
        data=tmp_path,
        database_url="memory:",
        brand=brand,
        embed_origins=(SHOP,),
    )
    async with box:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            page = await client.get("/help/")
            assert shown(page) == {
                "name": "Acme",
                "starters": ["Hi, you", "There"],
                "hidden": ["demo"],
            }
            assert "--accent:" in (await client.get("/help/brand.css")).text
            assert SHOP in (await client.get("/help/embed")).headers["content-security-policy"]
    wrong: Any
    for wrong in ({"nane": "Acme"}, {"accent": "red"}, {"hidden": ["x"]}):
        with pytest.raises(InvalidSetting, match=r"brand\['"):
            mount(app, "/x", principal=lambda _: "ann", brand=wrong)


# Embedding


async def test_no_page_embeds_the_chat_unless_its_origin_is_listed(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        for path in ("/embed", "/embed/chat/c1", "/embed.js"):
            refused = await client.get(path)
            assert refused.status_code == 403
            assert "--embed-origins" in refused.json()["error"]["message"]
        for path in ("/", "/chat/c1"):
            assert "frame-ancestors 'none'" in policy_of(await client.get(path))


async def test_only_the_page_for_frames_can_be_framed_by_listed_origins(tmp_path: Path) -> None:
    origins = (f"{SHOP}/", "HTTP://127.0.0.1:5173")
    async with served(tmp_path, embed_origins=origins) as client:
        for path in ("/embed", "/embed?agent=demo", "/embed/chat/c1"):
            policy = policy_of(await client.get(path))
            assert f"frame-ancestors 'self' {SHOP} http://127.0.0.1:5173;" in policy
            assert "script-src 'self';" in policy
        for path in ("/", "/chat/c1"):
            assert "frame-ancestors 'none'" in policy_of(await client.get(path))
        script = await client.get("/embed.js", headers={"sec-fetch-site": "cross-site"})
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["cross-origin-resource-policy"] == "cross-origin"
        other = await client.get("/theme.js")
        assert other.headers["cross-origin-resource-policy"] == "same-origin"


async def test_pages_that_embed_the_chat_cannot_call_the_api_themselves(tmp_path: Path) -> None:
    async with served(tmp_path, embed_origins=(SHOP,)) as client:
        refused = await client.get("/api/chats", headers={"origin": SHOP})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "cross_origin")


def policy_of(response: httpx.Response) -> str:
    return response.headers["content-security-policy"]


def test_features_have_the_same_names_in_the_page() -> None:
    source = (Path(__file__).parents[2] / "web" / "src" / "brand.ts").read_text()
    found = re.search(r"const FEATURES = \[(.*?)\]", source, re.DOTALL)
    assert found is not None
    assert tuple(re.findall(r'"(\w+)"', found[1])) == FEATURES
