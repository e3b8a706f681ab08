"""RISC-V around Unicorn's core: traps in machine mode, as far as aboard's port uses them."""

from __future__ import annotations

import unicorn
from unicorn import riscv_const as riscv

from aboard.boards.board import Board, Counter
from aboard.emulation import boot as boots
from aboard.emulation.interrupts import MODELS, Controller
from aboard.emulation.machine import LockupError, Machine
from aboard.emulation.timers import COUNTERS
from aboard.emulation.uart import Uart

_MIE, _MPIE, _MPP = 1 << 3, 1 << 7, 3 << 11
_INTERRUPT = 1 << 31
_WORD = 0xFFFFFFFF
_TABLE_ALIGNMENT = 0xFF
# Instructions on control registers: the opcode, and CSRRS in `funct3`.
_SYSTEM, _CSRRS = 0x73, 2
_BREAKPOINT = b"\x02\x90", b"\x73\x00\x10\x00"
#: mcause by Unicorn's error; anything else is an illegal instruction.
_CAUSES = {
    unicorn.UC_ERR_FETCH_UNMAPPED: 1,
    unicorn.UC_ERR_READ_UNMAPPED: 5,
    unicorn.UC_ERR_WRITE_UNMAPPED: 7,
}


class RiscV(Machine):
    """A board with a RISC-V core of 32 bits."""

    def __init__(self, board: Board, uart: Uart, counter: Counter, instructions_per_second: int) -> None:
        uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        super().__init__(uc, board, uart, instructions_per_second)
        self._controller = _controller(board, uart)
        for part in self._controller.parts() if self._controller else ():
            self.add(part)
        if counter.driver in COUNTERS and counter.address is not None:
            self.add(COUNTERS[counter.driver](counter.address, counter.hz, self))
        self._bad_address = 0
        uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._note_address)

    def reset(self) -> int:
        """Puts the core into the state after a reset; returns where execution starts."""
        self.uart.reset()
        self.reset_devices()
        if self._controller:
            self._controller.reset()
        start = self.board.load_memory.address if self.board.load_memory else 0
        boot = self.board.boot
        if boot is None:
            return start
        try:
            return boots.entry(boot, bytes(self.uc.mem_read(start, boot.block_bytes)))
        except ValueError as error:
            raise LockupError(str(error)) from error

    def service(self, pc: int) -> bool:
        """Takes the external interrupt if it is pending; returns True if execution continues elsewhere than at `pc`."""
        if not self._pending():
            return False
        if not self._csr(riscv.UC_RISCV_REG_MSTATUS) & _MIE:
            self.attention = True
            return False
        self._trap(_INTERRUPT | self._cause, pc, 0)
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
        # Unicorn has moved on when it finds that a control register is unknown.
        if cause == 2 and self._csr_instruction(pc - 4):
            return pc
        if cause == 2 and bytes(self.uc.mem_read(pc, 4)).startswith(_BREAKPOINT):
            cause = 3
        self._trap(cause, pc, self._bad_address if cause > 3 else 0)
        return self._csr(riscv.UC_RISCV_REG_PC)

    def count_instructions(self, code: bytes) -> int:
        """Returns how many instructions a block has: compressed ones do not end in 0b11."""
        count = at = 0
        while at < len(code):
            at += 4 if code[at] & 3 == 3 else 2
            count += 1
        return count

    def _pending(self) -> bool:
        if self._controller is None or not self._controller.requests:
            return False
        return not self._controller.masks or bool(self._csr(riscv.UC_RISCV_REG_MIE) >> self._cause & 1)

    @property
    def _cause(self) -> int:
        return self._controller.cause if self._controller else 0

    def _csr_instruction(self, pc: int) -> bool:
        """Executes an instruction that reads or sets a control register of the interrupt controller.

        Returns:
            False if it is another instruction.
        """
        word = int.from_bytes(self.uc.mem_read(pc, 4), "little")
        if self._controller is None or word & 0x7F != _SYSTEM or word >> 12 & 7 != _CSRRS:
            return False
        source, target = (riscv.UC_RISCV_REG_X0 + (word >> shift & 31) for shift in (15, 7))
        bits = self._csr(source)
        value = self._controller.csr(word >> 20, bits)
        if value is None:
            return False
        self._controller.set_csr(word >> 20, bits)
        if target != riscv.UC_RISCV_REG_X0:
            self.uc.reg_write(target, value)
        self.look()
        return True

    def _trap(self, cause: int, pc: int, value: int) -> None:
        status = self._csr(riscv.UC_RISCV_REG_MSTATUS)
        enabled = _MPIE if status & _MIE else 0
        self.uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, status & ~(_MIE | _MPIE) | _MPP | enabled)
        self.uc.reg_write(riscv.UC_RISCV_REG_MEPC, pc)
        self.uc.reg_write(riscv.UC_RISCV_REG_MCAUSE, cause)
        self.uc.reg_write(riscv.UC_RISCV_REG_MTVAL, value)
        self.attention = True
        vectored = self._controller is not None and self._controller.vectored
        base = self._csr(riscv.UC_RISCV_REG_MTVEC) & (~_TABLE_ALIGNMENT if vectored else ~3)
        place = 4 * self._cause if vectored and cause & _INTERRUPT else 0
        self.uc.reg_write(riscv.UC_RISCV_REG_PC, base + place)

    def _csr(self, register: int) -> int:
        return int(self.uc.reg_read(register)) & _WORD

    def _note_address(self, _uc: unicorn.Uc, _access: int, address: int, *_rest: object) -> bool:
        self._bad_address = address
        return False


def _controller(board: Board, uart: Uart) -> Controller | None:
    stated, port = board.interrupts, board.uart
    if stated is None or port is None or stated.driver not in MODELS:
        return None
    return MODELS[stated.driver](stated, uart, port.irq or 0)
