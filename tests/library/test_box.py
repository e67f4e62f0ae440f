"""A box without a server, and what can be said of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import mobox
from library.apps import asker, echo, text_of
from mobox.errors import (
    AgentTaken,
    InvalidAgent,
    InvalidSetting,
    NotFoundError,
    UnknownAgent,
)
from mobox.events import Done, InputRequest, Paused
from mobox.events.turn import Answer
from mobox.library import Options, settings_of
from mobox.server.services import Services
from mobox.settings import SETTINGS, Settings
from server.live_server import AGENTS
from storage.conformance import BEGINNING, ENDING, begin, say, submit, turn, words
from support.waiting import until


def watched(read: Callable[..., Any], places: list[int]) -> Callable[..., Any]:
    """The same, and it is known after which entries it read."""

    def reads(run_id: str, after: int = 0, *more: Any, **named: Any) -> Any:
        places.append(after)
        return read(run_id, after, *more, **named)

    return reads


async def test_run_is_started_read_and_formatted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
        begun = await box.begin("ann", "hello", chat_id="c", key="once")
        entries = [entry async for entry in box.log("ann", begun.id)]
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert entries[-1].event.type == "done"
        assert (await box.begin("ann", "hello", chat_id="c", key="once")).id == begun.id
        rest = [entry async for entry in box.log("ann", begun.id, after=2)]
        assert rest == entries[2:]
        read: list[int] = []
        monkeypatch.setattr(box.storage, "read", watched(box.storage.read, read))
        now = [entry async for entry in box.log("ann", begun.id, after=1, live=False)]
        assert now == entries[1:]
        assert read == [1, len(entries)]
        frames = b"".join([frame async for frame in box.frames("ann", begun.id)])
        assert text_of(frames.decode()) == "You said hello"
        numbered = [frame async for frame in box.frames("ann", begun.id, "agent-event")]
        assert b'"eventIndex":0' in b"".join(numbered)
        with pytest.raises(NotFoundError):
            [entry async for entry in box.log("bob", begun.id)]


async def test_frames_are_numbered_by_what_was_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
        for number in range(3):
            last = await turn(box.storage, "Hello", "Hi", f"u{number}")
        read: list[int] = []
        monkeypatch.setattr(box.storage, "read", watched(box.storage.read, read))
        for _ in range(2):
            frames = [frame async for frame in box.frames("ann", last.id, "agent-event")]
            assert b'"eventIndex":8,' in b"".join(frames)
        assert read == [0, 0], "each of the two runs before it"


async def test_frames_are_numbered_on_from_the_end_of_a_run_that_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
        waiting = await begin(box.storage)
        await say(box.storage, waiting, InputRequest(id="q"), Paused(request_ids=("q",)))
        later = await begin(box.storage, submit(message_id="u2"))
        asked: list[int] = []
        for name in ("beyond", "follow"):
            monkeypatch.setattr(box.storage, name, watched(getattr(box.storage, name), asked))
        first = asyncio.ensure_future(anext(box.frames("ann", later.id, "agent-event")))
        await until(lambda: len(asked) > 0)
        await say(box.storage, waiting, Done(reason="cancelled"))
        await say(box.storage, later, *BEGINNING, *words("Hi"), *ENDING)
        assert re.findall(rb'"eventIndex":(\d+)', await first)[0] == b"1"


async def test_owners_may_use_the_same_key(tmp_path: Path) -> None:
    async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
        hers = await box.begin("ann", "hello", key="daily")
        his = await box.begin("bob", "hello", key="daily")
        assert (hers.owner, his.owner) == ("ann", "bob")
        assert hers.chat_id != his.chat_id
        assert (await box.begin("ann", "hello", key="daily")).id == hers.id


async def test_a_run_that_waits_is_answered_and_one_that_runs_is_stopped(tmp_path: Path) -> None:
    async with mobox.Mobox(agents=[asker], data=tmp_path) as box:
        begun = await box.begin("ann", "hello")
        waiting = b"".join([frame async for frame in box.frames("ann", begun.id)])
        assert b'"toolName":"ask_user"' in waiting
        answer = Answer(request_id="q", decision="answered", value="this")
        await box.answer("ann", begun.id, answer)
        frames = b"".join([frame async for frame in box.frames("ann", begun.id)])
        assert text_of(frames.decode()) == "So: this"
        other = await box.begin("ann", "hello")
        await box.stop("ann", other.id)
        await until(lambda: box.supervisor.running == 0)
        assert (await box.storage.run("ann", other.id)).reason == "cancelled"


async def test_old_chats_are_pruned(tmp_path: Path) -> None:
    async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
        begun = await box.begin("ann", "hello")
        _ = [entry async for entry in box.log("ann", begun.id)]
        assert (await box.prune(timedelta(days=1))).chats == 0
        assert (await box.prune(timedelta(days=-1))).chats == 1
        assert (await box.storage.chats("ann")).chats == ()


# What can be said of it


async def test_functions_stand_beside_folders_of_agents(tmp_path: Path) -> None:
    async with mobox.Mobox(agents=[echo, AGENTS], data=tmp_path) as box:
        ids = [agent.id for agent in box.supervisor.catalog]
    assert "echo" in ids
    assert {folder.parent.name for folder in AGENTS.glob("*/agent.yaml")} < set(ids)


def test_invalid_arguments_raise_at_once(tmp_path: Path) -> None:
    with pytest.raises(AgentTaken):
        mobox.Mobox(agents=[echo, echo])
    with pytest.raises(InvalidSetting, match="no such folder"):
        mobox.Mobox(agents=["nowhere"])
    with pytest.raises(UnknownAgent):
        mobox.Mobox(agents=[echo], agent="nobody")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "agent.yaml").write_text("color: red")
    with pytest.raises(InvalidAgent, match="unknown field"):
        mobox.Mobox(agents=[tmp_path])


def test_its_options_are_settings_of_a_server() -> None:
    fields = set(SETTINGS)
    of_the_brand = {name for name in fields if name.startswith("brand_")} | {"hidden"}
    options = Options.__annotations__.keys() - {"brand"} | of_the_brand  # `brand` has these
    assert options <= fields
    of_a_process = {"auth", "host", "log_level", "port", "request_timeout"}
    of_several = {"drain", "execute", "health_host", "health_port", "queue", "workers"}
    assert fields - options == of_a_process | of_several


def test_an_option_has_the_type_of_its_setting() -> None:
    of_settings, of_options = get_type_hints(Settings), get_type_hints(Options)
    del of_options["agents"]  # also takes function agents
    del of_options["brand"]  # several settings
    wider: dict[object, object] = {
        Path: str | Path,
        Path | None: str | Path,
        tuple[str, ...]: Sequence[str],
        tuple[Path, ...]: Sequence[str | Path],
    }
    for name, taken in of_options.items():
        kept = of_settings[name]
        assert taken == wider.get(kept, kept) or taken | None == kept, name


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"host": "0.0.0.0"}, "host=0.0.0.0: unknown option; known: agents, "),
        ({"auth": "keys"}, "auth=keys: unknown option"),
        ({"max_runs_per_minute": 0}, "max_runs_per_minute=0: expected a whole number"),
        ({"hold": "soon"}, "hold=soon: expected seconds"),
        ({"redis_url": "http://:s3cret@x"}, r"redis_url=http://\*\*\*@x: expected a URL that"),
        ({"allowed_origins": ("nonsense",)}, "allowed_origins=nonsense: "),
        (
            {"allowed_hosts": ("*", "app.example")},
            r"allowed_hosts=\*,app.example: '\*' is not a host",
        ),
        ({"agents": [len]}, "agents=len: not an agent: decorate the function with @mobox.agent"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(options: Any, problem: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{problem}"):
        mobox.Mobox(**options)


def test_options_mean_what_a_servers_settings_mean() -> None:
    given: Any = {"allowed_hosts": "App.example", "hold": 5, "data": "d", "redis_url": ""}
    settings = settings_of(given)
    assert settings.allowed_hosts == ("app.example",)
    assert (settings.hold, settings.data, settings.redis_url) == (5.0, Path("d"), "")


@pytest.mark.parametrize(
    ("options", "most"), [({}, 20), ({"max_runs_per_owner": 70}, 70), ({"max_runs": 7}, 7)]
)
def test_no_owner_of_a_box_can_take_all_of_its_runs(options: Any, most: int) -> None:
    assert settings_of(options).runs_per_owner == most


async def test_a_box_that_cannot_be_opened_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Services] = []

    def cannot(services: Services, _principal: object) -> None:
        opened.append(services)
        raise OSError

    monkeypatch.setattr("mobox.library.create_app", cannot)
    with pytest.raises(OSError):
        await mobox.Mobox(agents=[echo], data=tmp_path).__aenter__()
    assert opened[0].supervisor.closing
