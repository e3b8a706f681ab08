"""The pipeline as a value: the passes that run on a graph, their order, and the step at which devices claim parts.

`NEUTRAL` runs on every graph before devices may claim parts of it, because an accelerator recognises the operators of
the model file. `HOST` runs on the nodes that are left to the CPU's kernels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from aboard.errors import PassError
from aboard.ir import Graph, Rounding
from aboard.passes.contract import Pass
from aboard.passes.depthwise_form import DepthwiseForm
from aboard.passes.divide_wide_nodes import DivideWideNodes
from aboard.passes.drop_clamps import DropClamps
from aboard.passes.enter_constants import EnterConstants
from aboard.passes.fold_constants import FoldConstants
from aboard.passes.fully_connected_form import FullyConnectedForm
from aboard.passes.fuse_activations import FuseActivations
from aboard.passes.fuse_dilation import FuseDilation
from aboard.passes.fuse_padding import FusePadding
from aboard.passes.fuse_quantisation import FuseQuantisation
from aboard.passes.input_layout import InputLayout
from aboard.passes.merge_reshapes import MergeReshapes
from aboard.passes.move_transposes import MoveTransposes
from aboard.passes.quantise_border import QuantiseBorder
from aboard.passes.registry import registered
from aboard.passes.remove_channels import RemoveChannels
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.remove_no_ops import RemoveNoOps
from aboard.passes.round_exactly import RoundExactly
from aboard.passes.trim_windows import TrimWindows

NEUTRAL: tuple[Pass, ...] = (
    EnterConstants(),
    MoveTransposes(),
    FuseQuantisation(),
    RemoveDeadCode(),
    MoveTransposes(),
    FoldConstants(),
    RemoveNoOps(),
    MergeReshapes(),
    RemoveDeadCode(),
)

HOST: tuple[Pass, ...] = (
    FuseDilation(),
    FusePadding(),
    TrimWindows(),
    FuseActivations(),
    RemoveDeadCode(),
    DropClamps(),
    RemoveChannels(),
    DepthwiseForm(),
    FullyConnectedForm(),
    DivideWideNodes(),
)

#: Types of the options of passes.
Option = bool | int | str

#: The first step of a pipeline: the imported graph.
IMPORT = "import"

#: The step of a pipeline at which devices claim parts of the graph. Each claimed part becomes one node.
PARTITION = "partition"


def neutral(arithmetic: str = "tflite", io: str = "file", input_layout: str = "file") -> tuple[Pass, ...]:
    """Returns the passes for the whole graph. Arguments are the values of a target's attributes of these names."""
    passes = NEUTRAL if input_layout == "file" else (InputLayout(), *NEUTRAL)
    if arithmetic != Rounding.TFLITE.value:
        place = passes.index(FuseQuantisation())
        passes = (*passes[:place], RoundExactly(), FuseQuantisation(arithmetic), *passes[place + 1 :])
    return passes if io == "file" else (*passes, QuantiseBorder(io))


def host(channel_block: int = 1, core: str = "", opt: str = "balanced") -> tuple[Pass, ...]:
    """Returns the passes for the nodes that are left to the CPU.

    Args:
        channel_block: Number of channels that the CPU's kernels compute at once.
        core: The CPU, as `-mcpu` names it; empty for passes that know no core.
        opt: What the code is optimised for, as `-opt` names it.
    """
    given: dict[type[Pass], Pass] = {
        RemoveChannels: RemoveChannels(channel_block),
        DepthwiseForm: DepthwiseForm(core, opt),
        FullyConnectedForm: FullyConnectedForm(core, opt),
    }
    return tuple(given.get(type(step), step) for step in HOST)


@dataclass(frozen=True)
class Pipeline:
    """Passes in their order.

    Attributes:
        before: Passes that run before devices claim parts of the graph.
        after: Passes that run afterwards.
    """

    before: tuple[Pass, ...] = NEUTRAL
    after: tuple[Pass, ...] = HOST

    @property
    def names(self) -> list[str]:
        """The steps by name, including `partition`."""
        return [*(step.name for step in self.before), PARTITION, *(step.name for step in self.after)]

    def __str__(self) -> str:
        """Returns the text that `aboard.passes.text.parse` reads."""
        return ",".join([*map(text_of, self.before), PARTITION, *map(text_of, self.after)])


def text_of(step: Pass) -> str:
    """Returns a pass as text, with the options that differ from their defaults: `remove-channels{block=4}`."""
    given = " ".join(f"{name}={_word(value)}" for name, value, default in options(step) if value != default)
    return f"{step.name}{{{given}}}" if given else step.name


def _word(value: Option) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def options(step: Pass | type[Pass]) -> Iterator[tuple[str, Option, Option]]:
    """Yields name, value and default of each option of a pass; for a class, the default twice.

    Fields whose default has another type than `Option` are not options: text cannot express them.
    """
    for field in dataclasses.fields(step):
        default = field.default
        if isinstance(default, bool | int | str):
            yield field.name, default if isinstance(step, type) else getattr(step, field.name), default


def check_order(pipeline: Pipeline) -> None:
    """Checks that the passes that a pass requires come before it.

    Raises:
        PassError: A required pass is missing or comes later.
    """
    seen: list[Pass] = []
    for step in (*pipeline.before, *pipeline.after):
        for required in step.requires:
            if not any(isinstance(earlier, required) for earlier in seen):
                raise PassError(
                    f"passes: {step.name} requires {required.name}, which does not run before it. "
                    f"Put {required.name} before {step.name}"
                )
        seen.append(step)


def check_lowerable(graph: Graph) -> None:
    """Checks that kernels can compute a graph, as far as passes are responsible.

    Args:
        graph: The graph after all passes.

    Raises:
        PassError: The pipeline lacks a pass that rewrites nodes that no kernel computes.
    """
    for name, each in registered().items():
        node = each.unlowerable(graph)
        if node is not None:
            raise PassError(f"passes: no kernel computes {node} without {name}. Add {name} to the passes")
