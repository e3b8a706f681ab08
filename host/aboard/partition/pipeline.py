"""Passes and partitioning in order: all changes of a graph between import and lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from aboard.errors import PassError, TargetError
from aboard.ir import Graph
from aboard.ops.control import graphs
from aboard.partition.partitioner import Partition, apply, partition
from aboard.passes import IMPORT, NEUTRAL, Pass, Pipeline, host, neutral, run_passes
from aboard.passes.pipeline import check_lowerable, text_of
from aboard.passes.text import parse
from aboard.target import Target, columns
from aboard.tuning.choice import DEFAULTS, Tuning

#: Called between two steps with the graph, the name of the step that has run (`import` at first), and the name of the
#: step that runs next (None at last). It must not change the graph.
OnStep = Callable[[Graph, str, str | None], object]

#: Channels that kernels for these extensions compute at once. Kernels in portable C have no preferred number.
_CHANNEL_BLOCKS = {"arm_dsp": 4, "arm_mve": 4}


@dataclass(frozen=True)
class DevicePass:
    """A rewriting pass of a device (column `passes`).

    Attributes:
        place: `before_partition`: on the whole graph, before any device claims nodes, so that patterns match; or
            `after_partition`: when all regions are nodes and the host's passes have run.
        step: The pass; like every pass, it keeps the results of the graph bit for bit.
    """

    place: Literal["before_partition", "after_partition"]
    step: Pass


def pipeline_of(target: Target, passes: str | None = None) -> Pipeline:
    """Returns the passes for a target.

    Args:
        target: The target; its devices may add passes.
        passes: A pipeline as text (`aboard.passes.text`); None for the target's default.

    Raises:
        TargetError: A device's column is wrong.
        PassError: The text is wrong, or lacks a pass that an attribute of the target needs.
    """
    before, after = (_device_passes(target, place) for place in ("before_partition", "after_partition"))
    if passes is not None:
        given = parse(passes, extra=(*before, *after), partitioned=bool(target.devices))
        _check_needed(target, (*given.before, *given.after), passes)
        return given
    return Pipeline((*neutral(**_chosen(target)), *before), (*host_passes(target), *after))


def _chosen(target: Target) -> dict[str, str]:
    """Returns the attributes of a target that select passes, as `neutral` takes them."""
    return {name.replace("-", "_"): str(target.host.attrs[name]) for name in ("arithmetic", "io", "input-layout")}


def _check_needed(target: Target, given: Sequence[Pass], text: str) -> None:
    """Raises a PassError if given passes lack those that an attribute of the target needs."""
    for name, value in _chosen(target).items():
        missing = [step for step in neutral(**{name: value}) if step not in (*NEUTRAL, *given)]
        if missing:
            option = name.replace("_", "-")
            needed = ",".join(map(text_of, missing))
            raise PassError(
                f"passes: -{option}={value} needs {needed}, got {text}. Add what it needs, or leave -{option} out"
            )


def decide(graph: Graph, target: Target) -> Partition:
    """Runs the passes before partitioning, and assigns each node to the host or a device.

    Args:
        graph: The imported graph; changed in place, and not partitioned.
        target: The target.

    Raises:
        TargetError: A device's column is wrong.
    """
    passes = pipeline_of(target)
    run_passes(graph, passes.before)
    return partition(graph, target, passes.after)


def run(
    graph: Graph,
    target: Target,
    on_step: OnStep | None = None,
    tuning: Tuning = DEFAULTS,
    passes: Pipeline | None = None,
) -> Partition:
    """Runs all passes, and replaces each claimed region with one node. Graphs inside nodes are for the host.

    Args:
        graph: The imported graph; changed in place.
        target: The target.
        on_step: Called between steps: see `OnStep`.
        tuning: Chooses the values of the devices' knobs; its records price what was measured.
        passes: The passes; None for the target's default.

    Raises:
        TargetError: A device's column is wrong, or a device with a region generates no code.
        PassError: The pipeline lacks a pass without which no kernel computes the graph.
    """
    passes = passes or pipeline_of(target)
    progress = _Progress(graph, [IMPORT, *passes.names], on_step)
    progress.report()
    run_passes(graph, passes.before, progress.report)
    decided = partition(graph, target, passes.after, tuning)
    _check_generators(decided)
    if decided.claims:
        apply(graph, decided, tuning)
    progress.report()
    run_passes(graph, passes.after, progress.report)
    for each in (*graphs(graph), graph):
        check_lowerable(each)
    return decided


@dataclass
class _Progress:
    graph: Graph
    names: Sequence[str]
    on_step: OnStep | None
    _done: int = 0

    def report(self, _name: str = "") -> None:
        """Reports the next point."""
        done, *following = self.names[self._done : self._done + 2]
        self._done += 1
        if self.on_step is not None:
            self.on_step(self.graph, done, following[0] if following else None)


def host_passes(target: Target) -> tuple[Pass, ...]:
    """Returns the passes for the nodes that the core of a target computes."""
    block = max((_CHANNEL_BLOCKS.get(key, 1) for key in target.keys), default=1)
    return host(block, str(target.host.attrs["mcpu"]), target.opt)


def _device_passes(target: Target, place: str) -> tuple[Pass, ...]:
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
