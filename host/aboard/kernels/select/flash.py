"""The predicted flash of a model: a sum over pieces that count once, for any number of nodes that use them.

A piece is an array of constants, an instance of a kernel, or a function that instances share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from aboard.ir import Node
from aboard.kernels.contract import Call, InputArg, KernelCall
from aboard.kernels.select import code_size
from aboard.target import Target


def pieces(node: Node, call: Call, target: Target) -> dict[str, int]:
    """Returns the bytes of the pieces of a call that is not part of a cascade, by their content."""
    return _constants(node, call) | _code(call, target)


def _constants(node: Node, call: Call) -> dict[str, int]:
    """Returns the bytes of the arrays that a call reads; equal arrays have one key."""
    given = (node.input(a.index).data for a in call.arguments if isinstance(a, InputArg))
    arrays = [*(c.values for c in call.constants), *(data for data in given if data is not None)]
    return {f"{a.dtype.str} {hashlib.sha256(a.tobytes()).hexdigest()}": a.nbytes for a in arrays}


def _code(call: Call, target: Target) -> dict[str, int]:
    """Returns the bytes of the code of a call, from measurements of other models.

    With `-opt=size` it may be less, because an instance can serve several sets of parameters (`code_size.shares`).
    """
    if not isinstance(call, KernelCall):
        return {}
    measured = code_size.code(call, target)
    return {**measured.shared, call.compared(f"{call.function_key} {call.params!r}"): measured.instance}


def model_bytes(calls: Iterable[tuple[Node, Call]], cascaded: int, target: Target) -> int:
    """Returns the flash of a model: constants exactly, code from measurements of other models.

    Args:
        calls: Nodes and calls of its steps.
        cascaded: Number of steps that are part of cascades.
        target: The target of the code.
    """
    every: dict[str, int] = {}
    functions: dict[str, dict[str, KernelCall]] = {}
    steps = 0
    for node, call in calls:
        every |= _constants(node, call)
        if isinstance(call, KernelCall):
            functions.setdefault(call.compared(call.function_key), {})[call.compared(repr(call.params))] = call
        steps += 1
    for name, found in functions.items():
        different = list(found.values())
        if not code_size.shares(different, target):
            every |= {key: size for call in different for key, size in _code(call, target).items()}
            continue
        together = code_size.code(different[0], target, shared=True)
        parameters = sum(code_size.parameters_bytes(call.params) for call in different)
        every |= {**together.shared, name: together.instance + parameters}
    return sum(every.values()) + code_size.frame(target, steps, cascaded)
