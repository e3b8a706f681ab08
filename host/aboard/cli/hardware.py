"""`aboard hardware`: lists boards, SoCs and cores; shows what a board implies; detects attached boards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import click

from aboard import boards
from aboard.base.table import amount, facts, table
from aboard.base.wrapping import paragraph
from aboard.boards import cpu as cpus
from aboard.boards import files as board_files
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.readable_boards import readable
from aboard.cli.schema_boards import (
    DetectResult,
    GpuInfo,
    HardwareBoardInfo,
    HardwareCoreInfo,
    HardwareResult,
    HardwareShowResult,
    MemoryInfo,
    OriginInfo,
    UsbPortInfo,
)
from aboard.errors import BoardError, did_you_mean
from aboard.target import Target, regions
from aboard.target.origins import origins


def _size(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    """Returns a number of bytes: `65536`, `64K`, `64KiB`, `1M`."""
    found = regions.size(value)
    if found is None:
        raise click.BadParameter(f"got {value!r}, expected a number of bytes, as in 65536, 64K or 1M", ctx, parameter)
    return found


def _size_option(name: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(name, callback=_size, default="0", metavar="SIZE", help=f"{what}: 65536, 64K, 1M.")


@dataclass(frozen=True)
class _Filter:
    """The filters of the command; None for no filter."""

    core: str | None
    vendor: str | None
    min_ram: int
    min_flash: int

    @property
    def is_open(self) -> bool:
        return self.core is None and self.vendor is None and not self.min_ram and not self.min_flash

    def passes(self, core: HardwareCoreInfo) -> bool:
        """True if the core passes the filters. A core without a memory limit passes every minimum."""
        if self.core is not None and self.core not in (core.mcpu, cpus.find(core.mcpu).base):
            return False
        enough_ram = core.ram_bytes is None or core.ram_bytes >= self.min_ram
        return enough_ram and (core.flash_bytes is None or core.flash_bytes >= self.min_flash)


@click.group(
    "hardware",
    invoke_without_command=True,
    epilog=example(
        "aboard hardware --core cortex-m4 --min-ram 64K",
        "aboard hardware --vendor nordic",
        "aboard hardware show nordic/nrf5340dk:net",
        "aboard hardware detect",
    ),
)
@click.option("--core", metavar="CORE", help="Only boards with this core, as in -mcpu (`aboard targets`).")
@click.option("--vendor", metavar="VENDOR", help="Only boards of this vendor.")
@_size_option("--min-ram", "Only cores with at least this much RAM")
@_size_option("--min-flash", "Only cores with at least this much flash")
@output_options
@pass_console
@click.pass_context
def command(
    ctx: click.Context, console: Console, core: str | None, vendor: str | None, min_ram: int, min_flash: int
) -> None:
    """List boards with their SoCs and cores, show what a board implies, or detect attached boards."""
    if ctx.invoked_subcommand is not None:
        return
    wanted = _Filter(None if core is None else cpus.find(core).name, vendor, min_ram, min_flash)
    _check_vendor(vendor)
    result = HardwareResult(
        hardware=list(_matching(readable(console), wanted)),
        gpus=[GpuInfo(id=name, name=boards.gpu(name).name) for name in boards.gpus()] if wanted.is_open else [],
    )
    console.emit(result, lambda: _tree(result))


@command.command(
    "show", epilog=example("aboard hardware show st/nucleo_f767zi", 'aboard hardware show "nucleo-l4 -opt=size"')
)
@click.argument("hardware", metavar="X")
@output_options
@pass_console
def show(console: Console, hardware: str) -> None:
    """Show the attributes that the hardware string X implies, and the file that defines each."""
    result = describe(Target(hardware))
    console.emit(result, lambda: _show(result))


@command.command("detect", epilog=example("aboard hardware detect --json"))
@output_options
@pass_console
def detect(console: Console) -> None:
    """Name the attached boards that have a serial port, by their USB ids."""
    from aboard.boards.usb_ids import serial_ports

    ports = [
        UsbPortInfo(
            device=port.device,
            usb_id=port.usb_id,
            serial_number=port.serial_number,
            description=port.description,
            boards=list(port.boards),
        )
        for port in serial_ports()
    ]
    result = DetectResult(ports=ports)
    console.emit(result, lambda: _ports(result))


def describe(target: Target) -> HardwareShowResult:
    """Returns the JSON record of a target with hardware.

    Raises:
        TargetError: It names no hardware.
    """
    attributes = origins(target)
    board = boards.of_hardware(str(target.hardware))
    return HardwareShowResult(
        hardware=board.target,
        target=str(target),
        key=target.key,
        name=board.name,
        soc=board.soc,
        core=_core(board, boards.aliases()),
        attributes=[
            OriginInfo(name=o.name, value=o.value, origin=o.origin, file=None if o.file is None else str(o.file))
            for o in attributes
        ],
        features=sorted(target.cpu.features),
        memory=[
            MemoryInfo(name=region.name, kind=region.kind, address=region.address, size_bytes=region.size_bytes)
            for region in board.memory
        ],
        emulators=list(board.emulators),
        zephyr=board.zephyr,
        usb=list(board.usb),
        board_file=None if board.is_soc else str(boards.path_of(board.id)),
        soc_file=str(boards.soc_path_of(board)),
        sources=[board.soc_source] if board.is_soc else [board.source, board.soc_source],
    )


def _check_vendor(vendor: str | None) -> None:
    vendors = {name.partition("/")[0] for name in boards.names()}
    if vendor is not None and vendor not in vendors:
        raise BoardError(f"--vendor {vendor}: unknown vendor. {did_you_mean(vendor, vendors)}")


def _matching(found: Iterable[boards.Board], wanted: _Filter) -> Iterator[HardwareBoardInfo]:
    other_names = boards.aliases()
    for board in found:
        views = (boards.load(f"{board.id}:{core.name}") for core in board.cores)
        cores = [core for core in (_core(view, other_names) for view in views) if wanted.passes(core)]
        vendor = board.id.partition("/")[0]
        if cores and wanted.vendor in (None, vendor):
            yield HardwareBoardInfo(
                id=board.id,
                vendor=vendor,
                name=board.name,
                soc=board.soc,
                aliases=_aliases_of(board.id, other_names),
                cores=cores,
                gpus=[f"{board.id}:{gpu.name}" for gpu in board.gpus],
            )


def _core(board: boards.Board, other_names: dict[str, str]) -> HardwareCoreInfo:
    core = board.core()
    names = _aliases_of(board.target, other_names) if len(board.cores) > 1 else _aliases_of(board.id, other_names)
    return HardwareCoreInfo(
        hardware=board.target,
        name=core.name,
        mcpu=core.mcpu,
        clock_hz=core.clock_hz,
        flash_bytes=board.flash_bytes,
        ram_bytes=board.ram_bytes,
        aliases=[*names, *(f"{board.id}:{alias}" for alias in core.aliases)],
    )


def _aliases_of(hardware: str, other_names: dict[str, str]) -> list[str]:
    return sorted(alias for alias, meaning in other_names.items() if meaning == hardware)


def _tree(result: HardwareResult) -> str:
    lines = []
    for vendor, members in groupby(result.hardware, key=lambda board: board.vendor):
        lines.append(vendor)
        for board in members:
            also = f"; also {', '.join(board.aliases)}" if board.aliases else ""
            lines.append(paragraph(f"  {board.id}  {board.name}  (SoC {board.soc}{also})", " " * 6))
            lines += [paragraph(f"    {_line(core)}", " " * 8) for core in board.cores]
            lines += [f"    {gpu}  GPU, not supported" for gpu in board.gpus]
    if not result.hardware:
        lines.append("No board passes the filters.")
    cores = sum(len(board.cores) for board in result.hardware)
    lines += ["", f"{len(result.hardware)} boards with {cores} cores"]
    if result.gpus:
        known = ", ".join(f"{gpu.id} ({gpu.name}, GPU)" for gpu in result.gpus)
        lines.append(paragraph(f"Known and not supported: {known}"))
    return "\n".join(lines)


def _line(core: HardwareCoreInfo) -> str:
    is_named = ":" in core.hardware
    parts = [f":{core.name}" if is_named else core.name, core.mcpu]
    if core.clock_hz is not None:
        parts.append(f"{core.clock_hz / 1e6:g} MHz")
    if core.flash_bytes is not None and core.ram_bytes is not None:
        parts.append(f"flash {core.flash_bytes / 1024:,g} KiB, RAM {core.ram_bytes / 1024:,g} KiB")
    also = [alias for alias in core.aliases if is_named]
    return "  ".join(parts) + (f"  (also {', '.join(also)})" if also else "")


def _show(result: HardwareShowResult) -> str:
    core = result.core
    clock = None if core.clock_hz is None else f"{core.clock_hz / 1e6:g} MHz"
    head = facts(
        [
            ("hardware", result.hardware),
            ("name", result.name),
            ("target", result.target),
            ("key", result.key),
            ("SoC", result.soc),
            ("core", f"{core.name}, {core.mcpu}{f' at {clock}' if clock else ''}"),
            ("features", ", ".join(result.features) or "none"),
            ("flash", None if core.flash_bytes is None else amount(core.flash_bytes)),
            ("RAM", None if core.ram_bytes is None else amount(core.ram_bytes)),
            ("aliases", ", ".join(core.aliases) or "none"),
            ("emulators", ", ".join(result.emulators) or "none"),
            ("Zephyr", result.zephyr),
            ("USB", ", ".join(result.usb) or None),
        ]
    )
    rows = [(f"-{a.name}", str(a.value), a.origin, _short(a.file)) for a in result.attributes]
    parts = [head, table(("attribute", "value", "from", "file"), rows)]
    if result.memory:
        regions = [(m.name, m.kind, f"0x{m.address:08x}", m.size_bytes) for m in result.memory]
        parts.append(table(("memory", "kind", "address", "bytes"), regions))
    files = [file for file in (result.board_file, result.soc_file) if file is not None]
    lines = zip(files, result.sources, strict=True)
    parts.append("\n".join(f"{file}\n{paragraph(f'  from {source}', ' ' * 7)}" for file, source in lines))
    return "\n\n".join(parts)


def _short(file: str | None) -> str:
    """Returns the path of a board file in its folder of board files; another path stays as it is."""
    if file is None:
        return ""
    within = [folder for folder in board_files.folders() if Path(file).is_relative_to(folder)]
    return Path(file).relative_to(within[0]).as_posix() if within else file


def _ports(result: DetectResult) -> str:
    if not result.ports:
        return "No USB device with a serial port is attached."
    rows = [
        (port.device, port.usb_id, port.serial_number, ", ".join(port.boards) or "not known", port.description)
        for port in result.ports
    ]
    return table(("port", "USB id", "serial number", "board", "description"), rows)
