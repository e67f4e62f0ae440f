"""The table of docs/clients/README.md: what each client does, and why it does not do the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from guides.bundles import PageSource
from guides.client_tab import ClientTab

if TYPE_CHECKING:
    from guides.world import World

__all__ = ["CELLS", "Client", "Scenario", "rows", "table"]

CELLS: Final = {
    "send": "send a message, read the answer as it streams",
    "stop": "stop a run",
    "send again": "send the next message right after stopping",
    "reload": "reload the page in the middle of an answer",
    "two tabs": "a second tab with the same chat",
    "approve": "approve a tool call",
    "deny": "deny a tool call",
    "ask": "answer a question of the agent",
    "client tool": "a tool that the page runs",
    "typed tool": "show a tool by its own component",
    "extras": "send extra fields with a message",
    "photos": "send photos",
    "edit": "edit a sent message",
    "regenerate": "regenerate an answer",
    "wrong key": "a wrong API key is explained",
    "server killed": "the server is killed, and comes back",
}
"""Every cell by its name, with what it means to a reader."""

Scenario: TypeAlias = "Callable[[World], None]"


@dataclass(frozen=True)
class Client:
    """A client's page, and what the table has about it."""

    name: str
    """As in the table; also, in lower case and with dashes, in the page's address."""
    page: PageSource
    tab: type[ClientTab] = ClientTab
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why it cannot do these cells; the reader finds them below the table."""
    own: Mapping[str, Scenario] = field(default_factory=dict)
    """Scenarios of cells where the client does it in another way than the others."""

    @property
    def id(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.name.lower())

    @property
    def cells(self) -> list[str]:
        """The cells that are tests."""
        return [cell for cell in CELLS if cell not in self.reasons]


def rows(clients: Sequence[Client]) -> list[list[str]]:
    """The header and a row per cell; a number refers to a reason."""
    reasons = list(dict.fromkeys(why for client in clients for why in client.reasons.values()))
    found = [["", *(client.name for client in clients)]]
    for cell, meaning in CELLS.items():
        missing = [client.reasons.get(cell) for client in clients]
        marks = ["✓" if why is None else f"no ({reasons.index(why) + 1})" for why in missing]
        found.append([meaning, *marks])
    return found


def table(clients: Sequence[Client]) -> str:
    """The table as Markdown, and the reasons for what is missing."""
    header, *body = [f"| {' | '.join(row)} |" for row in rows(clients)]
    reasons = dict.fromkeys(why for client in clients for why in client.reasons.values())
    lines = [header, "|---" * (len(clients) + 1) + "|", *body]
    listed = [f"{number}. {why}" for number, why in enumerate(reasons, 1)]
    return "\n".join([*lines, *(["", *listed] if listed else [])]) + "\n"
