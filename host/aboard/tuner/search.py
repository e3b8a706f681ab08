"""A search for the best points of a model: what is tuned, where, and for how long. `aboard.tuner.run` runs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aboard.check import verify
from aboard.compiler.pipeline import Module, compile_model
from aboard.device.input_files import Named
from aboard.errors import TargetError
from aboard.target import Target
from aboard.tuner.bench import Bench
from aboard.tuner.parts import Part, parts
from aboard.tuner.proposals import Proposer
from aboard.tuner.trials import Trials
from aboard.tuning.choice import DEFAULTS
from aboard.tuning.key import HOST, Key, device_key
from aboard.tuning.records import TuningRecord


@dataclass(frozen=True)
class Group:
    """Parts that have the same point in every image.

    Attributes:
        parts: The regions of a device, or the nodes of one workload.
        proposer: Proposes their points.
    """

    parts: tuple[Part, ...]
    proposer: Proposer

    @property
    def label(self) -> str:
        """Label of the device, or `host`."""
        return self.parts[0].label


@dataclass(frozen=True)
class TuningSearch:
    """A prepared search. All checks that need no build have passed.

    Attributes:
        model: A model file: its path, or its bytes.
        target: The target.
        bench: The bench that tries the points.
        alone: The model for the host alone.
        untuned: The model with the default of every knob.
        groups: What is tuned, by label: one group for each device, and one for each workload of the host.
        inputs: Inputs for which each point is compared with the host alone.
        seconds: Time after which no further point is tried; None for no limit.
        trials: What was measured before.
    """

    model: str | Path | bytes
    target: Target
    bench: Bench
    alone: Module
    untuned: Module
    groups: Mapping[str, tuple[Group, ...]]
    inputs: Sequence[Named]
    seconds: float | None = None
    trials: Trials = field(default_factory=lambda: Trials(None))

    @classmethod
    def prepare(
        cls,
        model: str | Path | bytes,
        target: str | Target,
        bench: Bench,
        *,
        name: str | None = None,
        samples: int = 2,
        points: int | None = None,
        seconds: float | None = None,
        only: Collection[str] | None = None,
        known: Mapping[Key, TuningRecord] | None = None,
        trials: Trials | None = None,
    ) -> TuningSearch:
        """Compiles the model with defaults and plans the search.

        Args:
            model: A model file: its path, or its bytes.
            target: The target.
            bench: The bench that tries the points.
            name: C identifier of the model.
            samples: Number of random inputs; an input of smallest and one of largest values are added.
            points: Largest number of points for each device and each workload of the host; see `Proposer`.
            seconds: Time after which no further point is tried; None for no limit.
            only: Labels of the devices to tune, and `host`; None for all.
            known: Earlier records; their points are tried right after the defaults.
            trials: What was measured before; extended.

        Raises:
            TargetError: Nothing of the model has knobs, or a label of `only` is unknown.
            AboardError: The model does not compile.
        """
        chosen = Target(target)
        untuned = compile_model(model, target=chosen, name=name, tuning=DEFAULTS, hooks=True)
        alone = untuned
        if chosen.devices:
            alone = compile_model(model, target=chosen.host, name=name, tuning=DEFAULTS, hooks=True)
        groups = _groups(parts(untuned, chosen, only), chosen, points, known or {})
        if not groups:
            raise TargetError(
                f"{untuned.name}: nothing to tune, got no device with knobs and no kernel with a choice that computes "
                f"a part of it for {chosen}, expected one. `aboard partition` shows who computes what"
            )
        inputs = verify.samples(alone.manifest, samples)
        kept = trials or Trials(None)
        return cls(model, chosen, bench, alone, untuned, groups, inputs, seconds, kept)

    @property
    def parts(self) -> list[Part]:
        """The parts that are tuned."""
        return [part for groups in self.groups.values() for group in groups for part in group.parts]

    @property
    def builds(self) -> int:
        """Number of images that a run builds, but for those of schedules: host alone, defaults, rounds, all best."""
        return 3 + sum(max(group.proposer.count for group in groups) - 1 for groups in self.groups.values())

    @property
    def tunes_schedule(self) -> bool:
        """True if the cascades of the host are tuned too."""
        return HOST in self.groups


def _groups(
    found: Sequence[Part], target: Target, limit: int | None, known: Mapping[Key, TuningRecord]
) -> dict[str, tuple[Group, ...]]:
    """Returns the groups of parts by label."""
    labels = dict.fromkeys(part.label for part in found)
    groups: dict[str, tuple[Group, ...]] = {}
    for label in labels:
        mine = [part for part in found if part.label == label]
        together = [(part,) for part in mine] if label == HOST else [tuple(mine)]
        groups[label] = tuple(Group(each, _proposer(each, target, limit, known)) for each in together)
    return groups


def _proposer(found: Sequence[Part], target: Target, limit: int | None, known: Mapping[Key, TuningRecord]) -> Proposer:
    first, mine = found[0], device_key(target, found[0].device)
    workloads = {part.workload for part in found}
    recorded = [
        first.spaces[0].completed(record.values)
        for other, record in sorted(known.items(), key=repr)
        if other.device == mine and other.workload in workloads and first.allows(record.values)
    ]
    return Proposer(first.points, recorded, limit)
