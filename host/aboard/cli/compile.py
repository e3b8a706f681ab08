"""`aboard compile`: compiles a model to a bundle of standalone C."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import outputs
from aboard.base import manifest as manifests
from aboard.base.table import facts
from aboard.base.wrapping import columns
from aboard.cli import model as models
from aboard.cli import verdict
from aboard.cli.console import Console
from aboard.cli.ir_dumps import IrPrinter, print_ir_options
from aboard.cli.options import (
    Place,
    dimension_option,
    example,
    force_option,
    model_argument,
    name_option,
    opt_option,
    output_dir_option,
    pass_console,
    passes_option,
    place_options,
    tuning_option,
)
from aboard.cli.output_options import output_options
from aboard.cli.partition import placed
from aboard.cli.schema_compile import (
    ArenaInfo,
    BufferInfo,
    CompileResult,
    InnerOpInfo,
    IrDump,
    OpInfo,
    PredictionInfo,
    TensorInfo,
)
from aboard.cli.schema_explain import CascadeInfo, ExplainInfo, LayerInfo, ScheduleInfo, VariantInfo
from aboard.reports import compiled

if TYPE_CHECKING:
    from aboard.base.manifest_records import NodeRecord, PredictionRecord, TensorRecord
    from aboard.compiler.pipeline import Module
    from aboard.reports.layers import LayerSummary
    from aboard.schedule.trade import Trade


@click.command(
    "compile",
    epilog=example(
        "aboard compile kws.tflite --board arm/mps2_an386 -o build/kws",
        'aboard compile digits --target "c -mcpu=cortex-m0" --opt size --json',
        'aboard compile digits --target "c -mcpu=generic" --amalgamate -o build/one_file',
        "aboard compile digits --board arm/mps2_an386 --explain",
        "aboard compile digits --board arm/mps2_an386 --print-ir-after remove-channels",
    ),
)
@model_argument
@place_options
@output_dir_option("build/NAME, unless another bundle is there")
@force_option
@name_option
@opt_option
@tuning_option
@click.option(
    "--explain",
    is_flag=True,
    help="Print each layer with the lower bound of its instructions, and other schedules with their RAM and "
    "instructions.",
)
@click.option(
    "--hooks",
    is_flag=True,
    help="Emit code that can profile, trace, and run one operator by itself, for `aboard create` from this bundle.",
)
@click.option(
    "--amalgamate",
    is_flag=True,
    help="Write one C file and one header, NAME.c and NAME.h, instead of a bundle, for Keil, IAR or any other IDE.",
)
@dimension_option
@passes_option
@print_ir_options
@output_options
@pass_console
def command(
    console: Console,
    model: str,
    place: Place,
    output_dir: Path | None,
    force: bool,
    name: str | None,
    opt: str | None,
    tuning: Path | None,
    explain: bool,
    hooks: bool,
    amalgamate: bool,
    dimensions: tuple[tuple[str, int], ...],
    passes: str | None,
    ir_before: tuple[str, ...],
    ir_after: tuple[str, ...],
) -> None:
    """Compile MODEL to a bundle of standalone C.

    MODEL is a .tflite or .onnx file, a model of Keras or PyTorch (.keras, .h5, .pt2, the folder of a SavedModel), or
    the name of a shipped model (digits, digits_f32). Prints the operators, the memory that the model needs, the lower
    bound that no plan can beat, and the memory map.
    """
    printer = IrPrinter(console, ir_before, ir_after)
    if printer.wanted:
        printer.check(["import", *models.pipeline(place, passes).names])
    with contextlib.nullcontext() if printer.wanted else console.step(f"compiling {model}"):
        module = models.compile_file(
            model,
            place,
            name=name,
            opt=opt,
            tuning=tuning,
            passes=passes,
            on_step=printer if printer.wanted else None,
            hooks=hooks,
            dimensions=dict(dimensions),
        )
        folder = output_dir or Path("build") / module.name
        if output_dir is None and not force:
            outputs.refuse_other(folder, manifests.subject(module.manifest))
        if amalgamate:
            module.amalgamate(folder, force)
        else:
            module.save(folder, force)
        trade = module.trade() if explain else None
    result = describe(module, folder, printer.dumps if printer.wanted else None, _records(module, tuning))
    result.amalgamated = amalgamate
    if trade is not None:
        result.explain = _explained(module, trade)
    console.emit(result, lambda: _report(module, result, trade))


def _summary(module: Module, trade: Trade | None) -> str:
    text = compiled.summary(module.manifest, "" if trade is None else _explanation(module, trade))
    if module.partition is None or not module.target.devices:
        return text
    from aboard.reports import partition

    return f"{partition.summary(module.partition)}\n\n{text}"


def _explanation(module: Module, trade: Trade) -> str:
    from aboard.reports import explained

    return explained.summary(module, trade, columns())


def _explained(module: Module, trade: Trade) -> ExplainInfo:
    from aboard.reports import layers, variants

    known = layers.of(module)
    return ExplainInfo(
        layers=[_layer(layer) for layer in known],
        rule=trade.rule,
        schedules=[
            ScheduleInfo(
                ram_bytes=each.ram_bytes,
                ram_lower_bound_bytes=each.bound_bytes,
                cascades=[CascadeInfo(first=first, last=last) for first, last in each.cascades],
                extra_stripes=each.extra_stripes,
                less_scratch=each.less_scratch,
                predicted_instructions=each.instructions,
                taken=each.taken,
            )
            for each in trade.weighed
        ],
        variants_rule=variants.rule(module.target),
        variants=[
            VariantInfo(
                layer=each.layer,
                op=each.op,
                taken=each.taken,
                instead=each.name,
                more_instructions=each.instructions,
                more_cycles=each.cycles,
                more_flash_bytes=each.flash_bytes,
            )
            for each in variants.of(module)
        ],
        peak_layers=[
            [layer.index for layer in layers.peaks(known, arena)]
            for arena in range(len(known[0].live_bytes) if known else 0)
        ],
    )


def _layer(layer: LayerSummary) -> LayerInfo:
    from aboard.reports.layers import ratio

    record, predicted = layer.record, layer.predicted
    return LayerInfo(
        name=record.name,
        op=record.op,
        implementation=record.implementation,
        weights_form=layer.weights_form or None,
        macs=record.macs,
        predicted_instructions=layer.instructions,
        predicted_from=None if predicted is None else predicted.basis,
        predicted_error=None if predicted is None else predicted.error,
        device_cycles=record.device_cycles,
        mac_instruction=None if layer.mac_instruction is None else layer.mac_instruction.name,
        bound_instructions=layer.bound,
        ratio_to_bound=ratio(layer.instructions, layer.bound),
        packed_bytes=record.weights_bytes,
        scratch_bytes=record.scratch_bytes,
        stripes=layer.stripes,
        live_bytes=list(layer.live_bytes),
    )


def _report(module: Module, result: CompileResult, trade: Trade | None) -> str:
    used = "" if result.records is None else f"\nTuning records of {result.records}"
    lines = [(name, f"{value}: {remark}") for name, value, remark in verdict.rows(result, result.board)]
    found = f"\n\n{facts(lines)}" if lines else ""
    return f"{_summary(module, trade)}{found}\n\n{_written(result)} in {result.bundle}{used}"


def _written(result: CompileResult) -> str:
    return f"{result.name}.c and {result.name}.h" if result.amalgamated else "Bundle"


def _records(module: Module, given: Path | None) -> str | None:
    """Returns the file of tuning records if some of its records were used, else None."""
    from aboard.tuning.choice import RECORD
    from aboard.tuning.record_file import default_path

    if all(node.tuning_origin != RECORD for node in module.manifest.nodes):
        return None

    return str(given or default_path())


def describe(
    module: Module, folder: Path, dumps: list[IrDump] | None = None, records: str | None = None
) -> CompileResult:
    """Returns the JSON record of a compiled model."""
    manifest = module.manifest
    return CompileResult(
        name=manifest.name,
        model=manifest.model_file,
        model_hash=manifest.model_hash,
        target=manifest.target,
        board=module.target.hardware,
        bundle=str(folder),
        amalgamated=False,
        generator=manifest.generator,
        input_mode=manifest.input_mode,
        macs=manifest.macs,
        macs_run=manifest.macs_run,
        ram_bytes=manifest.ram_bytes,
        ram_lower_bound_bytes=manifest.ram_lower_bound_bytes,
        arenas=[ArenaInfo.model_validate(record.model_dump()) for record in manifest.arenas],
        state_bytes=0 if manifest.state is None else manifest.state.bytes,
        state_region=None if manifest.state is None else manifest.state.region,
        weights_region=manifest.weights_region,
        weights_bytes=manifest.weights_bytes,
        flash_predicted_bytes=manifest.flash_predicted_bytes,
        **vars(verdict.verdict(manifest, module.target.hardware)),
        inputs=[_tensor(record) for record in manifest.inputs],
        outputs=[_tensor(record) for record in manifest.outputs],
        states=[_tensor(record) for record in manifest.states],
        ops=[
            OpInfo(
                name=node.name,
                op=node.op,
                implementation=node.implementation,
                sources=list(node.sources),
                output=list(node.outputs[0].shape) if node.outputs else [],
                macs=node.macs,
                estimated_instructions=node.estimated_instructions,
                estimated_cycles=node.estimated_cycles,
                device_cycles=node.device_cycles,
                weights_bytes=node.weights_bytes,
                scratch_bytes=node.scratch_bytes,
                tuning=dict(node.tuning),
                tuning_origin=node.tuning_origin or None,
            )
            for node in manifest.nodes
        ],
        inner_ops=[_inner(place, node) for place, node in compiled.placed(manifest.nodes) if "." in place],
        prediction=None if manifest.prediction is None else _prediction(manifest.prediction),
        buffers=[BufferInfo.model_validate(record.model_dump()) for record in manifest.buffers],
        placed=placed(module.partition) if module.partition is not None and module.target.devices else None,
        records=records,
        ir=dumps,
        explain=None,
        notes=list(manifest.notes),
    )


def _inner(place: str, node: NodeRecord) -> InnerOpInfo:
    return InnerOpInfo(
        place=place,
        name=node.name,
        op=node.op,
        implementation=node.implementation,
        output=list(node.outputs[0].shape) if node.outputs else [],
        macs=node.macs,
        estimated_instructions=node.estimated_instructions,
        weights_bytes=node.weights_bytes,
    )


def _prediction(record: PredictionRecord) -> PredictionInfo:
    return PredictionInfo.model_validate(record.model_dump())


def _tensor(record: TensorRecord) -> TensorInfo:
    return TensorInfo.model_validate(record.model_dump())
