"""Runs a compiled model in this process: the same C, as a shared library called through cffi."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import cffi
import numpy as np
import numpy.typing as npt

from aboard.base.manifest import Manifest
from aboard.base.scratch import Scratch
from aboard.device.tensor_io import Inputs, Results, Values, decode, encode, encode_states, single
from aboard.errors import AboardError, TargetError, ToolError
from aboard.project import toolchain
from aboard.rpc.status import words
from aboard.target import Target

__all__ = ["HostModel", "Inputs", "Results"]

_ALIGN = 16
#: Advice for a model whose code returns an error in this process, where its memory and its inputs are right.
REPORT_IT = "This is a bug of aboard or of the package of a device: report it with the model"

Memory = np.ndarray[tuple[int], np.dtype[np.uint8]]


class SourceBundle(Protocol):
    """A compiled model with its C sources: a `Module`."""

    @property
    def name(self) -> str:
        """C identifier of the model."""

    @property
    def target(self) -> Target:
        """The target of the code."""

    @property
    def manifest(self) -> Manifest:
        """Its manifest."""

    def save(self, folder: str | Path) -> Path:
        """Writes the bundle into a folder."""


class HostModel:
    """A model loaded into this process.

    Args:
        module: Compiled with `-runtime=host` for this machine's instruction set.
        cflags: Additional flags for the C compiler, such as sanitizers.

    Raises:
        TargetError: The module is for another runtime or instruction set.
        ToolError: There is no C compiler, or it failed.
    """

    def __init__(self, module: SourceBundle, cflags: Sequence[str] = ()) -> None:
        _check(module.target)
        self.manifest = module.manifest
        with Scratch() as temporary:
            library = build_library(module, temporary, cflags)
            self._ffi = self._declared(cffi.FFI())
            count = len(module.manifest.memory_bytes)
            self._ffi.cdef(f"int {module.name}_run({', '.join(['void *, size_t'] * count)});")
            if self.manifest.input_mode == "rows":
                self._ffi.cdef(f"int {module.name}_begin({', '.join(['void *, size_t'] * count)});")
                self._ffi.cdef(f"int {module.name}_push({', '.join(['void *'] * count)}, const void *row);")
            if self.manifest.state is not None:
                self._ffi.cdef(f"int {module.name}_reset(void *, size_t);")
                if self.manifest.state.rolling:
                    self._ffi.cdef(f"int {module.name}_unroll(void *, size_t);")
            self._library = self._ffi.dlopen(str(library))
        self._kept: list[Memory] = []
        self.reset_state()

    def reset_state(self) -> None:
        """Gives every state its initial value."""
        state = self.manifest.state
        if state is not None:
            self._kept = [_aligned(size) for size in self.manifest.memory_bytes]
            memory = self._kept[state.memory]
            self._call("reset", self._ffi.from_buffer(memory), len(memory))

    def state(self) -> dict[str, Values]:
        """Returns what the runs so far leave for the next one, by name; see `Module.state`."""
        records = self.manifest.states
        self._unroll()
        return decode([self._kept[r.arena][r.offset : r.offset + r.bytes].tobytes() for r in records], records)

    def set_state(self, values: Mapping[str, npt.ArrayLike]) -> None:
        """Replaces the state; see `Module.set_state`."""
        records = self.manifest.states
        given = encode_states(values, records, self.manifest.name)
        self._unroll()
        for record, data in zip(records, given, strict=True):
            self._kept[record.arena][record.offset : record.offset + record.bytes] = np.frombuffer(data, np.uint8)

    def _unroll(self) -> None:
        """Brings the rows of states in rolling buffers into their order, so that the manifest describes them."""
        state = self.manifest.state
        if state is not None and state.rolling:
            memory = self._kept[state.memory]
            self._call("unroll", self._ffi.from_buffer(memory), len(memory))

    def run(self, feed: Inputs) -> Results:
        """Runs the model once; see `Module.run`."""
        return single(self.run_named(feed))

    def _declared(self, ffi: cffi.FFI) -> cffi.FFI:
        """Returns `ffi` with the declarations of a subclass."""
        return ffi

    def _arenas(self) -> tuple[list[int], list[Memory]]:
        """Returns the sizes of the memory that a run takes, and the memory: the same in every run if it keeps state."""
        sizes = list(self.manifest.memory_bytes)
        return sizes, self._kept or [_aligned(size) for size in sizes]

    def run_named(self, feed: Inputs) -> dict[str, Values]:
        """Runs the model once and returns all outputs by tensor name."""
        manifest = self.manifest
        sizes, arenas = self._arenas()
        pairs = [(self._ffi.from_buffer(arena), size) for arena, size in zip(arenas, sizes, strict=True)]
        memory = [argument for pair in pairs for argument in pair]
        inputs = encode(feed, manifest.inputs, manifest.name)
        if manifest.input_mode == "rows":
            self._push(inputs[0], memory)
        else:
            for record, data in zip(manifest.inputs, inputs, strict=True):
                arenas[record.arena][record.offset : record.offset + record.bytes] = np.frombuffer(data, np.uint8)
        self._call("run", *memory)
        outputs = [arenas[r.arena][r.offset : r.offset + r.bytes].tobytes() for r in manifest.outputs]
        return decode(outputs, manifest.outputs)

    def _push(self, data: bytes, memory: Sequence[Any]) -> None:
        """Passes the input row by row."""
        self._call("begin", *memory)
        rows = self.manifest.inputs[0].shape[1]
        size = len(data) // rows
        for row in range(rows):
            self._call("push", *memory[::2], data[row * size : (row + 1) * size])

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, f"{self.manifest.name}_{function}")(*arguments)
        if status != 0:
            raise AboardError(
                f"{self.manifest.name}: {function} failed, got status {status} ({words(status)}), expected 0. "
                f"{REPORT_IT}"
            )


def _check(target: Target) -> None:
    machine = Target("c -runtime=host").cpu.name
    if target.runtime != "host":
        raise TargetError(
            f"{target}: cannot run in this process, got -runtime={target.runtime}, expected -runtime=host. "
            'Compile with target="c -runtime=host", or make a project and run it on its board'
        )
    if not target.cpu.runs_here:
        raise TargetError(
            f"{target}: cannot run in this process, got code for {target.cpu.name}, "
            f"expected {machine} ({platform.machine()}). "
            f"Build the bundle with a cross compiler such as {target.cpu.cross_compiler} and run it there"
        )


def build_library(module: SourceBundle, folder: Path, cflags: Sequence[str] = ()) -> Path:
    """Compiles a bundle to a shared library.

    Args:
        module: The compiled model.
        folder: Folder for the sources and the library.
        cflags: Additional flags for the compiler.

    Returns:
        Path of the library.

    Raises:
        ToolError: There is no C compiler, or it failed.
    """
    bundle = module.save(folder / "bundle")
    library = folder / f"lib{module.name}.so"
    flags = [*module.manifest.cflags, *cflags]
    flags += [f"-I{bundle / folder}" for folder in ("include", *module.manifest.include_folders)]
    compile_library(module.name, [bundle / path for path in module.manifest.sources], library, flags)
    return library


def compile_library(name: str, sources: Sequence[Path], library: Path, flags: Sequence[str] = ()) -> None:
    """Compiles C files to a shared library for this process.

    Args:
        name: What messages call it.
        sources: The files.
        library: Path of the library.
        flags: Additional flags for the compiler.

    Raises:
        ToolError: There is no C compiler, or it failed.
    """
    command = [*_compiler(), "-std=c99", "-shared", "-fPIC", *flags, *map(str, sources), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:300])
        raise ToolError(f"{name}: {command[0]} failed: {first}. This is a bug of aboard unless the compiler is unusual")


def _compiler() -> list[str]:
    named = os.environ.get("CC")
    if named:
        return named.split()
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    return list(toolchain.choose("native").command)


def _aligned(size: int) -> Memory:
    raw = np.empty(size + _ALIGN, np.uint8)
    start = -raw.ctypes.data % _ALIGN
    return raw[start : start + size]
