"""Input and output of a device's code generator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aboard.errors import TargetError
from aboard.ir import Graph
from aboard.kernels.contract import Argument, ConstantArg, InputArg, OutputArg, ScratchArg
from aboard.kernels.view import View
from aboard.ops.subgraph import Matched
from aboard.target.device import MemoryRegion, Runtime
from aboard.target.kind import Value
from aboard.tiling import TilePlan

if TYPE_CHECKING:
    from aboard.target import Target

#: Alignment in bytes of tensors at the border of a region, and the largest alignment of a scratch buffer.
ALIGN = 16


@dataclass(frozen=True)
class ClaimedRegion:
    """A claimed part of the graph.

    Attributes:
        name: C identifier of the region's function, unique in an image.
        graph: The computation. Its inputs and outputs are the tensors at the border; it contains every constant that it
            reads.
        patterns: The matches in execution order.
        inputs: Views of the inputs; all stored whole and without gaps, aligned to 16 bytes.
        outputs: Views of the outputs, stored in the same way.
        tuning: Value of every knob of the device (column `tuning`), chosen or default.
        tiles: For each of `patterns`, its tile plan; None without tiles (column `tiles`).
        memory: The memory regions of the device (column `memory`).
        host: The CPU that calls the function; None if only costs are estimated.
    """

    name: str
    graph: Graph
    patterns: tuple[Matched, ...]
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    tuning: Mapping[str, Value] = field(default_factory=dict)
    tiles: tuple[TilePlan | None, ...] = ()
    memory: tuple[MemoryRegion, ...] = ()
    host: Target | None = None


@dataclass(frozen=True)
class DeviceCode:
    """C code for a region.

    Attributes:
        source: C99 text of a separate file, including its includes. It defines `aboard_status_t NAME(ARGUMENTS...)`
            with the region's name; everything else in it is static. The prototype is included already, with
            `aboard/status.h`, `aboard/config.h`, stdbool, stddef and stdint.
        arguments: The function's parameters: each input and each output at most once, constants as packed for the
            device, scratch in the arena.
        results: Shapes of the results that the function writes, in the order of the region's outputs.
        runtime: Additional files of this region beside the column `runtime`, for libraries of which only called parts
            are bundled. A file of several regions is bundled once.
        cycles: Cycles of the device's own clock that its compiler estimates for the region; None if it states none.
    """

    source: str
    arguments: tuple[Argument, ...]
    results: tuple[tuple[int, ...], ...]
    runtime: Runtime | None = None
    cycles: float | None = None

    def check(self, region: ClaimedRegion, where: str) -> None:
        """Checks that the code fits its region.

        Args:
            region: The input of the code generator.
            where: The device, for error messages.

        Raises:
            TargetError: The code does not fit; this is a bug of the device's package.
        """
        expected = tuple(tensor.shape for tensor in region.graph.outputs)
        if self.results != expected:
            raise TargetError(
                f"{where}: shapes of the results of {region.name}, got {_shapes(self.results)}, expected "
                f"{_shapes(expected)}. This is a bug of the device's package"
            )
        inputs = [a.index for a in self.arguments if isinstance(a, InputArg)]
        outputs = [a.index for a in self.arguments if isinstance(a, OutputArg)]
        if sorted(outputs) != list(range(len(expected))) or not set(inputs) <= set(range(len(region.graph.inputs))):
            raise TargetError(
                f"{where}: arguments of {region.name}, got inputs {inputs} and outputs {outputs}, expected each of "
                f"{len(region.graph.inputs)} inputs at most and each of {len(expected)} outputs exactly once. "
                "This is a bug of the device's package"
            )
        if self.cycles is not None and not 0 < self.cycles < math.inf:
            raise TargetError(
                f"{where}: estimated cycles of {region.name}, got {self.cycles}, expected a finite number above 0. "
                "This is a bug of the device's package, which gives None if it has no estimate"
            )
        for argument in self.arguments:
            _check_buffer(argument, f"{where}: {region.name}")
        if region.name not in self.source:
            raise TargetError(
                f"{where}: source of {region.name} does not define it, expected `aboard_status_t {region.name}(...)`. "
                "This is a bug of the device's package"
            )


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a region on a device, in cycles of the host.

    Attributes:
        compute: Cycles until the result is complete, including set-up, without transfers.
        transfer: Cycles of transfers of operands to the device and of results back.
        ram_bytes: Bytes of RAM beside operands and results.
    """

    compute: float
    transfer: float = 0.0
    ram_bytes: int = 0

    @property
    def total(self) -> float:
        """Total cycles."""
        return self.compute + self.transfer


def _shapes(shapes: Sequence[Sequence[int]]) -> str:
    return ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes) or "none"


def _check_buffer(argument: Argument, where: str) -> None:
    if isinstance(argument, ScratchArg):
        size, align = argument.scratch.bytes, argument.scratch.align
    elif isinstance(argument, ConstantArg):
        size, align = argument.constant.values.size, argument.constant.align
    else:
        return
    if size < 1 or align not in (1, 2, 4, 8, ALIGN):
        raise TargetError(
            f"{where}: a buffer, got {size} elements aligned to {align}, expected at least 1, aligned to a power of "
            f"two up to {ALIGN}. This is a bug of the device's package"
        )
