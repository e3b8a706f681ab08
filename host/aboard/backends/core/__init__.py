"""Another core of the host's board as a device: targets of the kind `c` among the devices of a composite.

The core computes what its own kernels can, compiled for its own units. It is started by the first call, and gets work
through a mailbox (`firmware/cores/`). Where the host's runtime is `host`, the same functions are called plainly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aboard.target import Plugin, Target, alias, attach

if TYPE_CHECKING:
    from aboard.kernels.accelerator import ClaimedRegion, Cost, DeviceCode


# What these call belongs to the compile path, which a device-only installation does not load.
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
