"""The device `cmsis-nn`: Arm's library of kernels for Cortex-M, as a device that claims the nodes it can compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aboard.backends.cmsis_nn.library import VARIABLE, ZEPHYR, probe
from aboard.target import Attribute, Kind, Plugin, Target, alias, attach, register

if TYPE_CHECKING:
    from aboard.kernels.accelerator import ClaimedRegion, Cost, DeviceCode

_ATTRIBUTES = (
    Attribute(
        "cmsis-nn",
        "Folder with the sources of CMSIS-NN, the one that holds Include/arm_nnfunctions.h",
        implied=f"the environment variable {VARIABLE}, else {ZEPHYR}, when code is generated",
    ),
)


def _patterns(target: Target) -> tuple[Any, ...]:
    # Patterns belong to the compile path, which is not loaded in a device-only installation.
    from aboard.backends.cmsis_nn.patterns import patterns

    return patterns(target)


def _codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    from aboard.backends.cmsis_nn.codegen import codegen

    return codegen(target, region)


def _cost(target: Target, region: ClaimedRegion) -> Cost:
    from aboard.backends.cmsis_nn.costs import cost

    return cost(target, region)


def _register() -> None:
    register(
        Kind(
            "cmsis-nn",
            "Arm's CMSIS-NN: int8 kernels for Cortex-M, from a source tree of yours",
            "library",
            _ATTRIBUTES,
            subgraph_only=True,
            probe=probe,
        )
    )
    attach("cmsis-nn", "patterns", _patterns)
    attach("cmsis-nn", "codegen", _codegen)
    attach("cmsis-nn", "cost", _cost)
    for core in ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"):
        alias(f"{core}-cmsis-nn", f"c -mcpu={core} + cmsis-nn")


PLUGIN = Plugin(interface=1, register=_register)
