"""RISC-V around Unicorn's core: traps in machine mode, CLINT and PLIC, as far as aboard's port uses them."""

from __future__ import annotations

import unicorn
from unicorn import riscv_const as riscv

from aboard.boards.board import Board, Counter
from aboard.emulation.machine import LockupError, Machine
from aboard.emulation.timers import Mtime
from aboard.emulation.uarts import Uart

_MIE, _MPIE, _MPP = 1 << 3, 1 << 7, 3 << 11
_EXTERNAL = 11
_INTERRUPT = 1 << 31
_WORD = 0xFFFFFFFF
_BREAKPOINT = b"\x02\x90", b"\x73\x00\x10\x00"
#: mcause by Unicorn's error; anything else is an illegal instruction.
_CAUSES = {
    unicorn.UC_ERR_FETCH_UNMAPPED: 1,
    unicorn.UC_ERR_READ_UNMAPPED: 5,
    unicorn.UC_ERR_WRITE_UNMAPPED: 7,
}


class Plic:
    """Platform-level interrupt controller: context 0, one source.

    Attributes:
        base: Address of its first register.
        size: Bytes of its registers.
    """

    size = 0x400000

    def __init__(self, base: int, uart: Uart, irq: int) -> None:
        self.base = base
        self._uart = uart
        self._irq = irq
        self.reset()

    def reset(self) -> None:
        """Puts it into the state after a reset."""
        self._enabled: dict[int, int] = {}
        self._claimed = False

    @property
    def requests(self) -> bool:
        """True while it requests the core's external interrupt."""
        enabled = self._enabled.get(self._irq // 32, 0) >> self._irq % 32 & 1
        return bool(enabled) and not self._claimed and self._uart.requests

    def read(self, offset: int, size: int) -> int:
        """Reads the enable and claim registers."""
        del size
        if offset == 0x200004 and self.requests:
            self._claimed = True
            return self._irq
        return self._enabled.get((offset - 0x2000) // 4, 0) if 0x2000 <= offset < 0x2080 else 0

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes the enable and complete registers."""
        del size
        if 0x2000 <= offset < 0x2080:
            self._enabled[(offset - 0x2000) // 4] = value
        elif offset == 0x200004:
            self._claimed = False
        self._uart.changed()


class RiscV(Machine):
    """A board with a RISC-V core of 32 bits."""

    def __init__(self, board: Board, uart: Uart, counter: Counter, instructions_per_second: int) -> None:
        uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        super().__init__(uc, board, uart, instructions_per_second)
        port = board.uart
        self._plic = Plic(port.params["plic"], uart, port.irq or 0) if port and "plic" in port.params else None
        if self._plic:
            self.add(self._plic)
        if counter.driver == "riscv_mtime" and counter.address is not None:
            self.add(Mtime(counter.address, counter.hz, self))
        self._bad_address = 0
        uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._note_address)

    def reset(self) -> int:
        """Puts the core into the state after a reset; returns where execution starts."""
        self.uart.reset()
        self.reset_devices()
        if self._plic:
            self._plic.reset()
        return self.board.load_memory.address if self.board.load_memory else 0

    def service(self, pc: int) -> bool:
        """Takes the external interrupt if it is pending; returns True if execution continues elsewhere than at `pc`."""
        if not self._pending():
            return False
        if not self._csr(riscv.UC_RISCV_REG_MSTATUS) & _MIE:
            self.attention = True
            return False
        self._trap(_INTERRUPT | _EXTERNAL, pc, 0)
        return True

    def wake(self) -> bool:
        """True if an interrupt is pending, even a masked one."""
        return self._pending()

    def resume_address(self) -> int:
        """Returns the address at which execution continues."""
        return self._csr(riscv.UC_RISCV_REG_PC)

    def fault(self, error: unicorn.UcError) -> int:
        """Takes the trap of an exception; returns the address of its handler."""
        pc = self._csr(riscv.UC_RISCV_REG_PC)
        if not self._csr(riscv.UC_RISCV_REG_MTVEC):
            raise LockupError(f"{error} at {pc:#010x}, before there is a trap handler")
        cause = _CAUSES.get(error.errno, 2)
        if cause == 2 and bytes(self.uc.mem_read(pc, 4)).startswith(_BREAKPOINT):
            cause = 3
        self._trap(cause, pc, self._bad_address if cause > 3 else 0)
        return self._csr(riscv.UC_RISCV_REG_MTVEC) & ~3

    def count_instructions(self, code: bytes) -> int:
        """Returns how many instructions a block has: compressed ones do not end in 0b11."""
        count = at = 0
        while at < len(code):
            at += 4 if code[at] & 3 == 3 else 2
            count += 1
        return count

    def _pending(self) -> bool:
        enabled = self._csr(riscv.UC_RISCV_REG_MIE) >> _EXTERNAL & 1
        return bool(enabled) and self._plic is not None and self._plic.requests

    def _trap(self, cause: int, pc: int, value: int) -> None:
        status = self._csr(riscv.UC_RISCV_REG_MSTATUS)
        enabled = _MPIE if status & _MIE else 0
        self.uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, status & ~(_MIE | _MPIE) | _MPP | enabled)
        self.uc.reg_write(riscv.UC_RISCV_REG_MEPC, pc)
        self.uc.reg_write(riscv.UC_RISCV_REG_MCAUSE, cause)
        self.uc.reg_write(riscv.UC_RISCV_REG_MTVAL, value)
        self.attention = True
        self.uc.reg_write(riscv.UC_RISCV_REG_PC, self._csr(riscv.UC_RISCV_REG_MTVEC) & ~3)

    def _csr(self, register: int) -> int:
        return int(self.uc.reg_read(register)) & _WORD

    def _note_address(self, _uc: unicorn.Uc, _access: int, address: int, *_rest: object) -> bool:
        self._bad_address = address
        return False
