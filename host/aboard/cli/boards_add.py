"""`aboard boards add`: writes the files of a board from a vendor's description."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from aboard import outputs
from aboard.boards import files as board_files
from aboard.boards.board import Memory
from aboard.boards.vendors import description as descriptions
from aboard.boards.vendors import pack as packs
from aboard.boards.vendors import regions, svd
from aboard.boards.vendors.description import Description
from aboard.boards.zephyr import tree_description, workspace
from aboard.cli.console import Console
from aboard.cli.options import example, force_option, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_boards import BoardAddResult
from aboard.errors import BoardError

_FILE = click.Path(path_type=Path)


@click.command(
    "add",
    epilog=example(
        "aboard boards add --zephyr nucleo_wb55rg",
        "aboard boards add acme/sensor --pack Acme.Fast_DFP.1.2.3.pack --device FAST512",
    ),
)
@click.argument("name", metavar="[VENDOR/BOARD]", required=False)
@click.option("--zephyr", metavar="BOARD", help="Read the device tree and Kconfig of BOARD in a Zephyr tree.")
@click.option("--tree", metavar="FOLDER", type=_FILE, help="The Zephyr tree; default: ZEPHYR_BASE or the workspace.")
@click.option("--pack", metavar="FILE", type=_FILE, help="Read a device of a CMSIS-Pack.")
@click.option("--device", metavar="NAME", help="Device of the pack, if the pack has several.")
@click.option("--core", metavar="NAME", help="Core of the device (Pname), if the device has several.")
@click.option("--svd", "svd_file", metavar="FILE", type=_FILE, help="Read core and serial ports of an SVD file.")
@click.option(
    "--memory",
    "given",
    metavar="NAME:KIND:ADDRESS:BYTES",
    multiple=True,
    help="A memory region, in the place of the described one of that name; the first flash is for code, the first RAM "
    "for data. An SVD file alone states none. Can be repeated.",
)
@click.option(
    "-o",
    "--output-dir",
    metavar="FOLDER",
    type=_FILE,
    help="Folder of board files; default: the first of ABOARD_BOARDS, else boards.",
)
@force_option
@output_options
@pass_console
def command(
    console: Console,
    name: str | None,
    zephyr: str | None,
    tree: Path | None,
    pack: Path | None,
    device: str | None,
    core: str | None,
    svd_file: Path | None,
    given: Sequence[str],
    output_dir: Path | None,
    force: bool,
) -> None:
    """Write the files of a board from its vendor's description: memory map, core, clock, flash tools, sources."""
    sources = [each for each in (zephyr, pack) if each is not None]
    if len(sources) > 1 or not (sources or svd_file):
        raise click.UsageError("Name one description: --zephyr BOARD, --pack FILE or --svd FILE.")
    if zephyr is not None:
        found = tree_description.describe(tree or workspace.find(Path.cwd()).base, zephyr)
    elif pack is not None:
        found = packs.describe(pack, device, core)
    else:
        found = _of_svd(svd.read(_known(svd_file)))
    if sources and svd_file is not None:
        found = replace(found, notes=(*found.notes, *_ports(svd.read(svd_file))))
    found = replace(_renamed(found, name), memory=regions.merged(found.memory, given))
    folder = output_dir or _folder()
    written = _write(found, folder, force)
    result = BoardAddResult(board=found.id, files=[str(path) for path in written], source=found.source)
    console.emit(result, lambda: _report(result, folder))


def _write(found: Description, folder: Path, force: bool) -> list[Path]:
    texts = {folder / path: text for path, text in descriptions.texts(found).items()}
    for path in texts:
        path.parent.mkdir(parents=True, exist_ok=True)
    files = {path: outputs.sealed(f"{text}\n# {outputs.SEAL}\n".encode()) for path, text in texts.items()}
    outputs.write_files(files, force=force)
    return list(files)


def _known(path: Path | None) -> Path:
    assert path is not None  # noqa: S101  checked by the caller
    return path


def _of_svd(device: svd.SvdDevice) -> Description:
    if device.mcpu is None:
        raise BoardError(
            f"{device.name}: the SVD file states no Cortex-M core, got no cpu element, expected one. Use --pack or "
            "--zephyr"
        )
    name = descriptions.identifier(device.name)
    memory: tuple[Memory, ...] = ()
    return Description(
        vendor=descriptions.identifier(device.vendor),
        board=name,
        soc=name,
        title=device.name,
        source=f"SVD file of {device.name}, version {device.version}; memories as given",
        mcpu=device.mcpu,
        clock_hz=None,
        memory=memory,
        notes=tuple(_ports(device)),
    )


def _ports(device: svd.SvdDevice) -> list[str]:
    """Returns a comment about each serial port of an SVD file."""
    return [
        f"{port.name} at 0x{port.address:08x}, interrupts {', '.join(map(str, port.irqs)) or 'none'} (SVD file of "
        f"{device.name}, version {device.version})."
        for port in device.serial_ports
    ]


def _renamed(found: Description, name: str | None) -> Description:
    if name is None:
        return found
    vendor, slash, board = name.partition("/")
    if not (slash and vendor and board):
        raise BoardError(f"{name}: no id of a board, expected VENDOR/BOARD. Say acme/{name}")
    return replace(found, vendor=vendor, board=board)


def _folder() -> Path:
    named = [text for text in os.environ.get(board_files.SEARCH_PATH, "").split(os.pathsep) if text]
    return Path(named[0]) if named else Path("boards")


def _report(result: BoardAddResult, folder: Path) -> str:
    lines = [f"Board {result.board}", "", *(f"  {path}" for path in result.files), ""]
    lines.append(f"Next: export {board_files.SEARCH_PATH}={folder.resolve()} && aboard boards show {result.board}")
    return "\n".join(lines)
