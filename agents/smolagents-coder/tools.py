"""The tools of the coder and its data reader: the files of the chat, and the bundled tables."""

import csv
import os
from pathlib import Path

from smolagents import tool

DATA = Path(__file__).resolve().parent / "data"
MOST_ROWS = 30


def _folder() -> Path:
    """The files of this chat."""
    folder = Path(os.environ.get("MOBOX_STATE", ".")) / "files"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _file(path: str) -> Path:
    return _folder() / Path(path).name  # no other folder


def _saved(path: str) -> Path:
    if not _file(path).exists():
        raise FileNotFoundError(f"there is no file {Path(path).name}")
    return _file(path)


@tool
def list_files() -> list:
    """List the names of the saved files."""
    return sorted(file.name for file in _folder().iterdir())


@tool
def open_file(path: str) -> str:
    """Return the text of a saved file.

    Args:
        path: The name of the file.

    """
    return _saved(path).read_text("utf-8")


@tool
def save_file(path: str, content: str) -> str:
    """Save a text file. The user is asked first.

    Args:
        path: The name of the file, such as report.md.
        content: The whole text.

    """
    _file(path).write_text(content, "utf-8")
    return f"Saved {_file(path).name}, {len(content)} characters."


@tool
def delete_file(path: str) -> str:
    """Delete a saved file. The user is asked first.

    Args:
        path: The name of the file.

    """
    _saved(path).unlink()
    return f"Deleted {_file(path).name}."


@tool
def list_tables() -> str:
    """List the tables with their columns, and which cities they have."""
    lines = []
    for file in sorted(DATA.glob("*.csv")):
        rows = list(csv.DictReader(file.read_text("utf-8").splitlines()))
        cities = ", ".join(dict.fromkeys(row["city"] for row in rows))
        lines.append(f"{file.stem} ({', '.join(rows[0])}): {len(rows)} rows, for {cities}")
    return "\n".join(lines)


@tool
def search_data(query: str) -> str:
    """Search all tables: the rows, as CSV, that have most of the words, such as 'Lisbon January'.

    Args:
        query: Names of cities and months, or columns.

    """
    words = {word.strip(".,?!").lower() for word in query.split()}
    found = []
    for file in sorted(DATA.glob("*.csv")):
        header, *rows = file.read_text("utf-8").splitlines()
        fits = [(len(words & set(row.lower().split(","))), row) for row in rows]
        most = max(count for count, _ in fits)
        chosen = [row for count, row in fits if count == most] if most else rows[:5]
        found += [f"{file.stem}:", header, *chosen[:MOST_ROWS]]
    return "\n".join(found)
