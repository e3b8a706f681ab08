"""Generates the files of a project: rendered templates, and the firmware sources for the board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from aboard.base import quoting, resources
from aboard.base.manifest import Manifest
from aboard.base.version import VERSION
from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.boards.zephyr import modules
from aboard.errors import ProjectError
from aboard.project import device_needs, mlperf, power_pin, renode_platform
from aboard.project.capacity import MemoryUse
from aboard.project.device_options import DeviceFiles
from aboard.project.templates import OptionValue, Template
from aboard.rpc import framing
from aboard.rpc.messages import MAJOR, MINOR, Header, Type
from aboard.target import Cpu

_SOURCES = (".c", ".h")
#: Template options, and the server feature (`rpc/messages.h`) that each option enables.
_FEATURES = {"profile": "ABOARD_FEATURE_PROFILE", "trace": "ABOARD_FEATURE_TRACE"}


def port_of(cpu: Cpu) -> str:
    """Returns the name of the folder in `firmware/ports/` for a core."""
    if cpu.is_host_class:
        return "posix"
    return "riscv" if cpu.is_riscv else "cortex_m"


def generate(
    template: Template,
    board: Board,
    models: Sequence[Manifest],
    options: Mapping[str, OptionValue],
    memory: MemoryUse,
    devices: DeviceFiles,
) -> dict[str, str]:
    """Returns the files of a project, without models, build id and `project.json`, by path.

    Args:
        template: The template.
        board: The board.
        models: Manifests of the models.
        options: Values of all options of the template.
        memory: Memory that the models need together.
        devices: What options of the models' devices add.
    """
    firmware = {**_firmware(template, board, options), **devices.files}
    baud = int(options.get("baud", 0)) or (board.rpc.baud if board.rpc else 0)
    context: dict[str, object] = {
        "board": board,
        "board_macros": [*_board_macros(board, template, options, baud), *_device_macros(template, devices)],
        "baud": baud,
        "cpu": cpus.find(board.core().mcpu),
        "definitions": [*_definitions(options), *devices.definitions],
        "constants_bytes": sum(model.weights_bytes for model in models),
        "features": [feature for option, feature in _FEATURES.items() if options.get(option)],
        "generator": f"aboard {VERSION}",
        "include_folders": _include_folders(firmware),
        "memory": memory,
        "mlperf": mlperf.plan(models, options) if mlperf.asked_for(options) else None,
        "models": models,
        "options": options,
        "sources": [
            "src/main.c",
            *(path for path in firmware if path.endswith(".c")),
            *_board_sources(template, board, options),
        ],
        "renode_platform": renode_platform.describe(board, own_drivers=template.drivers == "board"),
        "ready_frame": framing.encode(Header(Type.READY, 0, 0, 0).pack() + bytes((MAJOR, MINOR))).hex(" "),
        "template": template,
        "zephyr_modules": sorted({*modules.needed(board), *devices.needs.zephyr_modules}),
        "zephyr_config": devices.needs.zephyr_config,
        "zephyr_kconfig": devices.needs.zephyr_kconfig,
    }
    rendered = template.render(context, models)
    return {**rendered, ".gitignore": "build/\n", **firmware}


def place_bundles(folder: Path, template: Template, models: Sequence[Manifest]) -> None:
    """Moves the files of models from `models/<name>` to the paths that the template defines.

    Args:
        folder: The project.
        template: The template of the project.
        models: The models of the project.

    Raises:
        ProjectError: Two models have different files for the same path.
    """
    if not template.bundle:
        return
    for model in models:
        bundle = folder / "models" / model.name
        for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
            place = template.place(model.name, path.relative_to(bundle).as_posix())
            if place is None:
                path.unlink()
            elif path != folder / place:
                _move(path, folder / place, f"{template.name}: {model.name}: {place}")
        for inner in sorted((path for path in bundle.rglob("*") if path.is_dir()), reverse=True):
            if not any(inner.iterdir()):
                inner.rmdir()


def _move(path: Path, place: Path, where: str) -> None:
    if place.exists() and place.read_bytes() != path.read_bytes():
        raise ProjectError(
            f"template {where}: two models have different files there, got two contents, expected one. "
            "Compile both with the same version of aboard, or make a project for each"
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    path.replace(place)


def build_header(build_id: str) -> str:
    """Returns the header that defines the build id for the image."""
    return (
        "/* SPDX-License-Identifier: Apache-2.0 */\n"
        "/**\n"
        " * @file aboard_build.h\n"
        " * Hash of the sources as they were generated; the host compares it with project.json.\n"
        " */\n"
        "#ifndef ABOARD_BUILD_H\n"
        "#define ABOARD_BUILD_H\n"
        "\n"
        f"#define ABOARD_BUILD_ID {quoting.c_string(build_id)}\n"
        "\n"
        "#endif\n"
    )


def _firmware(template: Template, board: Board, options: Mapping[str, OptionValue]) -> dict[str, str]:
    """Returns the firmware sources that a template lists, by path in the project."""
    root = resources.firmware()
    names = {
        "port": port_of(cpus.find(board.core().mcpu)),
        "counter": board.counter.driver if board.counter else "",
        "uart": board.uart.driver if board.uart else "",
        "boot": board.boot.driver if board.boot else "",
        "interrupts": board.interrupts.driver if board.interrupts else "",
        "protocol": str(options.get("protocol", "rpc")),
    }
    files: dict[str, str] = {}
    for entry in template.firmware:
        if any(f"{{{part}}}" in entry and not names[part] for part in ("boot", "interrupts")):
            continue
        path = root / entry.format(**names)
        found = [path] if path.is_file() else [p for p in path.rglob("*") if p.suffix in _SOURCES]
        if not found:
            raise ProjectError(
                f"template {template.name}: firmware: no such files, got {entry}, expected a path in {root}. "
                "Correct the template"
            )
        for source in found:
            files[f"firmware/{source.relative_to(root).as_posix()}"] = source.read_text(encoding="utf-8")
    return dict(sorted(files.items()))


def _include_folders(firmware: Mapping[str, str]) -> list[str]:
    """Returns the folders of headers of ports and devices, without the one that replaces headers of the C library."""
    ports = {
        str(PurePosixPath(path).parent)
        for path in firmware
        if path.startswith(("firmware/ports/", "firmware/devices/")) and path[-2:] == ".h"
    }
    return sorted(folder for folder in ports if not folder.endswith("/include"))


def _board_sources(template: Template, board: Board, options: Mapping[str, OptionValue]) -> list[str]:
    """Returns the board sources that the template generates from the board's setup steps and its power pin."""
    found = ["board/setup.c"] if board.setup and template.drivers == "board" else []
    return found + (["board/power_pin.c"] if power_pin.asked_for(options) else [])


def _definitions(options: Mapping[str, OptionValue]) -> list[str]:
    hooks = options.get("profile") or options.get("trace") or options.get("power_pin_layers")
    switches = {"ABOARD_HOOKS": hooks, "ABOARD_TRACE": options.get("trace"), "ABOARD_RUN_OP": options.get("run_op")}
    marks = ["ABOARD_MARKS=1"] if power_pin.asked_for(options) else []
    return [*(f"{name}={int(bool(value))}" for name, value in switches.items()), *marks]


def _board_macros(
    board: Board, template: Template, options: Mapping[str, OptionValue], baud: int
) -> Iterator[tuple[str, str]]:
    """Yields name and value of the macros that drivers read. Values have C suffixes."""
    yield "ABOARD_BOARD_ID", quoting.c_string(board.id)
    if template.drivers == "system":
        return
    if board.uart:
        yield "ABOARD_UART_BASE", f"0x{board.uart.address:08X}u"
        yield "ABOARD_UART_CLOCK_HZ", f"{board.uart.clock_hz}u"
        yield "ABOARD_UART_BAUD", f"{baud}u"
        if board.uart.irq is not None:
            yield "ABOARD_UART_IRQ", f"{board.uart.irq}u"
        yield from _params("ABOARD_UART", board.uart.params)
        yield "ABOARD_RX_RING_BYTES", f"{options['receive_bytes']}u"
    if board.counter:
        yield "ABOARD_COUNTER_HZ", f"{board.counter.hz}u"
        if board.counter.address is not None:
            yield "ABOARD_COUNTER_BASE", f"0x{board.counter.address:08X}u"
        yield from _params("ABOARD_COUNTER", board.counter.params)
    if board.interrupts:
        if board.interrupts.address is not None:
            yield "ABOARD_IRQ_BASE", f"0x{board.interrupts.address:08X}u"
        yield from _params("ABOARD_IRQ", board.interrupts.params)
    if board.setup:
        yield "ABOARD_SETUP", "1"
    if board.core().caches:
        yield "ABOARD_CACHES", "1"


def _device_macros(template: Template, devices: DeviceFiles) -> list[tuple[str, str]]:
    return device_needs.macros(devices.needs.interrupts) if template.drivers == "board" else []


def _params(prefix: str, params: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name, value in params.items():
        yield f"{prefix}_{name.upper()}", f"{value}u" if value < 4096 else f"0x{value:08X}u"
