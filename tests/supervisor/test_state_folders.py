"""What agents kept for a chat goes with it, whatever they made of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobox.supervisor.agent_files import StateFolders

NOBODY = 65534


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateFolders]:
    """Folders of a user to whom modes mean something, which to root they do not."""
    monkeypatch.chdir(tmp_path)  # what is above belongs to root
    if os.geteuid() == 0:
        os.chown(tmp_path, NOBODY, -1)
        os.seteuid(NOBODY)
        yield StateFolders(Path("state"))
        os.seteuid(0)
    else:
        yield StateFolders(Path("state"))


def test_each_chat_of_each_owner_has_its_folder(states: StateFolders) -> None:
    chats = [("ann", "c1"), ("ann", "c2"), ("bob", "c1"), ("an", "nc1"), ("ann", "../../c1")]
    folders = {states.of(*chat) for chat in chats}
    assert len(folders) == len(chats)
    assert len({folder.parent for folder in folders}) == 1


def test_what_an_agent_made_read_only_is_deleted(
    states: StateFolders, caplog: pytest.LogCaptureFixture
) -> None:
    folder = states.of("ann", "c1")
    hidden = folder / "module" / "hidden"
    hidden.mkdir(parents=True)
    for inner, mode in ((hidden, 0), (hidden.parent, 0o555), (folder, 0o500)):
        (inner / "file").touch(mode=0o400)
        inner.chmod(mode)
    for _ in range(2):  # the second time it is gone
        states.delete("ann", "c1")
        assert not folder.exists()
    assert not caplog.records


def test_a_link_is_not_followed_and_what_is_left_is_told(
    states: StateFolders, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere, folder = Path("elsewhere"), states.of("ann", "c1")
    elsewhere.mkdir(mode=0o500)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere.absolute())
    states.delete("ann", "c1")
    assert elsewhere.stat().st_mode & 0o777 == 0o500
    assert [record.getMessage() for record in caplog.records] == [
        f"cannot delete the state folder of the deleted chat 'c1' of owner 'ann': {folder}"
    ]
