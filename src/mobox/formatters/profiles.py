"""Profiles: the versions of a protocol's client, each with its differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from mobox.errors import UnknownProfile

__all__ = ["profile_named"]

T = TypeVar("T")


def profile_named(name: str, profiles: Mapping[str, T]) -> T:
    """The flags of that profile; raises `UnknownProfile` if there is none."""
    if name not in profiles:
        raise UnknownProfile(name, profiles)
    return profiles[name]
