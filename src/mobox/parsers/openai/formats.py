"""The formats of the lines of OpenAI's and compatible APIs."""

from __future__ import annotations

from mobox.events import JSON
from mobox.parsers.formats import Format, having, kinds, prefixed

__all__ = ["AGENTS_FORMATS", "FORMATS"]


def _chunk(line: JSON) -> float:
    return 1.0 if isinstance(line, dict) and isinstance(line.get("choices"), list) else 0.0


def _error(line: JSON) -> float:
    return 0.4 if isinstance(line, dict) and line.keys() in ({"error"}, {"error", "user_id"}) else 0


FORMATS: tuple[Format, ...] = (
    Format("OpenAI's chat completion chunks", (_chunk, _error)),
    Format(
        "OpenAI's Responses events",
        (prefixed("type", "response."), kinds("type", ("error",), "sequence_number")),
    ),
    Format(
        "simplified lines for OpenAI",
        (kinds("type", ("delta", "tool_call"), "data", confidence=0.8),),
    ),
)

AGENTS_FORMATS: tuple[Format, ...] = (
    Format(
        "the OpenAI Agents SDK's stream events",
        (
            kinds("type", ("raw_response_event",), "data"),
            kinds("type", ("run_item_stream_event",), "item"),
            kinds("type", ("agent_updated_stream_event",), "new_agent"),
            having("event", "agent", "tool_call"),
            having("__result__"),
        ),
    ),
)
