"""Whatever dies, freezes or goes away, every run has one end, and every client all that was said.

Two servers and a worker, on PostgreSQL and Valkey. `make chaos SEED=7` does it with a hundred runs.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mobox.events import Done, LogEntry, TextDelta
from mobox.formatters import StoredRun, format_all, formatter_of_run, get_formatter
from mobox.formatters.ag_ui import AGUIFormatter
from mobox.settings import OWNER
from mobox.storage import open_storage
from mobox.storage.log import Run, RunId, pages
from server.ag_ui_clients import AGUIPages
from server.audit import Tenure, named, tenures
from server.chaos import Chaos, Clients, Shown, Watched
from server.chat_clients import ChatClients
from server.cluster import machinery, running_cluster
from server.faults import FAULTS, Dose, Scene
from server.followers import Doors, open_doors
from server.live_server import LIMIT
from server.reloaded_pages import AgUiPages, AiSdkPages, Pages
from server.socket_clients import SocketClients
from support.client_results import ClientResult, by_ag_ui, by_ai_sdk, by_contract
from support.grammar_log import legal_log

RUNS = int(os.environ.get("CHAOS_RUNS") or 20)
SEED = int(os.environ.get("CHAOS_SEED") or 1)
IS_WHOLE = RUNS >= 100
DOSE = Dose(moment=1, away=10) if IS_WHOLE else Dose(moment=0.5, away=3)
AI_SDK, AG_UI = "ai", "@ag-ui/client"
HEARD: dict[str, Callable[[list[dict[str, Any]]], ClientResult]] = {
    AI_SDK: by_ai_sdk,
    AG_UI: by_ag_ui,
}


class Kept(NamedTuple):
    """What is stored of a run, and what PostgreSQL noted of those who wrote it."""

    run: Run
    entries: list[LogEntry]
    tenures: list[Tenure]

    @property
    def text(self) -> str:
        said = (entry.event for entry in self.entries)
        return "".join(event.delta for event in said if isinstance(event, TextDelta))


async def kept_runs(url: str, run_ids: list[str]) -> dict[str, Kept]:
    noted = await tenures(url)
    store = await open_storage(named(url, "reader"))
    try:
        kept = {}
        for run_id in run_ids:
            run = await store.run(OWNER, RunId(run_id))
            entries = [entry async for page in pages(store, run.id) for entry in page]
            kept[run_id] = Kept(run, entries, noted[run_id])
        return kept
    finally:
        await store.close()


def check_the_log(watched: Watched, kept: Kept, victims: set[str]) -> None:
    """Nothing is lost, nothing is there twice, and it ends once."""
    events = [entry.event for entry in kept.entries]
    legal_log(events)
    assert [entry.seq for entry in kept.entries] == list(range(1, kept.run.tail_seq + 1))
    assert [event for event in events if isinstance(event, Done)] == [events[-1]]
    whole = watched.talk.text
    if kept.run.reason == "lost":
        assert whole.startswith(kept.text)
        assert kept.tenures[-2].process in victims, "nobody else's runs are lost"
    else:
        assert (kept.run.reason, kept.text) == ("stop", whole)


def check_the_epochs(kept: Kept) -> None:
    """An event is written by the process that has the run: nobody writes who had it before."""
    epochs = [tenure.epoch for tenure in kept.tenures]
    assert epochs == list(range(1, kept.run.epoch + 1))
    for tenure in kept.tenures:
        assert tenure.writers <= {tenure.process}
    assert kept.tenures[-1].last_seq == kept.run.tail_seq


def check_the_clients(watched: Watched, kept: Kept, socket: dict[str, Any]) -> None:
    """Each has what the log says, whatever came between."""
    stored = StoredRun(id=kept.run.id, chat_id=kept.run.chat_id, owner=OWNER)
    log = [document.decode() for document in told(stored, "canonical", kept)]
    assert [each.data for each in watched.log.told] == log
    ai_sdk = format_all(get_formatter("ai-sdk", kept.run.id), kept.entries)
    assert [each.data for each in watched.ai_sdk.told] == [each.decode() for each in ai_sdk]
    chat_id, asked = kept.run.chat_id, watched.ag_ui.asked
    formatter = AGUIFormatter(kept.run.id, "1.0", thread_id=chat_id, run_id=asked)
    ag_ui = format_all(formatter, kept.entries)
    assert [each.data for each in watched.ag_ui.told] == [each.decode() for each in ag_ui]
    assert socket["failure"] is None
    assert socket["told"] == [json.loads(each) for each in told(stored, "agent-event", kept)]
    if not watched.talk.asks:  # a question that is answered is told in another way
        for follower in (watched.ai_sdk, watched.ag_ui):
            for broken in follower.broken:
                assert broken == follower.told[: len(broken)]


def check_the_page(shown: Shown, kept: Kept) -> None:
    """A real client shows what the log says: the words, the calls, and what came of them."""
    stored = StoredRun(id=kept.run.id, chat_id=kept.run.chat_id, owner=OWNER)
    assert HEARD[shown.client](shown.messages) == by_contract(told(stored, "agent-event", kept))


def told(stored: StoredRun, name: str, kept: Kept) -> list[bytes]:
    return format_all(formatter_of_run(name, stored), kept.entries)


class Real(NamedTuple):
    """The processes of the real clients."""

    sockets: SocketClients
    chats: ChatClients
    threads: AGUIPages

    def clients(self, doors: Doors) -> Clients:
        pages: dict[str, Pages] = {
            AI_SDK: AiSdkPages(self.chats, doors),
            AG_UI: AgUiPages(self.threads, doors),
        }
        return Clients(doors, self.sockets, pages)


async def scenario(data: Path, real: Real) -> str:
    with machinery() as (postgres, valkey, ports):
        async with running_cluster(data, postgres, valkey, ports) as cluster:
            async with open_doors(cluster.addresses, SEED) as doors:
                chaos = Chaos(cluster, real.clients(doors), SEED)
                async with asyncio.timeout(10 * LIMIT):
                    await chaos.go(Scene(cluster, postgres, DOSE), RUNS // len(FAULTS))
            run_ids = [watched.log.run_id for watched in chaos.watched]
            kept = await kept_runs(cluster.url, run_ids)
            reports = {
                run_id: watched.socket.reports()[0]
                for run_id, watched in zip(run_ids, chaos.watched, strict=True)
            }
    for watched in chaos.watched:
        run_id = watched.log.run_id
        check_the_log(watched, kept[run_id], cluster.victims)
        check_the_epochs(kept[run_id])
        check_the_clients(watched, kept[run_id], reports[run_id])
    for shown in chaos.shown:
        check_the_page(shown, kept[shown.run_id])
    return summary(chaos, list(kept.values()))


def summary(chaos: Chaos, kept: list[Kept]) -> str:
    ends = Counter(each.run.reason for each in kept)
    events = sum(each.run.tail_seq for each in kept)
    visits = sum(f.visits for watched in chaos.watched for f in watched.followers)
    assert ends["lost"] >= 2, "a worker was killed, and one was asleep"
    return f"{len(kept)} runs ({dict(ends)}), {events} events, {visits} visits of their clients"


@pytest.mark.time_limit(15 * LIMIT)
async def test_nothing_is_lost_and_nothing_doubled_whatever_breaks(
    tmp_path: Path, sockets: SocketClients, clients: ChatClients, agui_pages: AGUIPages
) -> None:
    print(await scenario(tmp_path / "data", Real(sockets, clients, agui_pages)))
