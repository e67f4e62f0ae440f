"""The folder of a chat goes to a spare and comes back, whatever happens in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mobox.sandbox.lending import (
    STATE,
    Refused,
    give_back,
    is_empty,
    lend,
    lent_to,
    make_spare,
    put_back,
)


class Place:
    """A chat with a memory, and a spare whose keeper lives as long as its lock is open."""

    def __init__(self, folder: Path) -> None:
        self.states = folder / "state"
        self.chat = self.states / "chat"
        self.chat.mkdir(parents=True)
        (self.chat / "memory").write_text("a")
        path, self.lock = make_spare(str(self.states))
        self.spare = Path(path)
        self.state = self.spare / STATE

    def lend(self) -> None:
        self.chat_lock = lend(str(self.chat), str(self.spare))

    def die(self) -> None:
        os.close(self.lock)
        os.close(self.chat_lock)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_folder_goes_and_comes_back(place: Place) -> None:
    place.lend()
    assert (place.state / "memory").read_text() == "a"
    assert lent_to(str(place.chat)) == str(place.spare)
    (place.state / "memory").write_text("b")
    assert give_back(str(place.spare))
    assert [each.name for each in place.chat.iterdir()] == ["memory"]
    assert (place.chat / "memory").read_text() == "b"
    assert (lent_to(str(place.chat)), is_empty(str(place.spare))) == (None, True)
    assert not give_back(str(place.spare))  # only once
    assert (place.chat / "memory").read_text() == "b"
    place.die()


def test_a_living_process_keeps_it_and_a_dead_one_does_not(place: Place) -> None:
    place.lend()
    assert put_back(str(place.spare)) is None
    assert not (place.chat / "memory").exists()
    place.die()
    assert put_back(str(place.spare)) is True
    assert (place.chat / "memory").read_text() == "a"


def test_files_of_the_next_turn_are_there_when_it_is_back(place: Place) -> None:
    (place.chat / "files").mkdir()
    (place.chat / "files" / "old").touch()
    place.lend()
    (place.chat / "files").mkdir()
    for name in ("old", "new"):
        (place.chat / "files" / name).write_text("next")
    give_back(str(place.spare))
    assert (place.chat / "files" / "new").read_text() == "next"
    assert (place.chat / "files" / "old").read_text() == ""
    place.die()


def test_a_folder_in_use_is_not_lent(place: Place, tmp_path: Path) -> None:
    path, lock = make_spare(str(place.states))
    place.lend()
    with pytest.raises(Refused, match="taken"):
        lend(str(place.chat), path)
    place.die()
    with pytest.raises(Refused, match="taken"):  # until it is put back
        lend(str(place.chat), path)
    put_back(str(place.spare))
    os.close(lend(str(place.chat), path))
    os.close(lock)


def test_a_spare_with_files_of_its_own_gets_none(place: Place) -> None:
    (place.state / ".cache").mkdir()
    (place.state / "db").touch()
    with pytest.raises(Refused, match="it wrote 'db' to its state folder"):
        place.lend()
    (place.state / "db").unlink()
    place.lend()
    place.die()


def test_a_deleted_chat_leaves_nothing(place: Place) -> None:
    place.lend()
    (place.chat / ".mobox-lent").unlink()
    place.chat.rmdir()
    place.die()
    assert put_back(str(place.spare)) is False
    assert is_empty(str(place.spare))


@pytest.mark.parametrize("target", ["../../../etc", ".", "nobody"])
def test_a_link_that_an_agent_made_means_nothing(place: Place, target: str) -> None:
    (place.chat / ".mobox-lent").symlink_to(target)
    assert lent_to(str(place.chat)) is None
    os.close(place.lock)


def test_an_agent_that_makes_such_a_link_in_its_folder_keeps_its_state(place: Place) -> None:
    place.lend()
    (place.state / ".mobox-lent").symlink_to(place.spare.name)
    place.die()
    assert put_back(str(place.spare)) is True
    assert put_back(str(place.spare)) is False
    assert (place.chat / "memory").read_text() == "a"
    assert is_empty(str(place.spare))


def test_links_in_the_place_of_a_lent_folder_are_not_followed(place: Place, tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / "database").write_text("theirs")
    (place.chat / "files").mkdir()
    empty = os.open(place.state, os.O_RDONLY)  # as a process has it that waits for its turn
    place.lend()
    os.symlink(others, "files", dir_fd=empty)
    os.close(empty)
    assert give_back(str(place.spare))
    assert (others / "database").read_text() == "theirs"
    assert list((place.chat / "files").iterdir()) == []
    place.die()


def test_a_link_is_not_lent_a_folder(place: Place, tmp_path: Path) -> None:
    place.state.rmdir()
    place.state.symlink_to(tmp_path)
    with pytest.raises(Refused, match="not a folder any more"):
        place.lend()
    assert (place.chat / "memory").read_text() == "a"


def test_a_process_may_delete_its_folder_and_the_chat_goes_on(place: Place) -> None:
    place.lend()
    (place.state / "memory").unlink()
    place.state.rmdir()
    place.state.mkdir()
    assert give_back(str(place.spare))
    assert list(place.chat.iterdir()) == []
    assert (lent_to(str(place.chat)), is_empty(str(place.spare))) == (None, True)
    place.die()
