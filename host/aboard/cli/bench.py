"""`aboard bench`: measures models on a board, layer by layer, and writes what was measured to one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import click

from aboard import outputs
from aboard.api import Session
from aboard.base.measured_cost import cost_text
from aboard.base.table import Label, amount, facts, table
from aboard.base.version import VERSION
from aboard.cli import deploy
from aboard.cli import run as runs
from aboard.cli.console import Console
from aboard.cli.create import compile_all
from aboard.cli.model import Compiled
from aboard.cli.options import (
    Means,
    Place,
    example,
    force_option,
    means_options,
    models_argument,
    opt_option,
    pass_console,
    place_options,
    repeats_option,
    tuning_option,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_bench import BenchResult, LayerBench, ModelBench
from aboard.cli.schema_cost import CostInfo
from aboard.device.measure import Measurement, measure
from aboard.project import build

#: The same inputs for everybody, so that hashes of outputs can be compared.
_INPUT = "random:0"


@click.command(
    "bench",
    epilog=example(
        "aboard bench kws.tflite vww.tflite --board st/nucleo_f746zg --port /dev/ttyACM0 -o f746zg.json",
        "aboard bench digits --board arm/mps2_an386 --json",
    ),
)
@models_argument
@place_options
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the figures to a JSON file."
)
@force_option
@repeats_option(20)
@means_options
@opt_option
@tuning_option
@output_options
@pass_console
def command(
    console: Console,
    models: Sequence[str],
    place: Place,
    output: Path | None,
    force: bool,
    repeats: int,
    means: Means,
    opt: str | None,
    tuning: Path | None,
) -> None:
    """Measure MODELS on a board, layer by layer.

    Each model gets an image of its own, which is built, booted or flashed, and run on the same inputs. On a board,
    named by --port, --device or a flasher, ticks of its counter are measured; emulators count instructions.
    """
    if output is not None:
        outputs.check_file(output, force=force)
    plan = deploy.prepare(place, means)
    modules = compile_all(console, models, place, name=None, opt=opt, tuning=tuning, toolchain=means.toolchain)
    benched = [_benched(console, module, plan, repeats) for module in modules]
    result = _described(plan, benched, repeats)
    if output is not None:
        text = json.dumps({**result.model_dump(), "seal": outputs.SEAL}, indent=2)
        outputs.write_file(output, outputs.sealed(f"{text}\n".encode()), force=force)
    console.emit(result, lambda: _report(result))


@dataclass(frozen=True)
class _Benched:
    """A model that was measured, how, and what built its image."""

    model: ModelBench
    measured: Measurement
    toolchain: str


def _benched(console: Console, module: Compiled, plan: deploy.Plan, repeats: int) -> _Benched:
    """Builds an image of a model and measures it."""
    manifest = module.manifest
    feed = runs.read_input(_INPUT, manifest)
    with deploy.folder_of(None) as folder:
        project, built = deploy.make(console, [module], plan, folder)
        runs.check_profile(project)
        text = f"measuring {manifest.name} on {plan.board.id} ({plan.runner.name})"
        with console.step(text), Session.open(project, plan.runner.fresh(), on_log=console.note) as device:
            device.reset_state()
            results = device.infer(feed).outputs
            measured = measure(device, feed, repeats)
        flash_bytes = build.sizes(project).model_flash_bytes
    record = ModelBench(
        model=manifest.name,
        model_sha256=manifest.model_hash,
        target=manifest.target,
        macs=manifest.macs,
        ram_bytes=manifest.ram_bytes,
        flash_bytes=flash_bytes,
        run=CostInfo.of(measured.run),
        layers=[
            LayerBench(name=node.name, op=node.op, device=node.device, macs=node.macs, cost=CostInfo.of(cost))
            for node, cost in zip(manifest.nodes, measured.nodes, strict=True)
        ],
        outputs={name: hashlib.sha256(values.tobytes()).hexdigest() for name, values in results.items()},
    )
    return _Benched(record, measured, f"{built.toolchain.name} {built.toolchain.version}")


def _described(plan: deploy.Plan, benched: Sequence[_Benched], repeats: int) -> BenchResult:
    first, core = benched[0].measured, plan.board.core()
    return BenchResult(
        board=plan.board.id,
        soc=plan.board.soc,
        core=core.mcpu,
        clock_hz=core.clock_hz,
        wait_states=core.wait_states,
        is_real=first.is_real,
        runner=plan.runner.name,
        unit=first.run.unit,
        tick_hz=first.tick_hz,
        repeats=repeats if first.run.unit == "ticks" else 1,
        input=_INPUT,
        toolchain=benched[0].toolchain,
        version=VERSION,
        date=datetime.now(timezone.utc).date().isoformat(),
        models=[each.model for each in benched],
    )


def _report(result: BenchResult) -> str:
    at = None if result.clock_hz is None else f"{result.clock_hz / 1e6:g} MHz"
    head = facts(
        [
            ("board", f"{result.board} ({result.runner})"),
            ("clock", None if result.unit == "instructions" else at),
            ("toolchain", result.toolchain),
            ("unit", f"ticks, medians of {result.repeats} runs ± spread" if result.unit == "ticks" else result.unit),
        ]
    )
    return "\n\n".join([head, *map(_layers, result.models)])


def _layers(model: ModelBench) -> str:
    rows = [
        (number, Label(layer.name), layer.device or layer.op, layer.macs, _shown(layer.cost))
        for number, layer in enumerate(model.layers)
    ]
    whole = facts(
        [
            ("model", model.model),
            ("run", _shown(model.run)),
            ("RAM", amount(model.ram_bytes)),
            ("flash", amount(model.flash_bytes)),
        ]
    )
    return f"{whole}\n\n{table(('#', 'node', 'op', 'MACs', 'cost'), rows)}"


def _shown(cost: CostInfo) -> int | str:
    return cost_text(cost.count, cost.spread)
