"""Without a key the gateway answers with the simulated model, in every wire format."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.served_gateway import served_gateway, token_of
from models.simulator.asking import WIRES, Wire


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_gateway_without_a_key_answers(tmp_path: Path, wire: Wire) -> None:
    async with (
        served_gateway(tmp_path, {}) as served,
        served.client(token_of(served.grant())) as client,
    ):
        answer = await client.post(wire.mount + wire.path, json=wire.body("What is a compiler?"))
        assert answer.status_code == 200
        assert "simulated model" in answer.text
        (report,) = served.reports
        assert report.source == "simulated"
        assert report.usage.output > 0
