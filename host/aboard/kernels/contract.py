"""The contract between kernels, scheduler, planner and emitter: what an implementation of an op provides.

An implementation looks at a node and at the views of its operands and results, and returns a `KernelCall`: which C
function is called, with which literal parameters, over which packed constants, with how much scratch, in how many
rows. It does not know where buffers lie: the planner decides that afterwards. It does not print C: the emitter does.

Every kernel function has the same form::

    ABOARD_INLINE void aboard_<op>_<form>(const aboard_<op>_<form>_t *p, <arguments...>, int32_t first, int32_t last)

`p` points at literal parameters, and rows `first` to `last - 1` of the output are computed. Rows are numbered over the
whole tensor (`aboard.ops.rows_of`), batches included. Calls come in ascending order and cover each row once; a kernel
whose `step_rows` equals `rows` is only called for all rows at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Union

from aboard.ir import Array, Node
from aboard.ops import rows_of

if TYPE_CHECKING:
    from aboard.target import Runtime, Target

#: A literal of a C parameter struct: number, nested struct (mapping) or array (sequence).
Literal = Union[int, float, bool, str, Mapping[str, "Literal"], Sequence["Literal"]]  # noqa: UP007 - recursive


@dataclass(frozen=True)
class View:
    """Geometry of a tensor in memory; `firmware/include/aboard/view.h` is the same in C. Strides in bytes.

    Attributes:
        rows: Rows of the tensor, batches included.
        cols: Pixels of a row.
        channels: Elements of a pixel.
        row_stride: From a row to the next.
        pixel_stride: From a pixel to the next; more than `channels * element_bytes` for a slice of a wider tensor.
        buffer_rows: Height of the buffer in rows; fewer than `rows` for a rolling buffer.
        start_row: Row of a rolling buffer that stores row 0, so that the rows of a stripe are contiguous.
        element_bytes: Bytes of an element.
        offset: Bytes from the start of the buffer to element (0, 0, 0).
        stripe_height: Of a result in a cascade, the rows of a stripe (`RowWise`); 0 outside of cascades.
    """

    rows: int
    cols: int
    channels: int
    row_stride: int
    pixel_stride: int
    buffer_rows: int
    element_bytes: int
    offset: int = 0
    start_row: int = 0
    stripe_height: int = 0

    @classmethod
    def whole(cls, shape: Sequence[int], element_bytes: int) -> View:
        """Returns the view of a tensor that is stored whole and without gaps."""
        channels = shape[-1] if shape else 1
        cols = shape[-2] if len(shape) >= 3 else 1
        rows = rows_of(shape)
        pixel = channels * element_bytes
        return cls(rows, cols, channels, cols * pixel, pixel, rows, element_bytes)

    @property
    def contiguous(self) -> bool:
        """True when the tensor is stored whole and without gaps."""
        pixel = self.channels * self.element_bytes
        return self.pixel_stride == pixel and self.row_stride == self.cols * pixel and self.buffer_rows >= self.rows

    @property
    def span(self) -> int:
        """Bytes from the first to one past the last byte, gaps included, without `offset`."""
        pixel = self.channels * self.element_bytes
        return (min(self.buffer_rows, self.rows) - 1) * self.row_stride + (self.cols - 1) * self.pixel_stride + pixel

    def literal(self) -> Mapping[str, Literal]:
        """Returns the fields of the C struct `aboard_view_t`; without `start_row` if that is 0."""
        names = ("rows", "cols", "channels", "row_stride", "pixel_stride", "buffer_rows")
        fields = {name: getattr(self, name) for name in names}
        return {**fields, "start_row": self.start_row} if self.start_row else fields


@dataclass(frozen=True)
class PackedConstant:
    """An array in flash.

    Attributes:
        name: What it holds, as a C identifier part: `weights`, `bias`, `multipliers`.
        values: The array as the kernel reads it, packed; its numpy dtype gives the C type. Printed flat.
        align: Alignment in bytes; at least that of the element.
        form: Of weights, what tables call the way they are stored; where empty, the type of `values` tells.
    """

    name: str
    values: Array
    align: int = 4
    form: str = ""


@dataclass(frozen=True)
class Scratch:
    """A buffer the kernel needs; it lies in the arena.

    Attributes:
        bytes: Size.
        align: Alignment in bytes.
        persistent: True when the content must survive from one call to the next of the same node (a line buffer,
            accumulators); False when it may be overwritten between calls.
    """

    bytes: int
    align: int = 4
    persistent: bool = False


@dataclass(frozen=True)
class InputArg:
    """Argument: base address of operand `index` (a constant operand is emitted unpacked)."""

    index: int
    ctype: str


@dataclass(frozen=True)
class OutputArg:
    """Argument: base address of result `index`."""

    index: int
    ctype: str


@dataclass(frozen=True)
class ConstantArg:
    """Argument: address of a packed constant."""

    constant: PackedConstant


@dataclass(frozen=True)
class ScratchArg:
    """Argument: address of a scratch buffer."""

    scratch: Scratch
    ctype: str


class UnsupportedNodeError(ValueError):
    """A kernel cannot compute a node; the text is the reason, as `Implementation.refuses` returns it."""


Argument = InputArg | OutputArg | ConstantArg | ScratchArg


@dataclass(frozen=True)
class KernelCall:
    """One node, lowered.

    Attributes:
        header: C header of the kernel, relative to `firmware/kernels/`.
        function: C function.
        params_type: C type of the parameter struct.
        params: Its fields, in the order of the struct; literals, printed as designated initialisers.
        arguments: The arguments between the parameters and the row range.
        rows: Output rows in all.
        step_rows: Rows a call must compute at once: 1 where any range will do, `rows` where only all will do.
        code_key: Further text that instances must share to be the same code; normally empty.
        code_parameters: Fields of `params` by which the function calls other shared code. Their values name the variant
            whose code size was measured.
        slow_epilogue: True where the kernel needs the slower of its requantisation epilogues, because no single
            rounding is proven to equal the reference's two for this layer. Predictions have to know it.
    """

    header: str
    function: str
    params_type: str
    params: Mapping[str, Literal]
    arguments: tuple[Argument, ...]
    rows: int
    step_rows: int = 1
    code_key: str = field(default="")
    code_parameters: tuple[str, ...] = ()
    slow_epilogue: bool = False

    @property
    def function_key(self) -> str:
        """Text that calls have in common which one instance could serve, its parameters read at run time."""
        kinds = ",".join(_kind(argument) for argument in self.arguments)
        return f"{self.header}|{self.function}|{kinds}|{self.code_key}"

    @property
    def constants(self) -> list[PackedConstant]:
        """The packed constants, in the order of the arguments."""
        return [a.constant for a in self.arguments if isinstance(a, ConstantArg)]

    @property
    def scratch(self) -> list[Scratch]:
        """The scratch buffers, in the order of the arguments."""
        return [a.scratch for a in self.arguments if isinstance(a, ScratchArg)]


def _kind(argument: Argument) -> str:
    return f"const {argument.constant.values.dtype}" if isinstance(argument, ConstantArg) else argument.ctype


@dataclass(frozen=True)
class ExternalCall:
    """One node that a device computes, by a function in a source file of its own.

    Attributes:
        function: C function: `aboard_status_t function(arguments...)`.
        source: Text of the file that defines it.
        arguments: Its parameters.
        rows: Rows of its first result; all are computed at once.
        device: The device.
        folder: Folder of the device's runtime sources in the bundle.
        runtime: Runtime sources that this call needs beside those that all of the device's calls share.
    """

    function: str
    source: str
    arguments: tuple[Argument, ...]
    rows: int
    device: Target
    folder: str
    runtime: Runtime | None = None
    slow_epilogue: ClassVar[bool] = False

    @property
    def constants(self) -> list[PackedConstant]:
        """The packed constants, in the order of the arguments."""
        return [a.constant for a in self.arguments if isinstance(a, ConstantArg)]

    @property
    def scratch(self) -> list[Scratch]:
        """The scratch buffers, in the order of the arguments."""
        return [a.scratch for a in self.arguments if isinstance(a, ScratchArg)]


Call = KernelCall | ExternalCall


@dataclass(frozen=True)
class RowWise:
    """How an implementation computes a node a few rows at a time, operands and result in rolling buffers.

    Attributes:
        rows: Rows that a call should compute; the last may get fewer.
        accumulates: True when rows are those of operand 0, of which every call takes some in; the result is there
            after the last.
        keeps: True when it copies rows of operand 0 and keeps them as long as it needs them: it reads each row once, in
            the first stripe whose window sees it.
    """

    rows: int = 1
    accumulates: bool = False
    keeps: bool = False


class Implementation(ABC):
    """A way to compute an op on a family of cores. One instance serves all nodes; it holds no state.

    Attributes:
        op: Name of the op.
        name: Name of the implementation, unique among those of the op: `portable_s8`.
        keys: Keys of which the target must have at least one: `portable` (every CPU), `arm_dsp`, `arm_mve`, `riscv`.
        specialised: True for a special case of what another implementation for the same cores computes as well: it is
            preferred (`aboard.kernels.select.cost_model.priority`).
        in_place: Pairs (result, operand) that may be the same memory when both views are equal.
        strided: True when operands and results may be slices of wider tensors (`View.contiguous` is False).
        align: Alignment in bytes that operands and results need beyond that of their elements.
        by_rows: True when it can compute one row after another, operands and results in rolling buffers
            (`View.buffer_rows`).
    """

    op: ClassVar[str]
    name: ClassVar[str]
    keys: ClassVar[frozenset[str]] = frozenset({"portable"})
    specialised: ClassVar[bool] = False
    in_place: ClassVar[tuple[tuple[int, int], ...]] = ()
    strided: ClassVar[bool] = False
    align: ClassVar[int] = 1
    by_rows: ClassVar[bool] = False

    def label(self, node: Node) -> str:
        """Returns what tables call this implementation of a node."""
        return self.name

    def refuses(self, node: Node, target: Target) -> str | None:
        """Returns why this node cannot be computed by this implementation, or None when it can."""
        return None

    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Returns the pairs (result, operand) of a node that may be the same memory; `in_place` unless it depends.

        A node whose result takes the memory of an operand is called for all rows at once.
        """
        return self.in_place

    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Returns how operand 0 and result 0 may share memory, where the operand is not needed afterwards.

        Args:
            node: The node.
            inputs: Views of the operands.
            outputs: Views of the results.

        Returns:
            Bytes that the operand must begin after the result, at least, so that nothing is written before it was read
            for the last time (`aboard.kernels.overlap`); None where they must be apart.
        """
        return None

    def row_wise(self, node: Node) -> RowWise | None:
        """Returns how the node can take part in a cascade; None where it has to be computed all at once."""
        return RowWise() if self.by_rows else None

    def growth(self, node: Node, rows: int) -> float:
        """Returns how much more work it is to compute a node in stripes of so many rows than all at once, as a factor.

        Set-ups of the calls are not counted: only rows that stripes leave unused or compute twice count.
        """
        return 1.0

    def formula(self, node: Node) -> float | None:
        """Returns the instructions of a node by a hand-written formula, for a kernel that was not measured yet.

        The cost model uses it until `make bench-costs` has measured the kernel on any core, and marks it as such.
        """
        return None

    @abstractmethod
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> Call:
        """Returns the call that computes the node.

        Args:
            node: The node; accepted by `refuses`.
            inputs: Views of the operands, None where one is absent. A constant operand has the view of the whole
            tensor.
            outputs: Views of the results.
            target: Where the code will run.
        """
