"""The limits of a server where nothing else is set: settings, supervisor and store share them."""

from typing import Final

__all__ = ["HOLD_SECONDS", "LEASE_SECONDS", "QUEUE_SECONDS", "RUNS", "RUNS_PER_OWNER"]

RUNS: Final = 200
RUNS_PER_OWNER: Final = 20
"""Of one owner among many."""
HOLD_SECONDS: Final = 600
LEASE_SECONDS: Final = 15
QUEUE_SECONDS: Final = 60
