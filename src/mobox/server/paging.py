"""Pages of lists, as clients ask for them."""

from __future__ import annotations

import re
from typing import Final

from starlette.requests import Request

from mobox.errors import InvalidRequest

MOST: Final = 200
"""Items of a page."""


def page_limit(request: Request) -> int:
    """The query parameter `limit`."""
    text = request.query_params.get("limit", "50")
    # Python refuses to parse a number of thousands of digits.
    if re.fullmatch("[0-9]{1,9}", text) is None or not 1 <= int(text) <= MOST:
        raise InvalidRequest("limit", f"expected a number from 1 to {MOST}, got {text[:20]!r}")
    return int(text)
