"""The assistant's tools: notes in the chat's state folder, units, dates, and a guide to cities."""

import json
import os
import re
import shutil
from datetime import date
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
CITIES = json.loads((DATA / "cities.json").read_text("utf-8"))
UNITS = (
    {"cm": 0.01, "inch": 0.0254, "foot": 0.3048, "metre": 1, "kilometre": 1000, "mile": 1609.344},
    {"gram": 1, "ounce": 28.3495, "pound": 453.592, "kilogram": 1000},
    {"ml": 1, "cup": 236.588, "pint": 473.176, "litre": 1000, "gallon": 3785.412},
)
"""Units that can be converted into each other, with their size in the same one."""


# Notes


def search_notes(query: str) -> str:
    """Search the notes by a few words; returns those that fit. An empty query returns all."""
    texts = [note.read_text("utf-8") for note in sorted(_notes().glob("*.md"))]
    found = [text for text in texts if not query or _words(query) & _words(text)]
    return "\n".join(found) or "There is no such note."


def save_note(title: str, text: str) -> str:
    """Save a note in Markdown; one with the same title is replaced."""
    _note(title).write_text(f"# {title}\n\n{text}\n", "utf-8")
    return f"Saved the note “{title}”."


def delete_note(title: str) -> str:
    """Delete the note with this title. A person is asked first."""
    if not _note(title).exists():
        return f"There is no note “{title}”."
    _note(title).unlink()
    return f"Deleted the note “{title}”."


def _note(title: str) -> Path:
    name = "-".join(re.findall(r"\w+", title.lower())) or "note"
    return _notes() / f"{name[:60]}.md"  # a name that is too long would end the run


def _notes() -> Path:
    """The folder with the notes of this chat, which starts with a copy of ours."""
    folder = Path(os.environ.get("MOBOX_STATE", ".")) / "notes"
    if not folder.exists():
        shutil.copytree(DATA / "notes", folder)
    return folder


# Units and dates


def convert_units(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a length, a mass or a volume, such as 3 from "mile" to "kilometre"."""
    before, after = _unit(from_unit), _unit(to_unit)
    for units in UNITS:
        if before in units and after in units:
            return f"{value:g} {from_unit} = {value * units[before] / units[after]:.4g} {to_unit}"
    return f"Cannot convert {from_unit} to {to_unit}."


def _unit(name: str) -> str:
    """The name of a unit in the table: in the singular, and as in Britain."""
    name = {"feet": "foot", "inches": "inch"}.get(name.lower(), name.lower()).removesuffix("s")
    return name.removesuffix("er") + "re" if name.endswith(("meter", "liter")) else name


def days_between(start_date: str, end_date: str) -> str:
    """Count the days between two dates such as 2026-12-24, and name their days of the week."""
    try:
        start, end = date.fromisoformat(start_date), date.fromisoformat(end_date)
    except ValueError as error:  # an exception would end the run
        return str(error)
    return f"{(end - start).days} days, from a {start:%A} to a {end:%A}"


# Cities


def search_cities(query: str) -> str:
    """Search the guide by names of cities, or by what matters, such as "sunny, by the sea"."""
    words = _words(query)
    named = [name for name in CITIES if name.lower() in words]
    fitting = sorted(CITIES, key=lambda name: -len(words & _words(CITIES[name])))
    return "\n".join(f"{name}: {CITIES[name]}" for name in named or fitting[:3])


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}
