"""Milliseconds since 1970 as ISO 8601, as `Date.toISOString` writes it; no clock is read."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Final

__all__ = ["iso"]

_DAY: Final = 24 * 60 * 60
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def iso(ms: int) -> str:
    """The time `ms` milliseconds after the start of 1970, in UTC."""
    seconds, thousandths = divmod(ms, 1000)
    days, second = divmod(seconds, _DAY)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{_date(days)}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}Z"


@lru_cache(maxsize=16)
def _date(days: int) -> str:
    year = 1970 + days // 366
    while _first_day(year + 1) <= days:
        year += 1
    day = days - _first_day(year)
    is_leap = _first_day(year + 1) - _first_day(year) == 366
    starts = list(accumulate((*_LENGTHS[:1], 28 + is_leap, *_LENGTHS[2:-1]), initial=0))
    month = bisect_right(starts, day)
    return f"{year:04}-{month:02}-{day - starts[month - 1] + 1:02}"


def _first_day(year: int) -> int:
    """How many days after the start of 1970 that year starts."""
    return 365 * (year - 1970) + _leap_days(year - 1) - _leap_days(1969)


def _leap_days(year: int) -> int:
    return year // 4 - year // 100 + year // 400
