"""Callers catch a family of errors, not each of them."""

import pytest

from mobox import errors
from mobox.errors import (
    AuthError,
    ConflictError,
    KeyReused,
    MoboxError,
    NotPermitted,
    NotWaiting,
    QuotaError,
    RateLimited,
    RunActive,
    TooManyRuns,
    TooManySessions,
    TooManyStreams,
    Unauthenticated,
)

FAMILIES: dict[type[MoboxError], list[type[MoboxError]]] = {
    AuthError: [NotPermitted, Unauthenticated],
    ConflictError: [KeyReused, NotWaiting, RunActive],
    QuotaError: [RateLimited, TooManyRuns, TooManySessions, TooManyStreams],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_these_members(family: type[MoboxError]) -> None:
    assert sorted(family.__subclasses__(), key=lambda e: e.__name__) == FAMILIES[family]


def test_old_names_still_work() -> None:
    with pytest.warns(DeprecationWarning, match="is now mobox.errors.RateLimited"):
        assert errors.__getattr__("TooOften") is RateLimited
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        errors.__getattr__("Nothing")
