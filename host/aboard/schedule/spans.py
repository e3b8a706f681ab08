"""Cascades that are given instead of searched: as text, in tuning records.

`3-5 7-9:2 11-14:min` names three cascades by the first and the last node of each, in the order of the file: the first
has stripes as high as its kernels prefer, the second of 2 rows, the third of one row that overwrites its operands
wherever possible (`Cascade.minimise_ram`). `none` stands for no cascade at all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from aboard.ir import Graph, Node
from aboard.ir.canonical import computation
from aboard.kernels.tunable import FLASH, RAM, has_data_memory
from aboard.schedule.buffers import BufferAssignment
from aboard.target import Knob, Target
from aboard.target.kind import Value
from aboard.tuning.choice import TunedPart, Tuning
from aboard.tuning.key import HOST
from aboard.tuning.space import Space

#: Name of the knob, its default, and its value for no cascade.
CASCADES, SEARCHED, NONE = "cascades", "searched", "none"

#: Name of the knob for the place of the kernels' code; its values are those of weights.
CODE = "code"

_SPAN = re.compile(r"(\d{1,6})-(\d{1,6})(?::(min|\d{1,6}))?")
_LEAST = "min"


@dataclass(frozen=True)
class Span:
    """A cascade.

    Attributes:
        first: Number of its first node in the order of the file.
        last: Number of its last node.
        rows: Rows of a stripe; None for those that the kernels prefer.
        minimise_ram: True for stripes of one row that overwrite their operands wherever possible.
    """

    first: int
    last: int
    rows: int | None = None
    minimise_ram: bool = False

    def __str__(self) -> str:
        height = f":{_LEAST}" if self.minimise_ram else "" if self.rows is None else f":{self.rows}"
        return f"{self.first}-{self.last}{height}"


def text_of(spans: Sequence[Span]) -> str:
    """Returns spans as text."""
    return " ".join(map(str, sorted(spans, key=lambda span: span.first))) or NONE


def parse(text: str) -> tuple[Span, ...] | None:
    """Returns the spans of a text; None if it is no such text, or if spans overlap."""
    if text == NONE:
        return ()
    found: list[Span] = []
    for word in text.split():
        match = _SPAN.fullmatch(word)
        if match is None:
            return None
        first, last, height = int(match[1]), int(match[2]), match[3]
        rows = None if height in (None, _LEAST) else int(height)
        if rows == 0 or last < first or (found and first <= found[-1].last):
            return None
        found.append(Span(first, last, rows, height == _LEAST))
    return tuple(found) or None


@dataclass(frozen=True)
class SpansKnob(Knob):
    """The knob of a schedule: its values are texts of spans.

    Attributes:
        nodes: Number of nodes.
    """

    nodes: int = 0

    @property
    def expected(self) -> str:
        """What a value may be, for messages."""
        return f"{SEARCHED}, {NONE}, or spans such as 0-3 7-9:2 of nodes 0 to {self.nodes - 1}"

    def allows(self, value: Value) -> bool:
        """True for `searched`, and for spans within the nodes."""
        if value == SEARCHED:
            return True
        spans = parse(str(value))
        return spans is not None and all(span.last < self.nodes for span in spans)


def part(graph: Graph, target: Target) -> TunedPart:
    """Returns the schedule of a graph as a part that can be tuned.

    Args:
        graph: The partitioned graph, in the order of the file.
        target: The whole target.
    """
    lines = computation(graph.nodes, graph.entries, [tensor for tensor in graph.results if not tensor.is_constant])
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    count = len(graph.nodes)
    places = (FLASH, RAM) if has_data_memory(target, runs_code=True) else (FLASH,)
    knobs = (
        SpansKnob(CASCADES, (SEARCHED,), "Nodes that are computed as cascades, and the height of stripes.", count),
        Knob(CODE, places, "The kernels run from flash, or the start-up code copies them to RAM."),
    )
    return TunedPart(target, target.host, HOST, f"schedule of {count} nodes, {digest}", lambda: Space((knobs,)))


def chosen(graph: Graph, target: Target, tuning: Tuning) -> tuple[tuple[Span, ...] | None, bool]:
    """Returns the cascades that a tuning names, None to search them; and True if code is copied to RAM.

    Arguments as for `part`.

    Raises:
        AboardError: A given point is not valid, or the records cannot be read.
    """
    point = tuning.choose(part(graph, target))
    value = str(point.values.get(CASCADES, SEARCHED))
    return None if value == SEARCHED else parse(value), point.values.get(CODE) == RAM


def of(assignment: BufferAssignment, nodes: Sequence[Node]) -> tuple[Span, ...]:
    """Returns the cascades of a schedule.

    Args:
        assignment: The schedule.
        nodes: The nodes in the order of the file.
    """
    number = {node: index for index, node in enumerate(nodes)}
    return tuple(
        Span(number[cascade.nodes[0]], number[cascade.nodes[-1]], cascade.rows, cascade.minimise_ram)
        for cascade in assignment.cascades
    )
