"""Every exception mobox raises.

* MoboxError
  * UnknownName           the caller named something that is not registered
    * UnknownFramework    no parser has that name
    * UnknownProtocol     no formatter has that name
    * UnknownProfile      the formatter has no such profile
    * UnknownAgent        the catalog has no such agent
    * UnknownSandbox      no sandbox has that name
  * NotInstalled          what was asked for needs packages that are not here
  * PluginError           a name is registered, and what it names cannot be used
    * NameTaken           more than one package registered it
    * BrokenPlugin        its package cannot be loaded, or is not what it should be
  * InvalidAgent          an agent's file cannot be used, or its function
  * AgentTaken            two agents have the same id
  * InvalidEvent          the caller built an event from fields it does not have
  * InvalidSetting        a server cannot be run like that
  * InvalidRequest        a frontend sent a request that cannot be understood
  * NotRecordable         there is nothing under that name that could be recorded
  * AgentError            a function that is an agent fails, with words for who asked it
  * WouldBlock            an event loop was about to wait for a person, and nobody else would run
  * NotOpen               a box was used before it was opened, or after it was closed
  * NotJson               text that should be JSON is not, or cannot be kept
  * NotUnderstood         a parser's own word for a line that it passes on as RAW
    * NotShown            the parser knows the line, and it makes no event
  * ProtocolError         we were about to break a promise made to a frontend
  * CorruptLog            stored bytes are not a log entry
  * NotFound              this owner has nothing under that id, whoever else may
    * ChatNotFound        no such chat
    * RunNotFound         no such run
      * LogDeleted        there was one, and its owner deleted it
    * KeyNotFound         no such key
  * Unauthenticated       nobody knows who asks
  * InvalidPrincipal      what an app says of who asks cannot be used
  * NotPermitted          who asks is known, and may not do that
  * RunActive             the chat has a run that is not over
  * NotWaiting            the run has asked nothing that this would answer
  * DecisionNotAllowed    the agent does not allow this answer to its request
  * TooManyRuns           as many runs go on as are allowed
  * TooManySessions       a socket has joined as many sessions as one may
  * TooManyStreams        an owner reads as many streams as one may
  * TooOften              an owner begins runs faster than one may
  * ShuttingDown          the server begins nothing more
  * KeyReused             an idempotency key came again with another request
  * BadCursor             a reader asks for what is not there yet, or names no place at all
  * Fenced                a writer no longer owns its run, or the run is over: it must stop
  * StorageError          the database cannot be used
    * DatabaseAway        it cannot be reached now
    * WriteRefused        it does not take this one write
    * DatabaseTooNew      a later version of mobox has written it

An agent that breaks its own format raises nothing: what is not understood travels on as RAW.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar


class MoboxError(Exception):
    """Base of every exception raised by mobox."""


class UnknownName(MoboxError):
    """Something was asked for by a name nobody registered."""

    kind: ClassVar = "name"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        super().__init__(f"unknown {self.kind} {name!r}; known: {', '.join(self.known) or 'none'}")


class UnknownFramework(UnknownName):
    """No parser is registered under that name."""

    kind = "framework"


class UnknownProtocol(UnknownName):
    """No formatter is registered under that name."""

    kind = "protocol"


class UnknownProfile(UnknownName):
    """The protocol has no profile of that name."""

    kind = "profile"


class UnknownAgent(UnknownName):
    """The catalog has no agent of that id."""

    kind = "agent"


class UnknownSandbox(UnknownName):
    """No sandbox is registered under that name."""

    kind = "sandbox"


class NotInstalled(MoboxError):
    """What was asked for needs an extra of the package; the message says how to install it."""

    def __init__(self, wanted: str, missing: str, extra: str) -> None:
        self.missing = missing
        super().__init__(
            f"{wanted} needs {missing}, which comes with Mobox's extra {extra!r}: "
            f"pip install '.[{extra}]' in a clone, or 'WHEEL[{extra}]' with the path of its wheel"
        )


class PluginError(MoboxError):
    """Something is registered under that name, and cannot be used; `reason` says why."""

    def __init__(self, kind: str, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the {kind} {name!r} cannot be used: {reason}")


class NameTaken(PluginError):
    """More than one of the installed packages registered that name."""

    def __init__(self, kind: str, name: str, packages: Iterable[str]) -> None:
        self.packages = sorted(packages)
        super().__init__(kind, name, f"registered by {' and '.join(self.packages)}")


class BrokenPlugin(PluginError):
    """The package that registered the name cannot be loaded, or is not what it should be."""

    def __init__(self, kind: str, name: str, package: str, problem: str) -> None:
        self.package = package
        super().__init__(kind, name, f"{package} is broken: {problem}")


class InvalidAgent(MoboxError):
    """An agent's file cannot be used, or its function there.

    `line` counts from 1, `field` is "" for all of it.
    """

    def __init__(self, file: Path, line: int, field: str, problem: str) -> None:
        self.file, self.line, self.field, self.problem = file, line, field, problem
        super().__init__(
            f"{file}:{line}: {field}: {problem}" if field else f"{file}:{line}: {problem}"
        )


class AgentTaken(MoboxError):
    """Another agent has that id."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"two agents are called {name!r}")


class InvalidEvent(MoboxError):
    """The fields given do not make an event of that type."""


class InvalidSetting(MoboxError):
    """A setting has a value that cannot be used; `name` is the flag or the variable."""

    def __init__(self, name: str, value: str, problem: str) -> None:
        self.name, self.value, self.problem = name, value, problem
        super().__init__(f"{name}={value}: {problem}")


class InvalidRequest(MoboxError):
    """A request cannot be understood; `field` is the path of what is wrong, "" for all of it."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field or 'the body'}: {problem}")


class NotRecordable(MoboxError):
    """A command that cannot be run, or a function that cannot be found."""


class AgentError(MoboxError):
    """An agent that is a function fails, with words that are meant for who asked it."""


class WouldBlock(MoboxError):
    """An answer was waited for in a way that stops the event loop."""

    def __init__(self) -> None:
        super().__init__("result() would stop the event loop here: await the question instead")


class NotOpen(MoboxError):
    """A box was used before it was opened, or after it was closed."""

    def __init__(self) -> None:
        super().__init__(
            "this box is not open: use it in `async with`, or in an app whose lifespan is run"
        )


class NotJson(MoboxError):
    """The text is not a JSON value that can be kept; the message says why."""


class NotUnderstood(MoboxError):
    """The line is of no known kind; it never leaves the parser, which passes the line on."""


class NotShown(NotUnderstood):
    """The line is known, such as the user's own message told again, and makes no event."""


class ProtocolError(MoboxError):
    """The event would have broken a promise made to the readers of a run."""


class CorruptLog(MoboxError):
    """Bytes read back from a log are not an entry."""


class NotFound(MoboxError):
    """The owner has nothing under that id; what belongs to others is told in the same words."""

    kind: ClassVar = "thing"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no {self.kind} {name!r}")


class ChatNotFound(NotFound):
    """The owner has no chat of that id."""

    kind = "chat"


class RunNotFound(NotFound):
    """The owner has no run of that id."""

    kind = "run"


class LogDeleted(RunNotFound):
    """The owner had a run of that id, and deleted its chat."""

    kind = "log any more of the run"


class KeyNotFound(NotFound):
    """There is no key of that id."""

    kind = "key"


class Unauthenticated(MoboxError):
    """Nobody knows who asks; the words are the same whatever is wrong with a key."""

    def __init__(self, problem: str = "expected a key that is known and neither revoked nor over"):
        super().__init__(problem)


class InvalidPrincipal(MoboxError):
    """What an app's own authentication says of who asks cannot be used; `hook` is its name."""

    def __init__(self, hook: str, problem: str) -> None:
        self.hook = hook
        super().__init__(f"{hook} said who asks: {problem}")


class NotPermitted(MoboxError):
    """Who asks is known, and may not do that; `scope` is what they would need."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"expected somebody who has the scope {scope!r}")


class RunActive(MoboxError):
    """The chat has a run that is not over; `run_id` names it."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"the run {run_id!r} is not over")


class NotWaiting(MoboxError):
    """The run has asked nothing that the answer could be to, or has it already."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"the run {run_id!r} does not wait for this answer")


class DecisionNotAllowed(MoboxError):
    """The request does not allow that decision; `allowed` lists those that it does."""

    def __init__(self, request_id: str, decision: str, allowed: Iterable[str]) -> None:
        self.allowed = list(allowed)
        problem = f"expected {' or '.join(self.allowed)}, got {decision!r}"
        super().__init__(f"decision about {request_id!r}: {problem}")


class TooManyRuns(MoboxError):
    """As many runs go on as are allowed."""

    def __init__(self, running: int) -> None:
        self.running = running
        super().__init__("too many runs are going on: try again when one has ended")


class TooManySessions(MoboxError):
    """A socket has joined as many sessions as one may."""

    def __init__(self, most: int) -> None:
        super().__init__(f"this socket has joined {most} sessions: leave some, or open another")


class TooManyStreams(MoboxError):
    """An owner has as many streams and sockets open as one may."""

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} streams are open for this owner: close some")


class TooOften(MoboxError):
    """An owner begins runs faster than one may; `retry_after` is in seconds."""

    def __init__(self, per_minute: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"this owner may begin {per_minute} runs a minute: try again in {retry_after} s"
        )


class ShuttingDown(MoboxError):
    """The server begins nothing more."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down: try again in a moment")


class KeyReused(MoboxError):
    """The idempotency key stands for another request already."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the idempotency key {key!r} came with another request before")


class BadCursor(MoboxError):
    """The cursor names no place; `tail` is the last place of the log, if it is a log's."""

    def __init__(self, cursor: int | str, tail: int | None = None) -> None:
        self.cursor = cursor
        self.tail = tail
        end = "" if tail is None else f"; the log ends at {tail}"
        super().__init__(f"bad cursor {cursor!r}{end}")


class Fenced(MoboxError):
    """The writer's epoch is over, or its run is: nothing was appended, and its agent must die."""

    def __init__(self, run_id: str, epoch: int) -> None:
        self.run_id = run_id
        self.epoch = epoch
        super().__init__(f"epoch {epoch} of the run {run_id!r} is over")


class StorageError(MoboxError):
    """The database cannot be used; the message says why."""


class DatabaseAway(StorageError):
    """The database did not answer in time; it may the next time."""

    def __init__(self) -> None:
        super().__init__("the database cannot be reached now")


class WriteRefused(StorageError):
    """The database does not take this; it may well take what others ask for."""


class DatabaseTooNew(StorageError):
    """The database was written by a later version."""

    def __init__(self, version: int, known: int) -> None:
        self.version = version
        self.known = known
        super().__init__(
            f"the database has version {version}, this mobox knows up to {known}: update mobox"
        )
