"""Request bodies of the AI SDK's clients: those recorded, and the pieces of others.

formatters/bodies has a file for each scene of record.mjs there: a list of {clients, body}, one for
each way in which the clients tell it. `pytest --regold` writes them anew.
"""

import json
from pathlib import Path
from typing import Any

Json = Any

BODIES = Path(__file__).parents[1] / "formatters" / "bodies"


def recorded() -> dict[str, list[Json]]:
    """What was recorded, by scene."""
    files = sorted(BODIES.glob("*.json"))
    return {path.stem.replace("-", " "): json.loads(path.read_text()) for path in files}


def record(scenes: dict[str, list[Json]]) -> None:
    """Write what `recorded` reads."""
    for path in BODIES.glob("*.json"):
        path.unlink()
    for scene, variants in scenes.items():
        path = BODIES / f"{scene.replace(' ', '-')}.json"
        path.write_text(json.dumps(variants, indent=1) + "\n")


def text(words: Json) -> dict[str, Json]:
    return {"type": "text", "text": words}


def user(name: str, *parts: Json) -> dict[str, Json]:
    return {"id": name, "role": "user", "parts": [*parts]}


def assistant(name: str, *parts: Json) -> dict[str, Json]:
    return {"id": name, "role": "assistant", "parts": [*parts]}


def tool(state: Json, **more: Json) -> dict[str, Json]:
    return {"type": "dynamic-tool", "toolCallId": "run1:c1", "state": state, **more}


def ask(state: Json, **more: Json) -> dict[str, Json]:
    call = {"type": "tool-ask_user", "toolCallId": "run1:@ask:q1"}
    return {**call, "state": state, **more}


def body(*messages: Json, **more: Json) -> dict[str, Json]:
    return {"id": "chat1", "messages": [*messages], **more}


STEP = {"type": "step-start"}
REGENERATE = {"trigger": "regenerate-message"}
TALK = [user("u1", text("one")), assistant("a1"), user("u2", text("two")), assistant("a2")]
RAN = tool("output-available", output=1)
