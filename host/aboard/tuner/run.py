"""Runs a search: one image for each round, in which every region or node has a point that was not tried yet.

All regions of a device use the same point in a round. Nodes of the host do not: with the cascades of the default
schedule, what one costs hardly depends on the others, so one image measures a point of each. A point must give the
results of the host alone, bit for bit, and with `-opt=balanced` and `size` the model must not need more RAM. All best
points are built and checked together, and then cascades are tuned with them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from aboard.base.measured_cost import total
from aboard.base.version import VERSION
from aboard.compiler.pipeline import Module, compile_model
from aboard.device.measure import Measurement
from aboard.errors import AboardError, CapacityError, TargetError
from aboard.kernels.select.price import flash_price
from aboard.kernels.tunable import FLASH, RAM
from aboard.schedule import spans
from aboard.schedule.spans import Span
from aboard.tuner import cascades
from aboard.tuner.bench import BenchRun
from aboard.tuner.built import Built, NotExactError
from aboard.tuner.found import Best, Found, MemoryNeed, TriedPoint, best_points
from aboard.tuner.parts import calls, flash_bytes, ram_bytes
from aboard.tuner.search import Group, TuningSearch
from aboard.tuning import key, space
from aboard.tuning.choice import GivenEach, TunedPart
from aboard.tuning.key import HOST, device_key
from aboard.tuning.records import Provenance, TuningRecord
from aboard.tuning.space import Point

#: Told after each image what was found so far, in a few words.
OnBuild = Callable[[str], object]

#: Points by label and workload, as `GivenEach` takes them.
_Points = dict[tuple[str, str], Point]


def _nobody(note: str) -> None:
    """Takes a note and tells nobody."""


def run(plan: TuningSearch, on_build: OnBuild = _nobody) -> Found:
    """Tries the points of a search.

    Args:
        plan: The search.
        on_build: Called after each image with the best so far.

    Raises:
        TargetError: A point is not exact or does not run; the message names the point.
        AboardError: The host alone or the defaults do not build or run.
    """
    end = None if plan.seconds is None else time.monotonic() + plan.seconds
    expected = plan.bench.run(plan.alone, plan.inputs)
    on_build("")
    return _Run(plan, Built(plan.bench, plan.inputs, expected, plan.trials), on_build, end).found()


@dataclass
class _Run:
    """A search that runs.

    Attributes:
        plan: The prepared search.
        built: Runs images.
        on_build: See `run`.
        end: Time after which no further point is tried; None for no limit.
        tried: The trials so far.
        is_over: True if the time was over before all points were tried.
    """

    plan: TuningSearch
    built: Built
    on_build: OnBuild
    end: float | None
    tried: list[TriedPoint] = field(default_factory=list)
    is_over: bool = False

    def found(self) -> Found:
        """Tries the points of each device, those of the host's kernels, then cascades with the best of these."""
        plan = self.plan
        first = self.built.run(plan.untuned, "tuning, defaults")
        self.on_build("")
        for groups in plan.groups.values():
            self._try_all(groups, first)
        best = self._best(first)
        module, together = self._together(best, first)
        if first.measured is not None and plan.tunes_schedule:
            schedule, module, together = self._schedule(best, module, together, first.measured)
            best = (*best, schedule)
        measured = first.measured is not None
        return Found(
            model=plan.untuned.name,
            target=plan.target,
            bench=plan.bench.name,
            samples=len(plan.inputs),
            trials=tuple(self.tried),
            best=best,
            host=self.built.expected.total,
            default=first.total,
            tuned=together.total if measured else None,
            default_memory=_memory(plan.untuned),
            tuned_memory=_memory(module) if measured else None,
            unfinished=self.is_over,
        )

    def _try_all(self, groups: Sequence[Group], first: BenchRun) -> None:
        """Tries the points of one device, or of all kernels of the host."""
        for group in groups:
            point = group.proposer.next()
            if point is not None:
                self._note(group, _tried(self.plan.untuned, first, group, point))
        for points in _rounds(groups):
            if self._is_late():
                return
            for (group, _), trial in zip(points, self._try(points), strict=True):
                self._note(group, trial)
            self.on_build(self._so_far())

    def _note(self, group: Group, trial: TriedPoint) -> None:
        price = flash_price(self.plan.target)
        costs = [trial.weighed(text, price).count for text in trial.regions]
        group.proposer.told(trial.point, float(sum(costs)) if costs else None)
        self.tried.append(trial)

    def _is_late(self) -> bool:
        self.is_over = self.is_over or (self.end is not None and time.monotonic() >= self.end)
        return self.is_over

    def _so_far(self) -> str:
        """Returns how much the best points save so far; empty if nothing is measured."""
        saved = before = 0
        for part in self.plan.parts:
            mine = [
                trial.regions[part.workload].count
                for trial in self.tried
                if trial.device == part.label and part.workload in trial.regions
            ]
            before += mine[0] if mine else 0
            saved += mine[0] - min(mine) if mine else 0
        return f"{100 * (before - saved) / before - 100:+.1f} %" if before else ""

    def _compiled(self, points: _Points) -> Module:
        plan = self.plan
        tuning = GivenEach(points)
        return compile_model(plan.model, target=plan.target, name=plan.untuned.name, tuning=tuning, hooks=True)

    @property
    def _schedule_part(self) -> TunedPart:
        found = self.plan.untuned.schedule()
        return spans.part(found.graph_of_file, self.plan.target)

    def _with_cascades(self, points: _Points, wanted: Sequence[Span], code: str = FLASH) -> _Points:
        where = (HOST, self._schedule_part.workload)
        return {**points, where: {spans.CASCADES: spans.text_of(wanted), spans.CODE: code}}

    @property
    def _ram_limit(self) -> int | None:
        """The RAM that points of the host may need; None for no limit."""
        target = self.plan.target
        if target.opt == "speed" and target.ram_max is None:
            return None
        return max(ram_bytes(self.plan.untuned), target.ram_max or 0)

    def _try(self, points: Sequence[tuple[Group, Point]]) -> list[TriedPoint]:
        """Returns the trial of each group's point: in one image, or in several if that one cannot be built."""
        label = points[0][0].label
        what = f"tuning of {label}, {space.shown(points[0][1])}" if len(points) == 1 else f"tuning of {label}"
        try:
            module = self._module(points)
            outcome = self.built.run(module, what, of_host=label == HOST)
        except (TargetError, CapacityError) as error:
            if len(points) > 1:
                return self._try_apart(points)
            if isinstance(error, NotExactError):
                raise
            return [TriedPoint(label, points[0][1], {}, None, str(error))]
        except AboardError as error:
            whose = "aboard" if label == HOST else "the device's package"
            raise TargetError(f"{what}: does not build or run, got: {error}. This is a bug of {whose}") from error
        return [_tried(module, outcome, group, point) for group, point in points]

    def _try_apart(self, points: Sequence[tuple[Group, Point]]) -> list[TriedPoint]:
        """Returns the trials of points of which some cannot be compiled alone, or cannot be compiled together."""
        refused: dict[int, TriedPoint] = {}
        for index, (group, point) in enumerate(points):
            try:
                self._module([(group, point)])
            except (TargetError, CapacityError) as error:
                refused[index] = TriedPoint(group.label, point, {}, None, str(error))
        left = [each for index, each in enumerate(points) if index not in refused]
        half = len(left) if refused else len(left) // 2
        tried = iter([*(self._try(left[:half]) if half else ()), *(self._try(left[half:]) if left[half:] else ())])
        return [refused[index] if index in refused else next(tried) for index in range(len(points))]

    def _module(self, points: Sequence[tuple[Group, Point]]) -> Module:
        """Compiles the model with points; with those of the host, with the cascades of the default schedule."""
        given = {(part.label, part.workload): point for group, point in points for part in group.parts}
        if points[0][0].label != HOST:
            return self._compiled(given)
        return self._in_ram(self._with_cascades(given, cascades.of(self.plan.untuned)))

    def _in_ram(self, points: _Points) -> Module:
        module, limit = self._compiled(points), self._ram_limit
        if limit is not None and ram_bytes(module) > limit:
            raise CapacityError(f"needs {ram_bytes(module):,} bytes of RAM, more than {limit:,}. Raise -ram-max")
        return module

    def _best(self, first: BenchRun) -> tuple[Best, ...]:
        if first.measured is None:
            return ()
        return tuple(best_points(self.plan.parts, self.plan.target, self.tried, self._conditions(first.measured)))

    def _points_of(self, best: Sequence[Best]) -> _Points:
        points: _Points = {(each.device, each.record.workload): each.record.values for each in best}
        if self.plan.tunes_schedule:
            points = self._with_cascades(points, cascades.of(self.plan.untuned))
        return points

    def _together(self, best: Sequence[Best], first: BenchRun) -> tuple[Module, BenchRun]:
        """Builds the best points together and returns the module with its run."""
        module, outcome = self.plan.untuned, first
        if best:
            module = self._compiled(self._points_of(best))
            outcome = self.built.run(module, "tuning, the best points together", of_host=True)
        self.on_build(self._so_far())
        return module, outcome

    def _schedule(
        self, best: tuple[Best, ...], module: Module, together: BenchRun, measured: Measurement
    ) -> tuple[Best, Module, BenchRun]:
        """Tunes the cascades with the best points; returns the best schedule, its module and its run."""
        points, wanted = self._points_of(best), cascades.of(self.plan.untuned)
        known, nodes = {spans.text_of(wanted)}, len(self.plan.untuned.schedule().nodes)
        start = least = measured.run if together.measured is None else together.measured.run
        count, code, improved = 1, FLASH, True

        def compiled(each: Sequence[Span]) -> Module:
            return self._compiled(self._with_cascades(points, each))

        while improved and not self._is_late():
            improved = False
            for candidate in cascades.candidates(wanted, nodes, self._ram_limit, compiled, known):
                if self._is_late():
                    break
                count += 1
                outcome = self._run_schedule(candidate.module, spans.text_of(candidate.spans))
                if outcome.total is not None and outcome.total.beats(least):
                    improved, least = True, outcome.total
                    wanted, module, together = candidate.spans, candidate.module, outcome
        if not self._is_late() and not self._schedule_part.space.problem({spans.CODE: RAM}):
            with contextlib.suppress(CapacityError):
                moved = self._in_ram(self._with_cascades(points, wanted, RAM))
                count += 1
                outcome = self._run_schedule(moved, "code=ram")
                if outcome.total is not None and outcome.total.beats(least):
                    code, least, module, together = RAM, outcome.total, moved, outcome
        record = TuningRecord(
            **device_key(self.plan.target, self.plan.target.host)._asdict(),
            **self._conditions(measured),
            workload=self._schedule_part.workload,
            values={spans.CASCADES: spans.text_of(wanted), spans.CODE: code},
            unit=least.unit,
            count=least.count,
            spread=least.spread,
        )
        return Best(HOST, record, ("schedule",), least, start, 0, count), module, together

    def _run_schedule(self, module: Module, text: str) -> BenchRun:
        outcome = self.built.run(module, f"tuning of the schedule, {text}", of_host=True)
        self.on_build(self._so_far())
        return outcome

    def _conditions(self, first: Measurement) -> dict[str, Any]:
        """Returns the fields of a record that are the same for all records of a search."""
        target, bench = self.plan.target, self.plan.bench
        at = key.Clock() if first.tick_hz is None else key.clock(target)
        today = datetime.now(timezone.utc).date().isoformat()
        return {
            "toolchain": key.toolchain(target, bench.compiler),
            "clock_hz": at.hz,
            "wait_states": at.wait_states,
            "provenance": Provenance(board=bench.name, date=today, version=VERSION, tick_hz=first.tick_hz),
        }


def _rounds(groups: Sequence[Group]) -> Iterator[list[tuple[Group, Point]]]:
    """Yields a point for every group that has one left."""
    while points := [(group, point) for group in groups if (point := group.proposer.next()) is not None]:
        yield points


def _tried(module: Module, outcome: BenchRun, group: Group, point: Point) -> TriedPoint:
    if outcome.measured is None:
        return TriedPoint(group.label, point, {}, outcome.total)
    nodes = [node.name for node in module.manifest.nodes]
    # A schedule may have put the nodes in another order, so they are found by their names.
    indices = {part.workload: [nodes.index(name) for name in part.names] for part in group.parts}
    costs = outcome.measured.nodes
    regions = {text: total(costs[index] for index in found) for text, found in indices.items()}
    tried = TriedPoint(group.label, point, regions, outcome.total)
    if group.label != HOST:
        return tried
    (mine,) = indices.values()
    return replace(tried, flash_bytes=flash_bytes(module, mine), calls=calls(module, mine[0]))


def _memory(module: Module) -> MemoryNeed:
    return MemoryNeed(ram_bytes(module), module.schedule().program.flash(module.schedule().calls.target))
