"""Makes nodes of the intermediate representation for one node of an ONNX file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.errors import ModelError, VerifyError
from aboard.ir import Array, Attributes, DType, Quantization, Tensor, TensorType
from aboard.ops import get
from aboard.ops.chain import Chain
from aboard.ops.registry import SourceNode
from aboard.ops.strided_slice import AxisSlice

#: Element types of the intermediate representation by the names of numpy.
DTYPES = {dtype.value: dtype for dtype in DType if dtype is not DType.FLOAT16}

#: What a message calls them.
TYPES = ", ".join(sorted(DTYPES))


def constant_tensor(value: Tensor | Array, label: str) -> Tensor:
    """Returns a value of the file as a tensor; an array becomes a constant.

    Raises:
        ModelError: No kernel computes the element type.
    """
    if isinstance(value, Tensor):
        return value
    if value.dtype.kind in "OSU":
        return _text(value)
    dtype = DTYPES.get(value.dtype.name)
    if dtype is None:
        raise ModelError(
            f"{label}: element type of a constant, got {value.dtype.name}, expected one of {TYPES}. Export the model "
            "in float32 or quantised"
        )
    return Tensor("constant", TensorType(value.shape, dtype), np.asarray(value, dtype.numpy))


def _text(value: Array) -> Tensor:
    """Returns text as numbers: the place of each in `Tensor.text`."""
    words = tuple(each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in value.flat)
    places = np.arange(len(words), dtype=np.int64).reshape(value.shape)
    return Tensor("constant", TensorType(value.shape, DType.INT64), places, text=words)


class Builder(Chain):
    """A chain of nodes with any operators: every step returns the tensor that it computes.

    Tensors get their names from the reader. Types are those that the operators infer.

    Attributes:
        weights: By identity, tensors that are constants behind a `dequantize`: the constant that the `dequantize`
            reads, or None for what nodes behind it moved.
        distributions: By identity, tensors whose last axis has sums of 1 of elements that are not negative.
        notes: What the user should know, as sentences.
    """

    def __init__(
        self,
        source: SourceNode,
        weights: dict[int, Tensor | None] | None = None,
        distributions: dict[int, Tensor] | None = None,
    ) -> None:
        """Begins without nodes.

        Args:
            source: The node of the file.
            weights: What `weights` has been for other nodes; this adds to it.
            distributions: What `distributions` has been for other nodes; likewise.
        """
        super().__init__(source)
        self._file_node = source
        self.notes: list[str] = []
        self.weights = {} if weights is None else weights
        self.distributions = {} if distributions is None else distributions

    def is_weights(self, tensor: Tensor) -> bool:
        """True for a constant, and for one behind a `dequantize`."""
        return tensor.data is not None or id(tensor) in self.weights

    def op(
        self,
        name: str,
        inputs: Sequence[Tensor | None],
        attrs: Attributes | None = None,
        dtype: DType | None = None,
        quant: Quantization | None = None,
    ) -> Tensor:
        """Adds a node with one result.

        Args:
            name: Of the operator in `aboard.ops`.
            inputs: Operands; None for an absent one.
            attrs: Attributes; None for their defaults.
            dtype: Element type of the result; None for that of the first operand.
            quant: Quantisation of the result.

        Raises:
            ModelError: The operator does not take these operands; the message is its own.
        """
        return self.multiple(name, inputs, attrs, [(dtype or self._first(inputs).dtype, quant)])[0]

    def multiple(
        self,
        name: str,
        inputs: Sequence[Tensor | None],
        attrs: Attributes | None,
        results: Sequence[tuple[DType, Quantization | None]],
    ) -> list[Tensor]:
        """Adds a node with several results, given as pairs of element type and quantisation; otherwise as `op`."""
        op = get(name)
        label = self._file_node.outputs[0].name
        tensors = [Tensor(label, TensorType((), dtype, quant)) for dtype, quant in results]
        node = self._file_node.node(name, inputs, attrs or op.attributes(), tensors)
        try:
            for tensor, inferred in zip(tensors, op.infer(node), strict=True):
                tensor.type = inferred
            op.verify(node)
        except VerifyError as error:
            text = str(error).removeprefix(f"{node.op} {node.name}: ")
            raise self._file_node.unsupported(text) from error
        self.nodes.append(node)
        return tensors

    @override
    def reshape(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        if tensor.data is None or tensor.type.quant is not None:
            return self._kept(tensor, super().reshape(tensor, shape))
        return self.constant(tensor.data.reshape(tuple(shape)), tensor.dtype)

    @override
    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        if tensor.data is None or tensor.type.quant is not None:
            return self._kept(tensor, super().transpose(tensor, order))
        return self.constant(np.ascontiguousarray(tensor.data.transpose(order)), tensor.dtype)

    @override
    def take(self, tensor: Tensor, slices: Sequence[AxisSlice]) -> Tensor:
        """As the chain's; a slice without elements is a constant, as there is nothing to compute."""
        if any(part.count == 0 for part in slices):
            return self.array(np.zeros([part.count for part in slices]), tensor.dtype)
        if tensor.data is None or tensor.type.quant is not None:
            return super().take(tensor, slices)
        return self.constant(tensor.data[np.ix_(*(part.indices for part in slices))], tensor.dtype)

    def value(self, value: Tensor | Array) -> Tensor:
        """Returns a value of the file as a tensor; an array becomes a constant.

        Raises:
            ModelError: No kernel computes the element type.
        """
        return constant_tensor(value, self._file_node.where)

    def scalar(self, value: float, dtype: DType = DType.FLOAT32) -> Tensor:
        """Returns a constant without axes."""
        return self.constant(np.array(value), dtype)

    def array(self, values: npt.ArrayLike, dtype: DType = DType.FLOAT32) -> Tensor:
        """Returns a constant."""
        return self.constant(np.asarray(values), dtype)

    def cast(self, tensor: Tensor, dtype: DType) -> Tensor:
        """Converts the elements to another type."""
        return tensor if tensor.dtype is dtype else self.op("cast", [tensor], dtype=dtype)

    def _kept(self, before: Tensor, after: Tensor) -> Tensor:
        """Notes that a tensor is weights if the one before was."""
        if id(before) in self.weights:
            self.weights.setdefault(id(after), None)
        return after

    def _first(self, inputs: Sequence[Tensor | None]) -> Tensor:
        return next(tensor for tensor in inputs if tensor is not None)
