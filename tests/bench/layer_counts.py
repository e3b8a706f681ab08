"""Instructions and cycles of single layers on emulated cores, many layers in one image."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import aboard
from aboard import boards
from aboard.cycles import core_times
from aboard.cycles.histogram import total
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from bench import histogram, measure
from support.single_layers import SingleLayer, model

#: Layers of one image: the more, the more a byte of code must save, so that fast kernels of few layers are left out.
LAYERS = 11


@dataclass(frozen=True)
class Counted:
    """What a layer executed.

    Attributes:
        layer: The layer.
        kernel: The implementation that computed it.
        instructions: Executed instructions, exact.
        cycles: Cycles of these instructions, by the table of the core.
        in_cycles: True if cycles decide on the core, as its manual lists them; False if instructions do.
    """

    layer: SingleLayer
    kernel: str
    instructions: int
    cycles: int
    in_cycles: bool

    @property
    def time(self) -> int:
        """Cycles, or instructions where these decide."""
        return self.cycles if self.in_cycles else self.instructions

    @property
    def per_mac(self) -> float:
        """Time of a multiply-accumulate."""
        return self.time / self.layer.macs


@contextmanager
def portable() -> Iterator[None]:
    """Lets every layer be computed by portable C."""

    def rule(explained: strategy.Explanation) -> Implementation | None:
        able = [each.implementation for each in explained.candidates if not each.refused]
        return next((each for each in able if each.name.startswith("portable")), None)

    with strategy.forced(rule):
        yield


def counted(
    layers: Sequence[SingleLayer], core: str, *, plain: bool = False, opt: str = "balanced", at_once: int = LAYERS
) -> list[Counted]:
    """Returns what each layer executed.

    Args:
        layers: The layers.
        core: Key of `measure.BOARDS`.
        plain: True for portable C, False for the kernels that `aboard` chooses.
        opt: Value of `-opt`.
        at_once: Layers of one image.
    """
    found: list[Counted] = []
    for start in range(0, len(layers), at_once):
        with portable() if plain else nullcontext():
            found += _image(layers[start : start + at_once], core, opt)
    return found


def _image(layers: Sequence[SingleLayer], core: str, opt: str) -> list[Counted]:
    """Returns what each layer of one image executed."""
    board = measure.BOARDS[core]
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        module = aboard.compile(model(layers), target=f"c -hardware={board} -opt={opt}", name="layers")
        project = aboard.create(module, board=board, path=Path(folder) / "project")
        project.build()
        executed = histogram.run(project)
        (manifest,) = project.models
    if executed is None:
        raise RuntimeError("layers are counted by a plugin of QEMU, which cannot be built. Install gcc and binutils")
    times = core_times.timing(boards.load(board).core().mcpu)
    nodes = {node.name: (number, node.implementation) for number, node in enumerate(manifest.nodes)}
    found = []
    for index, layer in enumerate(layers):
        number, kernel = nodes[f"y{index}"]
        counts = executed.nodes[number]
        cycles = times.cycles(counts, executed.listing)
        found.append(Counted(layer, kernel, total(counts), cycles, times.basis == "table"))
    return found
