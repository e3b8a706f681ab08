"""The NPU in machines that run in this process: registers of the functional model, at their address.

The model is the C of `firmware/emulation/ethos_u`, compiled once in a process for this machine. Its base pointers are
addresses of the emulated machine.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi

from aboard.base import resources
from aboard.base.scratch import Scratch
from aboard.boards.board import Memory
from aboard.compiler import host_runtime
from aboard.emulation import Bus
from aboard.errors import DeviceFault
from aboard.target import Target

#: Instructions of the CPU for which a job goes on, whatever it computes: the model has no timing.
BUSY = 1000
#: Instructions after which a job that never ends is still there.
_ENDLESS = 1 << 32

_FOLDER = ("emulation", "ethos_u")
_DECLARATIONS = """
typedef struct npu npu_t;
npu_t *ethos_u_host_new(uint32_t macs);
void ethos_u_host_free(npu_t *npu);
uint32_t ethos_u_host_read(npu_t *npu, uint32_t offset);
void ethos_u_host_write(npu_t *npu, uint32_t offset, uint32_t value);
void ethos_u_host_forget(npu_t *npu);
bool ethos_u_host_window(npu_t *npu, uint64_t address, void *base, size_t bytes, bool writable);
int ethos_u_host_finish(npu_t *npu);
const char *ethos_u_host_problem(const npu_t *npu);
int64_t ethos_u_host_got(const npu_t *npu);
"""
_SIZE = _PAGE = 0x1000
#: Registers: the start of a stream, and of the regions, two words each.
_STATUS, _CMD, _RESET, _STREAM, _REGIONS, _COUNT = 0x04, 0x08, 0x0C, 0x10, 0x80, 8
_RUNNING, _IRQ = 1 << 0, 1 << 1
#: Results of the model that say nothing about the NPU: it does not know the operation, or has no room for it.
_OF_THE_MODEL = (3, 4)


@functools.cache
def _library() -> tuple[Any, Any]:
    """Returns cffi's interface and the model as a library, compiled in the first call.

    Raises:
        ToolError: There is no C compiler, or it failed.
    """
    root = Path(resources.firmware(), *_FOLDER)
    # The one NPU of an image, with its memory, is not for several machines.
    sources = [path for path in sorted(root.rglob("*.c")) if path.name != "emulated.c"]
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    with Scratch() as folder:
        path = folder / "ethos_u.so"
        host_runtime.compile_library("ethos-u55", sources, path, ("-O2", f"-I{root}"))
        return ffi, ffi.dlopen(str(path))


@dataclass(frozen=True)
class _Copy:
    """A copy of a memory for the model.

    Attributes:
        address: Its address.
        before: What was there before the job.
        after: What is there after the job.
        base: The model's pointer to `after`, which stays valid as long as this object.
    """

    address: int
    before: bytes
    after: bytearray
    base: Any

    def store(self, bus: Bus) -> None:
        """Stores what has changed, and no more: the emulator translates code again that is written."""
        for start in range(0, len(self.after), _PAGE):
            page = self.after[start : start + _PAGE]
            if page != self.before[start : start + _PAGE]:
                bus.write(self.address + start, bytes(page))


class EthosU55:
    """An NPU that reaches all memory of its machine.

    Attributes:
        name: What messages call it.
        base: Address of its first register.
        size: Bytes of its registers.
        macs: Multiply-accumulates in a cycle.
        busy: Instructions of the CPU for which a job goes on; None for a job that never ends.
        problem: Why the last job stopped, in words; None if it did not, or if its stream cannot be read.
    """

    name = "ethos-u55"
    size = _SIZE

    def __init__(self, base: int, macs: int, interrupt: int | None = None) -> None:
        """Makes an NPU.

        Args:
            base: Address of its first register.
            macs: Multiply-accumulates in a cycle.
            interrupt: Number of its interrupt; None if it is not wired.

        Raises:
            ToolError: There is no C compiler, or it failed.
        """
        self.base = base
        self.macs = macs
        self.busy: int | None = BUSY
        self.problem: str | None = None
        self._interrupt = interrupt
        self._ffi, self._library = _library()
        self._npu = self._library.ethos_u_host_new(macs)
        if self._npu == self._ffi.NULL:
            raise MemoryError
        weakref.finalize(self, self._library.ethos_u_host_free, self._npu)
        self._started = 0

    def __eq__(self, other: object) -> bool:
        """True for the same hardware: two models of a project may be compiled for it with different options."""
        return isinstance(other, EthosU55) and self._hardware() == other._hardware()

    def __hash__(self) -> int:
        return hash(self._hardware())

    def _hardware(self) -> tuple[int, int, int | None]:
        return self.base, self.macs, self._interrupt

    def attach(self, bus: Bus) -> None:
        """Takes the bus; see `DeviceModel`."""
        self._bus = bus

    def reset(self) -> None:
        """Puts it into the state after a reset."""
        self._library.ethos_u_host_write(self._npu, _RESET, 0)
        self.problem = None
        self._started += 1

    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register; see `DeviceModel`."""
        self._check(offset, size)
        return int(self._library.ethos_u_host_read(self._npu, offset))

    def write(self, offset: int, size: int, value: int) -> None:
        """Takes a value for a register; see `DeviceModel`."""
        self._check(offset, size)
        was_running = self._status() & _RUNNING
        self._library.ethos_u_host_write(self._npu, offset, value)
        if offset == _CMD and self._status() & _RUNNING and not was_running:
            self._start()
        self._raise_interrupt()

    def _start(self) -> None:
        self._started += 1
        if self.busy is None:
            self._go_on(self._started)
        else:
            self._bus.schedule(self._bus.count + self.busy, functools.partial(self._finish, self._started))

    def _go_on(self, job: int) -> None:
        """Keeps an event to come while a job goes on that never ends: time passes while the core sleeps."""
        if job == self._started and self._status() & _RUNNING:
            self._bus.schedule(self._bus.count + _ENDLESS, functools.partial(self._go_on, job))

    def _finish(self, job: int) -> None:
        """Runs a job, unless it was stopped."""
        if job != self._started or not self._status() & _RUNNING:
            return
        self._library.ethos_u_host_forget(self._npu)
        copies = [self._open(memory) for memory in self._reached()]
        result = self._library.ethos_u_host_finish(self._npu)
        said = self._library.ethos_u_host_problem(self._npu)
        self.problem = self._ffi.string(said).decode() if said else None
        if result in _OF_THE_MODEL:
            raise DeviceFault(
                f"{self.name} at {self.base:#010x}: the functional model cannot compute the stream: {self.problem}, "
                f"got {self._library.ethos_u_host_got(self._npu)}, expected what Vela emits. Run it on the hardware"
            )
        for copy in copies:
            copy.store(self._bus)
        self._raise_interrupt()

    def _reached(self) -> list[Memory]:
        """Returns the memories that registers lead to."""
        registers = [_STREAM, *(_REGIONS + 8 * number for number in range(_COUNT))]
        pointers = [self._word(register) | self._word(register + 4) << 32 for register in registers]
        reached = [any(m.address <= p < m.address + m.size_bytes for p in pointers) for m in self._bus.memories]
        return [memory for memory, is_reached in zip(self._bus.memories, reached, strict=True) if is_reached]

    def _open(self, memory: Memory) -> _Copy:
        """Gives the model a copy of a memory."""
        before = self._bus.read(memory.address, memory.size_bytes)
        after = bytearray(before)
        base = self._ffi.from_buffer(after)
        is_writable = memory.kind != "flash"
        self._library.ethos_u_host_window(self._npu, memory.address, base, memory.size_bytes, is_writable)
        return _Copy(memory.address, before, after, base)

    def _raise_interrupt(self) -> None:
        if self._interrupt is not None:
            self._bus.interrupt(self._interrupt, active=bool(self._status() & _IRQ))

    def _status(self) -> int:
        return self._word(_STATUS)

    def _word(self, offset: int) -> int:
        return int(self._library.ethos_u_host_read(self._npu, offset))

    def _check(self, offset: int, size: int) -> None:
        if size != 4 or offset % 4:
            raise DeviceFault(
                f"{self.name} at {self.base:#010x}: a wrong access to a register, got {size} bytes at offset "
                f"{offset:#x}, expected an aligned word. Correct the driver"
            )


def peripherals(target: Target) -> tuple[EthosU55, ...]:
    """Returns the NPU of a target; none if the address of its registers is not known.

    Args:
        target: The device.

    Raises:
        ToolError: There is no C compiler, or it failed.
    """
    address, irq = (target.attrs.get(name) for name in ("address", "irq"))
    if address is None:
        return ()
    return (EthosU55(int(address), int(target.attrs["macs"]), None if irq is None else int(irq)),)
