"""The branches of a chat: its messages as a tree, of which one path is chosen.

Rule 1: a message's `parent` is the message before it in its branch. An edit or a regeneration adds
        a sibling; nothing of the old branch is changed.
Rule 2: the chosen branch is the one whose messages are not superseded. Every history, search and
        turn reads these only, so that all of them agree.
Rule 3: every branch ends with an answer, as a user's message is stored with the run that answers
        it. So a branch is named by the run of its last answer: ids of messages may be repeated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from mobox.errors import RunNotFound
from mobox.storage.log import RunId


class MessageNode(NamedTuple):
    """A message without its content; `n` and `parent` are row numbers, and `n` is the greater."""

    n: int
    parent: int | None
    id: str
    role: Literal["user", "assistant"]
    run_id: RunId | None
    created_at: int
    is_chosen: bool


NODES: Final = """
SELECT message.n, message.parent, message.id, message.role, run.id, message.created_at,
    NOT message.superseded
FROM message LEFT JOIN run ON run.n = message.run
"""


class Version(Struct, frozen=True, kw_only=True):
    """One of several messages at the same place."""

    run_id: RunId
    """Of the newest answer after this message: choosing it chooses this version."""
    created_at: int


class Fork(Struct, frozen=True, kw_only=True):
    """A message of the chosen branch that has other versions."""

    message_id: str
    role: Literal["user", "assistant"]
    versions: tuple[Version, ...]
    """Oldest first."""
    chosen: int
    """The index of the message itself."""


class Branches(Struct, frozen=True, kw_only=True):
    """Where the branches of a chat part, along the chosen one."""

    run_id: RunId | None = None
    """The last answer of the chosen branch."""
    forks: tuple[Fork, ...] = ()
    """In the order of their messages."""


class MessageTree:
    """All messages of a chat."""

    def __init__(self, nodes: Iterable[MessageNode]) -> None:
        self._nodes = {node.n: node for node in sorted(nodes)}
        self._newest = {n: n for n in self._nodes}
        self._siblings: dict[tuple[int | None, str], list[MessageNode]] = defaultdict(list)
        for node in self._nodes.values():
            self._siblings[node.parent, node.role].append(node)
        for n, node in reversed(self._nodes.items()):  # children first
            if node.parent in self._newest:
                self._newest[node.parent] = max(self._newest[node.parent], self._newest[n])

    @property
    def chosen(self) -> list[int]:
        """The row numbers of the chosen branch."""
        return [n for n, node in self._nodes.items() if node.is_chosen]

    def branches(self) -> Branches:
        """The forks of the chosen branch."""
        path = [self._nodes[n] for n in self.chosen]
        last = next((node.run_id for node in reversed(path) if node.run_id is not None), None)
        return Branches(run_id=last, forks=tuple(self._forks(path)))

    def path_through(self, run_id: str) -> list[int]:
        """The row numbers of the branch with this answer, to the newest message after it."""
        found = next((node for node in self._nodes.values() if node.run_id == run_id), None)
        if found is None:
            raise RunNotFound(run_id)
        return [node.n for node in self._up_from(self._newest[found.n])]

    def _forks(self, path: Sequence[MessageNode]) -> Iterator[Fork]:
        for node in path:
            siblings = self._siblings[node.parent, node.role]
            if len(siblings) > 1:
                yield Fork(
                    message_id=node.id,
                    role=node.role,
                    versions=tuple(map(self._version, siblings)),
                    chosen=siblings.index(node),
                )

    def _version(self, node: MessageNode) -> Version:
        newest = self._nodes[self._newest[node.n]].run_id
        assert newest is not None  # Rule 3
        return Version(run_id=newest, created_at=node.created_at)

    def _up_from(self, n: int | None) -> Iterator[MessageNode]:
        while n in self._nodes:
            yield (node := self._nodes[n])
            n = node.parent
