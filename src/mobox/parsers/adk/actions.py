"""The actions of an ADK event, besides its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from mobox.events import Custom, File, Scope, State, Status, StepEnd, StepStart, StreamEvent
from mobox.parsers.adk import wire
from mobox.parsers.gemini.reasons import VENDOR

__all__ = ["acted"]

Teller = Callable[[Any, Scope, str], Iterator[StreamEvent]]


def acted(actions: wire.Actions, scope: Scope, event: str) -> list[StreamEvent]:
    """The events for the actions of the event of that id."""
    return [
        made
        for field, teller in TELLERS.items()
        if (value := getattr(actions, field))
        for made in teller(value, scope, event)
    ]


def _state(delta: dict[str, Any], scope: Scope, _event: str) -> Iterator[StreamEvent]:
    yield State(scope=scope, mode="patch", value=delta)


def _artifacts(delta: dict[str, Any], scope: Scope, _event: str) -> Iterator[StreamEvent]:
    """The event has only an artifact's name and version: neither type nor bytes."""
    for name, version in delta.items():
        yield File(
            scope=scope,
            media_type="application/octet-stream",
            file_id=f"{name}@{version}",
            name=name,
        )


def _transfer(agent: str, scope: Scope, _event: str) -> Iterator[StreamEvent]:
    yield Status(scope=scope, message=f"{agent} takes over")


def _compaction(about: dict[str, Any], scope: Scope, event: str) -> Iterator[StreamEvent]:
    name = f"{event}:compaction"
    yield StepStart(id=name, scope=scope, kind="compaction")
    yield StepEnd(id=name, scope=scope, provider={VENDOR: {"compaction": about}})


def _widgets(widgets: Any, scope: Scope, _event: str) -> Iterator[StreamEvent]:
    yield Custom(scope=scope, name="ui-widgets", value=widgets)


TELLERS: Final[dict[str, Teller]] = {
    "state_delta": _state,
    "artifact_delta": _artifacts,
    "transfer_to_agent": _transfer,
    "compaction": _compaction,
    "render_ui_widgets": _widgets,
}
