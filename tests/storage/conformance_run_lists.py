"""What every store must do with lists of runs. A backend's test file subclasses it."""

from __future__ import annotations

import pytest

from mobox.errors import InvalidCursor
from mobox.events import Done, DoneReason, Usage
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.storage.run_lists import RunFilter, RunOrder, RunOutcome, outcome_of
from storage.conformance import Conformance, begin, say, submit


async def ended(
    store: Storage, chat: str, reason: DoneReason = "stop", tokens: int = 0, cost: float = 0
) -> Run:
    """A run that has ended, in a chat of its own."""
    run = await begin(store, submit(chat_id=chat, message_id=f"u{chat}"))
    if tokens:
        await say(store, run, Usage(id="call", input=tokens, output=1, cost_usd=cost or None))
    await say(store, run, Done(reason=reason))
    return run


async def listed(
    store: Storage,
    order: RunOrder = "newest",
    outcome: RunOutcome | None = None,
    agent: str | None = None,
) -> list[str]:
    filter_ = RunFilter(order=order, outcome=outcome, agent=agent)
    return [each.run.chat_id for each in (await store.list_runs("ann", filter_)).runs]


class RunListsConformance(Conformance):
    """An owner's runs are listed over all chats, in several orders, page by page."""

    async def test_runs_are_listed_with_their_figures_and_the_newest_first(
        self, store: Storage
    ) -> None:
        await ended(store, "one", tokens=10, cost=0.25)
        last = await ended(store, "two")
        page = await store.list_runs("ann", RunFilter())
        newest, oldest = page.runs
        assert (newest.run.id, newest.title) == (last.id, (await store.chat("ann", "two")).title)
        assert (newest.input_tokens, newest.output_tokens, newest.cost_usd) == (None, None, None)
        assert (oldest.input_tokens, oldest.output_tokens, oldest.cost_usd) == (10, 1, 0.25)
        assert page.before is None

    async def test_runs_are_sorted_by_cost_and_then_by_tokens(self, store: Storage) -> None:
        await ended(store, "cheap", tokens=900, cost=0.001)
        await ended(store, "dear", tokens=5, cost=2.5)
        await ended(store, "many", tokens=500)
        await ended(store, "few", tokens=1)
        assert await listed(store, "dearest") == ["dear", "cheap", "many", "few"]

    async def test_only_ended_runs_are_sorted_by_their_length(self, store: Storage) -> None:
        first = await ended(store, "one")
        await ended(store, "two")
        await begin(store, submit(chat_id="live", message_id="ulive"))
        assert set(await listed(store, "slowest")) == {"one", "two"}
        assert outcome_of(await store.run("ann", first.id)) == "done"

    async def test_runs_are_found_by_what_became_of_them(self, store: Storage) -> None:
        reasons: dict[str, DoneReason] = {
            "good": "stop",
            "long": "max_turns",
            "bad": "error",
            "gone": "lost",
            "halted": "cancelled",
        }
        for chat, reason in reasons.items():
            await ended(store, chat, reason)
        await begin(store, submit(chat_id="live", message_id="ulive"))
        assert await listed(store, outcome="failed") == ["gone", "bad"]
        assert await listed(store, outcome="stopped") == ["halted"]
        assert await listed(store, outcome="done") == ["long", "good"]
        assert await listed(store, outcome="running") == ["live"]
        assert await listed(store, outcome="waiting") == []

    async def test_runs_are_found_by_agent(self, store: Storage) -> None:
        run = await ended(store, "one")
        assert await listed(store, agent=run.agent) == ["one"]
        assert await listed(store, agent="another\0") == []

    @pytest.mark.parametrize("order", ["newest", "slowest", "dearest"])
    async def test_pages_have_every_run_once(self, store: Storage, order: RunOrder) -> None:
        for number in range(7):
            await ended(store, f"c{number}", tokens=number % 3, cost=0.5 * (number % 2))
        whole = await listed(store, order)
        assert len(whole) == len({*whole}) == 7
        found: list[str] = []
        before: str | None = None
        while before is not None or not found:
            page = await store.list_runs("ann", RunFilter(order=order), before, 2)
            found += [each.run.chat_id for each in page.runs]
            if (before := page.before) is None:
                break
        assert found == whole

    async def test_impossible_costs_are_listed_page_by_page(self, store: Storage) -> None:
        for chat, cost in (("none", 0.0), ("negative", -2.0), ("huge", 1e300), ("dear", 5.0)):
            await ended(store, chat, tokens=7, cost=cost)
        found: list[str] = []
        before: str | None = None
        for _ in range(4):
            page = await store.list_runs("ann", RunFilter(order="dearest"), before, 1)
            found += [each.run.chat_id for each in page.runs]
            before = page.before
        assert found == ["huge", "dear", "negative", "none"]
        assert before is None

    async def test_a_cursor_is_checked(self, store: Storage) -> None:
        for cursor in ("x", "1", "1.2.3.4", "-1.0.0"):
            with pytest.raises(InvalidCursor):
                await store.list_runs("ann", RunFilter(), cursor)

    async def test_runs_of_others_and_of_deleted_chats_are_not_listed(self, store: Storage) -> None:
        await ended(store, "one", tokens=1)
        assert (await store.list_runs("bob", RunFilter())).runs == ()
        await store.delete("ann", "one")
        assert await listed(store, "dearest") == []
