"""Refuses calls beyond a budget: of a run (agent.yaml), of an agent or an owner (models.yaml)."""

from __future__ import annotations

import logging
from typing import Final, Protocol

from mobox.capture.model_access import Caller
from mobox.models.config import ModelsConfig
from mobox.models.ledger import Ledger, Totals
from mobox.models.prices import price_of
from mobox.models.refusals import BUDGET, Refused
from mobox.models.tokens import Pass
from mobox.models.usage import Usage

log = logging.getLogger("mobox.models")

_NAMES: Final = ("tokens", "cost_usd", "calls")


class _Limited(Protocol):
    """A budget, or the limits of an agent."""

    @property
    def tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...
    @property
    def calls(self) -> int | None: ...


class Accounts:
    """Counts what is used, and says whose budget is used up."""

    def __init__(self, config: ModelsConfig, ledger: Ledger) -> None:
        self._config = config
        self._ledger = ledger
        self._unpriced: set[str] = set()

    def begin(self, given: Pass, caller: Caller) -> None:
        """Count a call that begins; raises `Refused`."""
        ledger, budgets = self._ledger, self._config.budgets
        _check("run", given.agent.limits, ledger.of_run(caller.run_id))
        _check("agent's day", budgets.agent, ledger.of_agent(caller.agent))
        _check("owner's day", budgets.owner, ledger.of_owner(caller.owner))
        ledger.add(caller, calls=1)

    def end(self, given: Pass, caller: Caller, model: str, usage: Usage) -> None:
        """Count what a call has used."""
        if usage.total:
            cost = self._cost(given, model, usage)
            self._ledger.add(caller, tokens=usage.total, cost_usd=cost)

    def close(self) -> None:
        """Close the file of usage."""
        self._ledger.close()

    def _cost(self, given: Pass, model: str, usage: Usage) -> float:
        price = price_of(model, self._config.prices)
        if price is not None:
            return price.cost(usage)
        budgets = (given.agent.limits, self._config.budgets.agent, self._config.budgets.owner)
        is_limited = any(budget.cost_usd is not None for budget in budgets)
        if is_limited and model not in self._unpriced and len(self._unpriced) < _MOST_NAMES:
            self._unpriced.add(model)
            log.warning("no price for the model %r: its calls count as free", model[:100])
        return 0


_MOST_NAMES: Final = 1000
"""Names come from upstreams: there may be any number of them."""


def _check(whose: str, budget: _Limited, used: Totals) -> None:
    for name in _NAMES:
        limit, so_far = getattr(budget, name), getattr(used, name)
        if limit is not None and so_far >= limit:
            shown = f"{so_far:,.4f}" if name == "cost_usd" else f"{so_far:,}"
            raise Refused(
                BUDGET, f"the model budget of this {whose} is used up: {shown} of {limit:,} {name}"
            )
