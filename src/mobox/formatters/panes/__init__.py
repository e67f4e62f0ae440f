"""Three panes: messages in `chat`, code in `webide`, tool output in `terminal`.

`PanesFormatter(message_id, profile)`: the profile is the policy, `document` or `chat`, for
everything else.
"""

from __future__ import annotations

from mobox.formatters.panes.formatter import PanesFormatter
from mobox.formatters.panes.messages import DEFAULT, POLICIES

__all__ = ["DEFAULT", "POLICIES", "PanesFormatter"]
