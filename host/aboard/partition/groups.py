"""The graph of groups: each group is a set of nodes, and an edge is a dependency between groups."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Node
from aboard.partition.matcher import Uses


class Groups:
    """Partition of all nodes into groups; a node outside every region is a group by itself.

    The graph of groups never has a cycle: all regions together are convex.
    """

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._group = dict(uses.index)
        self._members: dict[int, list[Node]] = {number: [node] for node, number in uses.index.items()}

    def add(self, nodes: Sequence[Node]) -> int:
        """Makes a group of nodes, which must be convex, and returns its number: the number of its last node."""
        number = self._group[nodes[-1]]
        for node in nodes[:-1]:
            self._move(self._group[node], number)
        return number

    def _move(self, group: int, into: int) -> None:
        for node in self._members.pop(group):
            self._group[node] = into
            self._members[into].append(node)

    def before(self, group: int) -> list[int]:
        """Returns the groups whose results a group reads, in descending order."""
        return sorted(self._needs(group), reverse=True)

    def nodes(self, *groups: int) -> list[Node]:
        """Returns the nodes of some groups."""
        return [node for group in groups for node in self._members[group]]

    def _needs(self, group: int) -> set[int]:
        producer, found = self._uses.producer, set()
        for node in self._members[group]:
            for tensor in node.operands:
                if tensor in producer:
                    found.add(self._group[producer[tensor]])
        return found - {group}

    def merge(self, group: int, into: int) -> bool:
        """Joins two groups of which the second reads the first, unless another path also connects them.

        Returns:
            True if they were joined.
        """
        if self._reaches(into, group):
            return False
        self._move(group, into)
        return True

    def _reaches(self, start: int, goal: int) -> bool:
        """True if `start` depends on `goal` through other groups."""
        seen: set[int] = set()
        left = [group for group in self._needs(start) if group != goal]
        while left:
            group = left.pop()
            if group == goal:
                return True
            if group not in seen:
                seen.add(group)
                left.extend(self._needs(group))
        return False
