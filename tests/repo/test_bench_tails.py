"""bench/tails.py: what it times is what it says it times. No timing is asserted here."""

from itertools import pairwise
from pathlib import Path

from bench.saying import SPACING
from bench.tails import Saying, late, mobox_tails
from bench.ticking import stamps
from support.valkey_server import Valkey


async def test_words_come_from_another_process_each_with_the_time_when_it_was_due(
    tmp_path: Path, valkey: Valkey
) -> None:
    database = f"sqlite:///{tmp_path}/mobox.db"
    with Saying("mobox", valkey.url, database) as saying:
        async with mobox_tails(valkey.url, database) as tail:
            assert min(await late(saying, tail, 5)) > 0
            stream = tail(saying.begin(20))
            saying.speak()
            due = [due async for _, word in stream for due in stamps(word)]
    steps = [after - before for before, after in pairwise(due)]
    assert [round(step, 6) for step in steps] == [SPACING] * 19
