"""`aboard tune`: find the best values for the knobs of devices, and record them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard.cli import deploy
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import (
    Means,
    Place,
    example,
    means_options,
    model_argument,
    name_option,
    opt_option,
    pass_console,
    place_options,
    repeats_option,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_cost import CostInfo
from aboard.cli.schema_tune import BestInfo, MemoryInfo, RecordKey, StaleRecord, TrialInfo, TuneResult
from aboard.errors import TargetError
from aboard.target import Target
from aboard.tuning.key import HOST

if TYPE_CHECKING:
    from aboard.base.measured_cost import MeasuredCost
    from aboard.tuner.bench import Bench
    from aboard.tuner.found import Best, Found, MemoryNeed, TriedPoint
    from aboard.tuning.records import TuningRecord


@click.command(
    "tune",
    epilog=example(
        'aboard tune kws.tflite --target "arm/mps2_an386 + my-npu"',
        'aboard tune kws.tflite --target "st/nucleo_f746zg + my-npu" --port /dev/ttyACM0',
        "aboard tune kws.tflite --board arm/mps2_an386 --seconds 600",
        'aboard tune digits --target "c -runtime=host + my-npu" --points 8 --json',
    ),
)
@model_argument
@place_options
@click.option(
    "--only",
    multiple=True,
    metavar="PART",
    help="Tune only this device, by its label, or only the kernels of the target's own core: host. Repeatable.",
)
@click.option(
    "--points",
    type=click.IntRange(min=1),
    metavar="N",
    help="Try at most N points of each device and each kind of layer; by default all of a small space, and 256 of a "
    "large one.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Try no further point after this time. The same command goes on where this one ended.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="Number of random inputs on which every point is checked, in addition to an input of smallest and one of "
    "largest values.",
)
@click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File of records. Default: the file that ABOARD_TUNING names, or your own file.",
)
@repeats_option(5)
@means_options
@name_option
@opt_option
@output_options
@pass_console
def command(
    console: Console,
    model: str,
    place: Place,
    only: tuple[str, ...],
    points: int | None,
    seconds: float | None,
    samples: int,
    tuning: Path | None,
    repeats: int,
    means: Means,
    name: str | None,
    opt: str | None,
) -> None:
    """Try points of the tuning spaces of a target's devices and kernels, and record the best for each part of MODEL.

    Each point is built, booted or flashed, compared bit for bit with the host alone, and measured node by node: in
    instructions where the runner counts them, else in ticks of the board. `aboard compile` for the same target uses the
    records. With -runtime=host, points are checked in this process and not measured.
    """
    path = models.model_file(model)
    chosen = _target(place, opt)
    with models.whole_installation(model):
        from aboard.reports import tuned
        from aboard.tuner.run import run
        from aboard.tuner.search import TuningSearch
        from aboard.tuner.trials import Trials, beside
        from aboard.tuning.record_file import Records, default_path, store
        from aboard.tuning.records import Recorded
    bench = _bench(chosen, means, repeats)
    file = tuning or default_path()
    known = Records(file).entries
    with console.step(f"compiling {model}"):
        search = TuningSearch.prepare(
            path,
            chosen,
            bench,
            name=name,
            samples=samples,
            points=points,
            seconds=seconds,
            only=only or None,
            known=known,
            trials=Trials(beside(file)),
        )
    with console.progress("trying points", search.builds) as advance:
        found = run(search, advance)
    if found.best:
        store(file, [best.record for best in found.best], known)
    stale = Recorded(Records(file).entries, bench.compiler).stale(chosen)
    result = _describe(found, file if found.best else None, stale)
    console.emit(result, lambda: f"{tuned.summary(found)}\n\n{_recorded(result)}")


def _target(place: Place, opt: str | None) -> Target:
    target = place.as_target()
    return target if opt is None else target.overridden({"opt": opt})


def _bench(target: Target, means: Means, repeats: int) -> Bench:
    from aboard.tuner.bench import OnBoard, ThisProcess

    if target.runtime == "host":
        return ThisProcess()
    if target.hardware is None:
        raise TargetError(
            f"target {target}: names no board, so that nothing can be measured, expected hardware as its host. "
            'Say --target "arm/mps2_an386 + DEVICE" with a board of `aboard boards`, or check points without measuring '
            "them with -runtime=host"
        )
    plan = deploy.prepare(Place(str(target), None), means)
    return OnBoard(plan.board, plan.runner, plan.template, plan.options, plan.toolchain, repeats)


def _describe(found: Found, file: Path | None, stale: Iterable[tuple[TuningRecord, str]]) -> TuneResult:
    unit = None if found.default is None else found.default.unit
    return TuneResult(
        model=found.model,
        target=str(found.target),
        ran_on=found.bench,
        samples=found.samples,
        trials=[_trial(trial) for trial in found.trials],
        best=[_best(best) for best in found.best],
        unit=unit,
        host=_cost(found.host),
        default=_cost(found.default),
        tuned=_cost(found.tuned),
        default_memory=_memory(found.default_memory),
        tuned_memory=None if found.tuned_memory is None else _memory(found.tuned_memory),
        unfinished=found.unfinished,
        records=None if file is None else str(file),
        stale=[StaleRecord(workload=record.workload, values=dict(record.values), reason=why) for record, why in stale],
    )


def _trial(trial: TriedPoint) -> TrialInfo:
    from aboard.base.measured_cost import total

    return TrialInfo(
        device=trial.device,
        workload=next(iter(trial.regions), None) if trial.device == HOST else None,
        values=dict(trial.point),
        regions=_cost(total(trial.regions.values()) if trial.regions else None),
        run=_cost(trial.total),
        exact=not trial.refused,
        refused=trial.refused or None,
    )


def _best(best: Best) -> BestInfo:
    return BestInfo(
        device=best.device,
        nodes=list(best.names),
        workload=best.record.workload,
        key=RecordKey(
            **best.record.key.device._asdict(),
            clock_hz=best.record.clock_hz,
            wait_states=best.record.wait_states,
            toolchain=best.record.toolchain,
        ),
        values=dict(best.record.values),
        points=best.tried,
        more_bytes=best.more_bytes,
        tuned=CostInfo.of(best.cost),
        default=CostInfo.of(best.default),
    )


def _memory(memory: MemoryNeed) -> MemoryInfo:
    return MemoryInfo(ram_bytes=memory.ram_bytes, flash_bytes=memory.flash_bytes)


def _cost(cost: MeasuredCost | None) -> CostInfo | None:
    return None if cost is None else CostInfo.of(cost)


def _recorded(result: TuneResult) -> str:
    if result.records is None:
        return "Nothing is recorded: points were checked in this process, where instructions cannot be told"
    lines = [f"Recorded in {result.records}; `aboard compile` takes it for this target"]
    reasons = Counter(record.reason for record in result.stale)
    lines += [f"Not used, tune again: {count} records {reason}" for reason, count in sorted(reasons.items())]
    return "\n".join(lines)
