"""The contract of an op, and the registry of all ops.

An op file defines one `Op` subclass (a family may define several), decorated with `register`. The first use of the
registry imports every module of the package `aboard.ops`, so a new file is enough to add an op.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, TypeVar

from aboard.errors import ModelError, VerifyError, did_you_mean
from aboard.ir import Array, Attributes, DType, Graph, Node, State, Tensor, TensorType
from aboard.ops.axes import Order
from aboard.ops.box import Box
from aboard.ops.sharing import Share


@dataclass(frozen=True)
class SourceNode:
    """An operator of the model file, before it becomes a `Node`.

    Attributes:
        kind: Name of the operator in its format, such as `CONV_2D`.
        number: Index of the operator in the model file.
        where: File and operator, for error messages: `kws.tflite: node 3 CONV_2D`.
        inputs: Operands; None for an absent optional operand.
        outputs: Results, with their types in the file.
        options: The operator's options by their name in the format's schema (`StrideH`, `FusedActivationFunction`);
            enumerations are given as numbers. Fields missing in the file have the schema's defaults.
        subgraphs: The subgraphs of the file that options name, by the option: `ThenSubgraphIndex`.
    """

    kind: str
    number: int
    where: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    options: Mapping[str, Any]
    subgraphs: Mapping[str, Graph] = field(default_factory=dict)

    def unsupported(self, what: str) -> ModelError:
        """Returns the error for an unsupported property of this operator."""
        return ModelError(f"{self.where}: {what}")

    def input(self, index: int) -> Tensor:
        """Returns an operand that must be present.

        Raises:
            ModelError: The operand is absent.
        """
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise self.unsupported(f"operand {index} is missing. Export the model again")
        return tensor

    def constant(self, index: int) -> Array:
        """Returns the values of an operand that must be known at compile time.

        Raises:
            ModelError: The operand is absent or computed at run time.
        """
        tensor = self.input(index)
        if tensor.data is None:
            raise self.unsupported(f"operand {index} ({tensor.name}) is computed at run time, expected a constant")
        return tensor.data

    def integers(self, index: int) -> list[int]:
        """Returns the values of an operand of shapes, axes or indices, flat.

        Raises:
            ModelError: The operand is absent, computed at run time, or not of integers.
        """
        values = self.constant(index)
        if values.dtype.kind not in "iu":
            raise self.unsupported(
                f"operand {index}, got {values.dtype.name}, expected integers. Export the model again"
            )
        return [int(value) for value in values.reshape(-1).tolist()]

    def node(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attrs: Attributes | None = None,
        outputs: Sequence[Tensor] | None = None,
    ) -> Node:
        """Returns a `Node` that this operator becomes, with its number as source.

        Args:
            op: Name of the op.
            inputs: Operands.
            attrs: Attributes of the op; None for an op without.
            outputs: Results; None for those of the operator.
        """
        results = list(self.outputs if outputs is None else outputs)
        name = results[0].name if results else f"node_{self.number}"
        return Node(op, name, list(inputs), results, attrs or Attributes(), (self.number,))

    def check_type(self, tensor: Tensor, types: Sequence[DType]) -> None:
        """Raises for an element type that the reference does not take; a constant may have any, as the host folds it.

        Raises:
            ModelError: The tensor is computed at run time and its type is not among these.
        """
        if tensor.dtype not in types and not tensor.is_constant:
            known = ", ".join(dtype.value for dtype in types)
            raise self.unsupported(
                f"element type of {tensor.name}, got {tensor.dtype.value}, expected one of {known}. "
                "TensorFlow Lite Micro computes this operator in no other type; convert the model to one of these"
            )


class Op(ABC):
    """Contract of an op: types, definition, cost. One instance serves all nodes and holds no state.

    Attributes:
        name: Name in the IR, lower case with underscores.
        tflite: Names of the TFLite operators that become this op.
        elementwise: True if output element i depends only on element i of each operand (after broadcasting), so that
            the op may run in place.
        moves_data: True if the op only moves values (reshape, transpose, concatenation).
        selects: True if each element of the result is an element of the operand, as a maximum is.
        recomputes: True if stripes of a node compute some values again (`macs_in_stripes`).
        holds_graphs: True if attributes of its nodes hold graphs. Such a node is not folded, and no device claims it.
        attributes: Class of the attributes of this op's nodes.
        tflite_updates: Indices of the operands that the op's TFLite operators change: variable tensors. For each of
            these, the importer adds a result behind the operator's own: the changed value.
        weights_axis: Axis of the output channels in operand 1, if operand 1 is weights and operand 2 the bias; None for
            ops without weights.
        types: Element types of the op's TFLite operators, of operand 0 and where they differ in no other way also of
            the result; `element_types` has them in words.
    """

    name: ClassVar[str]
    attributes: ClassVar[type[Attributes]] = Attributes
    tflite: ClassVar[tuple[str, ...]] = ()
    tflite_updates: ClassVar[tuple[int, ...]] = ()
    elementwise: ClassVar[bool] = False
    moves_data: ClassVar[bool] = False
    selects: ClassVar[bool] = False
    recomputes: ClassVar[bool] = False
    holds_graphs: ClassVar[bool] = False
    weights_axis: ClassVar[int | None] = None
    types: ClassVar[tuple[DType, ...]] = ()

    def element_types(self) -> tuple[str, ...]:
        """Returns the element types that the op's TFLite operators may have, for tables.

        Each begins with the type of operand 0: `int8`, `int8 to int16`, `int16 with int8 weights`.
        """
        return tuple(dtype.value for dtype in self.types)

    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node for an operator of a TFLite file; an op without `tflite` names need not have it.

        Raises:
            ModelError: The operator uses an unsupported feature; the message names it and the supported ones.
        """
        raise NotImplementedError(f"{self.name}: {source.kind} is not read by this op")

    def nodes_from_tflite(self, source: SourceNode) -> list[Node]:
        """Returns the nodes for an operator, in execution order: one, unless the op needs others behind it.

        Raises:
            ModelError: As for `from_tflite`.
        """
        return [self.from_tflite(source)]

    @abstractmethod
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the types of the outputs, derived from operands and attributes.

        The quantisation of outputs is read from the node, because it is a choice of the model, unless the op fixes it.
        """

    @abstractmethod
    def verify(self, node: Node) -> None:
        """Checks the rules that `infer` does not check: operand count, element types, quantisation, attribute ranges.

        Raises:
            VerifyError: A rule is broken.
        """

    @abstractmethod
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the outputs in numpy, bit for bit equal to TensorFlow Lite for Microcontrollers' reference kernels.

        Args:
            node: The node.
            operands: Values of the operands, None for an absent one.

        Returns:
            Values of the outputs, with the types of `node.outputs`.
        """

    def is_exact(self, node: Node) -> bool:
        """True if the op also computes this node with `Rounding.EXACT`: real results to the nearest integers."""
        return False

    def own_states(self, node: Node) -> list[State]:
        """Returns the states that a node reads and writes without a tensor of the model file.

        The importer adds them to the graph. It renames their tensors where the file has tensors of these names.
        """
        return []

    def shares(self, node: Node) -> list[Share]:
        """Returns how results and operands may share memory so that the node needs no code.

        The planner uses all shares together or none. Empty for ops that compute.
        """
        return []

    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the part of each operand on which a part of the result depends.

        Args:
            node: The node; it has one result.
            box: A part of the result, not empty.

        Returns:
            For each of `node.inputs` a box inside the tensor (without padding), None for an absent operand. None if the
            part cannot be computed by itself; by default, this is the case for ops that are not elementwise.
        """
        if not self.elementwise:
            return None
        return [None if operand is None else box.within(operand.shape) for operand in node.inputs]

    def box_padding(self, node: Node, box: Box) -> tuple[int, int, int, int] | None:
        """Returns the padding around the box of operand 0 that `operand_boxes` leaves out.

        Args:
            node: The node.
            box: A part of the result that has boxes of operands.

        Returns:
            Pixels above, below, left and right of the box of operand 0; None for ops without a window.
        """
        return None

    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        """Returns how a node computes the same from operands whose axes are in another order.

        Args:
            node: The node.
            order: The operands with as many axes as this are `transpose(x, order)`, and the new node reads each `x`.
                Those with fewer axes stay; of elementwise ops they get axes of one element in front first.

        Returns:
            The attributes of the new node, and the order in which its results are transposed to what they are now. None
            if there is no such node; by default, this is the case for ops that are not elementwise.
        """
        return (node.attrs, order) if self.elementwise and len(order) == len(node.output.shape) else None

    def macs(self, node: Node) -> int:
        """Returns the multiply-accumulates of one inference, padding included; 0 for ops without them."""
        return 0

    def macs_in_stripes(self, node: Node, stripes: Sequence[tuple[int, int]]) -> int:
        """Returns `macs` with those that stripes of rows [first, last) of an image compute again; by default none."""
        return self.macs(node)


#: Reads an operator of a TFLite file: returns the nodes that it becomes, in execution order.
Build = Callable[[SourceNode], list[Node]]

_OPS: dict[str, Op] = {}
_COMPOSED: dict[str, Build] = {}
_COMPOSED_BIASES: dict[str, int] = {}
_COMPOSED_TYPES: dict[str, tuple[str, ...]] = {}
_COMPOSED_OF: dict[str, tuple[str, ...]] = {}
_OpType = TypeVar("_OpType", bound=type[Op])


def register(cls: _OpType) -> _OpType:
    """Adds an op class to the registry (class decorator)."""
    if cls.name in _OPS:
        raise ValueError(f"op {cls.name} is registered twice")
    _OPS[cls.name] = cls()
    return cls


def register_family(base: type[Op], rows: Iterable[Mapping[str, object]]) -> None:
    """Adds one op for each row of a family's table.

    Args:
        base: What they share.
        rows: The class attributes of each, `name` and `tflite` among them.
    """
    for row in rows:
        register(type(f"{base.__name__}_{row['name']}", (base,), {"__module__": base.__module__, **row}))


def composes(
    kind: str, bias: int | None = None, types: Sequence[str] = (), computed_by: Sequence[str] = ()
) -> Callable[[Build], Build]:
    """Adds a TFLite operator that is no op of its own, but several nodes of others (function decorator).

    Args:
        kind: Name of the operator.
        bias: Which of its operands is the bias to a product with weights; None where none is.
        types: Its element types in words (`Op.element_types`).
        computed_by: The ops among these that compute; empty for an operator that only moves data.
    """

    def add(build: Build) -> Build:
        if kind in _COMPOSED:
            raise ValueError(f"operator {kind} is registered twice")
        _COMPOSED[kind] = build
        _COMPOSED_TYPES[kind] = tuple(types)
        _COMPOSED_OF[kind] = tuple(computed_by)
        if bias is not None:
            _COMPOSED_BIASES[kind] = bias
        return build

    return add


@cache
def _all() -> dict[str, Op]:
    package = importlib.import_module("aboard.ops")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"aboard.ops.{module.name}")
    return _OPS


def get(name: str) -> Op:
    """Returns an op by name.

    Raises:
        VerifyError: No op has the name.
    """
    ops = _all()
    if name not in ops:
        raise VerifyError(f"op {name}: unknown. {did_you_mean(name, ops)}")
    return ops[name]


def names() -> list[str]:
    """Returns the names of all ops, sorted."""
    return sorted(_all())


def from_tflite(kind: str) -> Build | None:
    """Returns the function that imports a TFLite operator, or None where the operator is not supported."""
    op = next((op for op in _all().values() if kind in op.tflite), None)
    return _COMPOSED.get(kind) if op is None else op.nodes_from_tflite


def tflite_bias(kind: str) -> int | None:
    """Returns which operand of a TFLite operator is the bias to a product with weights; None where none is."""
    weighted = any(kind in op.tflite and op.weights_axis is not None for op in _all().values())
    return 2 if weighted else _COMPOSED_BIASES.get(kind)


def tflite_updates(kind: str) -> tuple[int, ...]:
    """Returns which operands of a TFLite operator are variable tensors that it changes (`Op.tflite_updates`)."""
    return next((op.tflite_updates for op in _all().values() if kind in op.tflite), ())


def of_tflite(kind: str) -> list[Op]:
    """Returns the ops that compute a TFLite operator; none for operators that only move data, or are not supported."""
    own = [op for op in _all().values() if kind in op.tflite]
    return own or [get(name) for name in _COMPOSED_OF.get(kind, ())]


def tflite_types(kind: str) -> tuple[str, ...]:
    """Returns the element types of a TFLite operator in words (`Op.element_types`)."""
    op = next((op for op in _all().values() if kind in op.tflite), None)
    return _COMPOSED_TYPES.get(kind, ()) if op is None else op.element_types()


def tflite_kinds() -> list[str]:
    """Returns the names of all TFLite operators that can be imported, sorted."""
    return sorted([*(kind for op in _all().values() for kind in op.tflite), *_COMPOSED])


def require(condition: bool, node: Node, what: str) -> None:
    """Raises a `VerifyError` that names the node if the condition is false."""
    if not condition:
        raise VerifyError(f"{node.op} {node.name}: {what}")


def rows_of(shape: Sequence[int]) -> int:
    """Returns the number of rows of a tensor: the unit of stripes and traces.

    A row is all pixels of one image line, or one sample of a matrix: for rank 3 and more the product of all dimensions
    but the last two, for rank 2 the first dimension, else 1.
    """
    if len(shape) >= 3:
        return math.prod(shape[:-2])
    return shape[0] if len(shape) == 2 else 1
