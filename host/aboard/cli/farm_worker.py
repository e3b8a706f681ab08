"""`aboard farm worker`: gives the boards and emulators of this machine to a farm."""

from __future__ import annotations

from pathlib import Path

import click

from aboard import boards
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.device import usb
from aboard.errors import InputError
from aboard.farm import hardware_map as hardware_maps
from aboard.farm import labgrid as labgrids
from aboard.farm import supervisor
from aboard.farm.station import StationSpec


@click.command(
    "worker",
    epilog=example(
        "aboard farm worker tcp://127.0.0.1:8786 --emulators 2",
        "aboard farm worker tls://farm.lan:8786 --host 192.168.1.7 --attach st/nucleo_f446re@066AFF",
        "aboard farm worker tcp://127.0.0.1:8786 --attach all --power-cycle 'uhubctl -a cycle -S {device}'",
    ),
)
@click.argument("address", metavar="ADDRESS")
@click.option(
    "--host",
    metavar="IP",
    help="Address of this machine on which workers listen. Default: loopback, if ADDRESS is.",
)
@click.option(
    "--emulators",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Number of emulators, each of which can be any board that an installed emulator supports.",
)
@click.option(
    "--builds",
    type=click.IntRange(min=0),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of processes that compile models and build projects.",
)
@click.option(
    "--attach",
    "plugged",
    metavar="BOARD@DEVICE",
    multiple=True,
    help="An attached board: its id, and its serial number or port; can be repeated. all: all that are unambiguous.",
)
@click.option(
    "--hardware-map",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Attached boards: the connected ones of a hardware map of Zephyr's twister.",
)
@click.option(
    "--labgrid",
    "places",
    metavar="PLACE",
    multiple=True,
    help="A place of labgrid with a board of this machine, acquired until Ctrl-C; can be repeated. Its tag "
    "aboard_board names the board.",
)
@click.option("--flasher", metavar="NAME", help="Tool that flashes the attached boards. Default: the first installed.")
@click.option(
    "--power-cycle",
    metavar="COMMAND",
    help="Command that switches a board that does not answer off and on; {board}, {device} and {port} are replaced.",
)
@click.option(
    "--quarantine",
    type=click.IntRange(min=1),
    metavar="N",
    default=3,
    show_default=True,
    help="Number of failures in a row after which a board takes no more jobs.",
)
@output_options
@pass_console
def command(
    console: Console,
    address: str,
    host: str | None,
    emulators: int,
    builds: int,
    plugged: tuple[str, ...],
    hardware_map: Path | None,
    places: tuple[str, ...],
    flasher: str | None,
    power_cycle: str | None,
    quarantine: int,
) -> None:
    """Give the boards and emulators of this machine to the farm whose scheduler is at ADDRESS, until Ctrl-C.

    Each board has a worker process of its own, which holds the board as long as it lives. Whoever reaches the scheduler
    can run any code in the workers: see docs/tutorials/farm.md.
    """
    listens = supervisor.host_of(address, host)
    stations = [
        StationSpec("board", board, device, port, flasher, power_cycle, quarantine)
        for board, device, port in [*_plugged(plugged), *(hardware_maps.read(hardware_map) if hardware_map else [])]
    ]
    stations += [StationSpec("emulator")] * emulators + [StationSpec("builds")] * builds
    if not stations and not places:
        raise InputError(
            "farm worker: gives nothing to the farm, got no board, no emulator and no builds. Say --attach "
            "BOARD@DEVICE, --emulators 1 or --builds 1"
        )
    with labgrids.held(places) as found:
        stations += [
            StationSpec("board", place.board, None, place.port, flasher, power_cycle or place.power_cycle, quarantine)
            for place in found
        ]
        supervisor.run(address, listens, stations, console.note)


def _plugged(words: tuple[str, ...]) -> list[tuple[str, str | None, str | None]]:
    """Returns board id, serial number and port of each attached board.

    Raises:
        BoardError: A board is unknown.
    """
    found: list[tuple[str, str | None, str | None]] = []
    for word in words:
        if word == "all":
            single = [device for device in usb.devices() if len(device.boards) == 1]
            found += [(device.boards[0], device.serial_number, next(iter(device.ports), None)) for device in single]
            continue
        board, _, device = word.partition("@")
        is_port = device.startswith("/")
        found.append((boards.load(board).id, None if is_port else device or None, device if is_port else None))
    return found
