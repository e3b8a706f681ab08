"""The objective of a schedule: what a target's options ask for, and the rule in words."""

from __future__ import annotations

from enum import Enum, auto

from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.lowering import Calls
from aboard.target import Target

#: Largest number of instructions with `-opt=size`, as a factor of those with `-opt=balanced` and the same `-ram-max`,
#: as predicted, on cores where the latter has no cascades because they take long (`is_plain_by_default`).
MOST_INSTRUCTIONS = 1.1

#: Largest RAM of a schedule with fewer stripes, as a factor of the least RAM.
SLACK = 1.05


class Aim(Enum):
    """The objective of a schedule.

    Attributes:
        LEAST: The least RAM found, whatever the number of stripes.
        NEAR_LEAST: The fewest stripes among schedules with hardly more RAM than the least (`SLACK`).
        WITHIN: The fewest stripes within `-ram-max`.
        LIMITED: The least RAM found for a limited number of instructions.
        MIXED: No cascades, and kernels that need less RAM in some layers, for `-ram-max`.
        PLAIN: No cascades, which is fastest.
        TUNED: The cascades that a tuning names.
    """

    LEAST = auto()
    NEAR_LEAST = auto()
    WITHIN = auto()
    LIMITED = auto()
    MIXED = auto()
    PLAIN = auto()
    TUNED = auto()


def aim(target: Target) -> Aim:
    """Returns the objective of schedules for a target; with `-opt=size` the one tried first."""
    if target.opt == "size":
        # With Helium stripes of one row may more than double the instructions (`kws`).
        return Aim.NEAR_LEAST if is_plain_by_default(target) else Aim.LEAST
    if target.ram_max is not None:
        return Aim.WITHIN
    if target.opt == "speed":
        return Aim.PLAIN
    if target.input_mode == "rows":
        return Aim.LEAST
    return Aim.PLAIN if is_plain_by_default(target) else Aim.NEAR_LEAST


def is_plain_by_default(target: Target) -> bool:
    """True for targets with Helium: `-opt=balanced` has no cascades there, because short stripes leave lanes unused."""
    return "arm_mve" in target.keys


def taken(wanted: Aim, calls: Calls, assignment: BufferAssignment) -> Aim:
    """Returns the objective of a schedule: `Aim.TUNED` if its cascades were given, else the wanted one."""
    if calls.cascades is None:
        return wanted
    ends = [(cascade.nodes[0], cascade.nodes[-1]) for cascade in assignment.cascades]
    given = [(first, last) for first, last, _ in calls.cascades.spans]
    return Aim.TUNED if set(ends) == set(given) else wanted


def rule(
    target: Target, taken: Aim | None = None, *, less_scratch: bool = False, kernels_of_balanced: bool = False
) -> str:
    """Returns the rule by which a schedule was chosen, in words.

    Args:
        target: The target of the code.
        taken: Its objective; None for the first objective of the target.
        less_scratch: True with the forms of kernels that need the least scratch.
        kernels_of_balanced: True if the kernels are those of `-opt=balanced` with `-opt=size`.
    """
    first = aim(target)
    taken = taken or first
    words = {
        Aim.LEAST: "the least RAM found",
        Aim.NEAR_LEAST: f"the fewest stripes within {100 * (SLACK - 1):.0f} % of the least RAM found",
        Aim.WITHIN: f"the fewest stripes within -ram-max={target.ram_max}",
        Aim.LIMITED: f"the least RAM found for at most {100 * (MOST_INSTRUCTIONS - 1):.0f} % more instructions",
        Aim.MIXED: f"the fastest kernels found within -ram-max={target.ram_max}, layer by layer, without cascades",
        Aim.PLAIN: "no cascades, which is fastest",
        Aim.TUNED: "the cascades that aboard tune found",
    }[taken]
    if less_scratch:
        words += ", with kernels of less scratch"
    if taken in (Aim.TUNED, Aim.MIXED):
        return words
    if kernels_of_balanced and is_plain_by_default(target) and (taken is not Aim.PLAIN or less_scratch):
        return f"{words} (with the kernels of -opt=balanced, since others may take more flash or time)"
    if taken is not first:
        return f"{words} (as with -opt=balanced, since less RAM would take more flash)"
    if taken is Aim.WITHIN:
        return words
    why = "-input=rows" if taken is Aim.LEAST and target.opt != "size" else f"-opt={target.opt}"
    helium = " on a core with Helium" if taken is Aim.PLAIN and target.opt == "balanced" else ""
    return f"{words} ({why}{helium})"
