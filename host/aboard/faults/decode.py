"""Builds a fault report from a record and an image."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

from elftools.common.exceptions import DWARFError, ELFError

from aboard.base.fault_record import Cause, CodePlace, FaultRecord, FaultReport
from aboard.boards import cpu as cpus
from aboard.faults import arm, process, riscv
from aboard.faults.evidence import Evidence, Stack
from aboard.faults.symbols import Symbols

_BOTTOM = "__stack_bottom"
_NULL_BYTES = 4096
#: A return address points behind the call instruction.
_CALL_BYTES = 2


class RegionLike(Protocol):
    """The properties of a memory region that a report uses."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kind(self) -> str:
        """Kind of memory, such as flash or RAM."""

    @property
    def address(self) -> int:
        """First address."""

    @property
    def end(self) -> int:
        """First address after it."""


def decode(record: FaultRecord, core: str, image: Path, root: Path, regions: Sequence[RegionLike] = ()) -> FaultReport:
    """Returns the report of a record. Fields that cannot be determined stay empty.

    Args:
        record: The record.
        core: The core, as in the target attribute `-mcpu`.
        image: The image that crashed. If it cannot be read, functions and lines stay unknown.
        root: Folder of the project; file names in the report are relative to it.
        regions: The memory regions of the board; none for a process.
    """
    with ExitStack() as opened:
        symbols = None
        # Without an image, the report still holds the fields of the record itself.
        with suppress(OSError, ELFError, DWARFError):
            symbols = opened.enter_context(Symbols(image, root))
        evidence = _read(record, core, symbols)
        return FaultReport(
            record=record,
            registers=evidence.registers,
            cause=evidence.cause,
            address=evidence.address,
            region=_region(evidence, regions),
            places=_find(symbols, evidence.pc),
            callers=tuple(place for caller in evidence.callers for place in _find(symbols, caller - _CALL_BYTES)),
        )


def _read(record: FaultRecord, core: str, symbols: Symbols | None) -> Evidence:
    cpu = cpus.find(core)
    stack = Stack(symbols.value(_BOTTOM) if symbols is not None and record.core == 0 else None)
    if cpu.is_host_class:
        return process.read(record, symbols)
    return riscv.read(record, stack) if cpu.is_riscv else arm.read(record, stack, symbols)


def _find(symbols: Symbols | None, address: int | None) -> tuple[CodePlace, ...]:
    if symbols is None or address is None or address < 0:
        return ()
    try:
        return symbols.find(address)
    except (DWARFError, ELFError, KeyError, AttributeError):
        return ()  # debug information in an unknown format


def _region(evidence: Evidence, regions: Sequence[RegionLike]) -> str:
    address = evidence.address
    if address is None:
        return ""
    if evidence.cause is Cause.STACK_OVERFLOW:
        return "below the stack"
    inside = next((region for region in regions if region.address <= address < region.end), None)
    if inside is not None:
        return f"in {inside.name} ({inside.kind})"
    if address < _NULL_BYTES:
        return "as through a NULL pointer"
    return "where the board's file has no memory" if regions else "where the process has no memory"
