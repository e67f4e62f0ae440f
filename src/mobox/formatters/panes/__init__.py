"""Three panes: what is said in `chat`, code in `webide`, what tools print in `terminal`.

`PanesFormatter(message_id, profile)`: the profile is the policy, `document` or `chat`, which says
where the rest goes.
"""

from __future__ import annotations

from mobox.formatters.panes.formatter import PanesFormatter
from mobox.formatters.panes.policies import DEFAULT, POLICIES

__all__ = ["DEFAULT", "POLICIES", "PanesFormatter"]
