"""From an agent's raw lines to the bytes of the log and the bytes for the AI SDK, and for AG-UI.

Mobox starts from raw bytes and goes through the recorder that the server's run writer owns; the
peers start from objects of their own that are already made. The texts of all are compared first.
"""

from __future__ import annotations

import json
import platform
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from importlib.metadata import version
from typing import Any

from bench import floor, openai, protocol, spoken, workload
from bench.figures import Figure, Samples
from bench.hotspots import hotspots
from bench.pairing import Case, Costs, in_process, pair, use_one_core
from mobox import events
from mobox.capture.pipeline import Recorder
from mobox.delivery import sse
from mobox.formatters import FormatJoined, get_formatter, joining

__all__ = [
    "BOTH",
    "FIGURES",
    "TITLE",
    "convert",
    "convert_for",
    "explain",
    "measure",
    "of_openai",
    "text_of",
    "versions",
    "without_peers",
]

TITLE = "Transform: raw line → canonical event → log bytes → AI SDK bytes"

BOTH = ("ai-sdk", "ag-ui")
MODES = {"line": 1, "read": 64}
"""Lines per read."""
SIZES = (1_000, 10_000, 100_000)
"""Deltas in one block."""

_FASTER = "Times faster than the peer (more is better)"
_FLOOR = "Times the cost of msgspec's decode + encode (less is better)"
_FLAT = "Cost of an event in a long block ÷ in one of 1,000 deltas (1 is flat)"
_BYTES = "Bytes out ÷ raw bytes in (less is better)"

FIGURES = (
    Figure("pydantic/line", "pydantic-ai ÷ Mobox, 1 line per read", at_least=5, panel=_FASTER),
    Figure("pydantic/read", "pydantic-ai ÷ Mobox, 64 lines per read", at_least=8, panel=_FASTER),
    Figure(
        *("pydantic-ag-ui/both", "pydantic-ai's AG-UI ÷ Mobox's AI SDK + AG-UI, 64 lines per read"),
        at_least=10,
        panel=_FASTER,
    ),
    Figure("node/line", "AI SDK in Node ÷ Mobox, 1 line per read", at_least=10, panel=_FASTER),
    Figure("node/read", "AI SDK in Node ÷ Mobox, 64 lines per read", panel=_FASTER),
    Figure("own-node/line", "AI SDK in the machine's own Node ÷ Mobox, 1 line per read"),
    Figure("own-node/read", "AI SDK in the machine's own Node ÷ Mobox, 64 lines per read"),
    Figure("line/floor", "Mobox, 1 line per read ÷ floor", panel=_FLOOR),
    Figure("read/floor", "Mobox, 64 lines per read ÷ floor", at_most=2, panel=_FLOOR),
    Figure("read/floor-read", "Mobox, 64 lines per read ÷ floor of 64 lines at once"),
    Figure("both/floor", "AI SDK + AG-UI, 64 lines per read ÷ floor", at_most=2, panel=_FLOOR),
    Figure("v3-line/v3-floor", "LangChain v3, 1 line per read ÷ its own floor", panel=_FLOOR),
    Figure(
        *("v3-read/v3-floor", "LangChain v3, 64 lines per read ÷ its own floor"),
        at_most=4,
        panel=_FLOOR,
    ),
    Figure("chat/chat-floor", "OpenAI chat, 64 lines per read ÷ its floor", at_most=3),
    Figure("responses/responses-floor", "Responses, 64 lines per read ÷ its floor", at_most=3),
    *(
        Figure(f"{name}-{mode}/{name}-floor", f"{name}, {size} ÷ its own floor", panel=_FLOOR)
        for name in spoken.FRAMEWORKS
        for mode, size in (("line", "1 line per read"), ("read", "64 lines per read"))
    ),
    Figure("flat/line/10000", "10,000 deltas, 1 line per read", at_most=1.2, panel=_FLAT),
    Figure("flat/line/100000", "100,000 deltas, 1 line per read", at_most=1.2, panel=_FLAT),
    Figure("flat/read/10000", "10,000 deltas, 64 lines per read", at_most=1.2, panel=_FLAT),
    Figure("flat/read/100000", "100,000 deltas, 64 lines per read", at_most=1.2, panel=_FLAT),
    Figure("wire/raw", "bytes to the client ÷ raw bytes", at_most=1.05, panel=_BYTES),
    Figure("log/raw", "bytes to the log ÷ raw bytes", panel=_BYTES),
    Figure("us/line", "CPU per event: Mobox, 1 line per read", unit="µs"),
    Figure("us/read", "CPU per event: Mobox, 64 lines per read", unit="µs"),
    Figure("us/both", "CPU per event: Mobox, AI SDK + AG-UI, 64 lines per read", unit="µs"),
    Figure("us/floor", "CPU per event: floor", unit="µs"),
    Figure("us/v3-read", "CPU per event: LangChain v3, 64 lines per read", unit="µs"),
    Figure("us/v3-floor", "CPU per event: its floor", unit="µs"),
    Figure("us/pydantic", "CPU per event: pydantic-ai", unit="µs"),
    Figure("us/pydantic-ag-ui", "CPU per event: pydantic-ai's AG-UI", unit="µs"),
    Figure("us/node", "CPU per event: AI SDK in Node", unit="µs"),
    Figure("us/own-node", "CPU per event: AI SDK in the machine's own Node", unit="µs"),
)


def convert(reads: Iterable[bytes], framework: str = "claude") -> Iterator[tuple[bytes, bytes]]:
    """What the log and the client get for each read: `mobox convert`, with a log beside it."""
    recorder = Recorder(framework)
    tell = joining(get_formatter("ai-sdk", "msg_1"))
    for data in reads:
        entries = recorder.read(data)
        yield events.encode_many(entries), sse.frame(tell(entries, sse.BETWEEN))
    entries = recorder.close()
    yield events.encode_many(entries), sse.frame(tell(entries, sse.BETWEEN))


def convert_for(
    protocols: Sequence[str], reads: Iterable[bytes], framework: str = "claude"
) -> Iterator[tuple[bytes, ...]]:
    """What the log and the clients of several protocols get for each read."""
    recorder = Recorder(framework)
    run_formatters = [joining(get_formatter(protocol, "msg_1")) for protocol in protocols]
    for data in reads:
        entries = recorder.read(data)
        yield (
            events.encode_many(entries),
            *(_frames(tell, entries) for tell in run_formatters),
        )
    entries = recorder.close()
    yield events.encode_many(entries), *(_frames(tell, entries) for tell in run_formatters)


def _frames(tell: FormatJoined, entries: Sequence[events.LogEntry]) -> bytes:
    return sse.frame(tell(entries, sse.BETWEEN))


def text_of(body: bytes) -> dict[str, str]:
    """What a stream tells piece by piece, by the type of its chunks."""
    told: dict[str, list[str]] = {}
    for chunk in _chunks(body):
        piece = chunk.get("delta", chunk.get("inputTextDelta"))
        if piece is not None:
            told.setdefault(chunk["type"], []).append(piece)
    return {kind: "".join(pieces) for kind, pieces in told.items()}


def without_peers(lines: Sequence[bytes]) -> list[Case]:
    """The cases that need nothing but Mobox and msgspec; the first is the reference."""
    stripped = [line.rstrip() for line in lines]
    batches = workload.reads(lines, MODES["read"])
    return [
        *(_mobox(mode, lines, mode) for mode in MODES),
        Case("both", len(lines), in_process(partial(_drain_for, BOTH, batches))),
        Case("floor", len(lines), in_process(partial(floor.by_line, stripped))),
        Case("floor-read", len(lines), in_process(partial(floor.by_read, batches))),
        *_protocol(),
        *_spoken(),
    ]


def measure(rounds: int) -> Samples:
    """One whole run; a peer that tells another text than Mobox is not timed but refused."""
    use_one_core()
    lines = workload.lines()
    reference, *others = without_peers(lines)
    with ExitStack() as stack:
        peers = list(_peers(lines, stack))
        costs = pair(reference, [*others, *peers, *_long_blocks(), *of_openai()], rounds)
    return _ratios(costs) | _times(costs) | _sizes(lines)


def versions() -> Mapping[str, str]:
    """What was compared."""
    from bench.node_peer import ai_sdk_version, nodes, version_of

    found = {name: version_of(node) for name, node in nodes().items()}
    return {
        "Python": platform.python_version(),
        "msgspec": version("msgspec"),
        "pydantic-ai": version("pydantic-ai-slim"),
        "npm ai": ai_sdk_version(),
        "Node": found["node"],
        "the machine's own Node": found.get("own-node", "none"),
    }


def explain(missed: Sequence[str]) -> str:
    """A profile of the time for figures of time, the sizes of chunks for those of bytes."""
    lines = workload.lines()
    told = []
    if any(key.endswith("/raw") for key in missed):
        told.append("### Where the bytes go\n\n" + _weights(lines))
    for mode, size in MODES.items():
        if any(mode in key.split("/") for key in missed):
            reads = workload.reads(lines, size)
            profile = f"{_stages(reads)}\n\n{hotspots(partial(_drain, reads))}"
            told.append(f"### Where the time goes, lines per read: {size}\n\n{profile}")
    return "\n\n".join(told)


def _mobox(name: str, lines: Sequence[bytes], mode: str) -> Case:
    reads = workload.reads(lines, MODES[mode])
    return Case(name, len(lines), in_process(partial(_drain, reads)))


def _protocol() -> Iterator[Case]:
    """The same run as LangChain's typed protocol tells it."""
    lines = protocol.lines()
    stripped = [line.rstrip() for line in lines]
    for mode, size in MODES.items():
        reads = workload.reads(lines, size)
        yield Case(f"v3-{mode}", len(lines), in_process(partial(_drain, reads, "langchain")))
    yield Case("v3-floor", len(lines), in_process(partial(protocol.by_line, stripped)))


def of_openai() -> Iterator[Case]:
    """OpenAI's streams, and their floors."""
    for name, workload_of in openai.WORKLOADS.items():
        lines = workload_of()
        reads = workload.reads(lines, MODES["read"])
        yield Case(name, len(lines), in_process(partial(_drain, reads, "openai")))
        stripped = [line.rstrip() for line in lines]
        floor_of = partial(openai.FLOORS[name], stripped)
        yield Case(f"{name}-floor", len(lines), in_process(floor_of))


def _spoken() -> Iterator[Case]:
    """What it says, as other frameworks stream it."""
    for name in spoken.FRAMEWORKS:
        lines = spoken.lines(name)
        stripped = [line.rstrip() for line in lines]
        for mode, size in MODES.items():
            reads = workload.reads(lines, size)
            yield Case(f"{name}-{mode}", len(lines), in_process(partial(_drain, reads, name)))
        yield Case(f"{name}-floor", len(lines), in_process(partial(spoken.by_line, name, stripped)))


def _drain(reads: Sequence[bytes], framework: str = "claude") -> None:
    deque(convert(reads, framework), maxlen=0)


def _drain_for(protocols: Sequence[str], reads: Sequence[bytes]) -> None:
    deque(convert_for(protocols, reads), maxlen=0)


def _long_blocks() -> Iterator[Case]:
    for size in SIZES:
        lines = workload.one_block(size)
        yield from (_mobox(f"{mode}/{size}", lines, mode) for mode in MODES)


def _peers(lines: Sequence[bytes], stack: ExitStack) -> Iterator[Case]:
    # Imported here: the tests use this module in a venv without the peers.
    from bench.node_peer import AiSdk, nodes
    from bench.pydantic_ai_peer import PydanticAI, ag_ui

    told = text_of(b"".join(frames for _, frames in convert(lines)))
    pydantic_ai = stack.enter_context(closing(PydanticAI(lines)))
    _agree("pydantic-ai", text_of(pydantic_ai.body()), told)
    yield Case("pydantic", len(lines), in_process(pydantic_ai.convert))
    told_ag_ui = text_of(b"".join(frames for _, frames in convert_for(("ag-ui",), lines)))
    for_ag_ui = stack.enter_context(closing(PydanticAI(lines, ag_ui)))
    _agree("pydantic-ai's AG-UI", text_of(for_ag_ui.body()), told_ag_ui)
    yield Case("pydantic-ag-ui", len(lines), in_process(for_ag_ui.convert))
    for name, node in nodes().items():
        ai_sdk = stack.enter_context(closing(AiSdk(node, lines)))
        _agree("the AI SDK", text_of(ai_sdk.body()), told)
        yield Case(name, len(lines), ai_sdk.spend)


def _agree(peer: str, theirs: dict[str, str], told: dict[str, str]) -> None:
    if theirs != told:
        differing = [kind for kind in told | theirs if told.get(kind) != theirs.get(kind)]
        raise RuntimeError(f"{peer} does not tell what Mobox tells: {', '.join(differing)}")


def _ratios(costs: Costs) -> Samples:
    """Every figure `a/b` whose a and b were both timed, and the long blocks."""
    ratios = {figure.key: figure.key.split("/") for figure in FIGURES}
    timed = costs.relative.keys()
    short = {
        f"flat/{mode}/{size}": [f"{mode}/{size}", f"{mode}/{SIZES[0]}"]
        for mode in MODES
        for size in SIZES[1:]
    }
    return {
        key: costs.ratio(*cases) for key, cases in (ratios | short).items() if timed >= set(cases)
    }


def _times(costs: Costs) -> Samples:
    return {f"us/{name}": found for name, found in costs.microseconds.items() if "/" not in name}


def _sizes(lines: Sequence[bytes]) -> Samples:
    log, wire = (b"".join(parts) for parts in zip(*convert(lines), strict=True))
    raw = sum(map(len, lines))
    return {"wire/raw": [len(wire) / raw], "log/raw": [len(log) / raw]}


def _stages(reads: Sequence[bytes]) -> str:
    """What `convert` does, one stage after the other over the whole input; least of 5 passes."""
    spent: dict[str, list[float]] = {}

    def over(stage: str, work: Callable[[Any], Any], inputs: Iterable[Any]) -> list[Any]:
        start = time.process_time()
        outputs = [work(each) for each in inputs]
        spent.setdefault(stage, []).append(time.process_time() - start)
        return outputs

    for _ in range(5):
        tell = joining(get_formatter("ai-sdk", "msg_1"))
        entries = over("Recorder.read", Recorder("claude").read, reads)
        over("events.encode_many", events.encode_many, entries)
        over("format_joined, sse.frame", partial(_frames, tell), entries)
    whole = sum(min(times) for times in spent.values())
    rows = [f"| {stage} | {min(times) / whole:.1%} |" for stage, times in spent.items()]
    return "\n".join(["| stage | share |", "|---|--:|", *rows])


def _weights(lines: Sequence[bytes]) -> str:
    body = b"".join(frames for _, frames in convert(lines))
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for frame in body.split(b"\n\n")[:-1]:
        kind = next((chunk["type"] for chunk in _chunks(frame)), "[DONE]")
        counts[kind] += 1
        sizes[kind] += len(frame) + 2
    rows = [f"| {kind} | {counts[kind]:,} | {size:,} |" for kind, size in sizes.most_common()]
    return "\n".join(["| chunk | count | bytes |", "|---|--:|--:|", *rows])


def _chunks(body: bytes) -> Iterator[dict[str, Any]]:
    for frame in body.split(b"\n\n"):
        document = frame.removeprefix(b"data: ")
        if document and document != b"[DONE]":
            yield json.loads(document)
