"""Passes and partitioning in their order: what happens to a graph between import and lowering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aboard.errors import TargetError
from aboard.ir import Graph
from aboard.partition.partitioner import Partition, apply, partition
from aboard.passes import NEUTRAL, Pass, host, run_passes
from aboard.target import Target, columns
from aboard.tuning.choice import DEFAULTS, Tuning

OnStep = Callable[[str], object] | None

#: Channels that the kernels of these keys compute at once. Those in portable C take any number about as well.
_CHANNEL_BLOCKS = {"arm_dsp": 4, "arm_mve": 4}


@dataclass(frozen=True)
class DevicePass:
    """A rewriting pass of a device (column `passes`).

    Attributes:
        place: `before_partition`, on the whole graph and before anything is claimed, so that patterns find what they
            look for; or `after_partition`, when all regions are nodes and the host's passes are done.
        step: The pass; it keeps the results of the graph bit for bit, as every pass does.
    """

    place: Literal["before_partition", "after_partition"]
    step: Pass


def decide(graph: Graph, target: Target, on_step: OnStep = None) -> Partition:
    """Runs the passes that come before partitioning, and decides who computes what.

    Args:
        graph: As imported; changed in place, and not yet partitioned.
        target: The target.
        on_step: Called with `import` first, then with the name of each pass after it has run.

    Raises:
        TargetError: A device's column is wrong.
    """
    if on_step is not None:
        on_step("import")
    run_passes(graph, (*NEUTRAL, *_passes(target, "before_partition")), on_step)
    return partition(graph, target, _after(target))


def run(graph: Graph, target: Target, on_step: OnStep = None, tuning: Tuning = DEFAULTS) -> Partition:
    """Runs all passes, and makes what devices claim nodes of their own; arguments and errors as for `decide`.

    Args:
        graph: As imported.
        target: The target.
        on_step: As for `decide`.
        tuning: Chooses the values of the devices' knobs.

    Raises:
        TargetError: A device that got something generates no code.
    """
    decided = decide(graph, target, on_step)
    _check_generators(decided)
    if decided.claims:
        apply(graph, decided, tuning)
        if on_step is not None:
            on_step("partition")
    run_passes(graph, _after(target), on_step)
    return decided


def _after(target: Target) -> tuple[Pass, ...]:
    return (*host(channel_block(target)), *_passes(target, "after_partition"))


def channel_block(target: Target) -> int:
    """Returns how many channels the kernels of a target compute at once, for `aboard.passes.host`."""
    return max((_CHANNEL_BLOCKS.get(key, 1) for key in target.keys), default=1)


def _passes(target: Target, place: str) -> tuple[Pass, ...]:
    found: list[Pass] = []
    for device in target.devices:
        for value in columns.call_all(device, "passes"):
            for item in value:
                if not isinstance(item, DevicePass):
                    raise TargetError(
                        f"kind {device.kind.name}, column passes: got {type(item).__name__}, expected DevicePass. "
                        "Return a tuple of them"
                    )
                found += [item.step] if item.place == place else []
    return tuple(found)


def _check_generators(decided: Partition) -> None:
    for index, device in enumerate(decided.target.devices):
        count = sum(len(claim.nodes) for claim in decided.claims if claim.device == index)
        if count and not columns.has(device, "codegen"):
            raise TargetError(
                f"target {decided.target}: kind {device.kind.name} claims {count} nodes and generates no code, "
                "expected a column codegen. `aboard partition` shows the claims; to compile, leave the device out"
            )
