"""The graph of a model: tensors, nodes in execution order, inputs, outputs and states.

A `Graph` is a list of nodes in topological order. Tensors are compared by identity and hold no list of their readers;
`Graph.producer` and `Graph.consumers` look them up. Passes change a graph in place and leave it valid
(`aboard.ir.verify`).

Nodes are pure. What a model keeps from one run to the next is a `State`: a pair of tensors, one that nodes read and one
whose value the other has in the next run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from aboard.ir.types import Array, ChannelMap, DType, Quantization, Rounding, TensorType


@dataclass(frozen=True)
class Attributes:
    """Base of the attribute classes that each op defines in `aboard.ops`.

    Attributes:
        rounding: How an integer result is rounded; only ops that compute the node exactly (`Op.is_exact`) take EXACT.
    """

    rounding: Rounding = field(default=Rounding.TFLITE, kw_only=True)


@dataclass(eq=False)
class Tensor:
    """A value that flows along the edges of the graph.

    Attributes:
        name: Unique in the graph; the name in the model file, if it has one.
        type: Shape, element type and quantisation.
        data: The values of a constant, with the shape and dtype of `type`; None for a computed tensor.
        source: Index of the tensor in the model file; None for a tensor that a pass made.
        channel_map: The remaining channels of the model's tensor; None if none were removed.
        order: For each axis, the axis that it is in the model file; None if the axes have the file's order.
        text: What the integers of the tensor stand for: n for the text with index n. Empty for numbers.
        known_content: What `aboard.ir.fingerprint` found for this type and this array.
    """

    name: str
    type: TensorType
    data: Array | None = None
    source: int | None = None
    channel_map: ChannelMap | None = None
    order: tuple[int, ...] | None = None
    text: tuple[str, ...] = ()
    known_content: tuple[TensorType, Array | None, object] | None = field(default=None, init=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, outermost dimension first."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def quant(self) -> Quantization:
        """Quantisation of a quantised tensor.

        Raises:
            ValueError: The tensor is not quantised.
        """
        if self.type.quant is None:
            raise ValueError(f"tensor {self.name} has no quantisation")
        return self.type.quant

    @property
    def is_constant(self) -> bool:
        """True if the values are known at compile time."""
        return self.data is not None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


@dataclass(eq=False)
class Node:
    """One operator.

    Attributes:
        op: Name of the operator in `aboard.ops`, such as `conv2d`.
        name: Unique in the graph; named after the first output in the model file.
        inputs: Operands in the op's order; None for an absent optional operand.
        outputs: Results.
        attrs: Instance of the op's attribute class.
        sources: Numbers of the operators in the model file that this node computes (several after fusion).
    """

    op: str
    name: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    attrs: Attributes = field(default_factory=Attributes)
    sources: tuple[int, ...] = ()

    def input(self, index: int) -> Tensor:
        """Returns an operand that must be present.

        Raises:
            ValueError: The operand is absent.
        """
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise ValueError(f"{self.op} {self.name} has no operand {index}")
        return tensor

    def optional_input(self, index: int) -> Tensor | None:
        """Returns an operand; None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def output(self) -> Tensor:
        """The first result."""
        return self.outputs[0]

    @property
    def operands(self) -> list[Tensor]:
        """The operands that are present."""
        return [tensor for tensor in self.inputs if tensor is not None]

    def __repr__(self) -> str:
        results = ", ".join(f"%{t.name}" for t in self.outputs)
        operands = ", ".join("-" if t is None else f"%{t.name}" for t in self.inputs)
        return f"{results} = {self.op}({operands})"


@dataclass(eq=False)
class State:
    """A value that a model keeps from one run to the next.

    Attributes:
        name: Unique among the states of the graph; from the model file where it has one.
        read: The value at the start of a run.
        write: The value at the start of the next run: computed by a node, or `read` itself for a value that no run
            changes. Shape and element type are those of `read`.
        initial: The value of `read` in the first run after a reset.
    """

    name: str
    read: Tensor
    write: Tensor
    initial: Array

    @property
    def changes(self) -> bool:
        """True when a run computes the value of the next run."""
        return self.write is not self.read


@dataclass(eq=False)
class Graph:
    """A model.

    Attributes:
        name: A C identifier in lower case; prefixes every symbol of the generated code.
        inputs: Tensors that the caller writes, in the order of the model file.
        outputs: Tensors that the caller reads, in the order of the model file.
        nodes: Operators in execution order.
        source: Origin of the model, for error messages: a file name.
        format: Format of the model file: `TFLite`, `ONNX`; empty for a graph that was not read from a file.
        model_hash: SHA-256 of the model file, in hex.
        states: Values that are kept from run to run, in the order in which the model file reads them.
        notes: What the importer assumed and the user should know, as sentences.
        undefined_in_tflm: Why the results of `tflite-micro` for the model file depend on memory that it never wrote, so
            that another interpreter is the reference; empty if they do not.
    """

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    nodes: list[Node]
    source: str = ""
    format: str = ""
    model_hash: str = ""
    states: list[State] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    undefined_in_tflm: str = ""

    @property
    def entries(self) -> list[Tensor]:
        """Tensors that have a value before the first node: the inputs, then the `read` of each state."""
        return [*self.inputs, *(state.read for state in self.states)]

    @property
    def results(self) -> list[Tensor]:
        """Tensors that must have their value after the last node: the outputs, then the `write` of each state."""
        return [*self.outputs, *(state.write for state in self.states)]

    def tensors(self) -> Iterator[Tensor]:
        """Yields every tensor once: entries, then in the order in which nodes mention them."""
        seen: set[int] = set()
        chain: list[Tensor] = list(self.entries)
        for node in self.nodes:
            chain += node.operands + node.outputs
        for tensor in [*chain, *self.results]:
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor

    def producer(self, tensor: Tensor) -> Node | None:
        """Returns the node that computes a tensor; None for entries and constants."""
        return next((node for node in self.nodes if any(t is tensor for t in node.outputs)), None)

    def consumers(self, tensor: Tensor) -> list[Node]:
        """Returns the nodes that read a tensor, in execution order, each once."""
        return [node for node in self.nodes if any(t is tensor for t in node.inputs)]

    def is_output(self, tensor: Tensor) -> bool:
        """True if the caller reads this tensor."""
        return any(t is tensor for t in self.outputs)

    def is_result(self, tensor: Tensor) -> bool:
        """True when the caller or the next run reads this tensor."""
        return any(t is tensor for t in self.results)

    def replace_uses(self, old: Tensor, new: Tensor) -> None:
        """Makes every reader of `old`, graph outputs and the next run included, read `new`."""
        for node in self.nodes:
            node.inputs = [new if t is old else t for t in node.inputs]
        self.outputs = [new if t is old else t for t in self.outputs]
        for state in self.states:
            state.write = new if state.write is old else state.write

    def remove(self, nodes: Sequence[Node]) -> None:
        """Removes nodes whose results no node or caller reads."""
        gone = {id(node) for node in nodes}
        self.nodes = [node for node in self.nodes if id(node) not in gone]
