"""Runs the image in this process: Unicorn executes the core, `aboard.emulation` models the rest of the board."""

from __future__ import annotations

import atexit
import importlib.util
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.errors import DeviceFault, ToolError, TransportError
from aboard.runners.base import Runner, devices_of, require_image, scaled
from aboard.target import columns
from aboard.target.kind import DEVICE_ATTRIBUTES
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from aboard.emulation import DeviceModel
    from aboard.emulation.machine import Machine
    from aboard.project.project import Project

_MAX_WAIT_S = 3600.0
# Which nodes a device may claim does not change its hardware.
_CLAIMS = frozenset(attribute.name for attribute in DEVICE_ATTRIBUTES)


class _MachineTransport(Transport):
    """The serial line of a machine in this process."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.name = name
        self._machine = machine
        self._closed = False

    @override
    def read(self, timeout_s: float) -> bytes:
        """Waits for bytes; see `Transport.read`. Raises the `DeviceFault` of a device model unchanged."""
        self._check_open()
        data = self._machine.read(min(timeout_s, _MAX_WAIT_S))
        if not data and self._machine.device_fault is not None:
            raise DeviceFault(f"{self.name}: {self._machine.device_fault}") from self._machine.device_fault
        if not data and not self._machine.alive():
            raise TransportError(
                f"{self.name}: the machine runs no more, {self._machine.failure}, expected a reply. Open a new session"
            )
        return data

    @override
    def write(self, data: bytes) -> None:
        self._check_open()
        self._machine.write(data)

    @override
    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(f"{self.name}: the line is closed. Open a new session")


def models(project: Project) -> list[DeviceModel]:
    """Returns one model for each device that the project's ML models use (column `peripherals`).

    Two ML models may be compiled for one device with different options; models that are equal stand for one device.

    Raises:
        TargetError: A device's kind is not installed, or its package is wrong.
    """
    without_claims = {
        (device.kind.name, tuple((k, v) for k, v in device.attrs.items() if k not in _CLAIMS)): device
        for device in devices_of(project)
    }
    found = (columns.call(device, "peripherals") or () for device in without_claims.values())
    different: list[DeviceModel] = []
    for model in (model for several in found for model in several):
        if model not in different:
            different.append(model)
    return different


class UnicornRunner(Runner):
    """Runs images on boards whose core Unicorn has."""

    name: ClassVar[str] = "unicorn"
    order: ClassVar[int] = 20
    has_devices: ClassVar[bool] = True

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._machine: Machine | None = None

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        core = cpus.find(board.core().mcpu)
        if core.known_base == "cortex-m55":
            return f"whose {core.base} Unicorn does not have"
        return None if board.emulator.unicorn else "whose file has no [emulator.unicorn]"

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        if importlib.util.find_spec("unicorn") is not None:
            return None
        return "the package unicorn is not installed. To get it: pip install unicorn"

    @override
    def start(self, project: Project) -> Transport:
        self.stop()
        require_image(project)
        problem = self.missing(self.board)
        if problem:
            raise ToolError(f"runner unicorn: {problem}")
        from aboard import emulation

        self._machine = emulation.machine(self.board, models(project))
        atexit.register(self.stop)
        self._machine.start(project.image)
        return _MachineTransport(self._machine, f"unicorn {self.board.id}")

    @override
    def stop(self) -> None:
        atexit.unregister(self.stop)
        if self._machine:
            self._machine.stop()

    def alive(self) -> bool:
        """True while the machine runs."""
        return self._machine is not None and self._machine.alive()

    @override
    def end_reason(self) -> str:
        if self._machine is None:
            return "it was not started"
        return "" if self._machine.alive() else f"unicorn: {self._machine.failure}"

    def instructions(self, ticks: int, tick_hz: int) -> int | None:
        """Returns the instructions in a number of ticks, exact to one tick."""
        emulator = self.board.emulator.unicorn
        return scaled(ticks, tick_hz, emulator.instructions_per_second) if emulator else None
