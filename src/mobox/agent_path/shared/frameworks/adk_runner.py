"""ADK's runner for one turn: the app around an agent, its services, and its configuration."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.file_artifact_service import FileArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from .adk_memory import RUN

__all__ = ["app_of", "run_config_of", "runner_of"]

FOLDER = "adk"
THREADS = 4
"""For tools, in an app."""


def app_of(thing: Any, plugin: Any) -> Any:
    """The author's app, or one around an agent or a workflow, with a plugin.

    An app of ours is resumable: only then does ADK wait at a call that is answered later, and
    continue with what comes after the agent that made it.
    """
    if isinstance(thing, App):
        return thing.model_copy(update={"plugins": [plugin, *thing.plugins]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ADK says that this is experimental
        resumable = ResumabilityConfig(is_resumable=True)
    try:
        about = {"root_agent": thing, "resumability_config": resumable, "plugins": [plugin]}
        return App(name=thing.name, **about)
    except (AttributeError, ValueError):
        kind = type(thing).__name__
        raise TypeError(f"an agent of ADK is needed, a workflow or an `App`; not {kind}") from None


def runner_of(app: Any, turn: Any, services: dict[str, Any]) -> Any:
    """The runner. Sessions and artifacts are kept in the chat's state folder, if there is one."""
    folder = getattr(turn, "folder", None) or os.environ.get("MOBOX_STATE")
    ours = _in_folder(Path(folder) / FOLDER) if folder else {}
    if not folder and "session_service" not in services:
        ours = {"session_service": InMemorySessionService()}
    return Runner(app=app, **{**ours, **services})


def _in_folder(folder: Path) -> dict[str, Any]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "artifact_service": FileArtifactService(str(folder / "artifacts")),
        "session_service": SqliteSessionService(str(folder / "sessions.sqlite")),
    }


def run_config_of(given: Any, turn: Any) -> Any:
    """The author's configuration, with ours where the author has set nothing.

    Functions that are no coroutines run in threads: in the event loop, they could not be stopped.
    In a process they run one after the other, as ADK would; an app has several chats.
    """
    given = given or RunConfig()
    is_process = not hasattr(turn, "folder")
    ours = {
        "streaming_mode": StreamingMode.SSE,
        "tool_thread_pool_config": ToolThreadPoolConfig(max_workers=1 if is_process else THREADS),
    }
    new = {name: value for name, value in ours.items() if name not in given.model_fields_set}
    about = {**(given.custom_metadata or {}), RUN: turn.run_id}
    return given.model_copy(update={**new, "custom_metadata": about})
