"""Cortex-M around Unicorn's core: exceptions, SysTick, NVIC and system control, as far as our ports use them.

All exceptions except HardFault have one priority, so none interrupts another. A handler returns to a special address in
place of EXC_RETURN; there the emulator restores the registers.
"""

from __future__ import annotations

import contextlib
import struct
from typing import ClassVar

import unicorn
from unicorn import arm_const as arm

from aboard.boards.board import Board, Boot, Counter
from aboard.emulation import boot as boots
from aboard.emulation.machine import NEVER, LockupError, Machine
from aboard.emulation.timers import Nrf51Timer
from aboard.emulation.uart import Uart

#: Unicorn's models of the cores.
MODELS = {
    "cortex-m0": arm.UC_CPU_ARM_CORTEX_M0,
    "cortex-m0plus": arm.UC_CPU_ARM_CORTEX_M0,
    "cortex-m3": arm.UC_CPU_ARM_CORTEX_M3,
    "cortex-m4": arm.UC_CPU_ARM_CORTEX_M4,
    "cortex-m7": arm.UC_CPU_ARM_CORTEX_M7,
    "cortex-m33": arm.UC_CPU_ARM_CORTEX_M33,
}

_HARD_FAULT, _SYSTICK, _EXTERNAL = 3, 15, 16
_FRAME = (
    arm.UC_ARM_REG_R0,
    arm.UC_ARM_REG_R1,
    arm.UC_ARM_REG_R2,
    arm.UC_ARM_REG_R3,
    arm.UC_ARM_REG_R12,
    arm.UC_ARM_REG_LR,
)
# Return address of handlers: an executable page that no board uses.
_RETURN = 0x9FFFF010  # bit 4 as in EXC_RETURN: the frame has no registers of the FPU
_IT_BITS = 0x0600FC00
_PENDSTSET, _PENDSTCLR = 1 << 26, 1 << 25
_UNDEFINED, _BUS_PRECISE, _BUS_FETCH = 0x10000, 0x8200, 0x100


class SystemControl:
    """SysTick, NVIC and system control block, in the page at 0xE000E000."""

    base = 0xE000E000
    size = 0x1000

    def __init__(self, core: CortexM, hz: int) -> None:
        self._core = core
        self._hz = hz
        self.reset()

    def reset(self) -> None:
        """Puts it into the state after a reset."""
        self.enabled = 0
        self.systick_pending = False
        self.cause = 0
        self.fault_address = 0
        self._stored: dict[int, int] = {}
        self._control = 0
        self._reload = 0
        self._since = 0
        self._wraps = 0
        self.deadline = NEVER

    @property
    def vectors(self) -> int:
        """Address of the vector table, as VTOR says; 0 after a reset."""
        return self._stored.get(0xD08, 0)

    def update(self, count: int) -> None:
        """Records the SysTick periods that have ended."""
        while count >= self.deadline:
            self.systick_pending = bool(self._control & 2) or self.systick_pending
            self._wraps += 1
            self._schedule()
            # A register read may be the first to detect the end of a period.
            self._core.look()

    def read(self, offset: int, size: int) -> int:
        """Returns the value of a register."""
        del size
        self.update(self._core.count)
        if offset == 0x018:
            elapsed = self._core.ticks(self._hz, self._since)
            return -elapsed % (self._reload + 1) if self._control & 1 else 0
        computed = {
            0x010: self._control,
            0x014: self._reload,
            0x100: self.enabled & 0xFFFFFFFF,
            0xD04: _PENDSTSET * self.systick_pending | self._core.active,
            0xD28: self.cause,
            0xD34: self.fault_address,
            0xD38: self.fault_address,
        }
        return computed.get(offset, self._stored.get(offset, 0))

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes a register."""
        del size
        if offset == 0x010:
            self._control = value
            self._restart()
        elif offset == 0x014:
            self._reload = value & 0xFFFFFF
        elif offset == 0x018:
            self._restart()
        elif 0x100 <= offset < 0x140:
            self.enabled |= value << (offset - 0x100) * 8
        elif 0x180 <= offset < 0x1C0:
            self.enabled &= ~(value << (offset - 0x180) * 8)
        elif offset == 0xD04:
            self.systick_pending = self.systick_pending and not value & _PENDSTCLR
        elif offset == 0xD0C and value == 0x05FA0004:
            self._core.restart = True
        else:
            self._stored[offset] = value
        self._core.look()

    def _restart(self) -> None:
        self._since = self._core.count
        self._wraps = 0
        self._schedule()

    def _schedule(self) -> None:
        runs = self._control & 1 and self._reload
        self.deadline = (
            self._core.at_tick((self._wraps + 1) * (self._reload + 1), self._hz, self._since) if runs else NEVER
        )
        self._core.set_deadline()


class CortexM(Machine):
    """A board with a Cortex-M core.

    Attributes:
        active: Number of the exception that is being handled; 0 for none.
        restart: True when the image has asked for a reset.
    """

    has_lines: ClassVar[bool] = True

    def __init__(self, board: Board, uart: Uart, counter: Counter, instructions_per_second: int) -> None:
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(MODELS[board.core().mcpu.partition("+")[0]])
        super().__init__(uc, board, uart, instructions_per_second)
        self.active = 0
        self.restart = False
        self._timer: Nrf51Timer | None = None
        self._timer_irq = counter.params.get("irq", 0)
        if counter.driver == "nrf51_timer" and counter.address is not None:
            self._timer = Nrf51Timer(counter.address, counter.hz, self)
            self.add(self._timer)
        self._system = SystemControl(self, counter.hz)
        self.add(self._system)
        self._uart_irq = board.uart.irq or 0 if board.uart else 0
        self._context = uc.context_save()
        self._return_to = 0
        self._bad_address: int | None = None
        uc.mem_map(_RETURN & ~0xFFF, 0x1000)
        uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._note_address)

    def set_deadline(self) -> None:
        """Sets the deadline to the next instruction count at which a timer or a device is due."""
        timer = self._timer.deadline if self._timer else NEVER
        self.deadline = min(self._system.deadline, timer, self.bus.deadline)

    def reset(self) -> int:
        """Puts the core into the state after a reset; returns where execution starts."""
        for part in (self._system, self.uart, self._timer):
            if part is not None:
                part.reset()
        self.reset_devices()
        self.active = 0
        self.restart = False
        self.set_deadline()
        for register in (arm.UC_ARM_REG_IPSR, arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_CONTROL):
            self.uc.reg_write(register, 0)
        if self.board.boot:
            return self._boot(self.board.boot)
        self.uc.reg_write(arm.UC_ARM_REG_SP, self._vector(0))
        return self._vector(1) | 1

    def _boot(self, boot: Boot) -> int:
        """Runs the steps of the boot ROM; returns where execution starts: in the copied block, or in the image."""
        start = self.board.load_memory.address if self.board.load_memory else 0
        block = bytes(self.uc.mem_read(start, boot.block_bytes))
        try:
            if boot.run_address is None:
                return self._start_image(boots.vectors(boot, block))
            code = boots.code(boot, block)
        except ValueError as error:
            raise LockupError(str(error)) from error
        self.uc.mem_write(boot.run_address, code)
        self.uc.reg_write(arm.UC_ARM_REG_SP, boot.run_address)
        self.uc.reg_write(arm.UC_ARM_REG_LR, 0)
        return boot.run_address | 1

    def _start_image(self, table: int) -> int:
        """Starts an image with a vector table; returns where execution starts."""
        stack, entry = (int.from_bytes(self.uc.mem_read(table + at, 4), "little") for at in (0, 4))
        self.uc.reg_write(arm.UC_ARM_REG_SP, stack)
        return entry | 1

    def service(self, pc: int) -> bool:
        """Enters or leaves an interrupt, or restarts; returns True if execution continues elsewhere than at `pc`."""
        self._update()
        if self.restart:
            self.uc.reg_write(arm.UC_ARM_REG_PC, self.reset())
            return True
        if pc == _RETURN:
            self._leave()
            return True
        number = 0 if self.active else self._pending()
        if number and self._may_interrupt():
            self._enter(number, pc)
            return True
        # The core checks for the end of a handler, and for pending interrupts, before the next block.
        self.attention = bool(number or self.active)
        return False

    def wake(self) -> bool:
        """True if an interrupt is pending, even a masked one."""
        self._update()
        return self._pending() != 0

    def resume_address(self) -> int:
        """Returns the address at which execution continues, with the Thumb bit."""
        return int(self.uc.reg_read(arm.UC_ARM_REG_PC)) | 1

    def fault(self, error: unicorn.UcError) -> int:
        """Takes a hard fault; returns the address of its handler."""
        pc = int(self.uc.reg_read(arm.UC_ARM_REG_PC))
        if self.active == _HARD_FAULT:
            raise LockupError(f"{error} at {pc:#010x}, in the handler of a fault")
        self._system.cause, self._system.fault_address = self._cause(error)
        self._enter(_HARD_FAULT, pc)
        self.attention = True
        return int(self.uc.reg_read(arm.UC_ARM_REG_PC)) | 1

    def count_instructions(self, code: bytes) -> int:
        """Returns how many Thumb instructions a block has: 32-bit ones begin with 0b11101, 0b11110 or 0b11111."""
        count = at = 0
        while at < len(code):
            at += 4 if code[at + 1] >> 3 >= 0b11101 else 2
            count += 1
        return count

    def _update(self) -> None:
        self._system.update(self.count)
        if self._timer:
            self._timer.update(self.count)
        self.set_deadline()

    def _pending(self) -> int:
        if self._system.systick_pending:
            return _SYSTICK
        if self.uart.requests and self._system.enabled >> self._uart_irq & 1:
            return _EXTERNAL + self._uart_irq
        if self._timer and self._timer.requests and self._system.enabled >> self._timer_irq & 1:
            return _EXTERNAL + self._timer_irq
        requested = (number for number in self.bus.lines if self._system.enabled >> number & 1)
        return _EXTERNAL + lowest if (lowest := min(requested, default=-1)) >= 0 else 0

    def _may_interrupt(self) -> bool:
        masked = self.uc.reg_read(arm.UC_ARM_REG_PRIMASK) & 1
        # Inside an IT block, the handler would inherit the block's conditions.
        return not masked and not self.uc.reg_read(arm.UC_ARM_REG_XPSR) & _IT_BITS

    def _enter(self, number: int, pc: int) -> None:
        if number == _SYSTICK:
            self._system.systick_pending = False
        self.uc.context_update(self._context)
        self._return_to = pc
        values = [int(self.uc.reg_read(register)) for register in _FRAME]
        values += [pc, int(self.uc.reg_read(arm.UC_ARM_REG_XPSR))]
        stack = (int(self.uc.reg_read(arm.UC_ARM_REG_SP)) - 4 * len(values)) & ~7
        with contextlib.suppress(unicorn.UcError):  # the stack is outside memory: the fault handler reports that
            self.uc.mem_write(stack, struct.pack(f"<{len(values)}I", *values))
        self.active = number
        self.attention = True
        self.uc.reg_write(arm.UC_ARM_REG_SP, stack)
        self.uc.reg_write(arm.UC_ARM_REG_LR, _RETURN | 1)
        self.uc.reg_write(arm.UC_ARM_REG_IPSR, number)
        self.uc.reg_write(arm.UC_ARM_REG_PC, self._vector(number) | 1)

    def _leave(self) -> None:
        self.uc.context_restore(self._context)
        self.active = 0
        self.attention = True
        self.uc.reg_write(arm.UC_ARM_REG_PC, self._return_to | 1)

    def _vector(self, number: int) -> int:
        base = self._system.vectors or self.board.vectors_address or 0
        return int.from_bytes(self.uc.mem_read(base + 4 * number, 4), "little")

    def _note_address(self, _uc: unicorn.Uc, _access: int, address: int, *_rest: object) -> bool:
        self._bad_address = address
        return False

    def _cause(self, error: unicorn.UcError) -> tuple[int, int]:
        """Returns CFSR and the fault address for an error of Unicorn."""
        address, self._bad_address = self._bad_address, None
        if error.errno == unicorn.UC_ERR_FETCH_UNMAPPED:
            return _BUS_FETCH, 0
        return (_UNDEFINED, 0) if address is None else (_BUS_PRECISE, address)
