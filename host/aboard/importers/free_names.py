"""Names that are free in a graph that is being read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class FreeNames:
    """The names that tensors have."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = Counter(taken)

    def take(self, wanted: str) -> str:
        """Returns a name that no tensor has, `wanted` or one with a number behind it; it is taken from here on."""
        name = wanted
        while name in self._taken:
            self._taken[wanted] += 1
            name = f"{wanted}_{self._taken[wanted]}"
        self._taken[name] += 1
        return name
