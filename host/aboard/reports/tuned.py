"""The text of `aboard tune`."""

from __future__ import annotations

from aboard.base.manifest import label
from aboard.base.measured_cost import MeasuredCost, cost_text, total
from aboard.base.table import facts, table
from aboard.tuner.found import Found
from aboard.tuning.key import HOST
from aboard.tuning.space import shown


def summary(found: Found) -> str:
    """Returns the whole report: all points, the best point of each region, and the totals."""
    return "\n\n".join(part for part in (trials(found), best(found), totals(found)) if part)


def trials(found: Found) -> str:
    """Returns a table with one line for each point of a device; those of the host's kernels are too many."""
    rows = [
        (
            trial.device,
            shown(trial.point),
            _shown(total(trial.regions.values()) if trial.regions else None),
            _shown(trial.total),
            trial.refused or "exact",
        )
        for trial in found.trials
        if trial.device != HOST
    ]
    return table(("device", "point", "its regions", "whole run", "result"), rows) if rows else ""


def best(found: Found) -> str:
    """Returns a table with one line for each workload; empty if nothing was measured."""
    rows = [
        (
            entry.device,
            ", ".join(map(label, entry.names)),
            shown(entry.record.values),
            entry.tried,
            _shown(entry.default),
            _shown(entry.cost),
            f"{100 * (entry.cost.count / entry.default.count - 1):+.1f} %" if entry.default.count else None,
            f"{entry.more_bytes:+,}" if entry.more_bytes else None,
        )
        for entry in found.best
    ]
    return table(("device", "computes", "best", "points", "default", "tuned", "change", "bytes"), rows) if rows else ""


def totals(found: Found) -> str:
    """Returns the cost of whole runs: the host alone, with defaults, tuned."""
    unit = None if found.default is None else found.default.unit
    return facts(
        [
            ("model", f"{found.model} on {found.bench}"),
            ("target", str(found.target)),
            ("compared", f"{found.samples} inputs for each point, with the host alone, bit for bit"),
            ("unit", "ticks of the board's counter, medians ± spread" if unit == "ticks" else unit),
            ("host alone", _shown(found.host)),
            ("default", _shown(found.default)),
            ("tuned", _shown(found.tuned)),
            ("RAM, flash", _memory(found)),
            ("unfinished", "the time was over before all points were tried" if found.unfinished else None),
        ]
    )


def _memory(found: Found) -> str | None:
    """Returns the memory at the defaults and at the best points; None if nothing was measured."""
    before, after = found.default_memory, found.tuned_memory
    if after is None:
        return None
    parts = [f"{before.ram_bytes:,} to {after.ram_bytes:,} bytes of RAM"]
    if before.flash_bytes is not None and after.flash_bytes is not None:
        parts.append(f"{before.flash_bytes:,} to {after.flash_bytes:,} bytes of flash, predicted")
    return ", ".join(parts)


def _shown(cost: MeasuredCost | None) -> int | str | None:
    return None if cost is None else cost_text(cost.count, cost.spread)
