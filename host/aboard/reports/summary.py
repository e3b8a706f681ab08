"""The head of a report: the verdict first, then the figures that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aboard.base.manifest import Manifest
from aboard.reports import layers, prediction
from aboard.reports.anchors import Comparison
from aboard.reports.flash import FlashBreakdown
from aboard.reports.layers import LayerSummary

#: A line of a summary: name, value, and a remark.
Fact = tuple[str, str, str]


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
class BoardVerdict:
    """Whether a model fits a board.

    Attributes:
        board: Id of the board.
        fits: True if the board's default project fits.
        problems: One sentence for each memory that is too small.
        facts: RAM, flash and time, in words.
    """

    board: str
    fits: bool
    problems: Sequence[str]
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Head:
    """The first lines of a page.

    Attributes:
        kind: Style of the verdict.
        sentence: The verdict.
        remark: Why the model does not fit, or what the verdict is about.
        facts: The figures of the verdict.
    """

    kind: Literal["fits", "lacks", "open"]
    sentence: str
    remark: str
    facts: Sequence[Fact]


def head(verdict: BoardVerdict | None, comparison: Comparison | None, ours: dict[str, int | None]) -> Head:
    """Returns the verdict of a page.

    Args:
        verdict: Verdict on the board; None if the target names no board.
        comparison: Figures of other systems; None if no figures are known.
        ours: Figures of aboard by the names of those of `System`; None where they cannot be compared.
    """
    beside = _beside(comparison, ours)
    if verdict is None:
        remark = (
            "The target names no board. With --board, this page says whether the model fits, and how long a run takes."
        )
        return Head("open", "No board to fit", remark, [beside])
    facts = [*verdict.facts, beside]
    if verdict.fits:
        return Head("fits", f"Fits {verdict.board}", "With the board's default project.", facts)
    return Head("lacks", f"Does not fit {verdict.board}", "; ".join(verdict.problems), facts)


def _beside(comparison: Comparison | None, ours: dict[str, int | None]) -> Fact:
    """Returns the shares of the first other system, which is TFLM in the figures of aboard."""
    if comparison is None or not comparison.systems:
        return "Beside TFLM", "not known", "no figures of TFLM are known for this file on this core"
    other = comparison.systems[0]
    ratios = {text: layers.ratio(ours[key], getattr(other, key)) for key, text in _COMPARED.items()}
    value, *remarks = [f"{100 * ratio:.3g} % of its {text}" for text, ratio in ratios.items() if ratio is not None] or [
        "not comparable"
    ]
    return f"Beside {other.name}", value, "; ".join(remarks) or "other figures cannot be compared"


_COMPARED = {"instructions": "instructions", "ram": "RAM of tensors", "flash": "flash", "stack": "stack"}


def facts(
    manifest: Manifest, known: Sequence[LayerSummary], flash: FlashBreakdown | None, measured: Measured | None
) -> list[Fact]:
    """Returns the figures of a model alone."""
    gap = manifest.ram_bytes - manifest.ram_lower_bound_bytes
    bound = "which is the proven bound" if gap == 0 else f"proven bound {manifest.ram_lower_bound_bytes:,}"
    built = ("Flash of the model", "not built", "--build or --profile weighs it")
    if flash is not None:
        image = f"{flash.sizes.image_flash_bytes:,} with the rest of the image"
        built = ("Flash of the model", f"{flash.sizes.model_flash_bytes:,} bytes", image)
    stack = ("Stack", "not measured", "--profile measures it")
    if measured is not None:
        stack = ("Stack", "not known" if measured.stack is None else f"{measured.stack:,} bytes", "at most, in a run")
    return [
        ("RAM", f"{manifest.ram_bytes:,} bytes", f"tensors, scratch, inputs and outputs; {bound}"),
        _ran(manifest, known, measured),
        built,
        stack,
        ("Constants", f"{manifest.weights_bytes:,} bytes", manifest.weights_region or "in the region of the code"),
        ("MACs", f"{manifest.macs_run:,}", f"as compiled, {manifest.macs:,} in the model"),
    ]


def _ran(manifest: Manifest, known: Sequence[LayerSummary], measured: Measured | None) -> Fact:
    if measured is not None:
        return measured.unit.capitalize(), f"{measured.total:,}", f"measured on {measured.where}"
    elsewhere = sum(layer.predicted is None for layer in known)
    without = f", without {elsewhere} layers on devices" if elsewhere else ""
    record = manifest.prediction
    about = f"{prediction.caption(record)}, not measured{without}; {prediction.error(record)}"
    return "Instructions", f"{instructions(known, measured):,}", about


def instructions(known: Sequence[LayerSummary], measured: Measured | None) -> int | None:
    """Returns the instructions of a run: measured, else predicted; None if a device counts cycles."""
    if measured is None:
        return sum(layer.instructions or 0 for layer in known)
    return measured.total if measured.unit == "instructions" else None
