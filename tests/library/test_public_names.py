"""The names of `mobox` itself: all there, and none that makes the import heavy."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import resolve_name

import pytest

import mobox

HEAVY = ("asyncpg", "redis", "socketio", "sqlite3", "starlette", "uvicorn", "yaml")


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", mobox.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(mobox, name) is not None


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        resolve_name("mobox.nothing")


def test_importing_mobox_imports_no_server() -> None:
    code = f"import sys, mobox; print([name for name in {HEAVY} if name in sys.modules])"
    assert said(code) == "[]"


def test_commands_that_need_the_server_name_what_to_install() -> None:
    code = """
import sys
sys.modules["starlette"] = None
import mobox
try:
    mobox.mount
except mobox.MoboxError as error:
    print(error)
"""
    assert said(code) == (
        "mobox.mount needs starlette, which comes with Mobox's extra 'server': "
        "pip install '.[server]' in a clone, or 'WHEEL[server]' with the path of its wheel"
    )
