"""Reads the tokens that a call used from its response, while that passes by.

Rule 1: bytes are not delayed, changed or kept: at most `KEPT` of them.
Rule 2: providers repeat usage with growing numbers, so the largest of each counts.
Rule 3: no text of a model can be mistaken for usage: quotes inside of a JSON string are escaped.
Rule 4: a response that says nothing is estimated: OpenAI's streams have usage only on request.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from json import JSONDecoder
from typing import Any, Final, NamedTuple

KEPT: Final = 128 * 1024
"""Bytes kept of an unfinished line, or of a JSON document; its usage is near the end."""
BYTES_PER_TOKEN: Final = 4
"""A rough estimate, for English text and JSON."""

_USAGE: Final = re.compile(rb'(?<!\\)"(?:usage|usageMetadata|usage_metadata)"\s*:\s*(?=\{)')
_MODEL: Final = re.compile(rb'(?<!\\)"model"\s*:\s*"([^"\\]{1,200})"')
_VERSION: Final = re.compile(rb'(?<!\\)"(?:modelVersion|model_version)"\s*:\s*"([^"\\]{1,200})"')
"""Gemini's name of the model, which comes behind the content: a tool's input may have a `model`."""
_MARK: Final = b'"usage'
_MODEL_MARK: Final = b'"model'

_INPUT: Final = (
    "input_tokens", "prompt_tokens", "promptTokenCount", "total_input_tokens", "prompt_token_count",
)  # fmt: skip
_OUTPUT: Final = (
    "output_tokens", "completion_tokens", "candidatesTokenCount", "total_output_tokens",
    "candidates_token_count",
)  # fmt: skip
_THOUGHTS: Final = ("thoughtsTokenCount", "total_thought_tokens", "thoughts_token_count")
"""Counted beside the output by Gemini; other providers include them."""
_CACHED: Final = ("cachedContentTokenCount", "total_cached_tokens", "cached_content_token_count")
_DETAILS: Final = ("input_tokens_details", "prompt_tokens_details")


class Usage(NamedTuple):
    """Tokens; `input` is without those of the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)

    def merged(self, other: Usage) -> Usage:
        """The larger number of each."""
        return Usage(*map(max, self, other))


def read_usage(fields: Mapping[str, Any]) -> Usage:
    """The usage in any provider's words."""
    count = _first(fields, _INPUT)
    if "cache_read_input_tokens" in fields or "cache_creation_input_tokens" in fields:
        read = _number(fields.get("cache_read_input_tokens"))  # Anthropic: not part of the input
        written = _number(fields.get("cache_creation_input_tokens"))
    else:
        read, written = _first(fields, _CACHED) or _cached_in_details(fields), 0
        count = max(0, count - read)
    return Usage(count, _first(fields, _OUTPUT) + _first(fields, _THOUGHTS), read, written)


def _cached_in_details(fields: Mapping[str, Any]) -> int:
    details = (fields.get(name) for name in _DETAILS)
    return next(
        (_number(each.get("cached_tokens")) for each in details if isinstance(each, dict)), 0
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return next((_number(fields[name]) for name in names if name in fields), 0)


def _number(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(value) if is_count else 0


class UsageReader:
    """Reads one response: a stream of events, or a JSON document."""

    def __init__(
        self, content_type: str = "", content_encoding: str = "", *, has_version: bool = False
    ) -> None:
        """With `has_version` the model's name may come behind the content, as Gemini's does."""
        self.usage = Usage()
        self.model = ""
        self.size = 0
        """Bytes read, after decompression."""
        self._is_stream = "event-stream" in content_type or "ndjson" in content_type
        self._inflate = decompressor(content_encoding)
        self._rest = b""
        self._has_version = has_version
        self._wants_model = True

    def feed(self, data: bytes) -> None:
        """Read the next bytes; raises nothing."""
        if self._inflate is not None:
            try:
                data = self._inflate.decompress(data)
            except zlib.error:  # the client will see it, too
                return
        self.size += len(data)
        if self._rest:
            data = self._rest + data
        if self._wants_model and data.find(_MODEL_MARK) >= 0:
            self._find_model(data)
        end = data.rfind(b"\n") + 1 if self._is_stream else 0
        if end and data.find(_MARK, 0, end) >= 0:
            self._find_usage(data[:end])
        self._rest = data[end:] if len(data) - end <= KEPT else data[-KEPT:]

    def finish(self) -> None:
        """Read what has no line end behind it."""
        if self._rest.find(_MARK) >= 0:
            self._find_usage(self._rest)
        self._rest = b""

    def _find_model(self, data: bytes) -> None:
        version = _VERSION.search(data) if self._has_version else None
        found = version or (None if self.model else _MODEL.search(data))
        if found is not None:
            self._wants_model = self._has_version and version is None
            self.model = found[1].decode("utf-8", "replace").removeprefix("models/")

    def _find_usage(self, data: bytes) -> None:
        for found in _USAGE.finditer(data):
            with suppress(ValueError):  # cut off, or not what it seemed
                text = data[found.end() : found.end() + KEPT].decode("utf-8", "replace")
                fields, _ = _DECODER.raw_decode(text)
                self.usage = self.usage.merged(read_usage(fields))

    def result(self, request_bytes: int) -> Usage:
        """The usage, estimated from the sizes if the response does not say it."""
        if self.usage.total:
            return self.usage
        return Usage(request_bytes // BYTES_PER_TOKEN, self._output_estimate())

    def _output_estimate(self) -> int:
        # A piece of a chat completion has some 200 bytes around each token.
        return self.size // (200 if self._is_stream else BYTES_PER_TOKEN)


_DECODER: Final = JSONDecoder()


def decompressor(encoding: str) -> Any:
    """A decompressor, or `None`; the gateway lets providers choose only these encodings."""
    return zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in ("gzip", "deflate") else None
