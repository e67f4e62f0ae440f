"""The server's metrics, in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

Rule 1: metrics belong to the event loop's thread; there are no locks.
Rule 2: every call passes all labels by name. Labels have few values: an agent's name, a status,
        never an id.
Rule 3: a metric without labels is exported from the start, as zero.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from math import inf, isnan
from typing import Final, TypeAlias, TypeVar

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Values: TypeAlias = tuple[str, ...]
Read: TypeAlias = Callable[[], float | Mapping[Values, float]]

_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_SPECIAL: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_SPECIAL_IN_HELP: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Metric(ABC):
    """Base of all kinds: a name, a help text and the label names."""

    kind = ""

    def __init__(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> None:
        if not _NAME.fullmatch(name) or not all(map(_LABEL.fullmatch, labels)):
            raise ValueError(f"invalid metric or label name: {name!r}, {labels}")
        self.name = name
        self.labels = labels
        self._help = help_text

    def lines(self) -> Iterator[str]:
        """The lines of this metric in the exposition format."""
        yield f"# HELP {self.name} {self._help.translate(_SPECIAL_IN_HELP)}"
        yield f"# TYPE {self.name} {self.kind}"
        yield from self._samples()

    @abstractmethod
    def _samples(self) -> Iterator[str]: ...

    def _key(self, labels: Mapping[str, str]) -> Values:
        if labels.keys() != set(self.labels):
            raise ValueError(f"{self.name} has the labels {self.labels}, got {tuple(labels)}")
        return tuple(labels[name] for name in self.labels)

    def _sample(self, values: Values, number: float) -> str:
        pairs = zip(self.labels, values, strict=True)
        inner = ",".join(f'{name}="{value.translate(_SPECIAL)}"' for name, value in pairs)
        return f"{self.name}{f'{{{inner}}}' if inner else ''} {_number(number)}"


class Counter(Metric):
    """A number that only grows. Its name ends in `_total`."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._numbers: dict[Values, float] = {} if labels else {(): 0}

    def add(self, amount: float = 1, **labels: str) -> None:
        if amount < 0:
            raise ValueError(f"{self.name} cannot shrink by {-amount}")
        key = self._key(labels)
        self._numbers[key] = self._numbers.get(key, 0) + amount

    def _samples(self) -> Iterator[str]:
        return (self._sample(key, number) for key, number in self._numbers.items())


class Gauge(Metric):
    """A number that `read` returns at each scrape.

    With labels it returns a mapping from tuples of label values to numbers.
    """

    kind = "gauge"

    def __init__(self, name: str, help_text: str, read: Read, labels: tuple[str, ...] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._read = read

    def _samples(self) -> Iterator[str]:
        found = self._read()
        numbers = found if isinstance(found, Mapping) else {(): found}
        return (self._sample(key, number) for key, number in numbers.items())


AnyMetric = TypeVar("AnyMetric", bound=Metric)


class Registry:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}

    def counter(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> Counter:
        return self._added(Counter(name, help_text, labels))

    def gauge(self, name: str, help_text: str, read: Read, labels: tuple[str, ...] = ()) -> Gauge:
        return self._added(Gauge(name, help_text, read, labels))

    def render(self) -> bytes:
        """All of them, to be sent as `CONTENT_TYPE`."""
        lines = (line for metric in self._metrics.values() for line in metric.lines())
        return "".join(f"{line}\n" for line in lines).encode()

    def _added(self, metric: AnyMetric) -> AnyMetric:
        if metric.name in self._metrics:
            raise ValueError(f"there is a metric {metric.name!r} already")
        self._metrics[metric.name] = metric
        return metric


def _number(number: float) -> str:
    if isnan(number):
        return "NaN"
    if number in (inf, -inf):
        return "+Inf" if number > 0 else "-Inf"
    return repr(number)
