"""The page of a quantised model: its figures, a picture and a table of its layers."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from aboard.base.table import amount
from aboard.base.version import VERSION
from aboard.outputs import SEAL
from aboard.quantization import Quantized
from aboard.reports import cards, noise_svg
from aboard.reports.page import drawn, environment, style
from aboard.reports.prediction import core_name


def html(found: Quantized, model: str) -> str:
    """Returns the page, without the hash that seals it (`aboard.outputs`).

    Args:
        found: The quantised model.
        model: Name of the file that it was made from.
    """
    context: dict[str, Any] = {
        "model": model,
        "version": VERSION,
        "style": style(),
        "facts": _facts(found),
        "picture": _picture(found),
        "layers": found.layers,
        "target": found.target.hardware or core_name(str(found.target.host.attrs["mcpu"])),
        "notes": found.notes,
        "seal": SEAL,
    }
    made = environment()
    made.filters["decibels"] = _decibels
    return cards.labelled(made.get_template("quantized.html.j2").render(context))


def _picture(found: Quantized) -> Markup:
    return drawn("noise", lambda width, key: noise_svg.picture(found.layers, width, key))


def _decibels(value: float | None) -> str:
    if value is None:
        return "-"
    return "no error" if math.isinf(value) else f"{value:.1f}"


def _facts(found: Quantized) -> list[tuple[str, str, str]]:
    """Returns the lines of the summary: name, value, and a remark."""
    accuracy, costs = found.accuracy, found.costs
    snr = math.inf if math.isinf(accuracy.snr) else 10 * math.log10(accuracy.snr)
    lines = [("Outputs", f"{_decibels(snr)} dB", f"above their error, over {accuracy.samples} samples")]
    if accuracy.before is not None and accuracy.after is not None:
        lines.append(("Accuracy", f"{100 * accuracy.after:.1f} %", f"{100 * accuracy.before:.1f} % in real numbers"))
    if accuracy.agreement is not None:
        lines.append(("Same class", f"{100 * accuracy.agreement:.1f} %", "of the samples, as in real numbers"))
    if costs is not None:
        lines += [
            ("RAM", f"{costs.ram_bytes:,} bytes", "tensors, scratch, inputs and outputs"),
            ("Constants", amount(costs.flash_bytes), "weights, biases and tables"),
            ("Instructions", f"{costs.instructions:,}", "predicted, not measured"),
        ]
    return lines
