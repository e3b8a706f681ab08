"""The search: builds one image for each point of each device; all regions of the device use that point.

Points with the same code share a build. A point must give the results of the host alone, bit for bit. The time of a
region does not depend on other regions, so the same builds give the best point of each region. Finally, all best points
are built and checked together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from aboard.base.measured_cost import MeasuredCost, total
from aboard.base.version import VERSION
from aboard.check import verify
from aboard.compiler.pipeline import Module, compile_model
from aboard.device.input_files import Named
from aboard.device.measure import Measurement
from aboard.errors import AboardError, CapacityError, TargetError
from aboard.ops.subgraph import SubgraphAttributes
from aboard.partition.partitioner import labels
from aboard.partition.workload import workload
from aboard.target import Target
from aboard.tuner.bench import Bench, BenchRun
from aboard.tuner.found import Best, Found, Point, TriedPoint
from aboard.tuning import key, space
from aboard.tuning.choice import DEFAULTS, Given, Tuning, mismatch
from aboard.tuning.key import Key, device_key
from aboard.tuning.records import Provenance, Recorded, TuningRecord, by_key


@dataclass(frozen=True)
class TuningSearch:
    """A prepared search. All checks that need no build have passed.

    Attributes:
        model: A TFLite file: its path, or its bytes.
        target: A composite target.
        bench: The bench that tries the points.
        alone: The model for the host alone.
        untuned: The model with the default of every knob.
        plan: Label of the device and point of each trial, device by device, starting with the defaults of each device.
        inputs: Inputs for which each point is compared with the host alone.
    """

    model: str | Path | bytes
    target: Target
    bench: Bench
    alone: Module
    untuned: Module
    plan: tuple[tuple[str, Point], ...]
    inputs: Sequence[Named]

    @classmethod
    def prepare(
        cls,
        model: str | Path | bytes,
        target: str | Target,
        bench: Bench,
        *,
        name: str | None = None,
        samples: int = 2,
        limit: int | None = None,
        known: Mapping[Key, TuningRecord] | None = None,
    ) -> TuningSearch:
        """Compiles the model with defaults and plans the search.

        Args:
            model: A TFLite file: its path, or its bytes.
            target: A composite target.
            bench: The bench that tries the points.
            name: C identifier of the model.
            samples: Number of random inputs; an input of smallest and one of largest values are added.
            limit: Largest number of points per device; None for all points.
            known: Earlier records; their points are tried right after the defaults.

        Raises:
            TargetError: No device of the target has a region with knobs.
            AboardError: The model does not compile.
        """
        chosen = Target(target)
        alone = compile_model(model, target=chosen.host, name=name, hooks=True)
        untuned = compile_model(model, target=chosen, name=name, tuning=DEFAULTS, hooks=True)
        plan = tuple(_plan(untuned, chosen, limit, known or {}))
        if not plan:
            raise TargetError(
                f"{untuned.name}: nothing to tune, got no device with knobs that computes a part of it for {chosen}, "
                "expected one (column tuning). `aboard partition` shows who computes what"
            )
        return cls(model, chosen, bench, alone, untuned, plan, verify.samples(alone.manifest, samples))

    @property
    def builds(self) -> int:
        """Largest number of images that a run builds: host alone, defaults, every other point, best points together."""
        devices = {device for device, _ in self.plan}
        return len(self.plan) - len(devices) + 3

    def run(self, on_build: Callable[[], object] = lambda: None) -> Found:
        """Tries all points.

        Args:
            on_build: Called after each of `builds`.

        Raises:
            TargetError: A point is not exact or does not run; the message names the point.
            AboardError: The host alone or the defaults do not build or run.
        """
        expected = self.bench.run(self.alone, self.inputs)
        on_build()
        built = _Built(self.bench, self.inputs)
        first = built.run(self.untuned, expected, "tuning, defaults")
        on_build()
        trials: list[TriedPoint] = []
        for device, point in self.plan:
            if any(trial.device == device for trial in trials):
                trials.append(self._try(device, point, built, expected))
                on_build()
            else:
                trials.append(_tried(self.untuned, first, device, point))
        best = (
            ()
            if first.measured is None
            else tuple(_best(self.untuned, self.target, trials, self._conditions(first.measured)))
        )
        tuned = self._together(best, built, expected)
        on_build()
        return Found(
            model=self.untuned.name,
            target=self.target,
            bench=self.bench.name,
            samples=len(self.inputs),
            trials=tuple(trials),
            best=best,
            host=expected.total,
            default=first.total,
            tuned=tuned,
        )

    def _conditions(self, first: Measurement) -> dict[str, Any]:
        """Returns the fields of a record that are the same for all records of a search."""
        at = key.Clock() if first.tick_hz is None else key.clock(self.target)
        today = datetime.now(timezone.utc).date().isoformat()
        return {
            "toolchain": key.toolchain(self.target, self.bench.compiler),
            "clock_hz": at.hz,
            "wait_states": at.wait_states,
            "provenance": Provenance(board=self.bench.name, date=today, version=VERSION, tick_hz=first.tick_hz),
        }

    def _compiled(self, tuning: Tuning) -> Module:
        return compile_model(self.model, target=self.target, name=self.untuned.name, tuning=tuning, hooks=True)

    def _try(self, device: str, point: Point, built: _Built, expected: BenchRun) -> TriedPoint:
        what = f"tuning of {device}, {space.shown(point)}"
        try:
            module = self._compiled(Given({device: point}))
            outcome = built.run(module, expected, what)
        except NotExactError:
            raise
        except (TargetError, CapacityError) as error:
            return TriedPoint(device, point, {}, None, str(error))
        except AboardError as error:
            raise TargetError(
                f"{what}: does not build or run, got: {error}. This is a bug of the device's package"
            ) from error
        return _tried(module, outcome, device, point)

    def _together(self, best: Sequence[Best], built: _Built, expected: BenchRun) -> MeasuredCost | None:
        """Builds the best points together and returns the cost of the whole run."""
        if not best:
            return None
        module = self._compiled(Recorded(by_key(b.record for b in best), self.bench.compiler))
        return built.run(module, expected, "tuning, the best points together").total


@dataclass(frozen=True)
class _Built:
    """Runs modules. Modules with the same code share one build."""

    bench: Bench
    inputs: Sequence[Named]
    outcomes: dict[tuple[object, ...], BenchRun] = field(default_factory=dict)

    def run(self, module: Module, expected: BenchRun, what: str) -> BenchRun:
        """Returns the results of a module; refuses a module whose outputs or regions are not exact."""
        code = (*sorted(module.files.items()), *module.manifest.cflags)
        if code not in self.outcomes:
            outcome = self.bench.run(module, self.inputs)
            _compare(outcome, expected, what)
            fault = next(iter(self.bench.faults(module, self.inputs)), None)
            if fault is not None:
                raise NotExactError(
                    f"{what}: is not exact, got {fault}, expected what its operators mean. This is a bug of the "
                    "device's package; take the value out of its knob until it is mended"
                )
            self.outcomes[code] = outcome
        return self.outcomes[code]


class NotExactError(TargetError):
    """A point does not give the results of the host alone."""


def _compare(outcome: BenchRun, expected: BenchRun, what: str) -> None:
    """Refuses results that differ from the results of the host alone in any bit."""
    for number, (got, wanted) in enumerate(zip(outcome.outputs, expected.outputs, strict=True)):
        for name, values in wanted.items():
            if got[name].tobytes() != values.tobytes():
                raise NotExactError(
                    f"{what}: is not exact, got {int((got[name] != values).sum())} of {values.size} elements of output "
                    f"{name} that differ for sample {number}, expected what the host alone computes. This is a bug of "
                    "the device's package; take the value out of its knob until it is mended"
                )


def _regions(module: Module) -> Iterator[tuple[int, SubgraphAttributes, str]]:
    """Yields the regions with knobs, as index in the manifest, attributes and workload."""
    nodes = {} if module.graph is None else {node.name: node for node in module.graph.nodes}
    for index, record in enumerate(module.manifest.nodes):
        attrs = nodes[record.name].attrs
        if isinstance(attrs, SubgraphAttributes) and attrs.tuning:
            yield index, attrs, workload(attrs.graph, attrs.patterns)


def _plan(
    module: Module, target: Target, limit: int | None, known: Mapping[Key, TuningRecord]
) -> Iterator[tuple[str, Point]]:
    """Yields the points of each device that has regions, starting with its defaults."""
    regions = {(attrs.label, text) for _, attrs, text in _regions(module)}
    for label, device in zip(labels(target), target.devices, strict=True):
        workloads = {text for other, text in regions if other == label}
        if not workloads:
            continue
        defaults, mine = space.defaults(device), device_key(target, device)
        recorded = [
            {**defaults, **record.values}
            for found, record in sorted(known.items())
            if found.device == mine and found.workload in workloads and not mismatch(device, record.values)
        ]
        points: list[Point] = []
        for point in [defaults, *recorded, *space.points(device)]:
            if point not in points and (limit is None or len(points) < limit):
                points.append(point)
        yield from ((label, point) for point in points)


def _tried(module: Module, outcome: BenchRun, device: str, point: Point) -> TriedPoint:
    regions: dict[str, list[MeasuredCost]] = {}
    for index, attrs, text in _regions(module):
        if outcome.measured is not None and attrs.label == device:
            regions.setdefault(text, []).append(outcome.measured.nodes[index])
    return TriedPoint(device, point, {text: total(costs) for text, costs in regions.items()}, outcome.total)


def _best(
    module: Module, target: Target, trials: Sequence[TriedPoint], conditions: Mapping[str, Any]
) -> Iterator[Best]:
    """Yields the best point of every workload: the defaults, unless another point beats them."""
    names: dict[tuple[str, str], list[str]] = {}
    for index, attrs, text in _regions(module):
        names.setdefault((attrs.label, text), []).append(module.manifest.nodes[index].name)
    devices = dict(zip(labels(target), target.devices, strict=True))
    for (label, text), regions in names.items():
        mine = [trial for trial in trials if trial.device == label and text in trial.regions]
        default = mine[0].regions[text]
        quicker = [trial for trial in mine if trial.regions[text].beats(default)]
        best = min(quicker, key=lambda trial: trial.regions[text].count, default=mine[0])
        cost = best.regions[text]
        record = TuningRecord(
            **device_key(target, devices[label])._asdict(),
            **conditions,
            workload=text,
            values=best.point,
            unit=cost.unit,
            count=cost.count // len(regions),
            spread=cost.spread // len(regions),
        )
        yield Best(label, record, tuple(regions), cost, default)
