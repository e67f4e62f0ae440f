"""The proxy on both event loops: the server's, and that of apps which Mobox is mounted in."""

import pytest

from server.serving import UVLOOP


@pytest.fixture(scope="session", params=["asyncio", UVLOOP], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param
