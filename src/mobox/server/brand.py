"""What the page has of the app around it: name, logo, colours, texts, modules, what it hides.

Rule 1: it is part of the page's HTML, so that nothing changes after the first paint; the colours
        are a stylesheet of their own, as the page has no inline styles.
Rule 2: an accent is made darker or lighter until its text is readable (WCAG AA, 4.5:1) on every
        ground of the page, in each theme.
Rule 3: the logo is a picture: it is served with a policy under which an SVG can run no script.
Rule 4: modules are files of the operator, served from the page's own origin under a name that has
        their hash: the page's policy stays as strict as without them.
"""

from __future__ import annotations

import colorsys
import hashlib
import html
import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from mobox.errors import InvalidSetting
from mobox.settings import Settings, parse_setting

STYLESHEET: Final = "brand.css"
_LARGEST: Final = 512 * 1024
_LOGOS: Final = {
    ".svg": re.compile(rb"(?s)\A\s*(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|!DOCTYPE|svg)"),
    ".png": re.compile(rb"\A\x89PNG\r\n\x1a\n"),
    ".jpg": re.compile(rb"\A\xff\xd8\xff"),
    ".jpeg": re.compile(rb"\A\xff\xd8\xff"),
    ".webp": re.compile(rb"(?s)\ARIFF.{4}WEBP"),
}
"""By suffix: how such a file begins."""
_AA: Final = 4.5
_LIGHT_GROUNDS: Final = ("#ffffff", "#f7f7f4", "#ecebe6")
_DARK_GROUNDS: Final = ("#17171a", "#111113", "#26262b")
"""The grounds of web/src/index.css."""
_INKS: Final = ("#ffffff", "#14131f")


_MODULES: Final = (".js", ".mjs")
_LARGEST_MODULE: Final = 2 << 20


class BrandFile(Struct, frozen=True):
    """A file that the page loads, and its name on the server."""

    name: str
    body: bytes


class Brand(Struct, frozen=True, kw_only=True):
    """All that the page shows of its app; empty where it shows Mobox's own."""

    name: str = ""
    logo: BrandFile | None = None
    accent: str = ""
    welcome: str = ""
    starters: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    modules: tuple[BrandFile, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Brand:
        """The brand of a server; reads its files. Raises `InvalidSetting`."""
        logo, accent = settings.brand_logo, settings.brand_accent
        return cls(
            name=settings.brand_name,
            logo=None if logo is None else _read_logo(logo),
            accent=accent and parse_setting("brand_accent", accent),
            welcome=settings.brand_welcome,
            starters=settings.brand_starters,
            hidden=settings.hidden,
            modules=tuple(map(_read_module, settings.page_modules)),
        )

    def in_page(self, page: str) -> str:
        """The page with its title, icon, colours, and the rest for its script."""
        if self == Brand():
            return page
        if self.name:
            title = f"<title>{html.escape(self.name)}</title>"
            page = re.sub("<title>.*?</title>", lambda _: title, page, count=1)
        if self.logo:
            icon = f'<link rel="icon" href="./{self.logo.name}"'
            page = re.sub(r'<link rel="icon"[^>]*?(?=\s*/?>)', lambda _: icon, page, count=1)
        return page.replace("</head>", f"{self._head()}</head>", 1)

    def _head(self) -> str:
        shown = {
            "name": self.name or None,
            "logo": self.logo and f"./{self.logo.name}",
            "welcome": self.welcome or None,
            "starters": self.starters,
            "hidden": self.hidden,
            "modules": [f"./{module.name}" for module in self.modules],
        }
        text = msgspec.json.encode({key: value for key, value in shown.items() if value}).decode()
        style = f'<link rel="stylesheet" href="./{STYLESHEET}" />' if self.accent else ""
        return f'{style}<meta name="mobox-brand" content="{html.escape(text)}" />'

    @property
    def files(self) -> dict[str, bytes]:
        """All files, by name."""
        given = (*self.modules, *((self.logo,) if self.logo else ()))
        styles = {STYLESHEET: self.stylesheet} if self.accent else {}
        return styles | {file.name: file.body for file in given}

    @property
    def stylesheet(self) -> bytes:
        """The accent's shades in both themes; more specific than the page's own rules."""
        light, dark = shades(self.accent)
        rules = (
            f"{scope}{{--accent:{shade.colour};--accent-ink:{shade.ink}}}"
            for scope, shade in (("html:root", light), ("html.dark:root", dark))
        )
        return "".join(rules).encode()


def _read_logo(path: Path) -> BrandFile:
    suffix = path.suffix.lower()
    body = _read("brand_logo", path, tuple(_LOGOS), _LARGEST)
    if not _LOGOS[suffix].match(body):
        raise InvalidSetting("brand_logo", str(path), f"this file is not a {suffix[1:]} picture")
    return BrandFile(f"logo{suffix}", body)


def _read_module(path: Path) -> BrandFile:
    body = _read("page_modules", path, _MODULES, _LARGEST_MODULE)
    return BrandFile(f"assets/module-{hashlib.sha256(body).hexdigest()[:20]}.js", body)


def _read(setting: str, path: Path, suffixes: tuple[str, ...], most: int) -> bytes:
    if path.suffix.lower() not in suffixes:
        raise InvalidSetting(setting, str(path), f"expected a file {', '.join(suffixes)}")
    try:
        with path.open("rb") as file:
            body = file.read(most + 1)
    except OSError as error:
        problem = f"cannot read this file: {error.strerror}"
        raise InvalidSetting(setting, str(path), problem) from None
    if len(body) > most:
        raise InvalidSetting(setting, str(path), f"expected at most {most >> 10} KB")
    return body


# Colours


class Shade(NamedTuple):
    """A colour, and that of text on it."""

    colour: str
    ink: str


def shades(accent: str) -> tuple[Shade, Shade]:
    """The accent for the light and for the dark theme, changed as little as needed."""
    return _shade(accent, _LIGHT_GROUNDS, -1), _shade(accent, _DARK_GROUNDS, 1)


def _shade(accent: str, grounds: tuple[str, ...], way: int) -> Shade:
    """The nearest lightness at which the colour is readable, darker or lighter."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(accent))
    for step in range(101):
        moved = min(1.0, max(0.0, lightness + way * step / 100))
        colour = _written(colorsys.hls_to_rgb(hue, moved, saturation))
        if all(contrast(colour, ground) >= _AA for ground in grounds):
            break
    return Shade(colour, max(_INKS, key=lambda ink: contrast(ink, colour)))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG 2, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = map(_linear, _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    return red, green, blue


def _written(channels: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)
