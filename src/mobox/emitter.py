"""`emit_*` for agents that have mobox installed; others find the same as `shared.emitter`."""

from mobox.agent_path.shared import emitter
from mobox.agent_path.shared.emitter import *

__all__ = emitter.__all__
