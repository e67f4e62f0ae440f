"""Google's ADK in the matrix."""

from __future__ import annotations

from frameworks.matrix import Adapter
from frameworks.scripted_anthropic import Block, Item, call
from frameworks.scripted_gemini import scripted_gemini


def _to_subagent(task: str) -> Block:
    return call("call_2", "helper", request=task)


def _tidy(items: list[Item]) -> list[Item]:
    """Without the empty text that ends a streamed answer, which ADK keeps."""
    return [item for item in items if item != Item("text", "")]


ADK = Adapter(
    name="ADK",
    framework="adk",
    folder="adk",
    provider=scripted_gemini,
    base_url="GOOGLE_GEMINI_BASE_URL",
    env={"GEMINI_API_KEY": "none"},
    delegate=_to_subagent,
    tidy=_tidy,
)
