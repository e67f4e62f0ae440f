"""Reads an `.env` file: lines `NAME=value`, with `export` in front, quotes and comments.

A parser of our own, as none of what python-dotenv adds is wanted here: no variables in values, and
no change of the process's environment, of which agents may get a part.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mobox.errors import InvalidSetting

_LINE: Final = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
    (?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>[^']*)' | (?P<bare>(?!["']).*?) )
    (?: \s+\#.* | \s* )""",
    re.VERBOSE,
)
_ESCAPED: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t"}


def read_dotenv(file: Path) -> dict[str, str]:
    """The variables of the file; none, if there is no such file. Raises `InvalidSetting`."""
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(str(file), "", f"cannot be read: {error}") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:  # the line is not shown: it may have a key
            raise InvalidSetting(f"{file}:{number}", "…", "expected NAME=value")
        found[match["name"]] = _value(match)
    return found


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return _ESCAPED.sub(lambda each: _ESCAPES.get(each[1], each[1]), match["double"])
    return match["single"] if match["single"] is not None else match["bare"]
