"""The feedback on answers."""

from __future__ import annotations

from typing import Final

from mobox.storage.feedback import Feedback, Opinion
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import find_chat, run_in_chat
from mobox.storage.tables import FEEDBACK, feedback_of

_GIVE: Final = """
INSERT INTO feedback (chat, run, owner, value, comment, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, owner) DO UPDATE
SET value = excluded.value, comment = excluded.comment, updated_at = excluded.updated_at
"""
_OF_CHAT: Final = f"{FEEDBACK} WHERE feedback.chat = ? AND owner = ? ORDER BY run.n"
_OF_RUN: Final = f"{FEEDBACK} WHERE run.n = ? AND owner = ?"
_TAKE_BACK: Final = "DELETE FROM feedback WHERE run = ? AND owner = ?"


def feedback_in(connection: Connection, owner: str, chat_id: str) -> list[Feedback]:
    chat, _ = find_chat(connection, owner, chat_id)
    return list(map(feedback_of, connection.execute(_OF_CHAT, (chat, owner))))


def give_feedback(
    transaction: Transaction, owner: str, chat_id: str, run_id: str, value: Opinion, comment: str
) -> Feedback:
    connection, now = transaction.connection, transaction.now
    chat, run = run_in_chat(connection, owner, chat_id, run_id)
    connection.execute(_GIVE, (chat, run, owner, value, comment, now, now))
    return feedback_of(connection.execute(_OF_RUN, (run, owner)).fetchone())


def take_back_feedback(transaction: Transaction, owner: str, chat_id: str, run_id: str) -> None:
    _, run = run_in_chat(transaction.connection, owner, chat_id, run_id)
    transaction.connection.execute(_TAKE_BACK, (run, owner))
