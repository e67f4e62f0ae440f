"""The text that Prometheus reads, read by the rules of its format."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.server.metrics import Registry

SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
ESCAPED = re.compile(r'\\(["\\n])')

Sample = tuple[str, dict[str, str], float]


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text)


def labels_of(text: str) -> dict[str, str]:
    found = {}
    place = 0
    while place < len(text):
        label = LABEL.match(text, place)
        assert label, text[place:]
        assert label[1] not in found
        found[label[1]] = unescaped(label[2])
        place = label.end()
    return found


def parsed(rendered: bytes) -> dict[str, tuple[str, str, list[Sample]]]:
    """Kind, help and samples by name; fails where the text breaks the format."""
    found: dict[str, tuple[str, str, list[Sample]]] = {}
    text = rendered.decode()
    assert not text or text.endswith("\n")
    lines = iter(text.removesuffix("\n").split("\n") if text else [])
    family = ""
    for line in lines:
        if line.startswith("# HELP "):
            _, _, family, told = line.split(" ", 3)
            kind = next(lines).removeprefix(f"# TYPE {family} ")
            assert family not in found
            found[family] = (kind, unescaped(told), [])
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert sample[1] == family
        found[family][2].append((sample[1], labels_of(sample[2] or ""), float(sample[3])))
    return found


def test_a_counter_is_zero_before_it_counts() -> None:
    registry = Registry()
    runs = registry.counter("mobox_runs_total", "Runs that began.")
    assert registry.render() == (
        b"# HELP mobox_runs_total Runs that began.\n"
        b"# TYPE mobox_runs_total counter\n"
        b"mobox_runs_total 0\n"
    )
    runs.add()
    runs.add(2)
    assert registry.render().endswith(b"\nmobox_runs_total 3\n")


def test_every_set_of_labels_is_counted_for_itself() -> None:
    registry = Registry()
    requests = registry.counter("requests_total", "Requests.", ("method", "status"))
    assert parsed(registry.render())["requests_total"] == ("counter", "Requests.", [])
    requests.add(method="GET", status="200")
    requests.add(status="200", method="GET")
    requests.add(method="POST", status="409")
    assert parsed(registry.render())["requests_total"][2] == [
        ("requests_total", {"method": "GET", "status": "200"}, 2.0),
        ("requests_total", {"method": "POST", "status": "409"}, 1.0),
    ]


def test_gauge_is_computed_on_request() -> None:
    registry = Registry()
    streams = [1, 2, 3]
    registry.gauge("streams", "Streams.", lambda: len(streams))
    registry.gauge("runs", "Runs.", lambda: {("running",): 1, ("waiting",): 2.5}, ("status",))
    streams.pop()
    found = parsed(registry.render())
    assert found["streams"][2] == [("streams", {}, 2.0)]
    assert found["runs"][2] == [
        ("runs", {"status": "running"}, 1.0),
        ("runs", {"status": "waiting"}, 2.5),
    ]


@pytest.mark.parametrize("number", [math.inf, -math.inf, 1e-9, 2**53, -0.5])
def test_any_number_can_be_sent(number: float) -> None:
    registry = Registry()
    registry.gauge("number", "A number.", lambda: number)
    assert parsed(registry.render())["number"][2] == [("number", {}, number)]


def test_nan_is_rendered() -> None:
    registry = Registry()
    registry.gauge("number", "A number.", lambda: math.nan)
    assert registry.render().endswith(b"\nnumber NaN\n")


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(help_text=TEXT, values=st.tuples(TEXT, TEXT))
def test_any_text_is_read_back_as_it_was_given(help_text: str, values: tuple[str, str]) -> None:
    registry = Registry()
    counter = registry.counter("a_total", help_text, ("x", "y"))
    registry.gauge("b", "Another.", lambda: 0)
    counter.add(x=values[0], y=values[1])
    found = parsed(registry.render())
    assert found.keys() == {"a_total", "b"}
    assert found["a_total"][1:] == (
        help_text,
        [("a_total", {"x": values[0], "y": values[1]}, 1.0)],
    )


@pytest.mark.parametrize("name", ["", "1st", "with-dash", "ü"])
def test_a_name_is_one_that_prometheus_takes(name: str) -> None:
    with pytest.raises(ValueError, match="invalid metric or label name"):
        Registry().counter(name, "")
    with pytest.raises(ValueError, match="invalid metric or label name"):
        Registry().counter("a", "", (name,))


def test_two_metrics_have_two_names() -> None:
    registry = Registry()
    registry.counter("a", "")
    with pytest.raises(ValueError, match="there is a metric 'a' already"):
        registry.gauge("a", "", lambda: 0)


@pytest.mark.parametrize("labels", [{}, {"x": "1"}, {"x": "1", "z": "2"}])
def test_all_labels_are_given(labels: dict[str, Any]) -> None:
    counter = Registry().counter("a", "", ("x", "y"))
    with pytest.raises(ValueError, match=r"a has the labels \('x', 'y'\), got"):
        counter.add(**labels)


def test_a_counter_never_shrinks() -> None:
    with pytest.raises(ValueError, match="cannot shrink"):
        Registry().counter("a", "").add(-1)
