"""The parts of a model that can be tuned: the regions of devices, and the nodes of the host."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from aboard.compiler.pipeline import Module
from aboard.errors import TargetError, did_you_mean
from aboard.ir import Node
from aboard.kernels import tunable
from aboard.kernels.select.flash import pieces
from aboard.ops.subgraph import SubgraphAttributes
from aboard.partition.partitioner import labels
from aboard.partition.workload import workload
from aboard.target import Target
from aboard.tuning.key import HOST
from aboard.tuning.space import Point, Space, of_device


@dataclass(frozen=True)
class Part:
    """All regions or nodes with one workload, which share a point.

    Attributes:
        label: Label of the device; `host` for nodes of the host.
        device: The device, or the target's host.
        workload: The computation in canonical form.
        spaces: The space of each region or node; a point must be in all of them.
        names: Their names in the manifest.
    """

    label: str
    device: Target
    workload: str
    spaces: tuple[Space, ...]
    names: tuple[str, ...]

    @property
    def is_host(self) -> bool:
        """True for nodes of the host."""
        return self.label == HOST

    @property
    def defaults(self) -> Point:
        """The default of every knob."""
        return self.spaces[0].defaults

    @cached_property
    def points(self) -> list[Point]:
        """Every point, the defaults first."""
        return [point for point in self.spaces[0].points() if self.allows(point)]

    def allows(self, point: Point) -> bool:
        """True if every region or node can take a point."""
        return not any(space.problem(point) for space in self.spaces)


def parts(module: Module, target: Target, only: Collection[str] | None = None) -> list[Part]:
    """Returns the parts of a module that have more than one point, devices first.

    Args:
        module: The module at its defaults, compiled in this process.
        target: Its target.
        only: Labels of the devices to tune, and `host`; None for all.

    Raises:
        TargetError: A label is not one of the target's.
    """
    known = [*labels(target), HOST]
    for label in only or ():
        if label not in known:
            raise TargetError(f"tuning: no such part, got {label}. {did_you_mean(label, known)}")
    grouped: dict[tuple[str, str], list[tuple[int, Space]]] = {}
    devices = dict(zip(known, (*target.devices, target.host), strict=True))
    for index, label, text, space in _tunable(module, target):
        if only is None or label in only:
            grouped.setdefault((label, text), []).append((index, space))
    names = [node.name for node in module.manifest.nodes]
    found = [
        Part(
            label,
            devices[label],
            text,
            tuple(space for _, space in uses),
            tuple(names[index] for index, _ in uses),
        )
        for (label, text), uses in grouped.items()
    ]
    return sorted((part for part in found if _has_choice(part)), key=lambda part: known.index(part.label))


def _has_choice(part: Part) -> bool:
    return bool(part.defaults) and (not part.is_host or len(part.points) > 1)


def _tunable(module: Module, target: Target) -> Iterator[tuple[int, str, str, Space]]:
    """Yields index in the manifest, label, workload and space of each region and node."""
    devices = dict(zip(labels(target), target.devices, strict=True))
    for step in module.schedule().program.steps:
        attrs = step.node.attrs
        if isinstance(attrs, SubgraphAttributes):
            yield step.index, attrs.label, workload(attrs.graph, attrs.patterns), of_device(devices[attrs.label])
            continue
        part = tunable.part(step.node, step.implementation, target)
        if part is not None:
            yield step.index, part.label, part.workload, part.space


def flash_bytes(module: Module, nodes: Sequence[int]) -> int:
    """Returns the predicted bytes of the constants and the code of some nodes of the host.

    Args:
        module: The module, compiled in this process.
        nodes: Their indices in the manifest.
    """
    every: dict[str, int] = {}
    target = module.schedule().calls.target
    for index in nodes:
        step = module.schedule().program.steps[index]
        every |= pieces(step.node, step.call, target)
    return sum(every.values())


def calls(module: Module, index: int) -> int:
    """Returns the number of kernel calls that compute a node."""
    program = module.schedule().program
    node: Node = program.steps[index].node
    return program.assignment.stripes_of(node)


def ram_bytes(module: Module) -> int:
    """Returns the RAM of a model with what the start-up code copies there."""
    return module.manifest.ram_bytes + module.manifest.copied_bytes
