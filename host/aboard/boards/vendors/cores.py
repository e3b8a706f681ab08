"""Names of cores from the units that a vendor's description states."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.boards import cpu as cpus


def named(base: str, has: Mapping[str, bool]) -> str:
    """Returns gcc's name of a core, with modifiers for the units that the core lacks.

    Args:
        base: Name without modifiers. A core that aboard does not know gets no modifiers.
        has: True for a unit that the core has, by the modifier that would remove it (`nodsp`); a unit that is left out
            counts as present.
    """
    optional = cpus.find(base).optional if base in cpus.names() else ()
    return "+".join((base, *(unit for unit in optional if not has.get(unit, True))))


def arm(base: str, fpu: str, dsp: bool, mve: str) -> str:
    """Returns the name of a Cortex-M core.

    Args:
        base: Name without modifiers.
        fpu: `none`, `single` or `double` precision.
        dsp: True if the core has the DSP extension.
        mve: `none`, `integer` or `float`: vectors (Helium).
    """
    has = {
        "nodsp": dsp,
        "nofp": fpu != "none",
        "nofp.dp": fpu != "single",
        "nomve": mve != "none",
        "nomve.fp": mve != "integer",
    }
    return named(base, has)
