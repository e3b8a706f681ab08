"""The report of a model as one HTML file without scripts, further files and network access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from aboard.base.manifest import label
from aboard.base.manifest_records import PredictionRecord
from aboard.base.table import amount, cell
from aboard.compiler.pipeline import Module
from aboard.compiler.scheduled import Scheduled
from aboard.outputs import SEAL
from aboard.reports import (
    cards,
    explained,
    flash_svg,
    layers,
    memory_svg,
    pieces,
    prediction,
    profile_svg,
    stripes_svg,
    summary,
    variants,
)
from aboard.reports.anchors import Comparison
from aboard.reports.flash import FlashBreakdown
from aboard.reports.flash_svg import Part
from aboard.reports.layers import LayerSummary
from aboard.reports.memory_svg import Arena
from aboard.reports.profile_svg import Bar
from aboard.reports.summary import BoardVerdict, Measured
from aboard.reports.svg import Picture
from aboard.schedule.trade import Trade

_TEMPLATES = Path(__file__).with_name("templates")

#: Each picture is drawn twice, for wide and narrow screens; the page shows one of the two.
_WIDTHS = (("wide", 920.0), ("narrow", 350.0))


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
        verdict: Verdict on the board; None if the target names no board.
    """

    module: Module
    trade: Trade
    comparison: Comparison | None
    measured: Measured | None
    flash: FlashBreakdown | None
    tools: Sequence[tuple[str, str]]
    command: str
    verdict: BoardVerdict | None = None


def html(report: Report) -> str:
    """Returns the page, without the hash that seals it (`aboard.outputs`)."""
    return cards.labelled(environment().get_template("report.html.j2").render(_context(report), seal=SEAL))


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
    manifest = report.module.manifest
    return {
        "name": report.module.name,
        "manifest": manifest,
        "head": summary.head(report.verdict, report.comparison, _ours(report, known)),
        "target": report.module.target,
        "report": report,
        "measured": report.measured,
        "flash": report.flash,
        "style": style(),
        "facts": summary.facts(manifest, known, report.flash, report.measured),
        "arenas": _arenas(scheduled, known),
        "cascades": _cascades(scheduled, known),
        "trade": report.trade,
        "layers": _layers(report, known),
        "notes": _notes(known, manifest.prediction),
        "variants": variants.of(report.module),
        "variants_rule": variants.rule(report.module.target),
        "variants_unit": variants.unit(report.module.target),
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
    ours = _ours(report, layers.of(report.module))
    rows = []
    for system in report.comparison.systems:
        cells = {key: (getattr(system, key), layers.ratio(mine, getattr(system, key))) for key, mine in ours.items()}
        rows.append({"name": system.name, "cells": cells})
    return {"about": report.comparison, "ours": ours, "rows": rows}


def _ours(report: Report, known: Sequence[LayerSummary]) -> dict[str, int | None]:
    """Returns the figures of this page by the names of those of other systems."""
    return {
        "instructions": summary.instructions(known, report.measured),
        "ram": report.module.manifest.ram_bytes,
        "flash": None if report.flash is None else report.flash.sizes.image_flash_bytes,
        "stack": None if report.measured is None else report.measured.stack,
    }
