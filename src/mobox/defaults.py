"""Default limits of a server, shared by settings, supervisor and store."""

from typing import Final

RUNS: Final = 200
RUNS_PER_OWNER: Final = 20
"""Per owner."""
HOLD_SECONDS: Final = 600
LEASE_SECONDS: Final = 15
QUEUE_SECONDS: Final = 60
