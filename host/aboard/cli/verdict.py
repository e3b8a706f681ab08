"""Shows whether a model fits a board, and how long a run takes.

A time is either measured on a device, or marked as an estimate, with its basis and its error.
"""

from __future__ import annotations

from aboard import boards
from aboard.base.manifest import Manifest
from aboard.cli.schema_verdict import EstimatedTimeInfo, FitInfo, MemoryNeed, Verdict
from aboard.device.timing import EstimatedTime
from aboard.project import capacity
from aboard.project.capacity import Fit
from aboard.reports.prediction import core_name, percent


def verdict(manifest: Manifest, hardware: str | None) -> Verdict:
    """Returns whether a compiled model fits a board, and the predicted time of a run.

    Args:
        manifest: The model.
        hardware: The board's id; None if the target names none.
    """
    if hardware is None:
        return Verdict(fits=None, ram_needed_bytes=None, memory=None, estimated_time=None)
    board = boards.of_hardware(hardware)
    if board.is_soc and None in (board.flash_bytes, board.ram_bytes):
        # The memories of a SoC that its board completes are not known.
        return Verdict(fits=None, ram_needed_bytes=None, memory=None, estimated_time=None)
    fit = capacity.fit_alone(manifest, board)
    time = EstimatedTime.predicted(manifest, board.core().clock_hz)
    return Verdict(
        fits=not fit.problems,
        ram_needed_bytes=fit.ram.needed,
        memory=_fit(fit),
        estimated_time=None if time is None else time_info(time),
    )


def _fit(fit: Fit) -> FitInfo:
    ram, flash = (
        MemoryNeed(needed_bytes=use.needed, available_bytes=use.available, items=dict(use.items))
        for use in (fit.ram, fit.flash)
    )
    return FitInfo(ram=ram, flash=flash, problems=list(fit.problems))


def time_info(estimated: EstimatedTime) -> EstimatedTimeInfo:
    """Returns an estimate for JSON."""
    return EstimatedTimeInfo(
        cycles=estimated.cycles,
        seconds=estimated.seconds,
        core=estimated.core,
        error=estimated.error,
        basis=estimated.basis,
        flash=estimated.flash,
    )


def rows(found: Verdict, board: str | None) -> list[tuple[str, str, str]]:
    """Returns a verdict for people: name, value, and a remark for each line; empty without a board."""
    if found.memory is None:
        return []
    holds = "yes" if found.fits else "no"
    lines = [
        (f"Fits {board}", holds, "; ".join(found.memory.problems) or "with the board's default project"),
        ("RAM needed", *need(found.memory.ram)),
        ("Flash needed", *need(found.memory.flash)),
    ]
    if found.estimated_time is not None:
        lines.append(("Time", *run_time(None, found.estimated_time)))
    return lines


def need(memory: MemoryNeed) -> tuple[str, str]:
    """Returns the needed bytes, and what they are for."""
    items = ", ".join(f"{name} {size:,}" for name, size in memory.items.items())
    return of(memory.needed_bytes, memory.available_bytes), items


def of(needed: int, available: int | None) -> str:
    """Returns needed bytes, of the available ones if they are limited."""
    return f"{needed:,}{'' if available is None else f' of {available:,}'} bytes"


def time_text(seconds: float | None, estimated: EstimatedTimeInfo | None) -> str | None:
    """Returns a measured time, else an estimated one with its basis and error, else None."""
    return None if seconds is None and estimated is None else ", ".join(run_time(seconds, estimated))


def run_time(seconds: float | None, estimated: EstimatedTimeInfo | None) -> tuple[str, str]:
    """Returns a measured time, else an estimated one; and that it was measured, or its basis and error."""
    if seconds is not None:
        return duration(seconds), "measured"
    if estimated is None:
        return "not known", "the clock rate of the board or the cycles of a layer are not known"
    return f"about {duration(estimated.seconds)}", basis(estimated)


def basis(estimated: EstimatedTimeInfo) -> str:
    """Returns what an estimated time is made of, and how far off it may be."""
    mhz = estimated.cycles / estimated.seconds / 1e6 if estimated.seconds else 0.0
    if estimated.basis == "counted":
        error = "counted instruction by instruction"
    else:
        error = "error not known" if estimated.error is None else f"up to {percent(estimated.error)} off"
    cycles = f"{estimated.cycles:,} cycles of {core_name(estimated.core)} at {mhz:.4g} MHz"
    memory = "without wait states" if estimated.flash is None else f"with {estimated.flash}"
    return f"estimated: {cycles} {memory}, {error}"


def duration(seconds: float) -> str:
    """Returns a time with three digits in the unit that suits its size: `569 us`, `47.3 ms`, `1.2 s`."""
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "us"))
    return f"{seconds / scale:,.3g} {unit}" if seconds < 1000 else f"{seconds:,.0f} s"
