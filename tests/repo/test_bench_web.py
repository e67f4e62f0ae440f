"""bench/web.py: what it times is what it says it times. No timing is asserted here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.chromium import find_chromium
from bench.web import DELTAS, FIGURES, PIECES

ROOT = Path(__file__).parents[2]
# In a process of its own: in this one the tests may have a browser already.
SMOKE = """
import json, sys
from pathlib import Path
from bench.browsing import browsed, served, write_agent
from bench.web import AGENT, fill_chat, flood, reopen
folder = Path(sys.argv[1])
fill_chat(folder / "data", "long", 12)
with served(folder / "data", write_agent(folder, AGENT)) as url, browsed() as browser:
    print(json.dumps({**flood(browser, url, 200, 0.2), **reopen(browser, url, "long")}))
"""


def test_the_pieces_are_words_of_one_text() -> None:
    assert "".join(PIECES).count("## A heading") == 1
    assert 50 < len(PIECES) < DELTAS


def test_all_figures_are_found(tmp_path: Path) -> None:
    if find_chromium() is None:
        pytest.skip("NOT MEASURED IN A BROWSER: no chromium; `apt-get install chromium`")
    argv = [sys.executable, "-c", SMOKE, str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == {figure.key for figure in FIGURES}
    assert found["flood/late"] > 0
    assert found["open/nodes"] > 100
