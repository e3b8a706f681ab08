"""The order of kernels that have no measured costs: the more specific one first.

A kernel is more specific the fewer of the known cores can run it; on the same cores, if it is for a special case
(`Implementation.specialised`). Nothing is declared: a package's kernel for a key of its own core is the most specific.
"""

from __future__ import annotations

from functools import cache

from aboard.boards import cpu as cpus
from aboard.kernels.contract import Implementation
from aboard.target import Target


def generality(implementation: Implementation) -> tuple[int, bool]:
    """Returns the place of a kernel in the order of specific kernels, the most specific one first."""
    return _cores(implementation.keys), not implementation.specialised


@cache
def _cores(keys: frozenset[str]) -> int:
    """Returns the number of known cores, without modifiers, that have one of some keys."""
    return sum(not keys.isdisjoint(found) for found in _keys())


@cache
def _keys() -> tuple[frozenset[str], ...]:
    return tuple(Target(f"c -mcpu={name}").keys for name in cpus.names())
