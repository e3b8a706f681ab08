"""The graph with regions drawn together: groups of nodes, and which group needs which."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Node
from aboard.partition.matcher import Uses


class Groups:
    """Partition of all nodes into groups; a node that is in no region is a group of its own.

    The graph of groups has no cycle at any time: that is what convex means for all regions together.
    """

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._group = dict(uses.index)
        self._members: dict[int, list[Node]] = {number: [node] for node, number in uses.index.items()}

    def add(self, nodes: Sequence[Node]) -> int:
        """Makes nodes a group, which must be convex, and returns its number: that of its last node."""
        number = self._group[nodes[-1]]
        for node in nodes[:-1]:
            self._move(self._group[node], number)
        return number

    def _move(self, group: int, into: int) -> None:
        for node in self._members.pop(group):
            self._group[node] = into
            self._members[into].append(node)

    def before(self, group: int) -> list[int]:
        """Returns the groups whose results a group reads, the latest first."""
        return sorted(self._needs(group), reverse=True)

    def _needs(self, group: int) -> set[int]:
        producer, found = self._uses.producer, set()
        for node in self._members[group]:
            for tensor in node.operands:
                if tensor in producer:
                    found.add(self._group[producer[tensor]])
        return found - {group}

    def merge(self, group: int, into: int) -> bool:
        """Joins two groups of which the second reads the first, unless a way through others leads there too.

        Returns:
            True when they were joined.
        """
        if self._reaches(into, group):
            return False
        self._move(group, into)
        return True

    def _reaches(self, start: int, goal: int) -> bool:
        """True when `start` needs `goal` by way of other groups."""
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
