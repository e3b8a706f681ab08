"""Fingerprints of nodes: equal for nodes that compute the same, whatever graph, copy or pass they come from.

Analyses and cost models look up what they found for an equal node instead of computing it again: layers of one model
that are the same, and the same layer in copies of a model (`aboard.partition.trial`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from aboard.ir.graph import Attributes, Node, Tensor

T = TypeVar("T")


class Fingerprint:
    """The fingerprint of equal nodes: one object, so that it is compared and looked up by identity."""


class Memo(Generic[T]):
    """Results by key, of which the oldest make room for new ones.

    Args:
        size: Largest number of results.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: dict[Hashable, T] = {}

    def get(self, key: Hashable | None, compute: Callable[[], T]) -> T:
        """Returns the result for a key, which is computed the first time; None is no key, and nothing is kept."""
        if key is None:
            return compute()
        try:
            # One lookup, because the hash of a long key costs more than all else.
            return self._known[key]
        except KeyError:
            pass
        found = compute()
        while len(self._known) >= self._size:
            del self._known[next(iter(self._known))]
        self._known[key] = found
        return found


#: Fingerprints by what they stand for: hashing and comparing that costs more than most lookups save.
_FINGERPRINTS: Memo[Fingerprint] = Memo(1 << 14)


def fingerprint(node: Node) -> Fingerprint | None:
    """Returns one object for the op, the attributes, and the types and constants of operands and results.

    Names do not count.

    Returns:
        None if the attributes cannot be compared, such as those with a graph inside.
    """
    operands = tuple(None if tensor is None else _tensor(tensor) for tensor in node.inputs)
    computes = node.op, node.attrs, operands, tuple(_tensor(tensor) for tensor in node.outputs)
    try:
        return _FINGERPRINTS.get(computes, Fingerprint)
    except TypeError:
        return None


def is_hashable(attrs: Attributes) -> bool:
    """True for attributes of plain values; False for those with a graph inside."""
    try:
        hash(attrs)
    except TypeError:
        return False
    return True


def _tensor(tensor: Tensor) -> Hashable:
    data = tensor.data
    return tensor.type, None if data is None else hashlib.sha256(data.tobytes()).digest()
