"""Decides whether an agent may connect to a host, looks its name up, and connects.

Rule 1: a host that the rules do not allow is not looked up: a lookup can carry data out.
Rule 2: the addresses of a name are checked, and one of these is connected to. There is no second
        lookup, whose result might differ (DNS rebinding).
Rule 3: the server's own ports are refused before any rule counts, at all addresses of the machine.
Rule 4: an agent learns that a name leads to a private address, but not to which.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mobox.egress.refusals import FORBIDDEN, NO_ANSWER, UNREACHABLE, Refused
from mobox.egress.relay import BUFFER, Stream
from mobox.sandbox.addresses import Address, kind_of, parse, reached
from mobox.sandbox.hosts import CLOSED_PORTS, WEB_PORTS, Rules

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host name; raises `OSError`."""
Connect = Callable[[str, int], Awaitable[Stream]]
"""A connection to an address, which needs no lookup; raises `OSError`."""
Forbidden = Callable[[], Iterable[tuple[str, int]]]
"""The addresses and ports of the server itself."""

LOOKUPS: Final = 16
"""Threads: `getaddrinfo` blocks. Not those of the event loop, which agents could use up."""
LOOKUPS_OF_A_GRANT: Final = 4
ADDRESSES: Final = 8
"""Of a host that are tried."""
STAGGER: Final = 0.3
"""Seconds after which the next address is tried too (RFC 8305)."""


class Allowance:
    """What one agent may connect to."""

    def __init__(self, agent_id: str, rules: Rules) -> None:
        self.agent_id, self.rules = agent_id, rules
        self.lookups = asyncio.Semaphore(LOOKUPS_OF_A_GRANT)

    def check(self, host: str, port: int) -> None:
        """Raise `Refused` if the rules do not allow the host."""
        if self.rules.allow(host, port):
            return
        shown = f"[{host}]" if ":" in host else host
        if self.rules.is_full and port in CLOSED_PORTS:
            raise Refused(FORBIDDEN, f"{shown}: port {port} is closed to agents")
        entry = shown if port in WEB_PORTS else f"{shown}:{port}"
        what = f"port {port} of {shown}" if self.rules.entries(host) else shown
        raise Refused(
            FORBIDDEN,
            f"{what} is not in `network` of agent {self.agent_id}:"
            f" add {entry} there if the agent may connect to it",
        )

    def check_address(self, host: str, address: Address, port: int) -> None:
        """Raise `Refused` if the host leads to an address that is not public, and not allowed."""
        kind = kind_of(address) or ("of this machine" if is_own(address) else None)
        if kind is None or self.rules.allow_address(host, address, port):
            return
        entry = f"it needs an entry of its own in `network` of agent {self.agent_id}"
        if host == str(address):
            raise Refused(FORBIDDEN, f"{host} is not a public address ({kind}): {entry}")
        raise Refused(
            FORBIDDEN,
            f"{host} leads to an address that is not public: {entry}",
            f"{host} leads to {address}, which is not public ({kind}): {entry}",
        )


class Destinations:
    """Opens connections for all agents of this process. Closed by `close`."""

    def __init__(
        self,
        forbidden: Forbidden,
        timeout: float,
        resolve: Resolve | None = None,
        connect: Connect | None = None,
    ) -> None:
        self._forbidden = forbidden
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(LOOKUPS, "mobox-lookup")
        self._resolve = resolve or self._getaddrinfo
        self._connect = connect or open_stream
        self._lookups: set[asyncio.Task[Sequence[str]]] = set()

    async def open(self, host: str, port: int, allowance: Allowance) -> Stream:
        """A connection to the host; raises `Refused`."""
        allowance.check(host, port)
        try:
            async with asyncio.timeout(self._timeout):
                addresses = await self._addresses(host, port, allowance)
                return await self._first(addresses, port)
        except TimeoutError:
            raise Refused(
                NO_ANSWER, f"{host}:{port} did not answer in {self._timeout:g} seconds"
            ) from None
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise Refused(UNREACHABLE, f"cannot connect to {host}:{port}: {why}") from None

    async def _addresses(self, host: str, port: int, allowance: Allowance) -> list[str]:
        """The allowed addresses of the host; raises `Refused` if there is none."""
        found = await self._look_up(host, port, allowance)
        allowed, refused = [], None
        for text in dict.fromkeys(found):
            try:
                self._check(host, parse(text), port, allowance)
            except Refused as refusal:
                refused = refused or refusal
            else:
                allowed.append(text)
        if not allowed:
            raise refused or Refused(UNREACHABLE, f"{host} has no address")
        return allowed[:ADDRESSES]

    def _check(self, host: str, address: Address, port: int, allowance: Allowance) -> None:
        closed = [(_parsed(each), number) for each, number in self._forbidden() if number == port]
        is_named = (reached(address), port) in closed or (host, port) in self._forbidden()
        if closed and (is_named or kind_of(address) in _OWN_KINDS or is_own(address)):
            raise Refused(FORBIDDEN, f"port {port} of {host} is the server's, closed to agents")
        allowance.check_address(host, address, port)

    async def _look_up(self, host: str, port: int, allowance: Allowance) -> Sequence[str]:
        """The addresses of the host, as they are."""
        if _parsed(host) is not None:
            return [host]
        # A thread cannot be cancelled: a lookup counts until it is done, also without a client.
        lookup = asyncio.ensure_future(self._counted_lookup(host, port, allowance))
        self._lookups.add(lookup)
        lookup.add_done_callback(self._lookup_done)
        return await asyncio.shield(lookup)

    async def _counted_lookup(self, host: str, port: int, allowance: Allowance) -> Sequence[str]:
        async with allowance.lookups:
            return await self._resolve(host, port)

    def _lookup_done(self, lookup: asyncio.Task[Sequence[str]]) -> None:
        self._lookups.discard(lookup)
        if not lookup.cancelled():
            lookup.exception()  # its client may have left

    async def _getaddrinfo(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [str(address[0]) for *_, address in found]

    async def _first(self, addresses: Sequence[str], port: int) -> Stream:
        """The first connection that succeeds; raises the first `OSError` if none does."""
        waiting = [*addresses]
        attempts: list[asyncio.Future[Stream]] = []
        try:
            while waiting or not all(attempt.done() for attempt in attempts):
                if waiting:
                    attempts.append(asyncio.ensure_future(self._connect(waiting.pop(0), port)))
                pending = [attempt for attempt in attempts if not attempt.done()]
                await asyncio.wait(
                    pending,
                    timeout=STAGGER if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if (won := next(filter(_succeeded, attempts), None)) is not None:
                    attempts.remove(won)
                    return won.result()
            return attempts[0].result()  # raises its error
        finally:
            for attempt in attempts:
                attempt.cancel()
                attempt.add_done_callback(_discard)

    def close(self) -> None:
        """End the lookups; a thread ends with its own."""
        for lookup in self._lookups:
            lookup.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)


_OWN_KINDS: Final = ("loopback", "unspecified")


def _parsed(text: str) -> Address | None:
    try:
        return reached(parse(text))
    except ValueError:
        return None


def _succeeded(attempt: asyncio.Future[Stream]) -> bool:
    return attempt.done() and not attempt.cancelled() and attempt.exception() is None


def _discard(attempt: asyncio.Future[Stream]) -> None:
    """Close the connection of an attempt that was not needed."""
    if _succeeded(attempt):
        attempt.result().abort()


async def open_stream(address: str, port: int) -> Stream:
    """Connect to an address; one that is not numeric is not looked up."""
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return Stream(*await asyncio.open_connection(address, port, limit=BUFFER, flags=flags))


def is_own(address: Address) -> bool:
    """Whether it is an address of this machine, also a public one."""
    text = str(reached(address))
    if not _can_bind(text):
        return False
    # With `ip_nonlocal_bind` all addresses can be bound, also those that no host can have.
    no_host = "192.0.2.1" if ":" not in text else "2001:db8::1"
    return not _can_bind(no_host) or _source_for(text) == text


def _can_bind(address: str) -> bool:
    try:
        with _datagrams(address) as trial:
            trial.bind((address, 0))
    except OSError:
        return False
    return True


def _source_for(address: str) -> str | None:
    """From which address the machine would send to this one; nothing is sent."""
    try:
        with _datagrams(address) as trial:
            trial.connect((address, 9))
            return str(trial.getsockname()[0])
    except OSError:
        return None


def _datagrams(address: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
