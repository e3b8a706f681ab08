"""The example accelerator npu-demo: its kind, and what is attached to it. The data sheet is README.md.

Everything else is loaded when it is asked for, so that a device-only installation lists targets and runs projects
without the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aboard.errors import TargetError
from aboard.target import Attribute, Kind, Knob, MemoryRegion, Plugin, Runtime, Target, TileConstraint, attach, register
from aboard.target.kind import Value

if TYPE_CHECKING:
    from aboard.ops.subgraph import Matched

NAME = "npu-demo"
#: Bytes of the scratchpad of v2 where none are given.
SCRATCHPAD = 16384

_PAGE = 4096

ATTRIBUTES = (
    Attribute("model", "Version of the device", default="v1", allowed=("v1", "v2"), identity=True),
    Attribute(
        "address", "Address of its registers, a multiple of 4096; free on arm/mps2_an386", int, default=0x5000_0000
    ),
    Attribute(
        "scratchpad",
        "Bytes of the scratchpad of v2, a multiple of 16; v1 has none",
        int,
        implied=f"{SCRATCHPAD} with -model=v2",
        identity=True,
    ),
    Attribute(
        "cached",
        "Whether the data cache of the CPU covers the memory that the device reads and writes: the driver then cleans "
        "and invalidates it",
        bool,
        default=False,
    ),
)


def _complete(attrs: Mapping[str, Value], where: str) -> Mapping[str, Value]:
    """Checks the attributes together and adds the scratchpad that a version has."""
    made = dict(attrs)
    if made.get("model", "v1") == "v1":
        if "scratchpad" in made:
            raise TargetError(f"{where}: -scratchpad is for v2, got {made['scratchpad']} with v1. Add -model=v2")
    elif int(made.setdefault("scratchpad", SCRATCHPAD)) % 16 or not 16 <= int(made["scratchpad"]) < 1 << 24:
        raise TargetError(
            f"{where}: -scratchpad is not a size, got {made['scratchpad']}, expected a multiple of 16 below 16 MiB. "
            f"Leave it out for {SCRATCHPAD}"
        )
    address = int(made.get("address", 0))
    if address % _PAGE or not 0 <= address < 1 << 32:
        raise TargetError(
            f"{where}: -address is not a register address, got {address:#x}, expected a multiple of {_PAGE} below 4 "
            "GiB. See the memory map of your chip"
        )
    return made


def _refuses_host(device: Target, host: Target) -> str | None:
    del device
    if host.get("runtime") != "host":
        return None
    return f"{NAME} has registers, got a host with -runtime=host, expected a microcontroller. Use arm/mps2_an386"


def _patterns(target: Target) -> tuple[Any, ...]:
    from npu_demo import patterns

    return patterns.patterns(target)


def _codegen(target: Target, region: Any) -> Any:
    if target.get("model") == "v1":
        from npu_demo import v1

        return v1.generate(target, region)
    from npu_demo import v2

    return v2.generate(target, region)


def _cost(target: Target, region: Any) -> Any:
    from npu_demo import costs

    return costs.cost(target, region)


def _runtime(target: Target) -> Runtime:
    from npu_demo import runtime

    return runtime.runtime(target)


def _memory(target: Target) -> tuple[MemoryRegion, ...]:
    """Returns the memory of the machine, which both versions read and write, and the scratchpad of v2."""
    cached, reached_by = bool(target.attrs["cached"]), frozenset({"cpu", "dma"})
    system = MemoryRegion("system", 1 << 32, align=16, bytes_per_cycle=4.0, reached_by=reached_by, cached=cached)
    if target.get("model") == "v1":
        return (system,)
    from npu_demo import tiles

    return system, tiles.scratchpad(target)


def _tiles(target: Target, matched: Matched, tuning: Mapping[str, Value]) -> TileConstraint | None:
    """Returns None for v1, which works on layers where they lie."""
    del matched
    if target.get("model") == "v1":
        return None
    from npu_demo import tiles

    return tiles.constraint(tuning)


def _tuning(target: Target) -> tuple[Knob, ...]:
    """Returns no knobs for v1."""
    if target.get("model") == "v1":
        return ()
    from npu_demo import tiles

    return tiles.KNOBS


def _peripherals(target: Target) -> tuple[Any, ...]:
    from npu_demo import peripheral

    return (peripheral.NpuDemo(target),)


def _register() -> None:
    register(
        Kind(
            NAME,
            "The example accelerator: int8 layers, in two versions",
            "accelerator",
            ATTRIBUTES,
            complete=_complete,
            subgraph_only=True,
            refuses_host=_refuses_host,
        )
    )
    attach(NAME, "patterns", _patterns)
    attach(NAME, "codegen", _codegen)
    attach(NAME, "cost", _cost)
    attach(NAME, "runtime", _runtime)
    attach(NAME, "memory", _memory)
    attach(NAME, "tiles", _tiles)
    attach(NAME, "tuning", _tuning)
    attach(NAME, "peripherals", _peripherals)


PLUGIN = Plugin(interface=1, register=_register)
