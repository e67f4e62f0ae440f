"""bench/: what it times is what it says it times. No timing is asserted here."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from bench import floor, protocol, spoken, workload
from bench.__main__ import BENCHES
from bench.figures import Figure, merge
from bench.pairing import pair
from bench.report import Result, markdown, write_docs
from bench.transform import BOTH, convert, convert_for, text_of, without_peers
from mobox.events import decode_many
from support.grammar_ag_ui import check_ag_ui
from support.grammar_ai_sdk import check_ai_sdk

LINES = workload.lines()
KINDS = {
    "text_delta": ("text", "text-delta"),
    "thinking_delta": ("thinking", "reasoning-delta"),
    "input_json_delta": ("partial_json", "tool-input-delta"),
}
AG_UI_KINDS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")


def wire_of(reads: Sequence[bytes]) -> bytes:
    return b"".join(wire for _, wire in convert(reads))


def log_of(reads: Sequence[bytes]) -> bytes:
    return b"".join(log for log, _ in convert(reads))


def test_the_workload_is_10000_lines_and_always_the_same() -> None:
    assert len(LINES) == workload.EVENTS == 10_000
    assert hashlib.sha256(b"".join(LINES)).hexdigest() == workload.SHA256


def test_block_has_the_requested_number_of_deltas() -> None:
    kinds = [json.loads(line)["type"] for line in workload.one_block(100)]
    assert kinds.count("content_block_delta") == 100
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")


def test_protocol_workload_equals_the_workload() -> None:
    wire = b"".join(frames for _, frames in convert(protocol.lines(), "langchain"))
    assert text_of(wire) == text_of(wire_of(LINES))
    log = b"".join(entries for entries, _ in convert(protocol.lines(), "langchain"))
    kinds = Counter(str(entry.event.type) for entry in decode_many(log))
    assert kinds["source"] == 2 * workload.TURNS
    assert kinds["tool_result"] == kinds["tool_use_end"] == workload.TURNS - 1
    assert kinds["raw"] == 0


def test_the_protocols_floor_reads_every_line() -> None:
    stripped = [line.rstrip() for line in protocol.lines()]
    assert len(list(protocol.by_line(stripped))) == len(stripped)


@pytest.mark.parametrize("framework", spoken.FRAMEWORKS)
def test_output_of_the_peers_equals_the_workload(framework: str) -> None:
    told = text_of(b"".join(frames for _, frames in convert(spoken.lines(framework), framework)))
    said = text_of(wire_of(LINES))
    if framework == "smolagents":  # whose models only think
        said = {"reasoning-delta": ""}
    assert told.keys() == said.keys() - {"tool-input-delta"}
    if framework != "smolagents":
        assert told == {kind: said[kind] for kind in told}
    stripped = [line.rstrip() for line in spoken.lines(framework)]
    assert len(list(spoken.by_line(framework, stripped))) == len(stripped)


@pytest.mark.parametrize("size", [1, 64, 10_000])
def test_reads_are_the_lines_in_batches(size: int) -> None:
    reads = workload.reads(LINES, size)
    assert b"".join(reads) == b"".join(LINES)
    assert max(read.count(b"\n") for read in reads) == size


def test_mobox_sends_all_text_of_the_workload_in_a_legal_stream() -> None:
    body = wire_of(LINES)
    documents = [frame.removeprefix(b"data: ") for frame in body.split(b"\n\n")[:-1]]
    check_ai_sdk(documents)
    deltas = [json.loads(line).get("delta", {}) for line in LINES]
    for kind, (key, chunk) in KINDS.items():
        told = "".join(delta[key] for delta in deltas if delta.get("type") == kind)
        assert text_of(body)[chunk] == told


def test_two_protocols_each_get_the_whole_run() -> None:
    log, ai_sdk, ag_ui = map(b"".join, zip(*convert_for(BOTH, LINES), strict=True))
    assert (log, ai_sdk) == (log_of(LINES), wire_of(LINES))
    check_ag_ui([frame.removeprefix(b"data: ") for frame in ag_ui.split(b"\n\n")[:-1]])
    said, told = text_of(ai_sdk), text_of(ag_ui)
    kinds = zip(KINDS.values(), AG_UI_KINDS, strict=True)
    assert told == {kind: said[chunk] for (_, chunk), kind in kinds}


def test_the_number_of_lines_per_read_changes_no_byte() -> None:
    reads = workload.reads(LINES, 64)
    assert wire_of(reads) == wire_of(LINES)
    assert log_of(reads) == log_of(LINES)


def test_timed_work_includes_a_readable_log() -> None:
    entries = decode_many(log_of(LINES[:200]))
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert not any(entry.event.type == "raw" for entry in entries)


def test_the_floor_loses_nothing() -> None:
    assert list(map(json.loads, floor.by_line(LINES))) == list(map(json.loads, LINES))
    assert b"".join(floor.by_read(workload.reads(LINES, 64))) == b"".join(LINES)


def test_the_cases_without_peers_run() -> None:
    reference, *cases = without_peers(LINES[:200])
    costs = pair(reference, cases, rounds=1)
    v3 = {"v3-line", "v3-read", "v3-floor"}
    spoken_by = {f"{name}-{w}" for name in spoken.FRAMEWORKS for w in ("line", "read", "floor")}
    assert {"line", "read", "both", "floor", "floor-read", *v3, *spoken_by} == costs.relative.keys()
    assert all(cost > 0 for found in costs.relative.values() for cost in found)
    assert costs.ratio("line", "line") == [1.0]


@pytest.mark.parametrize("name", BENCHES)
def test_keys_of_figures_are_unique(name: str) -> None:
    keys = [figure.key for figure in import_module(BENCHES[name]).FIGURES]
    assert len(set(keys)) == len(keys) > 0


FIGURE = Figure("a/b", "a ÷ b", at_least=5)


def result(*medians: float) -> Result:
    values = merge([{"a/b": [median]} for median in medians])
    return Result("transform", "A title", [FIGURE, Figure("c", "c")], values, {"a": "1"}, "")


def test_a_figure_is_the_median_of_the_runs_medians() -> None:
    value = merge([{"a": [1.0, 2.0, 30.0]}, {"a": [4.0]}, {"a": [9.0]}])["a"]
    assert (value.runs, value.median) == ((2.0, 4.0, 9.0), 4.0)


@pytest.mark.parametrize(("median", "verdict"), [(5.0, "met"), (4.99, "**missed**")])
def test_a_target_is_met_or_missed(median: float, verdict: str) -> None:
    assert f"| ≥ 5x | {verdict} |" in markdown([result(median)])


def test_figure_is_shown_in_its_unit() -> None:
    late = Figure("a/b", "latency", unit="ms", at_most=8)
    told = Result("server", "A title", [late], merge([{"a/b": [9.0]}]), {}, "")
    assert "| **9.00 ms** | 9.00 to 9.00 | 9.00 | ≤ 8 ms | **missed** |" in markdown([told])


def test_a_target_may_be_an_upper_limit() -> None:
    limit = Figure("a", "a", at_most=2)
    assert limit.is_met(2.0)
    assert not limit.is_met(2.01)


def test_unmeasured_value_has_no_row() -> None:
    assert "| c |" not in markdown([result(5)])


def test_the_table_in_the_documentation_is_rewritten(tmp_path: Path) -> None:
    docs = tmp_path / "performance.md"
    docs.write_text("a\n<!-- begin bench: transform -->\nold\n<!-- end bench: transform -->\nz\n")
    write_docs([result(6)], docs)
    write_docs([result(7)], docs)
    text = docs.read_text("utf-8")
    assert text.startswith("a\n<!-- begin bench: transform -->\n## A title\n")
    assert text.endswith("<!-- end bench: transform -->\nz\n")
    assert text.count("7.00x") == 1
    assert "6.00x" not in text
    assert "old" not in text


def test_documentation_without_a_place_for_the_table_is_an_error(tmp_path: Path) -> None:
    docs = tmp_path / "performance.md"
    docs.write_text("no marks")
    with pytest.raises(RuntimeError, match="begin bench: transform"):
        write_docs([result(6)], docs)


def test_the_documentation_has_a_place_for_every_bench() -> None:
    from bench.__main__ import BENCHES

    text = (Path(__file__).parents[2] / "docs" / "performance.md").read_text("utf-8")
    for name in BENCHES:
        assert text.count(f"<!-- begin bench: {name} -->\n") == 1
        assert text.count(f"<!-- end bench: {name} -->\n") == 1
