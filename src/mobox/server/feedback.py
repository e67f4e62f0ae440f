"""The routes for feedback: what a person thinks of the answers of a chat."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.formatters.bodies import Id
from mobox.server.auth.principal import owner_of
from mobox.server.services import Services, json_response, read_as
from mobox.storage.feedback import Feedback, Opinion


class FeedbackRow(Struct, rename="camel", kw_only=True):
    """A person's opinion of an answer."""

    run_id: str
    """The answer: its message has the same id."""
    value: Opinion
    comment: str
    created_at: int
    updated_at: int


class FeedbackList(Struct, kw_only=True):
    """The opinions of a chat's answers, in the order of the answers, of all branches."""

    feedback: list[FeedbackRow]


class GiveFeedback(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """An opinion of an answer; it replaces the one before."""

    run_id: Id
    value: Opinion
    comment: Annotated[str, Meta(max_length=4000)] = ""


async def list_feedback(request: Request, services: Services) -> Response:
    """The person's opinions of the answers of a chat."""
    found = await services.storage.feedback(owner_of(request), request.path_params["chat_id"])
    return json_response(FeedbackList(feedback=list(map(_row, found))))


async def give_feedback(request: Request, services: Services) -> Response:
    """Store an opinion, in place of the one before."""
    body = await read_as(request, GiveFeedback)
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    given = await services.storage.give_feedback(
        owner, chat_id, body.run_id, body.value, body.comment.strip()
    )
    return json_response(_row(given))


async def take_back_feedback(request: Request, services: Services) -> Response:
    """Delete an opinion."""
    names = request.path_params
    await services.storage.take_back_feedback(owner_of(request), names["chat_id"], names["run_id"])
    return Response(status_code=204)


def _row(given: Feedback) -> FeedbackRow:
    return FeedbackRow(
        run_id=given.run_id,
        value=given.value,
        comment=given.comment,
        created_at=given.created_at,
        updated_at=given.updated_at,
    )
