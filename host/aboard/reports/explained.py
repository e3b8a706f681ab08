"""The text of `aboard compile --explain`: layers, and the trade between RAM and instructions."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from aboard.base.manifest import label
from aboard.base.manifest_records import PredictionRecord
from aboard.base.table import amount, cell, facts, render
from aboard.compiler.pipeline import Module
from aboard.reports import layers, prediction, variants
from aboard.reports.layers import LayerSummary, ratio
from aboard.reports.variants import Other
from aboard.schedule.trade import Trade, Weighed

#: On terminals with fewer columns, tables have fewer, taller columns.
_WIDE = 118


def summary(module: Module, trade: Trade, width: int) -> str:
    """Returns the whole explanation.

    Args:
        module: A module compiled in this process.
        trade: The schedules it was chosen from.
        width: Columns of the terminal.
    """
    known, found = layers.of(module), module.manifest.prediction
    parts = [
        *(f"Layers, instructions {prediction.caption(found)}", by_layer(known, width), notes(known, found)),
        *("The trade: RAM against instructions", schedules(trade, width), decision(module, known, trade)),
        *("The trade: flash against time", other_variants(variants.of(module), width), _flash(module)),
    ]
    return "\n\n".join(part for part in parts if part)


def by_layer(known: Sequence[LayerSummary], width: int) -> str:
    """Returns a table with one line for each layer; three lines on narrow terminals."""
    return _wide_layers(known, width) if width >= _WIDE else _narrow_layers(known, width)


def _wide_layers(known: Sequence[LayerSummary], width: int) -> str:
    head = ("#", "op", "name", "kernel", "weights", "MACs", "predicted", "bound", "ratio", "packed", "scratch")
    table = _table(head, left=(1, 2, 3, 4))
    for layer in known:
        record, name = layer.record, label(layer.record.name, width - _WIDE + 18)
        cells = (layer.index, record.op, name, _kernel(layer), layer.weights_form or None, *_figures(layer))
        table.add_row(*map(cell, cells))
    table.add_section()
    table.add_row("", "", "", "", "", *map(cell, _totals(known)))
    return render(table, width)


def _narrow_layers(known: Sequence[LayerSummary], width: int) -> str:
    head = ("#", "layer", "MACs\npredicted", "bound\nratio", "packed\nscratch")
    table = _table(head, left=(1,))
    for layer in known:
        record, form = layer.record, f", {layer.weights_form}" if layer.weights_form else ""
        text = f"{record.op}\n{label(record.name, max(width - 40, 12))}\n{_kernel(layer, form)}"
        table.add_row(str(layer.index), text, *_stacked(_figures(layer)), end_section=True)
    table.add_row("", "all", *_stacked(_totals(known)))
    return render(table, width)


def _kernel(layer: LayerSummary, form: str = "") -> str:
    """Returns the kernel of a layer, and below it the estimate of the device that computes it."""
    own = f"\n{layer.own_estimate}" if layer.own_estimate else ""
    return f"{layer.record.implementation}{form}{own}"


def _figures(layer: LayerSummary) -> tuple[object, ...]:
    """Returns MACs, prediction, bound, their ratio, bytes of constants and bytes of scratch."""
    return (
        layer.record.macs,
        layer.instructions,
        layer.bound,
        times(ratio(layer.instructions, layer.bound)),
        layer.record.weights_bytes,
        layer.record.scratch_bytes,
    )


def _totals(known: Sequence[LayerSummary]) -> tuple[object, ...]:
    instructions = sum(layer.instructions or 0 for layer in known)
    bound = sum(layer.bound or 0 for layer in known)
    packed = sum(layer.record.weights_bytes for layer in known)
    return sum(layer.record.macs for layer in known), instructions, bound, times(ratio(instructions, bound)), packed, ""


def _stacked(figures: Sequence[object]) -> list[str]:
    return [f"{cell(upper)}\n{cell(lower)}" for upper, lower in zip(figures[::2], figures[1::2], strict=True)]


def times(value: float | None) -> str | None:
    """Returns a ratio with two digits; None without a ratio."""
    return None if value is None else f"{value:.2f}"


def notes(known: Sequence[LayerSummary], record: PredictionRecord | None) -> str:
    """Returns `remarks` as lines; empty without remarks."""
    lines = remarks(known, record)
    return facts(lines) if lines else ""


def remarks(known: Sequence[LayerSummary], record: PredictionRecord | None) -> list[tuple[str, str]]:
    """Returns remarks on the figures: the bound's instructions, errors, and layers with borrowed predictions."""
    best = dict.fromkeys(layer.mac_instruction for layer in known if layer.mac_instruction)
    lines = [
        ("bound", f"{1 / found.macs:g} instructions per MAC ({found.name}); nothing else is counted in it")
        for found in best
    ]
    lines.append(("whole model", prediction.error(record)))
    errors = [layer.predicted.error for layer in known if layer.predicted and layer.predicted.error is not None]
    if errors:
        worst = prediction.percent(max(errors))
        lines.append(
            ("each layer", f"from measurements of its kernel; median error of layers left out at most {worst}")
        )
    borrowed = [layer for layer in known if layer.predicted and not layer.predicted.is_measured]
    for basis in dict.fromkeys(layer.predicted.basis for layer in borrowed if layer.predicted):
        mine = ", ".join(str(layer.index) for layer in borrowed if layer.predicted and layer.predicted.basis == basis)
        what = "layers" if "," in mine else "layer"
        lines.append(("borrowed", f"for {what} {mine}, from {basis}, as nothing nearer was measured"))
    return lines


def schedules(trade: Trade, width: int) -> str:
    """Returns a table of the schedules of the Pareto front."""
    head = ("RAM", "bound", "cascades", "stripes", "predicted", "change", "")
    table = _table(head, left=(2, 6))
    taken = next(each for each in trade.weighed if each.taken)
    for each in trade.weighed:
        change = None if each.taken else _change(each, taken)
        cells = (each.ram_bytes, each.bound_bytes, _cascades(each), each.extra_stripes, each.instructions, change)
        table.add_row(*map(cell, cells), "taken" if each.taken else "")
    return render(table, width)


def _cascades(each: Weighed) -> str:
    cascades = ", ".join(f"{first}-{last}" for first, last in each.cascades) or "none"
    return f"{cascades}; less scratch" if each.less_scratch else cascades


def _change(each: Weighed, taken: Weighed) -> str | None:
    return f"{100 * (each.instructions / taken.instructions - 1):+.1f} %" if taken.instructions else None


def other_variants(others: Sequence[Other], width: int) -> str:
    """Returns a table of the kernel variants that were not chosen; empty without any."""
    if not others:
        return ""
    table = _table(("#", "op", "taken", "instead", "predicted", "flash", "for a byte"), left=(1, 2, 3))
    for each in others:
        changes = f"{each.time:+,}", f"{each.flash_bytes:+,}", f"{each.each:,.1f}"
        table.add_row(str(each.layer), each.op, each.taken, each.name, *changes)
    return render(table, width)


def _flash(module: Module) -> str:
    predicted = module.manifest.flash_predicted_bytes
    about = None if predicted is None else f"about {amount(predicted)}: constants, and code as predicted"
    return facts([("taken", variants.rule(module.target)), ("flash", about)])


def decision(module: Module, known: Sequence[LayerSummary], trade: Trade) -> str:
    """Returns the chosen schedule, the rule of the choice, and the layers that set the peak."""
    manifest = module.manifest
    hint = "give its RAM as -ram-max=N (with -opt=balanced or speed)" if len(trade.weighed) > 1 else None
    lines: list[tuple[str, object]] = [("taken", trade.rule), ("another", hint)]
    lines.append(("RAM", f"{amount(manifest.ram_bytes)}, proven bound {manifest.ram_lower_bound_bytes:,}"))
    for arena in range(len(known[0].live_bytes) if known else 0):
        where = f" in {manifest.arenas[arena].region}" if manifest.arenas else ""
        lines.append((f"peak{where}", peak(known, arena)))
    return facts(lines)


def peak(known: Sequence[LayerSummary], arena: int = 0) -> str:
    """Returns a sentence with the layers that set the peak of an arena."""
    setting = layers.peaks(known, arena)
    what = "layers" if len(setting) > 1 else "layer"
    numbers = ", ".join(str(layer.index) for layer in setting)
    return f"set by {what} {numbers}: {setting[0].live_bytes[arena]:,} bytes live at once"


def _table(head: Sequence[str], left: Sequence[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    for index, name in enumerate(head):
        table.add_column(name, justify="left" if index in left else "right", no_wrap=index not in left, overflow="fold")
    return table
