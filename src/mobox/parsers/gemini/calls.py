"""The calls of one run that have no result yet, so that results without an id find their call."""

from __future__ import annotations

from mobox.names import Names

__all__ = ["OpenCalls"]


class OpenCalls:
    """Ids and names, in the order of the calls; shared by all agents of a run."""

    def __init__(self, names: Names) -> None:
        self._ids = names
        self._names: dict[str, str] = {}
        self._server: set[str] = set()
        self._known: set[str] = set()

    def __contains__(self, call: str | None) -> bool:
        return call in self._known

    def begin(self, call: str | None, name: str, *, server: bool = False) -> str:
        """Add a call; return its id, which is generated if it has none."""
        call = call or self._ids.fresh("call")
        self._ids.take(call)
        self._names[call] = name
        self._known.add(call)
        if server:
            self._server.add(call)
        return call

    def end(self, call: str | None, name: str | None, *, last: bool = False) -> str | None:
        """The call of a result: by its id, else the first open one of its name."""
        if not call:
            names = reversed(self._names) if last else iter(self._names)
            call = next((each for each in names if name in (None, self._names[each])), None)
        if call is not None:
            self._names.pop(call, None)
        return call

    def reopen(self, call: str, name: str) -> None:
        """A result was only partial: reopen the call."""
        self._names[call] = name

    def name_of(self, call: str) -> str | None:
        """The tool of an open call."""
        return self._names.get(call)

    @property
    def functions(self) -> list[str]:
        """The open calls that the caller has to run."""
        return [call for call in self._names if call not in self._server]

    @property
    def server(self) -> list[str]:
        """The open calls that the provider runs."""
        return [call for call in self._names if call in self._server]
