"""Passes: rewrites of the graph that keep its results bit for bit. One pass per file; the pipeline stands here.

`NEUTRAL` runs on every graph before devices may claim parts of it: what an accelerator has to recognise is still as the
model file had it. `HOST` runs on what is left to the CPU's kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aboard.ir import Graph
from aboard.passes.contract import Pass
from aboard.passes.divide_wide_nodes import DivideWideNodes
from aboard.passes.drop_clamps import DropClamps
from aboard.passes.fold_constants import FoldConstants
from aboard.passes.fuse_activations import FuseActivations
from aboard.passes.fuse_padding import FusePadding
from aboard.passes.merge_reshapes import MergeReshapes
from aboard.passes.remove_channels import RemoveChannels
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.remove_no_ops import RemoveNoOps
from aboard.passes.runner import run_passes

NEUTRAL: Sequence[Pass] = (
    FoldConstants(),
    RemoveNoOps(),
    MergeReshapes(),
    RemoveDeadCode(),
)


def host(channel_block: int = 1) -> Sequence[Pass]:
    """Returns the passes for what is left to the CPU.

    Args:
        channel_block: Channels that its kernels compute at once.
    """
    return (
        FusePadding(),
        FuseActivations(),
        RemoveDeadCode(),
        DropClamps(),
        RemoveChannels(channel_block),
        DivideWideNodes(),
    )


HOST: Sequence[Pass] = host()


def run_pipeline(graph: Graph, on_step: Callable[[str], object] | None = None) -> None:
    """Runs all passes on a graph that no device claims a part of.

    Args:
        graph: Verified; changed in place.
        on_step: Called with `import` first, then with the name of each pass after it has run.

    Raises:
        VerifyError: A pass broke a rule, which is our bug.
    """
    if on_step is not None:
        on_step("import")
    run_passes(graph, (*NEUTRAL, *HOST), on_step)


__all__ = ["HOST", "NEUTRAL", "Pass", "host", "run_passes", "run_pipeline"]
