"""What `aboard tune` can change in the host's nodes: the kernel of each node, and the knobs of the kernel.

The points of a node are those of every kernel that can compute it, those of the cost model's choice first. The key of
their record is the node's computation without names and values (`aboard.ir.canonical`), so equal layers share a point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aboard import boards
from aboard.ir import Node
from aboard.ir.canonical import of_node
from aboard.kernels.contract import Argument, Call, ConstantArg, Implementation, KernelCall
from aboard.kernels.registry import of
from aboard.kernels.select import strategy
from aboard.kernels.select.cost_model import whole_call
from aboard.kernels.view import View
from aboard.target import Knob, Target
from aboard.tuning.choice import DEFAULT, TunedPart, Tuning
from aboard.tuning.key import HOST
from aboard.tuning.space import Space

#: Name of the knob whose value is the name of the kernel.
KERNEL = "kernel"

#: The knob for the parameters of a kernel, and its values.
PARAMETERS, LITERAL, READ = "parameters", "literal", "read"

#: The knob for the place of a kernel's constants, and its values.
WEIGHTS, FLASH, RAM = "weights", "flash", "ram"

#: Ops that devices and the graphs inside them compute.
_OF_OTHERS = frozenset({"subgraph", "if", "while"})


def part(node: Node, chosen: Implementation, target: Target) -> TunedPart | None:
    """Returns a node of the host as a part that can be tuned; None for a node with graphs of its own.

    Args:
        node: The node, after all passes.
        chosen: The kernel that the cost model chose.
        target: The whole target.
    """
    if node.op in _OF_OTHERS:
        return None
    return TunedPart(target, target.host, HOST, of_node(node), lambda: _space(node, chosen, target))


def tuned(chosen: Mapping[Node, Implementation], target: Target, tuning: Tuning) -> dict[Node, Implementation]:
    """Returns the implementations of nodes at the points of a tuning.

    Args:
        chosen: The implementation that the cost model chose for each node.
        target: The whole target.
        tuning: Chooses the points.

    Raises:
        AboardError: A given point is not valid, or the records cannot be read.
    """
    if not may_tune(target, tuning):
        return dict(chosen)
    return {node: _tuned(node, implementation, target, tuning) for node, implementation in chosen.items()}


def may_tune(target: Target, tuning: Tuning) -> bool:
    """False where no point can apply: there is none, kernels are forced, or it is a record, which is of a board."""
    may_apply = tuning.is_binding or target.hardware is not None
    return may_apply and tuning.has_points() and not strategy.is_forced()


def _tuned(node: Node, chosen: Implementation, target: Target, tuning: Tuning) -> Implementation:
    here = part(node, chosen, target)
    if here is None:
        return chosen
    point = tuning.choose(here)
    if point.origin == DEFAULT:
        return chosen
    name = point.values.get(KERNEL, chosen.name)
    return next(each for each in (chosen, *of(node.op)) if each.name == name).at(point)


def _space(node: Node, chosen: Implementation, target: Target) -> Space:
    others = [each for each in of(node.op) if each.name != chosen.name and not strategy.refusal(each, node, target)]
    return Space(tuple(_knobs(each, node, target) for each in (chosen, *others)))


def _knobs(implementation: Implementation, node: Node, target: Target) -> tuple[Knob, ...]:
    kernel = Knob(KERNEL, (implementation.name,), "The kernel that computes the node.")
    own = (*implementation.knobs(node, target), *_general(implementation, node, target))
    return (kernel, *(knob for knob in own if len(knob.values) > 1))


def _general(implementation: Implementation, node: Node, target: Target) -> tuple[Knob, ...]:
    """Returns the knobs that every kernel has."""
    call = whole_call(node, implementation, target)
    if not isinstance(call, KernelCall):
        return ()
    found = []
    if not call.code_key and target.opt != "size":
        found.append(Knob(PARAMETERS, (LITERAL, READ), "Parameters are literals in the code, or read when it runs."))
    if call.constants and has_data_memory(target):
        found.append(Knob(WEIGHTS, (FLASH, RAM), "Constants are read from flash, or copied to RAM at start-up."))
    return tuple(found)


def has_data_memory(target: Target, *, runs_code: bool = False) -> bool:
    """True if a target's board runs its code from one memory, and its data memory is known and another.

    Args:
        target: The target.
        runs_code: True if the data memory must be one from which every core can run code: no DTCM, which a Cortex-M7
            reads data from alone, and no memory that has another address for instructions.
    """
    if target.hardware is None or target.weights_region is not None or target.cpu.is_host_class:
        return False
    board = boards.of_hardware(target.hardware)
    data, load = board.data_memory, board.load_memory
    if data is None or load is None or data == load:
        return False
    return not runs_code or (data.kind == "ram" and load.data_address is None)


def lowered(
    node: Node,
    implementation: Implementation,
    inputs: tuple[View | None, ...],
    outputs: tuple[View, ...],
    target: Target,
) -> Call:
    """Returns the call of a node with its implementation, at the point of the implementation.

    Args:
        node: The node.
        implementation: Its implementation.
        inputs: As for `Implementation.lower`.
        outputs: Likewise.
        target: The target of the code.
    """
    call = implementation.lower(node, inputs, outputs, target)
    values = implementation.tuned.values
    if isinstance(call, KernelCall) and values.get(PARAMETERS) == READ:
        call = replace(call, code_key=f"{call.code_key} read", reads_parameters=True)
    if isinstance(call, KernelCall) and values.get(WEIGHTS) == RAM:
        call = replace(call, arguments=tuple(map(_in_ram, call.arguments)))
    return call


def _in_ram(argument: Argument) -> Argument:
    if not isinstance(argument, ConstantArg):
        return argument
    return replace(argument, constant=replace(argument.constant, in_ram=True))
