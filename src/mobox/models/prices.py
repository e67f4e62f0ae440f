"""What calls cost, in US dollars per million tokens, by the beginning of the model's name.

Prices change: `prices` in models.yaml replaces or adds any of these. Discounts, batches, long
contexts and the providers' own tools are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct

from mobox.models.usage import Usage

Dollars = Annotated[float, Meta(ge=0)]


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a million tokens."""

    input: Dollars
    output: Dollars = 0
    cache_read: Dollars | None = None
    """Default: a tenth of `input`."""
    cache_write: Dollars | None = None
    """Default: 1.25 times `input`."""

    def cost(self, usage: Usage) -> float:
        """What these tokens cost."""
        read = self.input * 0.1 if self.cache_read is None else self.cache_read
        write = self.input * 1.25 if self.cache_write is None else self.cache_write
        parts = (
            usage.input * self.input,
            usage.output * self.output,
            usage.cache_read * read,
            usage.cache_write * write,
        )
        return sum(parts) / 1_000_000


PRICES: Final[Mapping[str, Price]] = {
    "claude-opus-4": Price(input=15, output=75),
    "claude-opus-4-5": Price(input=5, output=25),
    "claude-opus-4-6": Price(input=5, output=25),
    "claude-sonnet": Price(input=3, output=15),
    "claude-3-7-sonnet": Price(input=3, output=15),
    "claude-3-5-sonnet": Price(input=3, output=15),
    "claude-haiku": Price(input=1, output=5),
    "claude-3-5-haiku": Price(input=0.8, output=4),
    "gpt-4o": Price(input=2.5, output=10, cache_read=1.25),
    "gpt-4o-mini": Price(input=0.15, output=0.6, cache_read=0.075),
    "gpt-4.1": Price(input=2, output=8, cache_read=0.5),
    "gpt-4.1-mini": Price(input=0.4, output=1.6, cache_read=0.1),
    "gpt-4.1-nano": Price(input=0.1, output=0.4, cache_read=0.025),
    "gpt-5": Price(input=1.25, output=10),
    "gpt-5-mini": Price(input=0.25, output=2),
    "gpt-5-nano": Price(input=0.05, output=0.4),
    "o3": Price(input=2, output=8, cache_read=0.5),
    "o4-mini": Price(input=1.1, output=4.4, cache_read=0.275),
    "text-embedding-3-small": Price(input=0.02),
    "text-embedding-3-large": Price(input=0.13),
    "gemini-2.5-pro": Price(input=1.25, output=10),
    "gemini-2.5-flash": Price(input=0.3, output=2.5),
    "gemini-2.5-flash-lite": Price(input=0.1, output=0.4),
}


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price with the longest matching name; `None` if no name matches."""
    names = [name for name in prices if model.startswith(name)]
    return prices[max(names, key=len)] if names else None
