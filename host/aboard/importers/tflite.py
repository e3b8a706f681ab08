"""Imports TFLite files: tensors and the order of operators. The ops (`aboard.ops`) read the options of operators.

A file is corrupt if it breaks the format: an index is out of range, a constant has another size than its type,
operators are not in execution order. Any other file that cannot be compiled is unsupported, and the message names the
feature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from typing_extensions import override

from aboard import ops
from aboard.errors import AboardError, ModelError
from aboard.importers import tflite_options, tflite_tensors
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.registry import Importer, register
from aboard.importers.tflite_compiled import compiled_for
from aboard.importers.tflite_file import IDENTIFIER, File, FileOperator, parse
from aboard.ir import Array, Graph, Node, Tensor, TensorType
from aboard.ops import SourceNode
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.verify import check_node, verify


@register
class TFLiteImporter(Importer):
    """Reads TFLite files: one subgraph, static shapes, operators of `aboard.ops`."""

    format = "TFLite"
    suffixes = (".tflite", ".lite")

    @override
    def recognises(self, data: bytes) -> bool:
        """True if the file has the identifier of TFLite."""
        return data[4:8] == IDENTIFIER

    @override
    def read(self, data: bytes, where: str) -> Graph:
        return _Import(parse(data, where), where).graph()


class _Import:
    """One import; it collects all problems of the file before it reports them."""

    def __init__(self, file: File, where: str) -> None:
        self._file = file
        self._where = where
        self._diagnostics = Diagnostics(where, ops.tflite_kinds())
        self._tensors: dict[int, Tensor] = {}
        self._names: Counter[str] = Counter()
        self._biases = tflite_tensors.biases(file)
        self._made_by: dict[int, int] = {}

    def graph(self) -> Graph:
        """Returns the verified graph.

        Raises:
            ModelError: The file has problems; the message lists all.
        """
        compiled = compiled_for(operator.kind for operator in self._file.operators)
        if compiled is not None:
            raise ModelError(f"{self._where}: {compiled}")
        self._made_by = self._producers()
        self._check_order()
        inputs = [self._model_input(number) for number in self._file.inputs]
        nodes = [node for number in range(len(self._file.operators)) if (node := self._node(number)) is not None]
        outputs, copies = self._outputs()
        self._diagnostics.report()
        graph = Graph("model", [t for t in inputs if t], outputs, nodes + copies, self._where)
        try:
            verify(graph)
        except AboardError as error:
            raise ModelError(f"{self._where}: {error}") from error
        return graph

    def _corrupt(self, what: str) -> ModelError:
        return ModelError(f"{self._where}: {what}. The file is corrupt; export or download the model again")

    # Structure: the tensors and operators that numbers in the file refer to.

    def _producers(self) -> dict[int, int]:
        """Returns the operator that computes each tensor.

        Raises:
            ModelError: A number refers to no tensor.
        """
        file, made_by = self._file, dict[int, int]()
        self._check_numbers("the model's inputs", file.inputs)
        self._check_numbers("the model's outputs", file.outputs)
        for number, operator in enumerate(file.operators):
            user = f"node {number} {operator.kind}"
            self._check_numbers(f"operands of {user}", operator.inputs, optional=True)
            self._check_numbers(f"results of {user}", operator.outputs, optional=True)
            for tensor in operator.outputs:
                if tensor >= 0:
                    made_by.setdefault(tensor, number)
        return made_by

    def _check_numbers(self, user: str, numbers: Iterable[int], optional: bool = False) -> None:
        count = len(self._file.tensors)
        for number in numbers:
            if not (-1 if optional else 0) <= number < count:
                raise self._corrupt(f"{user} name tensor {number}, expected 0 to {count - 1}")

    def _check_order(self) -> None:
        """Checks that the model has inputs and outputs, and that every tensor is computed before it is read."""
        file, made_by = self._file, self._made_by
        if not (file.inputs and file.outputs):
            self._diagnostics.add(
                "the model",
                f"inputs and outputs, got {len(file.inputs)} and {len(file.outputs)}, expected at least 1 each. "
                "Export a model that computes its outputs from inputs",
            )
        if len(set(file.inputs)) != len(file.inputs):
            self._diagnostics.add(
                "the model's inputs", f"got tensors {list(file.inputs)}, expected each once. Export the model again"
            )
        known = set(file.inputs)
        for number, operator in enumerate(file.operators):
            user = f"node {number} {operator.kind}"
            late = next((n for n in operator.inputs if n not in known and made_by.get(n, -1) >= number), None)
            if late is not None:
                raise self._corrupt(
                    f"{user} reads {self._label(late)} before node {made_by[late]} computes it: operators are not in "
                    "execution order, or in a cycle"
                )
            known.update(operator.outputs)

    def _label(self, tensor: int) -> str:
        return f"tensor {tensor} ({self._file.tensors[tensor].name[:60]})"

    # Content.

    def _node(self, number: int) -> Node | None:
        """Returns the node for an operator; None for an operator with a problem, which is recorded."""
        operator = self._file.operators[number]
        build = ops.from_tflite(operator.kind)
        if build is None:
            self._note_operator(number, operator)
            return None
        user = f"node {number} {operator.kind}"
        operands = self._operands(operator, user)
        results = self._results(operator, user)
        if operands is None or results is None or not self._table_fits(operator, user):
            return None
        where = f"{self._where}: {user}"
        source = SourceNode(operator.kind, number, where, operands, results, operator.options)
        try:
            node = _built(build, source)
            check_node(node)
        except AboardError as error:
            text = str(error).removeprefix(f"{self._where}: ").removeprefix(f"{user}: ")
            names = [tensor.name for tensor in (*operands, *results) if tensor is not None]
            self._diagnostics.add(user, text, names)
            return None
        return node

    def _note_operator(self, number: int, operator: FileOperator) -> None:
        """Records an unsupported operator. Its results count as computed, so that readers are not reported."""
        self._diagnostics.operator(number, operator.kind)
        for tensor in operator.outputs:
            if tensor >= 0 and tflite_tensors.problem(self._file.tensors[tensor], computed=True, bias=False) is None:
                self._tensor(tensor, operator.kind, computed=True)

    def _operands(self, operator: FileOperator, user: str) -> list[Tensor | None] | None:
        """Returns the operands; None if an operand has a problem, which is recorded."""
        operands = [self._operand(number, user) if number >= 0 else None for number in operator.inputs]
        missing = any(tensor is None and n >= 0 for tensor, n in zip(operands, operator.inputs, strict=True))
        return None if missing else operands

    def _results(self, operator: FileOperator, user: str) -> list[Tensor] | None:
        """Returns the results; None if a result has a problem, which is recorded."""
        if not operator.outputs or min(operator.outputs) < 0:
            self._diagnostics.add(
                user, f"results, got {list(operator.outputs)}, expected tensors. Export the model again"
            )
            return None
        taken = next((n for n in operator.outputs if n in self._tensors), None)
        if taken is not None:
            self._diagnostics.add(
                user,
                f"computes {self._label(taken)}, which has a value already, expected a tensor of its own. "
                "Export the model again",
                [self._label(taken)],
            )
            return None
        constant = next((n for n in operator.outputs if self._file.buffer(self._file.tensors[n].buffer)), None)
        if constant is not None:
            self._diagnostics.add(
                user,
                f"computes {self._label(constant)}, which holds constant values, expected none. Export the model again",
                [self._label(constant)],
            )
            return None
        found = [self._tensor(number, user, computed=True) for number in operator.outputs]
        present = [tensor for tensor in found if tensor is not None]
        return present if len(present) == len(found) else None

    def _table_fits(self, operator: FileOperator, user: str) -> bool:
        """True if the options table in the file belongs to the operator; otherwise one of the two is wrong."""
        expected = tflite_options.expected_table(operator.kind)
        if operator.table in (expected, tflite_options.NONE):
            return True
        self._diagnostics.add(
            user,
            f"options table, got {operator.table}, expected {expected}. The file is corrupt; export or download the "
            "model again",
        )
        return False

    def _model_input(self, number: int) -> Tensor | None:
        tensor = self._file.tensors[number]
        where = f"input {tensor.name}"
        if self._file.buffer(tensor.buffer):
            self._diagnostics.add(where, "holds constant values, expected none. Export the model again", [tensor.name])
        # Converters write 1 for an unknown dimension; only for the batch is 1 the correct value.
        if any(size < 0 for size in tensor.signature[1:]):
            self._diagnostics.add(
                where,
                f"shape, got {list(tensor.signature)} with dynamic dimensions, expected fixed ones. "
                "Export the model with a fixed input shape",
            )
        return self._tensor(number, "the model's inputs", computed=True)

    def _outputs(self) -> tuple[list[Tensor], list[Node]]:
        """Returns the model's outputs and nodes that copy to them.

        A node computes every output, and every output is a separate tensor, because callers get a buffer for each. So a
        repeated output, or an output that is an input or a constant, becomes a copy.
        """
        outputs: list[Tensor] = []
        copies: list[Node] = []
        for number in self._file.outputs:
            computed = number in self._made_by
            tensor = self._tensors.get(number) if computed else self._operand(number, "the model's outputs")
            if tensor is None:
                continue  # Recorded with the operator that computes it, or as an operand without a value.
            if not computed or any(output is tensor for output in outputs):
                copies.append(self._copy(tensor, number))
                tensor = copies[-1].output
            outputs.append(tensor)
        return outputs, copies

    def _copy(self, tensor: Tensor, number: int) -> Node:
        copy = Tensor(self._unique_name(number), tensor.type, None, number)
        return Node("reshape", copy.name, [tensor], [copy], ReshapeAttributes(tensor.shape))

    def _operand(self, number: int, user: str) -> Tensor | None:
        """Returns an operand; None if it has no value, which is recorded."""
        stated = self._file.tensors[number]
        if number in self._tensors or self._file.buffer(stated.buffer) or 0 in stated.shape or stated.variable:
            return self._tensor(number, user)
        if number in self._made_by or number in self._file.inputs:
            return None  # Recorded with the operator that should compute it.
        label = self._label(number)
        reason = tflite_tensors.problem(stated, computed=False, bias=number in self._biases)
        without = f"reads {label}, which is neither an input, nor a constant, nor computed. Export the model again"
        self._diagnostics.add(user, f"{label}: {reason}" if reason else without, [label])
        return None

    def _tensor(self, number: int, user: str, *, computed: bool = False) -> Tensor | None:
        """Returns a tensor of the file; None if its kind is unsupported, which is recorded."""
        if number not in self._tensors:
            stated, bias = self._file.tensors[number], number in self._biases
            reason = tflite_tensors.problem(stated, computed=computed, bias=bias)
            if reason is not None:
                self._diagnostics.add(user, f"{self._label(number)}: {reason}", [self._label(number)])
                return None
            tensor_type = tflite_tensors.tensor_type(stated, bias=bias)
            data = None if computed else self._constant(number, tensor_type)
            self._tensors[number] = Tensor(self._unique_name(number), tensor_type, data, number)
        return self._tensors[number]

    def _unique_name(self, number: int) -> str:
        stated = self._file.tensors[number].name or f"tensor_{number}"
        name = stated
        while name in self._names:
            self._names[stated] += 1
            name = f"{stated}_{self._names[stated]}"
        self._names[name] += 1
        return name

    def _constant(self, number: int, tensor_type: TensorType) -> Array:
        content = self._file.buffer(self._file.tensors[number].buffer)
        if len(content) != tensor_type.bytes:
            raise self._corrupt(
                f"constant {self._label(number)} of type {tensor_type}, got {len(content)} bytes, "
                f"expected {tensor_type.bytes}"
            )
        return tflite_tensors.values(content, tensor_type)


def _built(build: Callable[[SourceNode], Node], source: SourceNode) -> Node:
    """Returns the node of an operator, whose operands must have elements.

    An operand without elements can only be read during import. An op that divides by its extents would divide by 0.

    Raises:
        ModelError: An operand has no elements, or the op refuses the operator.
    """
    try:
        node = build(source)
    except ZeroDivisionError as error:
        _check_extents(tensor for tensor in source.inputs if tensor is not None)
        raise error
    _check_extents(node.operands)
    return node


def _check_extents(operands: Iterable[Tensor]) -> None:
    """Raises a `ModelError` for an operand without elements."""
    empty = next((tensor for tensor in operands if 0 in tensor.shape), None)
    if empty is not None:
        raise ModelError(
            f"operand {empty.name}, got shape {list(empty.shape)}, expected dimensions of at least 1. "
            "Export the model with a fixed input shape"
        )
