"""The feedback on answers."""

from __future__ import annotations

from typing import Final

from mobox.storage.feedback import Feedback, Opinion
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.postgres.reads import find_chat, run_in_chat
from mobox.storage.tables import FEEDBACK, feedback_of

_GIVE: Final = """
INSERT INTO feedback (chat, run, owner, value, comment, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (run, owner) DO UPDATE
SET value = excluded.value, comment = excluded.comment, updated_at = excluded.updated_at
"""
_OF_CHAT: Final = f"{FEEDBACK} WHERE feedback.chat = $1 AND owner = $2 ORDER BY run.n"
_OF_RUN: Final = f"{FEEDBACK} WHERE run.n = $1 AND owner = $2"
_TAKE_BACK: Final = "DELETE FROM feedback WHERE run = $1 AND owner = $2"
_LOCKED: Final = "FOR KEY SHARE OF run"


async def feedback_in(connection: Connection, owner: str, chat_id: str) -> list[Feedback]:
    chat, _ = await find_chat(connection, owner, chat_id)
    return list(map(feedback_of, await connection.fetch(_OF_CHAT, chat, owner)))


async def give_feedback(
    transaction: Transaction, owner: str, chat_id: str, run_id: str, value: Opinion, comment: str
) -> Feedback:
    connection = transaction.connection
    chat, run = await run_in_chat(connection, owner, chat_id, run_id, _LOCKED)
    await connection.execute(_GIVE, chat, run, owner, value, comment, transaction.now)
    return feedback_of(await connection.fetchrow(_OF_RUN, run, owner))


async def take_back_feedback(
    transaction: Transaction, owner: str, chat_id: str, run_id: str
) -> None:
    _, run = await run_in_chat(transaction.connection, owner, chat_id, run_id)
    await transaction.connection.execute(_TAKE_BACK, run, owner)
