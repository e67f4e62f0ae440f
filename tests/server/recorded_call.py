"""A cassette of a run, as the gateway writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mobox.models.cassettes import Recorded


def record_call(folder: Path, run_id: str, words: str, **more: Any) -> Path:
    """Add a call in which these words were said to a run's cassette; the file."""
    fields = {
        "provider": "anthropic",
        "method": "POST",
        "path": "/v1/messages",
        "request": {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": words}]},
        "status": 200,
        "chunks": ["data: hello\n\n"],
        "started_at": 1_000,
        "duration_ms": 250,
    }
    call = msgspec.convert({**fields, **more}, Recorded)
    folder.mkdir(exist_ok=True)
    file = folder / f"{run_id}.jsonl"
    with file.open("ab") as cassette:
        cassette.write(msgspec.json.encode(call) + b"\n")
    return file
