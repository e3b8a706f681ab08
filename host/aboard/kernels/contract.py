"""The contract between kernels, scheduler, planner and emitter: the interface of an implementation of an op.

An implementation receives a node and the views of its operands and results, and returns a `KernelCall`: the C function,
its literal parameters, its packed constants, its scratch, and its rows. It does not know the addresses of buffers,
which the planner chooses later. It does not print C: the emitter does.

Every kernel function has the same form::

    ABOARD_INLINE void aboard_<op>_<form>(const aboard_<op>_<form>_t *p, <arguments...>, int32_t first, int32_t last)

`p` points to literal parameters. The call computes rows `first` to `last - 1` of the output. Rows are numbered over the
whole tensor (`aboard.ops.rows_of`), including batches. Calls come in ascending order and cover each row once; a kernel
whose `step_rows` equals `rows` is only called for all rows at once.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from aboard.ir import Array, Node
from aboard.kernels.view import Literal, View, without_tables
from aboard.ops import get
from aboard.tuning.choice import ChosenPoint

if TYPE_CHECKING:
    from typing_extensions import Self

    from aboard.target import Knob, Runtime, Target

#: Additional instructions to find a row in a rolling buffer (Cortex-M4: 7 to 11 a row in the layers of `wake_jarvis`).
ROLLING_ROW_COST = 8


@dataclass(frozen=True)
class PackedConstant:
    """An array in flash.

    Attributes:
        name: Name of the content, as part of a C identifier: `weights`, `bias`, `multipliers`.
        values: The array as the kernel reads it, packed; its numpy dtype gives the C type. Printed flat.
        align: Alignment in bytes; at least the alignment of the element.
        form: Name of the weights' format in tables; if empty, tables show the type of `values`.
        in_ram: True if the start-up code copies it to RAM.
    """

    name: str
    values: Array
    align: int = 4
    form: str = ""
    in_ram: bool = False


@dataclass(frozen=True)
class Scratch:
    """A buffer of the arena for a kernel.

    Attributes:
        bytes: Size.
        align: Alignment in bytes.
        persistent: True if the content must survive between calls of the same node (a line buffer, accumulators);
            False if it may be overwritten between calls.
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


class _WithArguments:
    arguments: tuple[Argument, ...]

    @property
    def constants(self) -> list[PackedConstant]:
        """The packed constants, in the order of the arguments."""
        return [a.constant for a in self.arguments if isinstance(a, ConstantArg)]

    @property
    def scratch(self) -> list[Scratch]:
        """The scratch buffers, in the order of the arguments."""
        return [a.scratch for a in self.arguments if isinstance(a, ScratchArg)]


@dataclass(frozen=True)
class KernelCall(_WithArguments):
    """One node, lowered.

    Attributes:
        header: C header of the kernel, relative to `firmware/kernels/`.
        function: C function.
        params_type: C type of the parameter struct.
        params: Its fields, in the order of the struct; literals, printed as designated initialisers.
        arguments: The arguments between the parameters and the row range.
        rows: Total number of output rows.
        step_rows: Rows that a call must compute at once: 1 for any range, `rows` for all rows only.
        code_key: Further text that must be equal for instances with equal code; usually empty.
        code_variant: The variant of the function's code that the call uses, as `name=value` words; "" for a function
            with a single variant. The code size of each variant is measured separately.
        slow_epilogue: True if the kernel needs the slower requantisation epilogue, because no single rounding is proven
            to equal the reference's double rounding for this layer. Predictions depend on it.
        loops: Work of the loops by the kernel's own count, in any unit; 0 if it has none. Predictions scale it.
        reads_parameters: True if the parameters are read at run time, so that calls with equal `code_key` share code.
        literal_tables: True if tables of rows must be literals as the other parameters are, so that calls with
            different tables share no code.
    """

    header: str
    function: str
    params_type: str
    params: Mapping[str, Literal]
    arguments: tuple[Argument, ...]
    rows: int
    step_rows: int = 1
    code_key: str = field(default="")
    code_variant: str = ""
    slow_epilogue: bool = False
    loops: int = 0
    reads_parameters: bool = False
    literal_tables: bool = False

    def compared(self, text: str) -> str:
        """Returns C text of the call as it is compared: without names of tables, if these may be arguments."""
        return text if self.literal_tables else without_tables(text)

    @property
    def function_key(self) -> str:
        """Text that is equal for calls that one instance could serve, with parameters read at run time."""
        kinds = ",".join(_kind(argument) for argument in self.arguments)
        return f"{self.header}|{self.function}|{kinds}|{self.code_key}"


def _kind(argument: Argument) -> str:
    return f"const {argument.constant.values.dtype}" if isinstance(argument, ConstantArg) else argument.ctype


@dataclass(frozen=True)
class FunctionCall(_WithArguments):
    """One node that a function in a source file of its own computes.

    Attributes:
        function: C function: `aboard_status_t function(arguments...)`.
        arguments: Arguments of the function.
        rows: Rows of its first result; all are computed at once.
    """

    function: str
    arguments: tuple[Argument, ...]
    rows: int
    slow_epilogue: ClassVar[bool] = False
    loops: ClassVar[int] = 0


@dataclass(frozen=True)
class ExternalCall(FunctionCall):
    """One node that a device computes.

    Attributes:
        source: Text of the file that defines the function.
        device: The device.
        folder: Folder of the device's runtime sources in the bundle.
        runtime: Runtime sources of this call beside the sources that all calls of the device share.
        cycles: Cycles of the device by its own estimate; None without one.
    """

    source: str
    device: Target
    folder: str
    runtime: Runtime | None = None
    cycles: float | None = None


Call = KernelCall | FunctionCall


@dataclass(frozen=True)
class RowWise:
    """The computation of a node a few rows at a time, with operands and result in rolling buffers.

    Attributes:
        rows: Preferred number of rows per call; the last call may compute fewer.
        accumulates: True if rows are those of operand 0, and every call accumulates some of them; the result is
            complete after the last call.
        keeps: True if it copies rows of operand 0 and keeps the copies as long as needed: it reads each row once, in
            the first stripe whose window contains the row.
        overwrites: True if a stripe may overwrite the rows that it reads where they were written together, by a stripe
            as high. Neither they nor the result are slices of wider tensors.
        follows: True if higher stripes are as good. They are as high as those of the writer of operand 0 or of a reader
            if that `overwrites`, or, if rows are accumulated, as those of their writer.
    """

    rows: int = 1
    accumulates: bool = False
    keeps: bool = False
    overwrites: bool = False
    follows: bool = False


class Implementation(ABC):
    """A way to compute an op on a family of cores. One instance serves all nodes; a tuned node has one of its own.

    Attributes:
        op: Name of the op.
        name: Name of the implementation, unique among those of the op: `portable_s8`.
        keys: Instruction sets, one of which the target must have: `portable` (every CPU), `arm_dsp`, `arm_mve`,
            `riscv`.
        specialised: True for a special case of another implementation for the same cores: it is the more specific one
            (`aboard.kernels.select.specific`).
        in_place: Pairs (result, operand) that may share memory if both views are equal.
        strided: True if operands and results may be slices of wider tensors (`View.contiguous` is False).
        align: Alignment in bytes that operands and results need beyond the alignment of their elements.
        by_rows: True if it can compute one row after another, with operands and results in rolling buffers
            (`View.buffer_rows`).
        exact: True if it computes nodes of both roundings (`aboard.ir.Rounding`), False for that of TFLite alone.
        prices_code: True if it chooses among forms of its code by the price of flash.
        tuned: Values of knobs that replace its own choices for one node (`at`), and their origin.
        inference: Time of an inference of the node's model, roughly, which limits what a byte of flash must save
            (`select.price`); infinite if the model is not known.
    """

    op: ClassVar[str]
    name: ClassVar[str]
    keys: ClassVar[frozenset[str]] = frozenset({"portable"})
    specialised: ClassVar[bool] = False
    in_place: ClassVar[tuple[tuple[int, int], ...]] = ()
    strided: ClassVar[bool] = False
    align: ClassVar[int] = 1
    by_rows: ClassVar[bool] = False
    exact: ClassVar[bool] = False
    prices_code: ClassVar[bool] = False
    tuned: ChosenPoint = ChosenPoint()
    inference: float = math.inf

    def alignment(self, node: Node) -> int:
        """Returns the alignment in bytes of offsets in an arena that operands and results of a node need."""
        return self.align

    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        """Returns what `aboard tune` can change in the computation of a node that this implementation accepts.

        The first value of a knob is what the implementation chooses by itself. Every combination of values must give
        the same results.
        """
        return ()

    def at(self, point: ChosenPoint) -> Self:
        """Returns this implementation for one node, with values of its knobs."""
        tuned = copy.copy(self)
        tuned.tuned = point
        return tuned

    def within(self, inference: float) -> Self:
        """Returns this implementation for the nodes of a model whose inference takes so long."""
        if not self.prices_code:
            return self
        known = copy.copy(self)
        known.inference = inference
        return known

    def knob(self, name: str, default: int) -> int:
        """Returns the value of a knob: as tuned, else the implementation's own choice."""
        return int(self.tuned.values.get(name, default))

    def in_less_scratch(self, node: Node) -> Self | None:
        """Returns this implementation of a node at the point with the least scratch, which may take more instructions.

        None if its own choice has the least.
        """
        return None

    def label(self, node: Node) -> str:
        """Returns the name of this implementation of a node in tables."""
        return self.name

    def refuses(self, node: Node, target: Target) -> str | None:
        """Returns why this implementation cannot compute a node, or None if it can."""
        return None

    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Returns the pairs (result, operand) of a node that may share memory; by default `in_place`.

        A node whose result shares the memory of an operand is called for all rows at once.
        """
        return self.in_place

    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Returns how operand 0 and result 0 may share memory if no later node reads the operand.

        Args:
            node: The node.
            inputs: Views of the operands.
            outputs: Views of the results.

        Returns:
            Minimum in-place offset: bytes from the start of the result to the start of the operand, at least, so that
            no byte is written before its last read (`aboard.kernels.overlap`); None if they must not share memory.
        """
        return None

    def overwrites_rows(self, node: Node) -> tuple[int, ...]:
        """Returns the operands whose rows a stripe may overwrite if nothing reads them later, by their index.

        The rows of the result then lie exactly over as many rows of the operand, which are as large: the kernel has
        read each of their bytes before it writes a result there. A stripe has at most the rows of `row_wise`; or, of
        a kernel that `follows`, more. By default those that the node may overwrite as a whole, if it computes one row
        after another.
        """
        pairs = self.runs_in_place(node) if self.by_rows else ()
        same = node.output.shape
        return tuple(operand for result, operand in pairs if result == 0 and node.input(operand).shape == same)

    def row_wise(self, node: Node) -> RowWise | None:
        """Returns how the node is computed in a cascade; None if all rows must be computed at once."""
        return RowWise() if self.by_rows else None

    def growth(self, node: Node, rows: int) -> float:
        """Returns the work of a node in stripes of a number of rows, as a factor of its work in one call.

        Set-ups of calls are not included, only rows that stripes leave unused or compute twice.
        """
        return 1.0

    def rolling_cost(self, node: Node) -> float:
        """Returns the additional instructions of a node, if operand 0 is a window in a rolling buffer.

        Declared, not measured. By default every product finds its row anew.
        """
        products = max(get(node.op).macs(node), node.output.type.elements)
        return ROLLING_ROW_COST * products

    def formula(self, node: Node) -> float | None:
        """Returns the instructions of a node by a hand-written formula, for a kernel without measurements.

        The cost model uses the formula until `make bench-costs` has measured the kernel on any core, and marks it as
        such.
        """
        return None

    @abstractmethod
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> Call:
        """Returns the call that computes the node.

        Args:
            node: The node; accepted by `refuses`.
            inputs: Views of the operands, None for an absent one. A constant operand has the view of the whole tensor.
            outputs: Views of the results.
            target: The target of the code.
        """
