"""The routes for the branches of a chat: where they part, and which one is chosen."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.formatters.bodies import Id
from mobox.server.auth.principal import owner_of
from mobox.server.services import Services, json_response, read_as
from mobox.storage.branches import Branches, Fork


class VersionRow(Struct, rename="camel", kw_only=True):
    """One of several messages at the same place."""

    run_id: str
    """Choose this run to see this version, with the newest messages after it."""
    created_at: int


class ForkRow(Struct, rename="camel", kw_only=True):
    """A message of the chosen branch that has other versions."""

    message_id: str
    role: Literal["user", "assistant"]
    chosen: int
    """The index of the version that the chat shows."""
    versions: list[VersionRow]
    """Oldest first."""


class BranchList(Struct, rename="camel", kw_only=True):
    """Where the branches of a chat part, along the chosen one."""

    run_id: str | None
    """The last answer of the chosen branch."""
    forks: list[ForkRow]


class ChooseBranch(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Which branch to show."""

    run_id: Id
    """A run of this chat: the branch with its answer is chosen."""


async def list_branches(request: Request, services: Services) -> Response:
    """The messages of the chosen branch that have other versions."""
    found = await services.storage.branches(owner_of(request), request.path_params["chat_id"])
    return json_response(_list(found))


async def choose_branch(request: Request, services: Services) -> Response:
    """Show another branch, in every protocol, and continue it."""
    run_id = (await read_as(request, ChooseBranch)).run_id
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    return json_response(_list(await services.storage.choose_branch(owner, chat_id, run_id)))


def _list(found: Branches) -> BranchList:
    return BranchList(run_id=found.run_id, forks=list(map(_fork, found.forks)))


def _fork(fork: Fork) -> ForkRow:
    versions = [VersionRow(run_id=v.run_id, created_at=v.created_at) for v in fork.versions]
    return ForkRow(
        message_id=fork.message_id, role=fork.role, chosen=fork.chosen, versions=versions
    )
