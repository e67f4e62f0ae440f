"""Callers catch a family of errors, not each of them."""

import pytest

from mobox import errors
from mobox.errors import (
    AuthError,
    BodyTooLarge,
    ChatNotFound,
    ConflictError,
    DatabaseTooNew,
    FileInUse,
    FileNotFound,
    FileQuotaExceeded,
    FileTooLarge,
    InvalidCursor,
    KeyNotFound,
    KeyReused,
    LinkBusy,
    LinkNotFound,
    MoboxError,
    ModelCallNotFound,
    NoFreeConnection,
    NotFoundError,
    NotPermitted,
    NotWaiting,
    PermissionNotFound,
    QuotaError,
    RateLimited,
    RunActive,
    RunNotFound,
    SearchTooSlow,
    StorageError,
    StorageFull,
    StorageUnavailable,
    TooManyReads,
    TooManyRuns,
    TooManySessions,
    TooManyStreams,
    Unauthenticated,
    UnrecognizedLine,
    WriteRefused,
    WrongPooler,
)

FAMILIES: dict[type[MoboxError], list[type[MoboxError]]] = {
    AuthError: [NotPermitted, Unauthenticated],
    ConflictError: [FileInUse, KeyReused, NotWaiting, RunActive],
    NotFoundError: [
        ChatNotFound,
        FileNotFound,
        KeyNotFound,
        LinkNotFound,
        ModelCallNotFound,
        PermissionNotFound,
        RunNotFound,
    ],
    QuotaError: [
        BodyTooLarge,
        FileQuotaExceeded,
        FileTooLarge,
        LinkBusy,
        RateLimited,
        TooManyReads,
        TooManyRuns,
        TooManySessions,
        TooManyStreams,
    ],
    StorageError: [
        DatabaseTooNew,
        NoFreeConnection,
        SearchTooSlow,
        StorageFull,
        StorageUnavailable,
        WriteRefused,
        WrongPooler,
    ],
}
OLD_NAMES: dict[str, type[MoboxError]] = {
    "BadCursor": InvalidCursor,
    "DatabaseAway": StorageUnavailable,
    "NotFound": NotFoundError,
    "NotUnderstood": UnrecognizedLine,
    "TooOften": RateLimited,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_these_members(family: type[MoboxError]) -> None:
    assert sorted(family.__subclasses__(), key=lambda e: e.__name__) == FAMILIES[family]


@pytest.mark.parametrize("old", OLD_NAMES)
def test_old_name_still_works(old: str) -> None:
    new = OLD_NAMES[old]
    with pytest.warns(DeprecationWarning, match=f"{old} is now mobox.errors.{new.__name__}"):
        assert getattr(errors, old) is new


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        errors.__getattr__("Nothing")
