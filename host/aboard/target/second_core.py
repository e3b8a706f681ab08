"""A second core of the host's board as a device of a composite target: checks which pairs of cores can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aboard import boards
from aboard.boards.board import Board
from aboard.errors import BoardError

if TYPE_CHECKING:
    from aboard.target.target import Target


def refuses_host(device: Target, host: Target) -> str | None:
    """Returns why a core cannot be a device of a host; None if it can.

    With `-runtime=host` any core can be a device, because a claimed region is a plain call. If neither target names a
    board, nothing is known about the pair: the partition can be shown, but `aboard.backends.core` refuses to generate
    code.

    Args:
        device: The core that claims regions.
        host: The core that calls it.
    """
    own, caller = device.hardware, host.hardware
    if own == caller and (own is not None or (host.runtime == "host" and device.cpu == host.cpu)):
        return f"is the host's own core, got {own or device.cpu.name}, expected another one. Name another core"
    if host.runtime == "host" or (own is None and caller is None):
        return None
    if own is None or caller is None:
        unnamed = "the host" if caller is None else "the core"
        return (
            f"{unnamed} names no board, got {host.cpu.name} and {device.cpu.name}, expected two cores of one board. "
            "Write them as in `arm/mps2_an521:cpu0 + arm/mps2_an521:cpu1`"
        )
    try:
        return _of_boards(boards.of_hardware(own), boards.of_hardware(caller)) or _of_code(device, host)
    except BoardError as error:
        return str(error)


def _of_code(device: Target, host: Target) -> str | None:
    """Returns why code for the two cores cannot be linked into one image; None if it can."""
    for core in (device.cpu, host.cpu):
        if not core.is_arm_m:
            return (
                f"there is no start-up code for calls between such cores, got {core.name}, expected a Cortex-M. "
                "Leave the second core out"
            )
    if host.cpu.float_abi == "hard" and device.cpu.float_abi == "soft":
        return (
            f"has no FPU, so its code cannot be linked with the host's, got {device.cpu.name} and {host.cpu.name} with "
            "floats in FPU registers, expected a core with an FPU. Make the core with the FPU the device"
        )
    return None


def _of_boards(device: Board, host: Board) -> str | None:
    if device.id != host.id:
        others = [core.name for core in host.cores if core != host.core()]
        expected = " or ".join(f"{host.id}:{name}" for name in others) or f"none, for {host.id} has one core"
        return f"is a core of another board, got {device.target}, expected {expected}. Name another device"
    core = device.core()
    if not core.start:
        return (
            f"{boards.soc_path_of(device)}: cores.{core.name}: does not say how the core is started, got no key start, "
            "expected what another core writes to let it run. docs/how-to/adding_a_board.md says how to add it"
        )
    reached = [region.name for region in device.memory]
    for what, region in (("code", host.load_memory), ("data", host.data_memory)):
        if region is not None and region.name not in reached:
            return (
                f"{core.name} does not reach the {what} of the host, got {', '.join(reached)}, expected "
                f"{region.name} of {host.target} among them. Choose a core that reaches it"
            )
    return None
