"""Callers catch a family of errors, not each of them."""

import pytest

from mobox.errors import (
    AuthError,
    ConflictError,
    KeyReused,
    MoboxError,
    NotPermitted,
    NotWaiting,
    QuotaError,
    RunActive,
    TooManyRuns,
    TooManySessions,
    TooManyStreams,
    TooOften,
    Unauthenticated,
)

FAMILIES: dict[type[MoboxError], list[type[MoboxError]]] = {
    AuthError: [NotPermitted, Unauthenticated],
    ConflictError: [KeyReused, NotWaiting, RunActive],
    QuotaError: [TooManyRuns, TooManySessions, TooManyStreams, TooOften],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_these_members(family: type[MoboxError]) -> None:
    assert sorted(family.__subclasses__(), key=lambda e: e.__name__) == FAMILIES[family]
