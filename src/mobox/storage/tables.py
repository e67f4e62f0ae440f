"""What the tables of all databases have in common: migrations, columns, and values of rows.

Rule 1: a migration is a numbered file that never changes once released; each is one transaction.
Rule 2: a database written by a later version is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Final

import msgspec
from msgspec import Struct

from mobox.errors import DatabaseTooNew
from mobox.events import FAILURES
from mobox.events.message import Message
from mobox.events.turn import Frontend, UserMessage
from mobox.events.usage import Totals
from mobox.storage.chats import Chat, ChatPage, RunFacts, StoredMessage, write_cursor
from mobox.storage.excerpts import Excerpt, Hit
from mobox.storage.feedback import Feedback
from mobox.storage.files import StoredFile
from mobox.storage.keys import ApiKey, Ticket
from mobox.storage.log import ClientRequest, RawEntry, Run, RunId
from mobox.storage.permissions import Permission, input_of
from mobox.storage.share_links import OpenedLink, ShareLink

Row = Sequence[Any]

encode_json: Final = msgspec.json.Encoder().encode

# Migrations

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(Struct, frozen=True):
    """One step of the schema."""

    version: int
    name: str
    sql: str


class DatabaseState(Struct, frozen=True):
    """What a database is, without opening a store."""

    server: str
    """The database system and its version."""
    version: int
    """Of its tables; 0 if there are none yet."""
    newest: int
    """The version to which opening a store migrates it."""


def read_migrations(folder: Traversable) -> list[Migration]:
    """All migrations of this version, in order."""
    found = []
    for file in folder.iterdir():
        if match := _FILE.fullmatch(file.name):
            sql = file.read_text(encoding="utf-8")
            found.append(Migration(int(match[1]), match[2], sql))
    return sorted(found, key=lambda migration: migration.version)


def check_version(found: int, newest: int) -> int:
    """The version found in a database; `DatabaseTooNew` if a later mobox wrote it."""
    if found > newest:
        raise DatabaseTooNew(found, newest)
    return found


# Runs and chats

_RUN_COLUMNS = [name for name in Run.__struct_fields__ if name not in ("chat_id", "owner")]
_LASTING_COLUMNS = ("id", "agent", "framework", "started_at", "kind", "back_to")
CHANGING_COLUMNS: Final = [name for name in _RUN_COLUMNS if name not in _LASTING_COLUMNS]

RUN: Final = f"""
SELECT run.n, run.chat, chat.id, chat.owner, {", ".join(f"run.{name}" for name in _RUN_COLUMNS)}
FROM run JOIN chat ON chat.n = run.chat
"""
CHAT: Final = (
    "SELECT chat.n, chat.id, chat.owner, chat.title, chat.created_at, chat.updated_at,"
    " chat.pinned_at FROM chat"
)

MOST: Final = 2**62
"""More than any number of a row or an entry, or a time."""
LATEST: Final = (MOST, 0)
"""The cursor of a list of chats at its beginning."""


def run_of(row: Row) -> Run:
    """The run of a row that `RUN` selects."""
    _, _, chat_id, owner, *values = row
    fields = dict(zip(_RUN_COLUMNS, values, strict=True))
    fields["superseded"] = bool(fields["superseded"])
    return Run(chat_id=chat_id, owner=owner, **fields)


def changing_values(run: Run) -> list[Any]:
    """The values of a run's `CHANGING_COLUMNS`."""
    return [getattr(run, name) for name in CHANGING_COLUMNS]


def chat_of(row: Row) -> Chat:
    """The chat of a row that `CHAT` selects."""
    _, id_, owner, title, created_at, updated_at, pinned_at = row
    return Chat(
        id=id_,
        owner=owner,
        title=title,
        created_at=created_at,
        updated_at=updated_at,
        pinned_at=pinned_at,
    )


def active_runs_of(rows: Sequence[Row]) -> tuple[Run, ...]:
    """The last run of each chat in rows that `RUN` selects."""
    return tuple({row[1]: run_of(row) for row in rows}.values())


def chat_page(rows: Sequence[Row], limit: int) -> ChatPage:
    """The page of rows that `CHAT` selects: one row more than `limit` means that there are more."""
    chats = tuple(map(chat_of, rows[:limit]))
    more = write_cursor(chats[-1].updated_at, rows[limit - 1][0]) if len(rows) > limit else None
    return ChatPage(chats=chats, before=more)


def failed_of(chats: Iterable[Row], reasons: Iterable[Row]) -> frozenset[str]:
    """The ids of chats whose last run failed.

    `reasons` are the numbers of chats with the reason for which their last run ended, if it has.
    """
    ended = {row[0]: row[1] for row in reasons}
    return frozenset(row[1] for row in chats if ended.get(row[0]) in FAILURES)


def hits_of(rows: Iterable[tuple[str, str, str, Excerpt | None]]) -> dict[str, tuple[Hit, ...]]:
    """By chat, the hits of rows: a chat's id, a message's id and role, and the text around it."""
    found: dict[str, tuple[Hit, ...]] = {}
    for chat_id, message_id, role, excerpt in rows:
        if excerpt is not None:
            hit = Hit(message_id=message_id, role=role, excerpt=excerpt)
            found[chat_id] = (*found.get(chat_id, ()), hit)
    return found


# Raw lines and clients' requests


def raw_entry_of(row: Row) -> RawEntry:
    n, line, first_seq, last_seq = row
    return RawEntry(n=n, line=line, first_seq=first_seq, last_seq=last_seq)


_decode_frontend = msgspec.json.Decoder(Frontend).decode


def encode_frontend(request: ClientRequest) -> bytes | None:
    return None if request.frontend is None else encode_json(request.frontend)


def client_request_of(row: Row) -> ClientRequest:
    """The request of a row with its name, the entry before its answer, and its frontend data."""
    name, after, frontend = row
    decoded = None if frontend is None else _decode_frontend(frontend)
    return ClientRequest(name=name, after=after, frontend=decoded)


# Messages: an assistant's is a fold of its run's log, made again where the log has grown.


PAGE_BYTES: Final = 16 << 20
"""How much of a chat is read at once; one message at least."""
_SEARCHED: Final = 262_144
"""Characters of a message that searches find."""


def size_of(message: StoredMessage) -> int:
    """How many bytes a message has that was not stored."""
    return len(encode_json(message.body))


class Fold(Struct, frozen=True):
    """A message made of a log's first `seq` entries; `message` is its row's number."""

    message: int
    seq: int
    folded: Message

    @property
    def searched(self) -> str:
        """The text that searches find: that of a complete message."""
        return self.folded.content[:_SEARCHED] if self.folded.reason is not None else ""


_decode_message = msgspec.json.Decoder(Message).decode
_decode_user_message: Callable[[bytes | str], UserMessage] = msgspec.json.Decoder(
    UserMessage
).decode


def cached_message(body: bytes | str | None) -> Message | None:
    """The stored fold, unless another version stored it in another shape."""
    try:
        return _decode_message(body) if body is not None else None
    except msgspec.ValidationError:
        return None


def user_message_of(id_: str, created_at: int, body: bytes | str) -> StoredMessage:
    message = _decode_user_message(body)
    return StoredMessage(id=id_, role="user", created_at=created_at, body=message)


def answer_of(run_id: str, created_at: int, folded: Message) -> StoredMessage:
    """The assistant's message: its id is that of its run."""
    return StoredMessage(
        id=run_id, role="assistant", created_at=created_at, body=folded, run_id=RunId(run_id)
    )


_decode_facts = msgspec.json.Decoder(
    tuple[str | None, bool | None, Totals | None, int | None]
).decode


def cached_facts(run: Run, found: bytes | str) -> RunFacts | None:
    """The facts in a stored fold, as a list; nothing if another version stored them otherwise."""
    try:
        model, simulated, usage, context = _decode_facts(found)
    except msgspec.ValidationError:
        return None
    return RunFacts(run=run, model=model, simulated=bool(simulated), usage=usage, context=context)


def facts_of(run: Run, folded: Message) -> RunFacts:
    """The facts of an ended run."""
    return RunFacts(
        run=run,
        model=folded.model,
        simulated=folded.simulated,
        usage=folded.usage,
        context=folded.context,
    )


# Permissions

PERMISSION: Final = (
    "SELECT permission.id, permission.agent, tool, input, permission.created_at FROM permission"
)


def permission_of(row: Row) -> Permission:
    """The permission of a row that `PERMISSION` selects."""
    id_, agent, tool, text, created_at = row
    return Permission(id=id_, agent=agent, tool=tool, input=input_of(text), created_at=created_at)


# Feedback

FEEDBACK: Final = """
SELECT run.id, value, comment, feedback.created_at, feedback.updated_at
FROM feedback JOIN run ON run.n = feedback.run
"""


def feedback_of(row: Row) -> Feedback:
    """The feedback of a row that `FEEDBACK` selects."""
    return Feedback(**dict(zip(Feedback.__struct_fields__, row, strict=True)))


# Links

LINK_COLUMNS: Final = ShareLink.__struct_fields__
_LINK_COLUMNS: Final = ", ".join(f"share_link.{name}" for name in LINK_COLUMNS)
LINK: Final = f"SELECT {_LINK_COLUMNS} FROM share_link"
OPENED_LINK: Final = (
    f"SELECT chat.owner, chat.id, {_LINK_COLUMNS} "
    "FROM share_link JOIN chat ON chat.n = share_link.chat"
)


def link_of(row: Row) -> ShareLink:
    """The link of a row that `LINK` selects."""
    return ShareLink(**dict(zip(LINK_COLUMNS, row, strict=True)))


def opened_link_of(row: Row) -> OpenedLink:
    """The link of a row that `OPENED_LINK` selects."""
    owner, chat_id, *values = row
    return OpenedLink(link=link_of(values), owner=owner, chat_id=chat_id)


# Keys and tickets

KEY_COLUMNS: Final = ApiKey.__struct_fields__
KEY: Final = f"SELECT {', '.join(KEY_COLUMNS)} FROM api_key"
TICKET_COLUMNS: Final = Ticket.__struct_fields__
TAKE_TICKET: Final = "DELETE FROM ticket WHERE digest = {} RETURNING " + ", ".join(TICKET_COLUMNS)


def key_of(row: Row) -> ApiKey:
    """The key of a row that `KEY` selects; its scopes are a list, or words of a text."""
    fields = dict(zip(KEY_COLUMNS, row, strict=True))
    scopes = fields.pop("scopes")
    return ApiKey(**fields, scopes=tuple(scopes.split() if isinstance(scopes, str) else scopes))


def valid_ticket(row: Row | None, now: int) -> Ticket | None:
    """The ticket of a row, unless there is none or it has expired."""
    if row is None:
        return None
    ticket = Ticket(**dict(zip(TICKET_COLUMNS, row, strict=True)))
    return ticket if ticket.expires_at > now else None


# Files

_FILE_COLUMNS: Final = StoredFile.__struct_fields__
FILE: Final = f"SELECT {', '.join(_FILE_COLUMNS)} FROM file"
ADD_FILE_COLUMNS: Final = ", ".join((*_FILE_COLUMNS, "unnamed_since"))


def file_of(row: Row) -> StoredFile:
    """The file of a row that `FILE` selects."""
    return StoredFile(**dict(zip(_FILE_COLUMNS, row, strict=True)))


def file_values(file: StoredFile) -> list[Any]:
    """The values of `ADD_FILE_COLUMNS` of a file that no chat names yet."""
    return [*(getattr(file, name) for name in _FILE_COLUMNS), file.created_at]
