"""Finds matches of an accelerator's patterns in a graph, and the reasons why other nodes do not match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aboard import ops
from aboard.errors import TargetError, did_you_mean
from aboard.ir import Graph, Node, Rounding, Tensor
from aboard.ops.subgraph import Matched
from aboard.partition.pattern import (
    ConstantPattern,
    DevicePattern,
    Either,
    OpPattern,
    Pattern,
    local_problem,
    operand_problem,
    ops_of,
    parts,
)


class Uses:
    """Producer and readers of each tensor of a graph, and the index of each node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.index = {node: number for number, node in enumerate(graph.nodes)}
        self.producer = {tensor: node for node in graph.nodes for tensor in node.outputs}
        self.readers: dict[Tensor, list[Node]] = {}
        for node in graph.nodes:
            for tensor in dict.fromkeys(node.operands):
                self.readers.setdefault(tensor, []).append(node)
        self.outputs = set(graph.results)

    def outside_reader(self, tensor: Tensor, inside: set[Node]) -> str | None:
        """Returns a description of a reader of a tensor outside a set of nodes, or None."""
        if tensor in self.outputs:
            return "the caller"
        return next((node.name for node in self.readers.get(tensor, []) if node not in inside), None)

    def borders(self, nodes: Iterable[Node]) -> int:
        """Returns the number of inputs and outputs of a region of some nodes, without constants."""
        inside = set(nodes)
        read = {t for node in inside for t in node.operands if not t.is_constant and self.producer.get(t) not in inside}
        made = [t for node in inside for t in node.outputs if self.outside_reader(t, inside) is not None]
        return len(read) + len(made)


@dataclass(frozen=True)
class Match:
    """A set of nodes that one pattern of a device matches.

    Attributes:
        pattern: The pattern.
        nodes: The nodes in execution order; matching starts at the last one.
        named: The nodes to which the pattern gives a name.
    """

    pattern: DevicePattern
    nodes: tuple[Node, ...]
    named: Mapping[str, Node]

    def matched(self) -> Matched:
        """Returns the match as the code generator receives it."""
        return Matched(self.pattern.name, self.nodes, self.named)


_Found = tuple[tuple[Node, ...], tuple[tuple[str, Node], ...]]


class Matcher:
    """Matches the patterns of one device against a graph.

    Args:
        uses: Producers and readers of the graph.
        patterns: The patterns, checked by `check_patterns`.
        refuses: Maps a node to the reason why the device may not claim it, or None; called before patterns are tried.
    """

    def __init__(self, uses: Uses, patterns: Sequence[DevicePattern], refuses: Callable[[Node], str | None]) -> None:
        self.uses = uses
        self.patterns = sorted(patterns, key=lambda pattern: pattern.name)
        self._refused = {node: reason for node in uses.graph.nodes if (reason := refuses(node))}
        self._reasons: dict[Node, list[str]] = {}

    def candidates(self) -> list[Match]:
        """Returns the largest match of each pattern at each node, most nodes first, whatever the order of patterns."""
        found = [
            match
            for node in self.uses.graph.nodes
            for pattern in self.patterns
            if (match := self._match(pattern, node)) is not None
        ]
        index = self.uses.index
        return sorted(found, key=lambda m: (-len(m.nodes), -m.pattern.priority, index[m.nodes[-1]], m.pattern.name))

    def refuse(self, match: Match, reason: str) -> None:
        """Records why the device does not take a match."""
        for node in match.nodes:
            self._say(node, reason)

    def reason(self, node: Node) -> str:
        """Returns why no match contains a node. Call it after `candidates`."""
        if node in self._refused:
            return self._refused[node]
        reasons = list(dict.fromkeys(self._reasons.get(node, [])))
        if reasons:
            return "; ".join(reasons)
        if any(node.op in ops_of(pattern.pattern) for pattern in self.patterns):
            return "is in no match of a whole pattern"
        return f"no pattern has {node.op}"

    def _match(self, pattern: DevicePattern, root: Node) -> Match | None:
        best: _Found | None = None
        for found in self._node(pattern.pattern, root, ((), ())):
            if (
                self._rounds(pattern, found[0])
                and self._closed(found[0], root, pattern.name)
                and self._bordered(pattern, found[0])
                and (best is None or len(found[0]) > len(best[0]))
            ):
                best = found
        if best is None:
            return None
        return Match(pattern, tuple(sorted(best[0], key=lambda n: self.uses.index[n])), dict(best[1]))

    def _rounds(self, pattern: DevicePattern, nodes: Sequence[Node]) -> bool:
        exact = [] if pattern.exact else [node for node in nodes if node.attrs.rounding is Rounding.EXACT]
        for node in exact:
            self._say(node, f"{pattern.name}: rounds as TensorFlow Lite does, is not for -arithmetic=exact")
        return not exact

    def _bordered(self, pattern: DevicePattern, nodes: Sequence[Node]) -> bool:
        found = self.uses.borders(nodes)
        if pattern.borders is None or found <= pattern.borders:
            return True
        for node in nodes:
            self._say(node, f"{pattern.name}: inputs and outputs, got {found}, expected at most {pattern.borders}")
        return False

    def _closed(self, nodes: Sequence[Node], root: Node, pattern: str) -> bool:
        inside = set(nodes)
        for node in nodes:
            for tensor in node.outputs if node is not root else ():
                reader = self.uses.outside_reader(tensor, inside)
                if reader is not None:
                    self._say(node, f"{pattern}: its result is also read by {reader}")
                    return False
        return True

    def _say(self, node: Node, reason: str) -> None:
        self._reasons.setdefault(node, []).append(reason)

    def _node(self, pattern: Pattern, node: Node, found: _Found) -> Iterator[_Found]:
        """Yields every way in which a pattern matches a node."""
        if isinstance(pattern, Either):
            for choice in pattern.choices:
                yield from self._node(choice, node, found)
        elif isinstance(pattern, OpPattern):
            if node.op not in pattern.ops:
                return
            problem = self._refused.get(node) or local_problem(pattern, node)
            if problem is not None:
                self._say(node, problem)
                return
            nodes, named = found
            if node in nodes:
                yield found
                return
            named = (*named, (pattern.name, node)) if pattern.name else named
            yield from self._operands(pattern, node, 0, ((*nodes, node), named))

    def _operands(self, pattern: OpPattern, node: Node, index: int, found: _Found) -> Iterator[_Found]:
        if index == len(pattern.operands):
            yield found
            return
        for longer in self._operand(pattern.operands[index], node, index, found):
            yield from self._operands(pattern, node, index + 1, longer)

    def _operand(self, pattern: Pattern, node: Node, index: int, found: _Found) -> Iterator[_Found]:
        if isinstance(pattern, ConstantPattern):
            problem = operand_problem(pattern, node, index)
            if problem is None:
                yield found
            else:
                self._say(node, problem)
        elif isinstance(pattern, OpPattern | Either):
            tensor = node.optional_input(index)
            producer = None if tensor is None else self.uses.producer.get(tensor)
            if producer is not None:
                yield from self._node(pattern, producer, found)
            if isinstance(pattern, Either):
                # Alternatives that match no node (a constant, any tensor) examine the operand itself.
                for choice in pattern.choices:
                    if not isinstance(choice, OpPattern | Either):
                        yield from self._operand(choice, node, index, found)
        else:
            yield found


def check_patterns(patterns: Sequence[DevicePattern], where: str) -> None:
    """Refuses patterns that can never match.

    Args:
        patterns: The patterns of a device.
        where: The device, for error messages.

    Raises:
        TargetError: A name is a duplicate, or a pattern names an unknown op or attribute, or no op at all.
    """
    names = [pattern.name for pattern in patterns]
    for pattern in patterns:
        here = f"{where}, pattern {pattern.name}"
        if names.count(pattern.name) > 1:
            raise TargetError(f"{here}: there are two of this name, expected one. Rename one of them")
        _check_root(pattern.pattern, here)
        for part in parts(pattern.pattern):
            if isinstance(part, OpPattern):
                _check_op(part, here)


def _check_root(pattern: Pattern, here: str) -> None:
    roots = pattern.choices if isinstance(pattern, Either) else (pattern,)
    for root in roots:
        if isinstance(root, Either):
            _check_root(root, here)
        elif not isinstance(root, OpPattern):
            raise TargetError(
                f"{here}: matches nothing, got {type(root).__name__} at its root, expected an op. Begin it with op(...)"
            )
    if not roots:
        raise TargetError(f"{here}: matches nothing, got no alternative, expected one or more. Give either() some")


def _check_op(part: OpPattern, here: str) -> None:
    if not part.ops:
        raise TargetError(f"{here}: matches nothing, got no name of an op, expected one or more. Name it in op(...)")
    for name in part.ops:
        if name not in ops.names():
            raise TargetError(f"{here}: matches nothing, unknown op {name}. {did_you_mean(name, ops.names())}")
        known = list(ops.get(name).attributes.__dataclass_fields__)
        for attribute in part.attrs:
            if attribute not in known:
                raise TargetError(
                    f"{here}: matches nothing, {name} has no attribute {attribute}. {did_you_mean(attribute, known)}"
                )
