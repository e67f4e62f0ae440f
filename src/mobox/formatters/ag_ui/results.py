"""The result of a call, as the content of a tool message."""

from __future__ import annotations

import re
from typing import Final

from mobox.events import JSON, ToolResult
from mobox.formatters.ag_ui.documents import encode, mobox_metadata
from mobox.formatters.ag_ui.profiles import Profile
from mobox.formatters.outcomes import FAILED, error_text

__all__ = ["result_content", "result_metadata"]

_MEDIA_TYPE: Final = re.compile(r"(image|audio|video)/[\w.+-]+")


def result_content(result: ToolResult, profile: Profile) -> JSON:
    """A string; if it has images and the client supports them, a list of parts."""
    output = result.output
    if result.status in FAILED:
        return error_text(result)
    if isinstance(output, str):
        return output
    parts = [_part(block) for block in output] if isinstance(output, list) else []
    if not parts or None in parts:
        return encode(output).decode()
    texts = [part["text"] for part in parts if part is not None and part["type"] == "text"]
    if len(texts) == len(parts):
        return "\n".join(texts)
    return parts if profile.media_results else encode(output).decode()


def result_metadata(result: ToolResult) -> dict[str, JSON] | None:
    """The status of a failed call: a tool message has no field for it that events can set.

    Also the form of the content before it was made text, so that a page can show either:
    `json` for the JSON of a value, `lines` for a list of texts, with the line count of each.
    """
    status = result.status if result.status != "ok" else None
    form = {} if result.status in FAILED else _form(result.output)
    return mobox_metadata({"status": status, **form})


def _form(output: JSON) -> dict[str, JSON]:
    if isinstance(output, str):
        return {}
    parts = [_part(block) for block in output] if isinstance(output, list) else []
    if not parts or None in parts:
        return {"json": True}
    texts = [block["text"] for block in output if block["type"] == "text"]
    if len(texts) != len(parts) or parts != output:
        return {}
    return {"lines": [text.count("\n") + 1 for text in texts]}


def _part(block: JSON) -> dict[str, JSON] | None:
    """A block of a result as frameworks write it: text, or an image or sound with its bytes."""
    if not isinstance(block, dict):
        return None
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    source = block.get("source")
    about = source if isinstance(source, dict) else block
    media = about.get("media_type") or about.get("mimeType")
    kind = _MEDIA_TYPE.fullmatch(media) if isinstance(media, str) else None
    if kind is None or not isinstance(about.get("data"), str):
        return None
    media_source = {"type": "data", "value": about["data"], "mimeType": media}
    return {"type": kind[1], "source": media_source}
