"""Another core of the host's board as a device: targets of the kind `c` among the devices of a composite.

The core runs its own kernels, compiled for its own units. The first call starts the core, which then receives calls
through a mailbox (`firmware/cores/`). If the host's runtime is `host`, the same functions are called directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aboard.target import Plugin, Target, alias, attach

if TYPE_CHECKING:
    from aboard.kernels.accelerator import ClaimedRegion, Cost, DeviceCode


# The called modules belong to the compile path, which is not loaded in a device-only installation.
def _patterns(target: Target) -> tuple[Any, ...]:
    from aboard.backends.core.patterns import patterns

    return patterns(target)


def _codegen(target: Target, region: ClaimedRegion) -> DeviceCode:
    from aboard.backends.core.codegen import codegen

    return codegen(target, region)


def _cost(target: Target, region: ClaimedRegion) -> Cost:
    from aboard.backends.core.cost import cost

    return cost(target, region)


def _register() -> None:
    attach("c", "patterns", _patterns)
    attach("c", "codegen", _codegen)
    attach("c", "cost", _cost)
    alias("mps2-an521-both", "arm/mps2_an521:cpu0 + arm/mps2_an521:cpu1")


PLUGIN = Plugin(interface=1, register=_register)
