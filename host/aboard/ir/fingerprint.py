"""Fingerprints of nodes: equal for nodes that compute the same, whatever graph, copy or pass they come from.

Analyses and cost models look up what they found for an equal node instead of computing it again: layers of one model
that are the same, and the same layer in copies of a model (`aboard.partition.trial`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar

from aboard.ir.graph import Attributes, Node, Tensor

T = TypeVar("T")
P = ParamSpec("P")


class Fingerprint:
    """The fingerprint of equal nodes or tensors: one object, so that it is compared and looked up by identity."""

    def __deepcopy__(self, memo: dict[int, object]) -> Fingerprint:
        # Copies of a tensor have the fingerprint that the tensor has.
        return self


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
    operands = tuple(None if tensor is None else _content(tensor) for tensor in node.inputs)
    computes = node.op, node.attrs, operands, tuple(_content(tensor) for tensor in node.outputs)
    try:
        return _FINGERPRINTS.get(computes, Fingerprint)
    except TypeError:
        return None


def once_for_equal_nodes(size: int) -> Callable[[Callable[Concatenate[Node, P], T]], Callable[Concatenate[Node, P], T]]:
    """Returns a decorator of functions of a node and of hashable values: equal nodes get the same result.

    Args:
        size: Largest number of results that are kept.
    """

    def decorated(function: Callable[Concatenate[Node, P], T]) -> Callable[Concatenate[Node, P], T]:
        known: Memo[T] = Memo(size)

        @wraps(function)
        def found(node: Node, /, *args: P.args, **kwargs: P.kwargs) -> T:
            node_key = fingerprint(node)
            key = None if node_key is None else (node_key, args, tuple(kwargs.items()))
            return known.get(key, lambda: function(node, *args, **kwargs))

        return found

    return decorated


def is_hashable(attrs: Attributes) -> bool:
    """True for attributes of plain values; False for those with a graph inside."""
    try:
        hash(attrs)
    except TypeError:
        return False
    return True


def _content(tensor: Tensor) -> object:
    """Returns one object for a type and a constant.

    The tensor and its copies keep it as long as they have this type and this array: no pass changes an array in place.
    """
    known, data = tensor.known_content, tensor.data
    if known is None or known[0] is not tensor.type or known[1] is not data:
        content = tensor.type, None if data is None else hashlib.sha256(data.tobytes()).digest()
        known = tensor.known_content = tensor.type, data, _FINGERPRINTS.get(content, Fingerprint)
    return known[2]
