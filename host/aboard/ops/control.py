"""Control flow: IF computes one of two graphs, WHILE computes a graph as long as another one gives true.

Operands and results are copied into and out of the graphs, as in TensorFlow Lite Micro: element type and number of
elements are equal on both sides, shape and quantisation need not be.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar, cast

from typing_extensions import override

from aboard.errors import ModelError
from aboard.ir import Array, Attributes, DType, Graph, Node, Tensor, TensorType
from aboard.ops.interpreter import run
from aboard.ops.registry import Op, SourceNode, get, register, require
from aboard.ops.verify import verify

#: Largest number of iterations that numpy computes of a loop, with those of the loops inside it.
MOST_ITERATIONS = 10_000


@dataclass
class _Iterations:
    """Iterations of a loop and of those inside it, and how many there may be."""

    most: int
    done: int = 0


_iterations: ContextVar[_Iterations | None] = ContextVar("iterations", default=None)


@dataclass(frozen=True)
class ControlAttributes(Attributes):
    """Base of the attributes of IF and WHILE: graphs that are part of a node. Nodes may have a graph in common."""

    @property
    @abstractmethod
    def bodies(self) -> Mapping[str, Graph]:
        """The graphs by their role."""

    def summary(self) -> str:
        """Returns roles and names of the graphs, for the text of a graph."""
        return ", ".join(f"{role}={graph.name}" for role, graph in self.bodies.items())


@dataclass(frozen=True)
class IfAttributes(ControlAttributes):
    """The branches; each takes the operands behind the condition and gives the results.

    Attributes:
        then: Computed if the condition is true.
        otherwise: Computed if it is false.
    """

    then: Graph
    otherwise: Graph

    @property
    @override
    def bodies(self) -> Mapping[str, Graph]:
        return {"then": self.then, "else": self.otherwise}


@dataclass(frozen=True)
class WhileAttributes(ControlAttributes):
    """The parts of a loop; both take all operands.

    Attributes:
        condition: Gives true if there is another iteration, as one bool, and then new values for the last operands.
        body: Gives the values for the next iteration, and at last the results.
    """

    condition: Graph
    body: Graph

    @property
    @override
    def bodies(self) -> Mapping[str, Graph]:
        return {"condition": self.condition, "body": self.body}

    @property
    def kept(self) -> int:
        """How many operands the condition leaves as they are: all but the last."""
        return len(self.body.inputs) - len(self.condition.outputs) + 1


def bodies(node: Node) -> Mapping[str, Graph]:
    """Returns the graphs of IF or WHILE by their role; empty for any other node."""
    return node.attrs.bodies if isinstance(node.attrs, ControlAttributes) else {}


def graphs(graph: Graph) -> list[Graph]:
    """Returns the graphs inside the nodes of a graph at any depth, each once, behind those that it contains."""
    found: dict[int, Graph] = {}

    def visit(inside: Graph) -> None:
        for node in inside.nodes:
            for body in bodies(node).values():
                if id(body) not in found:
                    visit(body)
                    found[id(body)] = body

    visit(graph)
    return list(found.values())


def name_apart(graph: Graph) -> None:
    """Gives graphs inside nodes names of their own, from which their C functions are named; copies have one name."""
    names = set[str]()
    for body in graphs(graph):
        name, count = body.name, 1
        while body.name in names:
            count += 1
            body.name = f"{name}_{count}"
        names.add(body.name)


class ControlOp(Op):
    """What IF and WHILE share."""

    holds_graphs: ClassVar[bool] = True

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(dtype.value for dtype in DType if dtype is not DType.FLOAT16)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the types of the results; `verify` compares them with those of the graphs."""
        return [tensor.type for tensor in node.outputs]

    def _verify_bodies(self, node: Node) -> None:
        for role, graph in bodies(node).items():
            require(not graph.states, node, f"{role} {graph.name} keeps state, expected none")
            verify(graph, least_inputs=0)


@register
class If(ControlOp):
    """Operand 0 is the condition; the others are the operands of the branches."""

    name = "if"
    attributes = IfAttributes
    tflite = ("IF",)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        then, otherwise = (source.subgraphs[f"{name}SubgraphIndex"] for name in ("Then", "Else"))
        _check_flag(source, source.input(0), "the condition")
        for role, body in (("then", then), ("else", otherwise)):
            _check_border(source, f"operands of the {role} branch", source.inputs[1:], body.inputs)
            _check_border(source, f"results of the {role} branch", source.outputs, body.outputs)
        return source.node(self.name, source.inputs, IfAttributes(then, otherwise))

    @override
    def verify(self, node: Node) -> None:
        attrs = cast(IfAttributes, node.attrs)
        require(bool(node.inputs) and _is_flag(node.inputs[0]), node, "operand 0, expected one bool")
        for body in attrs.bodies.values():
            _require_border(node, "operands", node.inputs[1:], body.inputs)
            _require_border(node, "results", node.outputs, body.outputs)
        self._verify_bodies(node)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        condition, *given = _present(operands)
        attrs = cast(IfAttributes, node.attrs)
        results = _run(attrs.then if condition.reshape(-1)[0] else attrs.otherwise, given)
        return _shaped(results, node.outputs)

    @override
    def macs(self, node: Node) -> int:
        """Returns those of the branch with more."""
        return max(_macs(body) for body in bodies(node).values())


@register
class While(ControlOp):
    """Operand i is the first value of result i."""

    name = "while"
    attributes = WhileAttributes
    tflite = ("WHILE",)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        condition, body = (source.subgraphs[f"{name}SubgraphIndex"] for name in ("Cond", "Body"))
        _check_border(source, "operands of the condition", source.inputs, condition.inputs)
        _check_border(source, "operands of the body", source.inputs, body.inputs)
        _check_border(source, "results of the body", source.outputs, body.outputs)
        _check_border(source, "results", source.inputs, source.outputs)
        _check_flag(source, condition.outputs[0], "the result of the condition")
        return source.node(self.name, source.inputs, WhileAttributes(condition, body))

    @override
    def verify(self, node: Node) -> None:
        attrs = cast(WhileAttributes, node.attrs)
        require(attrs.kept >= 0, node, "results of the condition, expected one bool and at most one for each operand")
        require(_is_flag(attrs.condition.outputs[0]), node, "result of the condition, expected one bool")
        _require_border(node, "results", node.outputs[attrs.kept :], attrs.condition.outputs[1:])
        for body in attrs.bodies.values():
            _require_border(node, "operands", node.inputs, body.inputs)
        _require_border(node, "results", node.outputs, attrs.body.outputs)
        _require_border(node, "results", node.outputs, attrs.body.inputs)
        self._verify_bodies(node)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs, values = cast(WhileAttributes, node.attrs), _present(operands)
        with limited(MOST_ITERATIONS) as iterations:
            while True:
                flag, *changed = _run(attrs.condition, values)
                values[attrs.kept :] = changed
                if not flag.reshape(-1)[0]:
                    break
                iterations.done += 1
                if iterations.done > iterations.most:
                    raise ModelError(
                        f"while {node.name}: is not at its end after {iterations.most} iterations in numpy. It may be "
                        "endless with these inputs; give others"
                    )
                values = _run(attrs.body, values)
        return _shaped(values, node.outputs)

    @override
    def macs(self, node: Node) -> int:
        """Returns those of one iteration: how many there are is known at run time only."""
        return sum(_macs(body) for body in bodies(node).values())


def _macs(graph: Graph) -> int:
    return sum(get(node.op).macs(node) for node in graph.nodes)


@contextmanager
def limited(most: int) -> Iterator[_Iterations]:
    """Limits the iterations of all loops that numpy computes within the context; an outer limit holds alone.

    Args:
        most: The limit. A loop that exceeds it raises a `ModelError`.
    """
    known = _iterations.get()
    if known is not None:
        yield known
        return
    counter = _Iterations(most)
    token = _iterations.set(counter)
    try:
        yield counter
    finally:
        _iterations.reset(token)


def _run(graph: Graph, values: Sequence[Array]) -> list[Array]:
    given = zip(graph.inputs, _shaped(values, graph.inputs), strict=True)
    found = run(graph, {tensor.name: value for tensor, value in given})
    return [found[tensor.name] for tensor in graph.outputs]


def _shaped(values: Iterable[Array], tensors: Sequence[Tensor]) -> list[Array]:
    return [value.reshape(tensor.shape) for value, tensor in zip(values, tensors, strict=True)]


def _present(operands: Sequence[Array | None]) -> list[Array]:
    return [value for value in operands if value is not None]


def _is_flag(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.dtype is DType.BOOL and tensor.type.elements == 1


def _check_flag(source: SourceNode, tensor: Tensor, what: str) -> None:
    if not _is_flag(tensor):
        raise source.unsupported(f"{what}, got {tensor.type}, expected one bool. Export the model again")


def _check_border(source: SourceNode, what: str, outer: Sequence[Tensor | None], inner: Sequence[Tensor]) -> None:
    """Raises unless as many values of the same bytes are on both sides of a border.

    Raises:
        ModelError: They are not.
    """
    if len(outer) != len(inner):
        raise source.unsupported(f"{what}, got {len(outer)}, expected {len(inner)}. Export the model again")
    for index, (one, other) in enumerate(zip(outer, inner, strict=True)):
        if one is None:
            raise source.unsupported(f"{what}: number {index} is missing. Export the model again")
        if not _fits(one, other):
            raise source.unsupported(
                f"{what}: number {index}, got {one.type}, expected the element type and as many elements as "
                f"{other.type}. A value must keep its shape in branches and loops; export the model with fixed shapes"
            )


def _require_border(node: Node, what: str, outer: Sequence[Tensor | None], inner: Sequence[Tensor]) -> None:
    same = len(outer) == len(inner) and all(
        one is not None and _fits(one, other) for one, other in zip(outer, inner, strict=True)
    )
    require(same, node, f"{what} differ from those of a graph inside in number, element type or elements")


def _fits(one: Tensor, other: Tensor) -> bool:
    return one.dtype is other.dtype and one.type.elements == other.type.elements
