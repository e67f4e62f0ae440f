"""Nothing is lost and nothing comes twice, however often a socket's connection breaks.

The readers are the real client's, all in one Node process. They read one run of some two hundred
events while it goes on: it stops again and again, so that each reader comes to its end, waits there
and is told more, and comes back to what was said while it was away.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from mobox.formatters import AGENT_EVENT
from server.backstage import Backstage
from server.live_server import LiveServer, live_server, until
from server.scripted_agent import Gate, Step, a_day_of_work, pieces, prompt
from server.socket_clients import Json, SocketClients
