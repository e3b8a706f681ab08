"""The problems of a model file, collected over the whole file and reported together: one line for each cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from aboard.errors import ModelError

#: Largest number of further places that a line names after the first.
_NAMED = 3

#: Messages about the same element types have one cause, whatever types each operator expects.
_TYPES = re.compile(r"element types.*?got (?P<types>.*?), expected")

#: Parts in which two messages with one cause may differ: the value found, and figures.
_FOUND = re.compile(r"(?<=got ).*?(?=, expected)")
_FIGURES = re.compile(r"\d+")


@dataclass(frozen=True)
class _Diagnostic:
    where: str
    text: str


@dataclass
class Diagnostics:
    """Collects the problems of one model file, and reports them together.

    Attributes:
        source: File name; the report begins with it.
    """

    source: str
    _causes: dict[str, list[_Diagnostic]] = field(default_factory=dict)
    _operators: dict[str, list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of the problems so far."""
        return sum(map(len, self._causes.values())) + sum(map(len, self._operators.values()))

    def operator(self, number: int, kind: str, within: str = "") -> None:
        """Records an unsupported operator.

        Args:
            number: Of the operator in its subgraph.
            kind: Its name.
            within: The subgraph, with a comma and a space; "" for the model's own.
        """
        self._operators.setdefault(kind, []).append(f"{within}node {number}")

    def add(self, where: str, text: str, names: Iterable[str] = ()) -> None:
        """Records a problem.

        Args:
            where: The operator or tensor with the problem: `node 3 CONV_2D`.
            text: `<what>, got <x>, expected <y>. <what to do>`; a repeated pair of place and text is recorded once.
            names: Names in the text. Messages that differ only in names, in the value found and in figures have one
                cause.
        """
        found = self._causes.setdefault(_cause(text, names), [])
        if _Diagnostic(where, text) not in found:
            found.append(_Diagnostic(where, text))

    def report(self) -> None:
        """Raises one error with all problems.

        Raises:
            ModelError: There is at least one problem.
        """
        lines = [_line(problems) for problems in self._causes.values()]
        if self._operators:
            lines.insert(0, self._operators_line())
        if not lines:
            return
        known = ["`aboard ops` lists the supported operators"] if self._operators else []
        if len(lines) == 1:
            raise ModelError(". ".join([f"{self.source}: {lines[0]}", *known]))
        head = f"{self.source}: {len(lines)} problems, all of which have to be solved:"
        raise ModelError("\n".join([head, *(f"  {line}" for line in lines), *known]))

    def _operators_line(self) -> str:
        counts = Counter({kind: len(places) for kind, places in self._operators.items()})
        if counts.total() == 1:
            ((kind, places),) = self._operators.items()
            return f"{places[0]} {kind}: operator is not supported"
        kinds = (_kind(kind, places) for kind, places in self._operators.items())
        return f"{counts.total()} operators are not supported: {', '.join(kinds)}"


def _cause(text: str, names: Iterable[str]) -> str:
    types = _TYPES.match(text)
    if types is not None:
        return f"element types {sorted(set(types['types'].split(', ')))}"
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text)
    return _FIGURES.sub("", _FOUND.sub("", text))


def _line(problems: Sequence[_Diagnostic]) -> str:
    first, *others = problems
    line = f"{first.where}: {first.text}"
    if not others:
        return line
    named = ", ".join(problem.where for problem in others[:_NAMED])
    rest = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f"{line}. The same at {named}{rest}"


def _kind(kind: str, places: Sequence[str]) -> str:
    if len(places) == 1:
        return f"{kind} ({places[0]})"
    return f"{kind} ({len(places)} times, first {places[0]})"
