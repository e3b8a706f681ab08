"""Reports of how far work has come reach the display that listens, and nothing else."""

from __future__ import annotations

from aboard.base import progress
from aboard.compiler.pipeline import compile_model
from support.chain_models import chain


def test_reports_go_to_the_innermost_display_and_end_with_it() -> None:
    outer, inner = list[str](), list[str]()
    progress.report("nobody listens")
    with progress.observed(outer.append):
        progress.report("schedule", 3, 7)
        with progress.observed(inner.append):
            progress.report("memory plan")
        progress.report("passes")
    progress.report("nobody listens")
    assert (outer, inner) == (["schedule: 3 of 7 layers", "passes"], ["memory plan"])


def test_the_compiler_reports_its_stages_in_order() -> None:
    said = list[str]()
    with progress.observed(said.append):
        compile_model(chain(4, 16, 4), target="c -mcpu=cortex-m4")
    stages = list(dict.fromkeys(line.split(":")[0] for line in said))
    assert stages == ["passes", "choice of kernels", "schedule", "memory plan", "C sources"]
    assert "choice of kernels: 3 of 4 layers" in said
    assert "schedule: 4 of 4 layers" in said
