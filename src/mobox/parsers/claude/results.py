"""Results of a session's own tools: `user` lines that the program writes for the model."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import ValidationError, convert

from mobox.events import JSON, File, Outcome, Scope, StreamEvent, ToolResult
from mobox.parsers.claude import session_wire as lines
from mobox.parsers.json_values import object_of, objects_in

__all__ = ["ReadResult", "read_results"]


class ReadResult(NamedTuple):
    """One tool's result, as events, and the program's own record of it."""

    tool_id: str
    ok: bool
    outcome: JSON
    events: list[StreamEvent]


def read_results(line: lines.User, scope: Scope) -> list[ReadResult]:
    """The valid results in a line; none if it is text for the model."""
    results: list[ReadResult] = []
    broken: ValidationError | None = None
    for block in objects_in(line.message.content):
        if block.get("type") == "tool_result":
            try:
                results.append(_read(convert(block, lines.ToolResult), line, scope))
            except ValidationError as error:
                broken = error
    if broken is not None and not results:
        raise broken
    return results


def _read(block: lines.ToolResult, line: lines.User, scope: Scope) -> ReadResult:
    status = _status(block, line)
    output, files = _without_images(block.content)
    result = ToolResult(
        id=block.tool_use_id,
        scope=scope,
        output=_plain(output),
        status=status,
        structured=_structured(line.tool_use_result, block.content),
    )
    shown = [
        File(id=block.tool_use_id, scope=scope, media_type=media_type, base64=data)
        for media_type, data in files
    ]
    return ReadResult(block.tool_use_id, status == "ok", line.tool_use_result, [result, *shown])


def _status(block: lines.ToolResult, line: lines.User) -> Outcome:
    about = [m for m in objects_in(line.tool_result_meta) if m.get("id") == block.tool_use_id]
    decisions = [object_of(meta.get("permission_decision")).get("decision") for meta in about]
    if "reject" in decisions:
        return "denied"
    return "error" if block.is_error else "ok"


def _plain(output: JSON) -> JSON:
    """An error without the tags that mark it for the model."""
    if isinstance(output, str):
        return output.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return output


def _without_images(content: JSON) -> tuple[JSON, list[tuple[str, str]]]:
    """The content with its images taken out, and those."""
    if not isinstance(content, list):
        return content, []
    kept, images = [], []
    for block in content:
        source = block.get("source") if isinstance(block, dict) else None
        media_type, data = _image(source)
        if media_type is None or data is None:
            kept.append(block)
        else:
            images.append((media_type, data))
            kept.append({"type": block.get("type"), "media_type": media_type})
    return kept, images


def _image(source: JSON) -> tuple[str | None, str | None]:
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None, None
    media_type, data = source.get("media_type"), source.get("data")
    if not isinstance(media_type, str) or not isinstance(data, str):
        return None, None
    return media_type, data


def _structured(outcome: JSON, content: JSON) -> JSON:
    """The program's record of a result, if it has more than the result itself."""
    if outcome == content or not isinstance(outcome, dict):
        return None
    file = outcome.get("file")
    if isinstance(file, dict) and "base64" in file:  # the same image once more
        slim = {name: value for name, value in file.items() if name != "base64"}
        return {**outcome, "file": slim}
    return outcome
