"""Fingerprints: one object for nodes that compute the same, whatever their names and copies."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from aboard.ir import DType, Node, Tensor, TensorType
from aboard.ir.fingerprint import fingerprint, once_for_equal_nodes


def node(name: str, values: list[int]) -> Node:
    x, y = (Tensor(f"{name}_{end}", TensorType((1, 2), DType.INT32)) for end in "xy")
    constant = Tensor(f"{name}_w", TensorType((2,), DType.INT32), np.array(values, np.int32))
    return Node("add", name, [x, constant], [y])


def test_names_and_copies_do_not_count() -> None:
    one, other = node("one", [1, 2]), node("other", [1, 2])
    assert fingerprint(one) is fingerprint(other) is fingerprint(copy.deepcopy(one)) is not None
    assert fingerprint(one) is not fingerprint(node("one", [1, 3]))


def test_other_constants_and_types_count_after_a_fingerprint_was_taken() -> None:
    """Copies of a tensor know what was found for its type and its array, until they get others."""
    one = node("one", [1, 2])
    first = fingerprint(one)
    copied = copy.copy(one.input(1))
    one.inputs[1] = copied
    assert fingerprint(one) is first
    copied.data = np.array([1, 3], np.int32)
    assert fingerprint(one) is fingerprint(node("other", [1, 3])) is not first
    copied.data = np.array([1, 2], np.int32)
    assert fingerprint(one) is first
    one.output.type = replace(one.output.type, shape=(2, 1))
    assert fingerprint(one) is not first


def test_a_function_is_computed_once_for_equal_nodes_and_values() -> None:
    calls: list[tuple[str, int]] = []

    @once_for_equal_nodes(2)
    def computed(given: Node, value: int, *, more: int = 0) -> int:
        calls.append((given.name, value))
        return value + more

    assert [computed(node("a", [1]), 1), computed(node("b", [1]), 1), computed(node("c", [2]), 1)] == [1, 1, 1]
    assert calls == [("a", 1), ("c", 1)]
    assert computed(node("d", [2]), 1, more=5) == 6
    assert calls[2:] == [("d", 1)]
    # The oldest result made room.
    assert computed(node("e", [1]), 1) == 1
    assert calls[3:] == [("e", 1)]
