"""Passes of which none removes taps: for tests of kernels whose windows lie in padding."""

from __future__ import annotations

from aboard.partition.pipeline import pipeline_of
from aboard.passes import Pipeline
from aboard.passes.trim_windows import TrimWindows
from aboard.target import Target


def passes(target: str, opt: str | None = None) -> str:
    """Returns the other passes of a target as text, those for `-opt=<opt>` if it is given."""
    usual = pipeline_of(Target(target) if opt is None else Target(target).overridden({"opt": opt}))
    return str(Pipeline(usual.before, tuple(step for step in usual.after if not isinstance(step, TrimWindows))))
