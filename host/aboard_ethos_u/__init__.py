"""The device `ethos-u55`: Arm's NPU, through the compiler Vela (`aboard[ethos-u]`).

The package uses aboard as packages from outside do: an entry point, and columns of its kind. Modules of the compile
path are imported when a column is called, so that an installation without it lists targets and makes projects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aboard.errors import TargetError
from aboard.target import Attribute, DeviceOption, Kind, Plugin, ProjectNeeds, Runtime, Target, attach, register
from aboard.target.kind import Value
from aboard_ethos_u import install, sources

if TYPE_CHECKING:
    from aboard.kernels.accelerator import ClaimedRegion, Cost, DeviceCode

NAME = "ethos-u55"

#: External interrupts that a Cortex-M can have.
_INTERRUPTS = 480

_MACS = 128

_ATTRIBUTES = (
    Attribute(
        "macs",
        "Multiply-accumulates in a cycle",
        int,
        default=_MACS,
        allowed=(32, 64, 128, 256),
        identity=True,
    ),
    Attribute(
        "memory",
        "Where Vela expects the weights: `sram_only` for memory as fast as that of the arena, `shared_sram` for flash",
        default="shared_sram",
        allowed=("sram_only", "shared_sram"),
    ),
    Attribute(
        "optimise",
        "What Vela prefers: few cycles, or a small scratch buffer",
        default="performance",
        allowed=("performance", "size"),
    ),
    Attribute("arena-max", "Bytes of scratch of a region that Vela aims at", int, implied="no limit"),
    Attribute(
        "address",
        "Address of its registers",
        int,
        implied="the file of the SoC; else none, and only the functional model runs",
    ),
    Attribute(
        "irq",
        "Number of its interrupt, counted from the first external interrupt",
        int,
        implied="the file of the SoC; needed for -wait=interrupt",
    ),
    Attribute(
        "secure", "Whether it works in the secure state", bool, implied="the file of the SoC; else true", default=True
    ),
    Attribute(
        "wait",
        "How the driver waits for the end of a job: `poll` reads the status, `interrupt` sleeps",
        default="poll",
        allowed=("poll", "interrupt"),
    ),
    Attribute(
        "driver",
        "Whose driver runs the NPU: aboard's `own`, or in Zephyr projects Arm's, which `zephyr` shares",
        default="own",
        allowed=("own", "zephyr"),
    ),
)
#: MACs for which Zephyr's Kconfig has an Ethos-U55.
_ZEPHYR_MACS = (64, 128, 256)


def _complete(attrs: Mapping[str, Value], where: str) -> Mapping[str, Value]:
    if int(attrs.get("arena-max", 1)) < 1:
        raise TargetError(
            f"{where}: -arena-max, got {attrs['arena-max']}, expected at least 1. Leave it out for no limit"
        )
    address = int(attrs.get("address", 0))
    if address % 4096 or not 0 <= address < 1 << 32:
        raise TargetError(
            f"{where}: -address is not a register address, got {address:#x}, expected a multiple of 4096 below 4 GiB. "
            "See the memory map of your chip"
        )
    irq = int(attrs.get("irq", 0))
    if not 0 <= irq < _INTERRUPTS:
        raise TargetError(
            f"{where}: -irq is not the number of an interrupt, got {irq}, expected 0 to {_INTERRUPTS - 1}. Leave it out"
        )
    _complete_driver(attrs, where)
    return attrs


def _complete_driver(attrs: Mapping[str, Value], where: str) -> None:
    by_interrupt, of_zephyr = attrs.get("wait") == "interrupt", attrs.get("driver") == "zephyr"
    if by_interrupt and of_zephyr:
        raise TargetError(
            f"{where}: -wait=interrupt is for the own driver, got -driver=zephyr, which always waits for it. Leave "
            "-wait out"
        )
    if by_interrupt and "irq" not in attrs:
        raise TargetError(
            f"{where}: -wait=interrupt has no interrupt to wait for, expected its number. Give it with -irq=, or leave "
            "-wait out"
        )
    macs = int(attrs.get("macs", _MACS))
    if of_zephyr and macs not in _ZEPHYR_MACS:
        raise TargetError(
            f"{where}: -driver=zephyr has no driver for these MACs, got {macs}, expected one of: "
            f"{', '.join(map(str, _ZEPHYR_MACS))}. Leave -driver out"
        )


def _refuses_host(device: Target, host: Target) -> str | None:
    if device.attrs["driver"] == "zephyr" and host.attrs.get("runtime") == "host":
        return (
            f"{NAME}: -driver=zephyr is for projects of the template zephyr, got -runtime=host, a process without "
            "Zephyr. Leave -driver out"
        )
    if device.attrs["wait"] == "interrupt" and host.attrs.get("runtime") != "host" and not host.cpu.is_arm_m:
        return (
            f"{NAME}: -wait=interrupt is for hosts with Arm's interrupt controller, got {host.cpu.name}, expected a "
            "Cortex-M. Leave -wait out"
        )
    return None


def _patterns(target: Target) -> tuple[Any, ...]:
    from aboard_ethos_u.patterns import patterns

    return patterns(target)


def _codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    from aboard_ethos_u.codegen import codegen

    return codegen(target, region)


def _cost(target: Target, region: ClaimedRegion) -> Cost:
    from aboard_ethos_u.costs import cost

    return cost(target, region)


def _runtime(target: Target) -> Runtime:
    return sources.driver(target)


def _options(target: Target) -> tuple[DeviceOption, ...]:
    return (sources.option(target),)


def _project(target: Target) -> ProjectNeeds:
    return sources.project(target)


def _peripherals(target: Target) -> tuple[Any, ...]:
    from aboard_ethos_u import peripheral

    return peripheral.peripherals(target)


def _register() -> None:
    register(
        Kind(
            NAME,
            "Arm's NPU Ethos-U55: layers of int8, some of int16, compiled by Vela",
            "accelerator",
            _ATTRIBUTES,
            complete=_complete,
            subgraph_only=True,
            refuses_host=_refuses_host,
            probe=install.probe,
        )
    )
    attach(NAME, "patterns", _patterns)
    attach(NAME, "codegen", _codegen)
    attach(NAME, "cost", _cost)
    attach(NAME, "runtime", _runtime)
    attach(NAME, "options", _options)
    attach(NAME, "project", _project)
    attach(NAME, "peripherals", _peripherals)


PLUGIN = Plugin(interface=1, register=_register)
