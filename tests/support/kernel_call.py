"""Runs kernel calls in this process, on views and row ranges that tests choose."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import cffi
import numpy as np
from hypothesis import strategies as st

from aboard.base import resources
from aboard.emit import c_text
from aboard.emit.instances import argument_names, argument_type
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, ScratchArg
from aboard.kernels.view import View

#: What memory between rows and pixels holds before a run, and must hold after it.
GAP = 0xA5

#: Bytes behind each scratch buffer that must hold `GAP` after a run too.
_GUARD = 64

#: Makes a call of a library, by its number, for rows [first, last).
Run = Callable[[int, Sequence["Placed"], Sequence["Placed"], int, int], None]

_RUN = "int run{}(void **inputs, void **outputs, int32_t first, int32_t last)"
_FLAGS = ("-std=c99", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wundef")


@dataclass(frozen=True)
class Placed:
    """A tensor in memory."""

    view: View
    memory: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, view: View) -> Placed:
        """Returns memory with the values where the view sees them, and gaps elsewhere."""
        placed = cls(view, np.full(view.offset + view.span, GAP, np.uint8))
        placed.pixels()[...] = values.reshape(view.rows, view.cols, view.channels).view(np.uint8)
        return placed

    def pixels(self) -> np.ndarray:
        """Returns the bytes of all elements as a view of the memory: (rows, cols, bytes of a pixel)."""
        view = self.view
        return np.lib.stride_tricks.as_strided(
            self.memory[view.offset :],
            (view.rows, view.cols, view.channels * view.element_bytes),
            (view.row_stride, view.pixel_stride, 1),
        )

    def values(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """Returns the tensor."""
        return np.ascontiguousarray(self.pixels()).view(dtype).reshape(shape)

    def gaps_are_untouched(self) -> bool:
        """True when nothing was written between the pixels."""
        other = Placed(self.view, self.memory.copy())
        other.pixels()[...] = GAP
        return bool((other.memory == GAP).all())


@st.composite
def views(draw: st.DrawFn, shape: Sequence[int], element_bytes: int) -> View:
    """Draws a view of a tensor: stored whole, or a slice of a wider tensor with longer rows."""
    whole = View.whole(shape, element_bytes)
    if draw(st.booleans()):
        return whole
    pixel = whole.pixel_stride + element_bytes * draw(st.integers(0, 3))
    row = pixel * whole.cols + element_bytes * draw(st.integers(0, 3))
    offset = element_bytes * draw(st.integers(0, 3))
    return replace(whole, pixel_stride=pixel, row_stride=row, offset=offset)


@st.composite
def row_ranges(draw: st.DrawFn, rows: int, step_rows: int) -> list[tuple[int, int]]:
    """Draws calls, in ascending order, that cover every row once."""
    if step_rows == rows:
        return [(0, rows)]
    cuts = sorted({0, rows, *draw(st.lists(st.integers(0, rows), max_size=3))})
    return list(itertools.pairwise(cuts))


def run(
    call: KernelCall,
    inputs: Sequence[Placed],
    outputs: Sequence[Placed],
    ranges: Sequence[tuple[int, int]],
    before: Callable[[int, int], None] | None = None,
    flags: Sequence[str] = (),
) -> None:
    """Compiles the call and makes it for each range of rows; results are written into the memory of `outputs`.

    Fails where the call writes behind its scratch.

    Args:
        call: The call; its scratch keeps its content between the ranges and holds `GAP` before the first.
        inputs: Operands.
        outputs: Results.
        ranges: Rows of each call.
        before: Called before each range, to put the rows it needs into the memory of the operands.
        flags: More of the compiler's.
    """
    with library([call], flags) as run_call:
        for first, last in ranges:
            if before is not None:
                before(first, last)
            run_call(0, inputs, outputs, first, last)


@contextmanager
def library(calls: Sequence[KernelCall], flags: Sequence[str] = ()) -> Iterator[Run]:
    """Compiles calls as one file, which takes little longer than one of them, and gives what makes them."""
    with tempfile.TemporaryDirectory() as folder:
        source, shared = Path(folder) / "calls.c", Path(folder) / "calls.so"
        headers = sorted({f'#include "{call.header}"\n' for call in calls})
        source.write_text("".join(headers) + "".join(_source(call, number) for number, call in enumerate(calls)))
        include = [f"-I{resources.firmware() / 'include'}", f"-I{resources.firmware() / 'kernels'}"]
        subprocess.run(["gcc", *_FLAGS, *flags, *include, str(source), "-o", str(shared)], check=True)
        ffi = cffi.FFI()
        ffi.cdef("".join(f"{_RUN.format(number)};" for number in range(len(calls))))
        loaded = ffi.dlopen(str(shared))

        def run_call(number: int, inputs: Sequence[Placed], outputs: Sequence[Placed], first: int, last: int) -> None:
            addresses = [[ffi.from_buffer(p.memory) + p.view.offset for p in side] for side in (inputs, outputs)]
            arrays = [ffi.new("void *[]", [ffi.cast("void *", a) for a in side]) for side in addresses]
            kept = getattr(loaded, f"run{number}")(*arrays, first, last)
            assert kept, f"{calls[number].function} writes behind its scratch"

        yield run_call


def _source(call: KernelCall, number: int) -> str:
    names = [f"{name}_{number}" for name in argument_names(call)]
    lines = [f"static const {call.params_type} p_{number} = {c_text.initializer(call.params)};"]
    passed, guards = [], []
    for argument, name in zip(call.arguments, names, strict=True):
        if isinstance(argument, ConstantArg):
            lines.append(c_text.array(name, argument.constant.values, argument.constant.align))
            passed.append(name)
        elif isinstance(argument, ScratchArg):
            size = argument.scratch.bytes
            data = np.full(size + _GUARD, GAP, np.uint8)
            behind = f"for (int i = {size}; i < {size + _GUARD}; ++i)"
            guards.append(f"    {behind} {{ kept = kept && {name}[i] == {GAP}; }}")
            lines.append(c_text.array(name, data, max(argument.scratch.align, 4), "static"))
            passed.append(f"({argument.ctype})(void *){name}")
        else:
            assert isinstance(argument, InputArg | OutputArg)
            side = "inputs" if isinstance(argument, InputArg) else "outputs"
            passed.append(f"({argument_type(argument).strip()}){side}[{argument.index}]")
    lines += [
        f"{_RUN.format(number)};",
        f"{_RUN.format(number)} {{",
        "    int kept = 1;",
        f"    {call.function}(&p_{number}, {', '.join(passed)}, first, last);",
        *guards,
        "    return kept;",
        "}",
    ]
    return "\n".join(lines) + "\n"
