"""What a person may decide about a request."""

from __future__ import annotations

from typing import Literal

import pytest

from mobox.events import InputRequest
from mobox.events.turn import allowed_decisions, allowed_words

Kind = Literal["question", "input", "auth", "tool"]


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        ((), ("approve", "reject")),
        (("something", "else"), ("approve", "reject")),
        (("respond", "approve"), ("approve", "respond")),
        (("edit", "unknown"), ("edit",)),
        (("approve", "edit", "reject", "respond"), ("approve", "edit", "reject", "respond")),
    ],
)
def test_an_approval_allows_what_its_agent_lists(
    allowed: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert allowed_words(InputRequest(id="r", allowed=allowed)) == words


@pytest.mark.parametrize("kind", ["question", "input", "auth", "tool"])
def test_only_an_approval_can_be_edited(kind: Kind) -> None:
    request = InputRequest(id="r", kind=kind, allowed=("edit",))
    assert allowed_decisions(request) == ("approved", "denied", "answered", "cancelled")


def test_an_approval_with_a_form_of_its_own_is_answered() -> None:
    request = InputRequest(id="r", schema={"type": "object"})
    assert allowed_decisions(request) == ("approved", "denied", "answered", "cancelled")


def test_every_request_can_be_taken_back() -> None:
    assert allowed_decisions(InputRequest(id="r", allowed=("edit",))) == ("edited", "cancelled")
