"""The rows of the table of routes about a chat's answers: their branches, runs and feedback."""

from __future__ import annotations

from typing import Final

from mobox.server import branches, feedback
from mobox.server.endpoint import Route
from mobox.server.runs import facts

ANSWERS: Final = (
    Route(
        method="GET",
        path="/api/chats/{chat_id}/branches",
        handler=branches.list_branches,
        scope="read",
        summary="List the messages that have other versions",
        description="An edit or a regeneration adds a version of a message; what came before stays "
        "as another branch. All other routes show the chosen branch.",
        responses={200: branches.BranchList},
        tag="Chats",
    ),
    Route(
        method="POST",
        path="/api/chats/{chat_id}/branch",
        handler=branches.choose_branch,
        scope="write",
        summary="Choose a branch",
        description="The branch with the answer of `runId`, to its newest message. Every protocol "
        "then shows it, and the next message continues it. While a run is running or waiting, it "
        "is 409 `run_active`: let it finish, or stop it.",
        body=branches.ChooseBranch,
        example={"runId": "run_1"},
        responses={200: branches.BranchList},
        tag="Chats",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}/runs",
        handler=facts.list_runs,
        scope="read",
        summary="List a chat's runs: agents, times, models and tokens",
        description="Of all branches. The message of an answer has the id of its run.",
        responses={200: facts.RunList},
        tag="Chats",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}/feedback",
        handler=feedback.list_feedback,
        scope="read",
        summary="List the feedback on a chat's answers",
        responses={200: feedback.FeedbackList},
        tag="Chats",
    ),
    Route(
        method="POST",
        path="/api/chats/{chat_id}/feedback",
        handler=feedback.give_feedback,
        scope="write",
        summary="Give feedback on an answer",
        description="One opinion per person and answer: another one replaces it.",
        body=feedback.GiveFeedback,
        example={"runId": "run_1", "value": "up"},
        responses={200: feedback.FeedbackRow},
        tag="Chats",
    ),
    Route(
        method="DELETE",
        path="/api/chats/{chat_id}/feedback/{run_id}",
        handler=feedback.take_back_feedback,
        scope="write",
        summary="Take feedback back",
        responses={204: None},
        tag="Chats",
    ),
)
