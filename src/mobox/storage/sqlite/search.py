"""The index of the texts of messages: what it finds, and how it is made for an older database.

Rule 1: the index only narrows a search: what it finds is compared with the query again.
Rule 2: a query is looked up by its trigrams. Queries under three characters, and words that very
        many messages have, are looked for in the texts of the owner's chats instead, the latest
        first: they are found soon, or the search's deadline ends it.
Rule 3: triggers of the database keep the index up to date, for the messages from the number
        `searchable_from` on. Until that is 0, searches do not use it.
"""

from __future__ import annotations

from mobox.storage.sqlite.database import Connection, Transaction

_LENGTH = 3  # of a trigram
_MOST = 5000
"""Messages that the index may find for one query; more are not narrowed down."""
_INDEXED = 262_144
"""Characters of a message that are indexed; the triggers of migration 16 have the same number."""
_AT_ONCE = 64
_CHARACTERS_AT_ONCE = 400_000
"""Messages, and their characters, that one transaction adds: other writes wait for it."""

_FROM = "SELECT value FROM counter WHERE name = 'searchable_from'"
_SET_FROM = "UPDATE counter SET value = ? WHERE name = 'searchable_from'"
_FIND = "SELECT rowid FROM message_search WHERE message_search MATCH ? LIMIT ?"
_NEXT = """
SELECT n, substr(content, 1, ?) FROM message WHERE n < ? ORDER BY n DESC LIMIT ?
"""
_ADD = "INSERT INTO message_search (rowid, text) VALUES (?, ?)"


def find_by_index(connection: Connection, query: str) -> list[int] | None:
    """The numbers of the messages that may contain a query; `None` if the index cannot tell."""
    wanted = _trigrams(query)
    if not wanted or _searchable_from(connection) > 0:
        return None
    match = " AND ".join('"{}"'.format(each.replace('"', '""')) for each in wanted)
    found = connection.execute(_FIND, (match, _MOST + 1)).fetchall()
    return None if len(found) > _MOST else [n for (n,) in found]


def _trigrams(query: str) -> list[str]:
    """The trigrams by which the index finds a query.

    The index folds letters one by one. Those that `casefold` makes two of, as ß, are left out, and
    so is what they become.
    """
    pieces = {query[n : n + _LENGTH] for n in range(len(query) - _LENGTH + 1)}
    if query.isascii():
        return sorted(piece for piece in pieces if "\0" not in piece)
    return sorted(piece for piece in pieces if _is_plain(piece))


def _is_plain(piece: str) -> bool:
    folded = piece.casefold()
    return len(folded) == len(piece) and "ss" not in folded and "\0" not in piece


def _searchable_from(connection: Connection) -> int:
    ((value,),) = connection.execute(_FROM).fetchall()
    return int(value)


def index_some(transaction: Transaction) -> bool:
    """Add some older messages to the index, the newest first; whether there are more."""
    connection = transaction.connection
    first = _searchable_from(connection)
    if first == 0:
        return False
    rows = connection.execute(_NEXT, (_INDEXED, first, _AT_ONCE)).fetchall()
    left = _CHARACTERS_AT_ONCE
    next_first = 0
    for n, text in rows:
        if text:
            connection.execute(_ADD, (n, text))
        left -= len(text)
        if left < 0:
            next_first = n
            break
    else:
        next_first = rows[-1][0] if len(rows) == _AT_ONCE else 0
    connection.execute(_SET_FROM, (next_first,))
    return next_first > 0
