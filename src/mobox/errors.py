"""Every exception mobox raises.

* MoboxError
  * UnknownName           the caller named something that is not registered
    * UnknownFramework    no parser has that name
    * UnknownProtocol     no formatter has that name
    * UnknownProfile      the formatter has no such profile
    * UnknownAgent        the catalog has no such agent
    * UnknownSandbox      no sandbox has that name
    * UnknownFileStore    no store of files has that name
  * NotInstalled          a required package is not installed
  * InstallFailed         the packages of an agent are not installed, or cannot be
  * SandboxUnavailable    the sandbox of an agent does not work here, or is not allowed
  * PluginError           a registered plugin cannot be used
    * NameTaken           more than one package registered the name
    * BrokenPlugin        its package cannot be loaded, or has the wrong type
  * InvalidFile           a file that a person has written is invalid
    * InvalidAgent        an agent's file or function is invalid
    * InvalidScript       a simulated model's script is invalid
  * AgentTaken            two agents have the same id
  * InvalidEvent          the caller built an event from unknown fields
  * InvalidSetting        a setting has an invalid value
  * InvalidRequest        a client sent an invalid request
  * NotRecordable         the command or function to record does not exist
  * AgentError            a function agent failed, with a message for the user
  * WouldBlock            waiting for an answer would block the event loop
  * NotOpen               a box was used before it was opened, or after it was closed
  * NoModelAccess         a function uses a model outside of its run, or one it does not name
  * NotJson               text is not valid JSON, or cannot be stored
  * UnrecognizedLine      a parser does not recognize a line, and passes it on as RAW
    * NotShown            a parser recognizes the line, and it makes no event
  * ProtocolError         an event would have violated a protocol's guarantees
  * CorruptLog            stored bytes are not a log entry
  * NotFoundError         the owner has nothing under that id
    * ChatNotFound        no such chat
    * RunNotFound         no such run
      * LogDeleted        the run was deleted by its owner
    * PermissionNotFound  no such permission of a chat
    * LinkNotFound        no such link to a chat, or one that is not valid any more
    * ModelCallNotFound   no such recorded call of a run
    * KeyNotFound         no such API key
    * FileNotFound        no such file
  * AuthError             authentication or permission failed
    * Unauthenticated     authentication failed
    * NotPermitted        the client is authenticated, but lacks a scope
  * InvalidPrincipal      an app's authentication hook returned an invalid principal
  * ConflictError         the state of the chat or run does not allow the request
    * RunActive           the chat has an active run
      * BranchActive      another branch cannot be chosen while a run is active
    * NotWaiting          the run has no input request that this would answer
    * KeyReused           an idempotency key was used with another request
    * FileInUse           a chat names the file, so it cannot be deleted alone
  * QuotaError            a limit of the server or of the owner is reached
    * TooManyRuns         the limit of concurrent runs is reached
    * TooManySessions     a socket has joined the maximum number of sessions
    * TooManyStreams      an owner has the maximum number of open streams
    * TooManyReads        an owner reads the maximum number of chats at once
    * RateLimited         rate limit: an owner starts runs too fast
    * LinkBusy            a link has too many readers
    * BodyTooLarge        the body of a request exceeds its limit
    * FileTooLarge        a file exceeds the limit of one file
    * FileQuotaExceeded   the files of an owner exceed their limit
  * DecisionNotAllowed    the input request does not allow this decision
  * ShuttingDown          the server is shutting down and starts no more runs
  * InvalidCursor         a cursor is malformed, or beyond the end of the log
  * Fenced                a writer has lost its lease, or the run has ended: it must stop
  * StorageError          the database cannot be used
    * StorageUnavailable  the database did not answer in time
    * SearchTooSlow       a search was ended at its deadline
    * WriteRefused        the database rejected this write
    * StorageFull         the disk of the database is full
    * NoFreeConnection    PostgreSQL has no connection left for this process
    * WrongPooler         a pooler gives each transaction another connection to PostgreSQL
    * DatabaseTooNew      the database was written by a newer version of mobox

An agent that breaks its own format raises nothing: lines that no parser recognizes become RAW.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar


class MoboxError(Exception):
    """Base of every exception raised by mobox."""


class UnknownName(MoboxError):
    """No such name is registered."""

    kind: ClassVar = "name"
    if_none: ClassVar = "none"
    """What the message has instead of an empty list."""

    def __init_subclass__(cls, *, kind: str) -> None:
        cls.kind = kind

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        names = ", ".join(self.known) or self.if_none
        super().__init__(f"unknown {self.kind} {name!r}; known: {names}")


class UnknownFramework(UnknownName, kind="framework"):
    """No parser is registered under that name."""


class UnknownProtocol(UnknownName, kind="protocol"):
    """No formatter is registered under that name."""


class UnknownProfile(UnknownName, kind="profile"):
    """The protocol has no profile of that name."""


class UnknownAgent(UnknownName, kind="agent"):
    """The catalog has no agent of that id."""

    if_none = "none (see 'no agents' in the server's log)"


class UnknownSandbox(UnknownName, kind="sandbox"):
    """No sandbox is registered under that name."""


class UnknownFileStore(UnknownName, kind="file store"):
    """No store of files is registered under that name."""


class NotInstalled(MoboxError):
    """A feature needs an optional extra of the package; the message has the install command."""

    def __init__(self, wanted: str, missing: str, extra: str) -> None:
        self.missing = missing
        super().__init__(
            f"{wanted} needs {missing}, which comes with Mobox's extra {extra!r}: "
            f"pip install '.[{extra}]' in a clone, or 'WHEEL[{extra}]' with the path of its wheel"
        )


class SandboxUnavailable(MoboxError):
    """The sandbox of an agent does not work here, or isolates less than the server demands."""


class InstallFailed(MoboxError):
    """The packages of an agent are not installed, or cannot be; the message has the reason."""


class PluginError(MoboxError):
    """The plugin registered under that name cannot be used; `reason` has the cause."""

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
    """The package that registered the name cannot be loaded, or has the wrong type."""

    def __init__(self, kind: str, name: str, package: str, problem: str) -> None:
        self.package = package
        super().__init__(kind, name, f"{package} is broken: {problem}")


class InvalidFile(MoboxError):
    """A file that a person has written is invalid; `line` counts from 1, `field` may be ""."""

    def __init__(self, file: Path, line: int, field: str, problem: str) -> None:
        self.file, self.line, self.field, self.problem = file, line, field, problem
        super().__init__(
            f"{file}:{line}: {field}: {problem}" if field else f"{file}:{line}: {problem}"
        )


class InvalidAgent(InvalidFile):
    """An agent's file or function is invalid."""


class InvalidScript(InvalidFile):
    """A simulated model's script is invalid."""


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
    """A request is invalid; `field` is the path of the invalid value, "" for the whole body."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field or 'the body'}: {problem}")


class NotRecordable(MoboxError):
    """A command that cannot be run, or a function that cannot be found."""


class AgentError(MoboxError):
    """Raised by a function agent to fail with a message that users see."""


class WouldBlock(MoboxError):
    """Waiting for an answer here would block the event loop."""

    def __init__(self) -> None:
        super().__init__("result() would block the event loop here: await the question instead")


class NotOpen(MoboxError):
    """A box was used before it was opened, or after it was closed."""

    def __init__(self) -> None:
        super().__init__(
            "this Mobox is not open: use it in `async with`, or in an app whose lifespan is run"
        )


class NoModelAccess(MoboxError):
    """A function has no access to this provider of models."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        there_are = ", ".join(sorted(known)) or "none"
        super().__init__(
            f"no access to the model {name!r} here (accessible: {there_are}): call it in the run "
            f"of an agent that names it, @mobox.agent(…, models=[{name!r}])"
        )


class NotJson(MoboxError):
    """The text is not JSON that can be stored; the message has the reason."""


class UnrecognizedLine(MoboxError):
    """A parser does not recognize the line. Never leaves the parser, which emits RAW instead."""


class NotShown(UnrecognizedLine):
    """The line is known, such as an echo of the user's own message, and makes no event."""


class ProtocolError(MoboxError):
    """The event would have violated the protocol's guarantees to the readers of a run."""


class CorruptLog(MoboxError):
    """Bytes read back from a log are not an entry."""


class NotFoundError(MoboxError):
    """The owner has nothing under that id. Ids of other owners give the same message."""

    kind: ClassVar = "thing"

    def __init_subclass__(cls, *, kind: str | None = None) -> None:
        cls.kind = kind or cls.kind

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no {self.kind} {name!r}")


class ChatNotFound(NotFoundError, kind="chat"):
    """The owner has no chat of that id."""


class RunNotFound(NotFoundError, kind="run"):
    """The owner has no run of that id."""


class LogDeleted(RunNotFound):
    """The owner had a run of that id, and deleted its chat."""

    def __init__(self, name: str) -> None:
        self.name = name
        MoboxError.__init__(self, f"run {name!r} was deleted")


class PermissionNotFound(NotFoundError, kind="permission"):
    """The chat has no permission of that id."""


class LinkNotFound(NotFoundError, kind="link"):
    """There is no such link to a chat, or it has expired."""


class KeyNotFound(NotFoundError, kind="key"):
    """There is no API key of that id."""


class ModelCallNotFound(NotFoundError, kind="model call"):
    """The run has no recorded model call of that number."""


class FileNotFound(NotFoundError, kind="file"):
    """The owner has no file of that id."""


class AuthError(MoboxError):
    """The client is not authenticated, or lacks a permission."""


class Unauthenticated(AuthError):
    """Authentication failed. The message does not reveal what is wrong with a key."""

    def __init__(self, problem: str = "missing, invalid, revoked or expired API key"):
        super().__init__(problem)


class InvalidPrincipal(MoboxError):
    """An app's authentication hook returned an invalid principal; `hook` is its name."""

    def __init__(self, hook: str, problem: str) -> None:
        self.hook = hook
        super().__init__(f"authentication hook {hook} returned an invalid principal: {problem}")


class NotPermitted(AuthError):
    """The client is authenticated, but lacks `scope`."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"permission denied: the scope {scope!r} is required")


class ConflictError(MoboxError):
    """The request conflicts with the current state of the chat or the run."""


class RunActive(ConflictError):
    """The chat has an active run; `run_id` names it."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id!r} is still active")


class BranchActive(RunActive):
    """Another branch of the chat cannot be chosen while a run is running or waiting."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        why = "to change branches, wait for it or stop it"
        self.args = (f"run {run_id!r} is still active: {why}",)


class NotWaiting(ConflictError):
    """The run has no open input request for this answer, or was answered already."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id!r} is not waiting for this answer")


class DecisionNotAllowed(MoboxError):
    """The input request does not allow that decision; `allowed` lists those that it does."""

    def __init__(self, request_id: str, decision: str, allowed: Iterable[str]) -> None:
        self.allowed = list(allowed)
        problem = f"expected {' or '.join(self.allowed)}, got {decision!r}"
        super().__init__(f"decision about {request_id!r}: {problem}")


class QuotaError(MoboxError):
    """A limit is reached; try again later or close something."""


class TooManyRuns(QuotaError):
    """The limit of concurrent runs is reached, of an owner or of the server."""

    def __init__(self, running: int, *, of_owner: bool = False) -> None:
        self.running = running
        whose = "your" if of_owner else "this server's"
        setting = "max-runs-per-owner" if of_owner else "max-runs"
        super().__init__(
            f"{whose} limit of concurrent runs (--{setting}) is reached, {running} are active:"
            " try again when one has ended"
        )


class TooManySessions(QuotaError):
    """A socket has joined the maximum number of sessions."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the limit of {most} sessions per socket is reached: leave some")


class TooManyReads(QuotaError):
    """An owner reads too many chats at once."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} chats are being read at once: try again later")
        self.most = most


class TooManyStreams(QuotaError):
    """An owner has the maximum number of streams and sockets open."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the limit of {most} open streams per owner is reached: close some")


class RateLimited(QuotaError):
    """Rate limit: an owner starts runs too fast; `retry_after` is in seconds."""

    def __init__(self, per_minute: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"rate limit of {per_minute} runs per minute exceeded: retry in {retry_after} s"
        )


class LinkBusy(QuotaError):
    """The readers of one link have opened too much of it at once."""

    retry_after = 30

    def __init__(self) -> None:
        super().__init__(f"too many readers of this link: retry in {self.retry_after} s")


def _size(count: int) -> str:
    return f"{count / (1 << 20):.3g} MiB" if count >= 1 << 20 else f"{count:,} bytes"


class BodyTooLarge(QuotaError):
    """The body of a request exceeds its limit, which `setting` names."""

    def __init__(self, most: int, setting: str, what: str = "the body") -> None:
        self.size = _size(most)
        super().__init__(
            f"{what} is larger than {most} bytes, the limit of this server (--{setting})"
        )


class FileTooLarge(QuotaError):
    """A file exceeds the limit of one file."""

    def __init__(self, most: int) -> None:
        self.size = _size(most)
        super().__init__(
            f"the file is larger than {most} bytes, the limit of this server (--max-file)"
        )


class FileQuotaExceeded(QuotaError):
    """The files of an owner exceed their limit in bytes."""

    def __init__(self, stored: int, most: int) -> None:
        super().__init__(
            f"your files take {stored} of {most} bytes (--max-files-per-owner), and this file does"
            " not fit: delete chats with files"
        )


class ShuttingDown(MoboxError):
    """The server is shutting down and starts no more runs."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down: try again in a moment")


class KeyReused(ConflictError):
    """The idempotency key was used with another request."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the idempotency key {key!r} was already used with another request")


class FileInUse(ConflictError):
    """A chat names the file: it is deleted with the last of these chats."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"file {name!r} is part of a chat: it is deleted with the chat")


class InvalidCursor(MoboxError):
    """The cursor is malformed or beyond the end; `tail` is the last `seq` of a run's log."""

    def __init__(self, cursor: int | str, tail: int | None = None) -> None:
        self.cursor = cursor
        self.tail = tail
        end = "" if tail is None else f"; the log ends at {tail}"
        super().__init__(f"invalid cursor {cursor!r}{end}")


class Fenced(MoboxError):
    """The writer has lost its lease, or the run has ended. Nothing was appended; stop its agent."""

    def __init__(self, run_id: str, epoch: int) -> None:
        self.run_id = run_id
        self.epoch = epoch
        super().__init__(f"run {run_id!r} has ended, or another process continues it: reload it")


class StorageError(MoboxError):
    """The database cannot be used; the message has the reason."""


class StorageUnavailable(StorageError):
    """The database is unreachable or did not respond in time; a retry may succeed."""

    def __init__(self, why: object = None) -> None:
        reason = "" if why is None else f": {why}"
        super().__init__(f"the database did not answer in time{reason}")


class SearchTooSlow(StorageError):
    """A search reached its deadline."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the search was ended after {seconds:g} s: use a longer or rarer text")


class WriteRefused(StorageError):
    """The database rejected this write; other writes may succeed."""


class StorageFull(StorageError):
    """The disk of the database is full; the message has the database's words."""


class NoFreeConnection(StorageError):
    """PostgreSQL has no free connection; the message has its words, and what to do."""


class WrongPooler(StorageError):
    """A pooler in transaction or statement mode is between this process and PostgreSQL."""

    def __init__(self) -> None:
        super().__init__(
            "a pooler in transaction or statement mode is between mobox and PostgreSQL: set"
            " pool_mode = session for this database in PgBouncer, or connect to PostgreSQL directly"
        )


class DatabaseTooNew(StorageError):
    """The database was written by a later version."""

    def __init__(self, version: int, known: int) -> None:
        self.version = version
        self.known = known
        super().__init__(
            f"the database has version {version}, this mobox supports up to {known}: update mobox"
        )


_OLD_NAMES = {
    "BadCursor": InvalidCursor,
    "DatabaseAway": StorageUnavailable,
    "NotFound": NotFoundError,
    "NotUnderstood": UnrecognizedLine,
    "TooOften": RateLimited,
}


def __getattr__(name: str) -> type[MoboxError]:
    """Names of earlier versions, which still work and are deprecated."""
    if name not in _OLD_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _OLD_NAMES[name]
    message = f"mobox.errors.{name} is now mobox.errors.{new.__name__}"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return new
