"""The canonical format: the log as it is stored."""

from __future__ import annotations

import pytest
from hypothesis import given

from mobox.errors import UnknownProfile
from mobox.events import LogEntry, decode, encode_many
from mobox.formatters import format_all, get_formatter
from mobox.formatters.canonical import CanonicalFormatter
from support.strategies import logs


@given(log=logs())
def test_each_entry_is_one_document_and_can_be_read_back(log: list[LogEntry]) -> None:
    documents = format_all(get_formatter("canonical", "run"), log)
    assert b"".join(document + b"\n" for document in documents) == encode_many(log)
    assert [decode(document) for document in documents] == log


@given(log=logs())
def test_one_entry_at_a_time_gives_the_same(log: list[LogEntry]) -> None:
    formatter = get_formatter("canonical", "run")
    one_by_one = [document for entry in log for document in formatter.format(entry)]
    assert [one_by_one, formatter.pause(), formatter.resume()] == [
        format_all(formatter, log),
        [],
        [],
    ]


def test_there_is_one_profile() -> None:
    with pytest.raises(UnknownProfile, match="entries"):
        CanonicalFormatter("run", "v1")
