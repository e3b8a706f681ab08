"""The report of a model as one HTML file without scripts, further files and network access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jinja2
from markupsafe import Markup

from aboard.base.manifest import label
from aboard.base.manifest_records import PredictionRecord
from aboard.base.table import amount, cell
from aboard.compiler.fitting import Scheduled
from aboard.compiler.pipeline import Module
from aboard.outputs import SEAL
from aboard.reports import (
    explained,
    flash_svg,
    layers,
    memory_svg,
    pieces,
    prediction,
    profile_svg,
    stripes_svg,
    variants,
)
from aboard.reports.anchors import Comparison
from aboard.reports.flash import FlashBreakdown
from aboard.reports.flash_svg import Part
from aboard.reports.layers import LayerSummary
from aboard.reports.memory_svg import Arena
from aboard.reports.profile_svg import Bar
from aboard.reports.svg import Picture
from aboard.schedule.trade import Trade

_TEMPLATES = Path(__file__).with_name("templates")

#: Each picture is drawn twice, for wide and narrow screens; the page shows one of the two.
_WIDTHS = (("wide", 920.0), ("narrow", 350.0))


@dataclass(frozen=True)
class Measured:
    """The counts that a device measured.

    Attributes:
        unit: Unit of the counts: `instructions`, `cycles` or `ticks`.
        counts: Count of each layer.
        total: Count of a run without profiling.
        stack: High-water mark of the stack in bytes; None if unknown.
        where: Names of the board and the runner.
    """

    unit: Literal["instructions", "cycles", "ticks"]
    counts: tuple[int, ...]
    total: int
    stack: int | None
    where: str


@dataclass(frozen=True)
class Report:
    """Content of the page.

    Attributes:
        module: The model, compiled in this process.
        trade: The schedules it was chosen from.
        comparison: Figures of other systems; None if no figures are known.
        measured: Counts of a device; None without a device.
        flash: The flash by use; None without an image.
        tools: Names and versions of the tools.
        command: The command that makes the page again.
        board_facts: Lines of the board in the summary: name, value, and a remark.
    """

    module: Module
    trade: Trade
    comparison: Comparison | None
    measured: Measured | None
    flash: FlashBreakdown | None
    tools: Sequence[tuple[str, str]]
    command: str
    board_facts: Sequence[tuple[str, str, str]] = ()


def html(report: Report) -> str:
    """Returns the page, without the hash that seals it (`aboard.outputs`)."""
    return environment().get_template("report.html.j2").render(_context(report), seal=SEAL)


def environment() -> jinja2.Environment:
    """Returns the templates of pages, with the filters that they use."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"cell": cell, "amount": amount, "label": label, "times": explained.times}
    return made


def style() -> Markup:
    """Returns the style sheet of pages."""
    return Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8"))  # noqa: S704 - a file of ours


def _context(report: Report) -> dict[str, Any]:
    scheduled = report.module.schedule()
    known = layers.of(report.module)
    return {
        "name": report.module.name,
        "manifest": report.module.manifest,
        "target": report.module.target,
        "report": report,
        "measured": report.measured,
        "flash": report.flash,
        "style": style(),
        "facts": _facts(report, known),
        "arenas": _arenas(scheduled, known),
        "cascades": _cascades(scheduled, known),
        "trade": report.trade,
        "layers": _layers(report, known),
        "notes": _notes(known, report.module.manifest.prediction),
        "variants": variants.of(report.module),
        "variants_rule": variants.rule(report.module.target),
        "bounded": any(layer.bound for layer in known),
        "unit": _unit(report),
        "profile": drawn("profile", lambda width, key: profile_svg.picture(*_profile(report, known), width, key)),
        "flash_pictures": _flash_pictures(report, known),
        "image_parts": [] if report.flash is None else _image_parts(report.flash),
        "comparison": _comparison(report),
    }


def drawn(key: str, draw: Any) -> Markup:
    """Returns a picture in both widths."""
    pictures: list[Picture] = [draw(width, f"{key}-{name}") for name, width in _WIDTHS]
    # The markup of a picture escapes all text that it contains.
    return Markup("\n".join(p.markup(f"picture {name}") for p, (name, _) in zip(pictures, _WIDTHS, strict=True)))  # noqa: S704


def _unit(report: Report) -> str:
    if report.measured is not None:
        return report.measured.unit
    return f"instructions, {prediction.caption(report.module.manifest.prediction)}"


def _instructions(report: Report, known: Sequence[LayerSummary]) -> int | None:
    """Returns the instructions of a run: measured, else predicted; None if a device counts cycles."""
    if report.measured is None:
        return sum(layer.instructions or 0 for layer in known)
    return report.measured.total if report.measured.unit == "instructions" else None


def _facts(report: Report, known: Sequence[LayerSummary]) -> list[tuple[str, str, str]]:
    """Returns the lines of the summary: name, value, and a remark."""
    manifest, flash, measured = report.module.manifest, report.flash, report.measured
    gap = manifest.ram_bytes - manifest.ram_lower_bound_bytes
    bound = "which is the proven bound" if gap == 0 else f"proven bound {manifest.ram_lower_bound_bytes:,}"
    elsewhere = sum(layer.predicted is None for layer in known)
    without = f", without {elsewhere} layers on devices" if elsewhere else ""
    if measured is None:
        about = (
            f"{prediction.caption(manifest.prediction)}, not measured{without}; {prediction.error(manifest.prediction)}"
        )
        ran = ("Instructions", f"{_instructions(report, known):,}", about)
    else:
        ran = (measured.unit.capitalize(), f"{measured.total:,}", f"measured on {measured.where}")
    built = ("Flash of the model", "not built", "--build or --profile weighs it")
    if flash is not None:
        image = f"{flash.sizes.image_flash_bytes:,} with the rest of the image"
        built = ("Flash of the model", f"{flash.sizes.model_flash_bytes:,} bytes", image)
    stack = ("Stack", "not measured", "--profile measures it")
    if measured is not None:
        stack = ("Stack", "not known" if measured.stack is None else f"{measured.stack:,} bytes", "at most, in a run")
    return [
        ("RAM", f"{manifest.ram_bytes:,} bytes", f"tensors, scratch, inputs and outputs; {bound}"),
        ran,
        *report.board_facts,
        built,
        stack,
        ("Constants", f"{manifest.weights_bytes:,} bytes", manifest.weights_region or "in the region of the code"),
        ("MACs", f"{manifest.macs_run:,}", f"as compiled, {manifest.macs:,} in the model"),
    ]


def _arenas(scheduled: Scheduled, known: Sequence[LayerSummary]) -> list[dict[str, Any]]:
    found = pieces.pieces(scheduled)
    cascades = pieces.cascades(scheduled)
    shown = []
    for number, size in enumerate(scheduled.layout.peaks):
        region = scheduled.layout.regions[number] if scheduled.layout.regions else ""
        mine = [piece for piece in found if piece.arena == number]
        live = [layer.live_bytes[number] for layer in known]
        peaks = [layer.index for layer in layers.peaks(known, number)]
        arena = Arena(number, region, size, mine, live, peaks, cascades)
        shown.append(
            {
                "arena": arena,
                "bound": scheduled.layout.bounds[number],
                "peak": explained.peak(known, number) if known else "nothing",
                "kinds": [(memory_svg.style(kind), kind) for kind in dict.fromkeys(piece.kind for piece in mine)],
                "rows": sorted(mine, key=lambda piece: (piece.offset, piece.first)),
                "picture": drawn(f"memory-{number}", lambda width, key, a=arena: memory_svg.picture(a, width, key)),
            }
        )
    return shown


def _cascades(scheduled: Scheduled, known: Sequence[LayerSummary]) -> list[dict[str, Any]]:
    names = {layer.index: _name(layer) for layer in known}
    ops = {layer.index: layer.record.op for layer in known}
    shown = []
    for number, cascade in enumerate(pieces.cascades(scheduled)):
        draw = lambda width, key, c=cascade: stripes_svg.picture(c, ops, width, key)  # noqa: E731 - needs its own c
        rows = [(lane, "from the caller" if lane.step is None else names[lane.step]) for lane in cascade.lanes]
        shown.append({"cascade": cascade, "rows": rows, "picture": drawn(f"stripes-{number}", draw)})
    return shown


def _name(layer: LayerSummary) -> str:
    return f"{layer.record.op} {label(layer.record.name, 24)}"


def _layers(report: Report, known: Sequence[LayerSummary]) -> list[dict[str, Any]]:
    others = _others(report, known)
    return [
        {
            "layer": layer,
            "measured": None if report.measured is None else report.measured.counts[layer.index],
            "each": _each(report, layer),
            "ratio": layers.ratio(_count(report, layer), layer.bound),
            "other": other,
        }
        for layer, other in zip(known, others, strict=True)
    ]


def _count(report: Report, layer: LayerSummary) -> int | None:
    return layer.instructions if report.measured is None else report.measured.counts[layer.index]


def _each(report: Report, layer: LayerSummary) -> float | None:
    return layers.ratio(_count(report, layer), layer.record.macs)


def _others(report: Report, known: Sequence[LayerSummary]) -> list[int | None]:
    """Returns the instructions of another system for each layer; None if this page does not count instructions."""
    if report.comparison is None or (report.measured is not None and report.measured.unit != "instructions"):
        return [None] * len(known)
    return report.comparison.of_sources([layer.record.sources for layer in known])


def _profile(report: Report, known: Sequence[LayerSummary]) -> tuple[list[Bar], str, str]:
    others = _others(report, known)
    bars = [
        Bar(
            title=f"{layer.index} {layer.record.op}",
            name=label(layer.record.name),
            count=_count(report, layer),
            other=other,
            macs=layer.record.macs,
            bound=None if layer.mac_instruction is None else 1 / layer.mac_instruction.macs,
        )
        for layer, other in zip(known, others, strict=True)
    ]
    beside = report.comparison.layers_of if report.comparison is not None and any(others) else ""
    return bars, _unit(report), beside


def _notes(known: Sequence[LayerSummary], record: PredictionRecord | None) -> list[str]:
    """Returns remarks on predictions and bounds."""
    return [f"{name.capitalize()}: {text}" for name, text in explained.remarks(known, record)]


def _flash_pictures(report: Report, known: Sequence[LayerSummary]) -> dict[str, Markup]:
    manifest, flash = report.module.manifest, report.flash
    sizes = {layer.index: layer.record.weights_bytes for layer in known} if flash is None else flash.constants
    names = {layer.index: _name(layer) for layer in known}
    parts = [
        Part(f"{index} {names.get(index, '')}", size, f"constants-{number % 2}", str(index))
        for number, (index, size) in enumerate(sizes.items())
    ]
    found = {}
    if manifest.weights_bytes:
        title = "Constants by layer"
        found["constants"] = drawn("constants", lambda width, key: flash_svg.picture(parts, title, width, key))
    if flash is not None:
        whole = _image_parts(flash)
        found["image"] = drawn("image", lambda width, key: flash_svg.picture(whole, "Flash of the image", width, key))
    return found


def _image_parts(flash: FlashBreakdown) -> list[Part]:
    if flash.other is None:
        return [
            Part("model", flash.sizes.model_flash_bytes, "constants-0", "m"),
            Part("rest of the image", flash.rest_bytes, "rest", "rest"),
        ]
    return [
        Part("constants", flash.constants_bytes, "constants-0", "c"),
        Part("kernels", flash.kernels_bytes, "kernels", "k"),
        Part("model code", flash.code_bytes, "code", "m"),
        Part("compiler's library", flash.library_bytes, "library", "lib"),
        Part("other of the model", flash.other, "other", ""),
        Part("rest of the image", flash.rest_bytes, "rest", "rest"),
    ]


def _comparison(report: Report) -> dict[str, Any] | None:
    if report.comparison is None:
        return None
    known = layers.of(report.module)
    ours = {
        "instructions": _instructions(report, known),
        "ram": report.module.manifest.ram_bytes,
        "flash": None if report.flash is None else report.flash.sizes.image_flash_bytes,
        "stack": None if report.measured is None else report.measured.stack,
    }
    rows = []
    for system in report.comparison.systems:
        cells = {key: (getattr(system, key), layers.ratio(mine, getattr(system, key))) for key, mine in ours.items()}
        rows.append({"name": system.name, "cells": cells})
    return {"about": report.comparison, "ours": ours, "rows": rows}
