"""The compile path: from a model file to a bundle of standalone C.

`compile_model` is the whole way, on one screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aboard import boards, ops
from aboard.emit import bundle
from aboard.errors import TargetError
from aboard.importers import load
from aboard.ir import Graph
from aboard.ir.printer import dump
from aboard.kernels import strategy
from aboard.manifest import Manifest
from aboard.memory.planner import plan
from aboard.partition import pipeline
from aboard.partition.partitioner import Partition
from aboard.schedule import storage
from aboard.schedule.lowering import lower
from aboard.target import Target

if TYPE_CHECKING:
    from aboard.host_runtime import Feed, HostModel, Results


@dataclass
class Module:
    """A compiled model: C sources and the manifest that describes them.

    Attributes:
        manifest: What the device path has to know.
        files: Text of each file of the bundle by its relative path.
        graph: The graph as compiled; None for a module that was read from a folder.
        partition: Which device computes what, and why the others do not; None for a module that was read.
    """

    manifest: Manifest
    files: dict[str, str]
    graph: Graph | None = None
    partition: Partition | None = None
    _host: HostModel | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """C identifier of the model."""
        return self.manifest.name

    @property
    def target(self) -> Target:
        """Where the code will run."""
        return Target(self.manifest.target)

    def save(self, folder: str | Path) -> Path:
        """Writes the bundle: all of it, or nothing.

        Args:
            folder: A new folder, or a bundle that is replaced.

        Returns:
            The folder.

        Raises:
            ProjectError: The folder holds something else.
        """
        return bundle.save(self.files, self.manifest, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Module:
        """Reads a bundle.

        Raises:
            ProjectError: It is missing or damaged.
        """
        manifest, files = bundle.load(Path(folder))
        return cls(manifest, files)

    def run(self, feed: Feed) -> Results:
        """Runs the model in this process; for `-runtime=host` only.

        Args:
            feed: The input, or inputs by tensor name.

        Returns:
            The output, or outputs by tensor name when there are several.

        Raises:
            TargetError: The module was compiled for another runtime or another instruction set.
            InputError: A wrong name, shape or type.
        """
        from aboard.host_runtime import HostModel

        if self._host is None:
            self._host = HostModel(self)
        return self._host.run(feed)


def compile_model(
    model: str | Path | bytes,
    *,
    target: str | Target | None = None,
    board: str | None = None,
    name: str | None = None,
    opt: str | None = None,
    on_ir: Callable[[str, str], None] | None = None,
) -> Module:
    """Compiles a model to standalone C.

    Args:
        model: A TFLite file: its path, or its bytes.
        target: Where the code will run. Give this or `board`.
        board: A board whose target is taken.
        name: C identifier for the model; from the file name by default.
        opt: `size`, `balanced` or `speed`; overrides the target's.
        on_ir: Called with a pass name and the IR's text after each pass.

    Returns:
        The compiled module.

    Raises:
        ModelError: The model cannot be read, or uses what is not supported.
        TargetError: The target is not valid, or neither or both of `target` and `board` are given.
        BoardError: The board is not known.
    """
    chosen = _target(target, board, opt)
    graph = load(model, name=name)
    macs = sum(ops.get(node.op).macs(node) for node in graph.nodes)
    decided = pipeline.run(graph, chosen, lambda step: on_ir(step, dump(graph)) if on_ir else None)
    choices = strategy.choose_all(graph, chosen)
    implementations = {node: choice.implementation for node, choice in choices.items()}
    stored = storage.assign(graph, implementations, keep_inputs=chosen.input_mode == "kept")
    program = lower(graph, stored, implementations, chosen)
    arena = plan(program.requests, program.overlaps)
    files, manifest = bundle.emit(graph, program, arena, chosen, macs)
    return Module(manifest, files, graph, decided)


def partition_model(
    model: str | Path | bytes, *, target: str | Target | None = None, board: str | None = None, name: str | None = None
) -> Partition:
    """Decides which device of a target would compute what; nothing is compiled. Arguments as for `compile_model`.

    Raises:
        AboardError: As for `compile_model`; a device's package may also be wrong.
    """
    chosen = _target(target, board, None)
    return pipeline.decide(load(model, name=name), chosen)


def explain_model(
    model: str | Path | bytes, *, target: str | Target | None = None, board: str | None = None, name: str | None = None
) -> list[strategy.Explanation]:
    """Says for each node how it would be computed, and why so. Arguments and errors as for `compile_model`."""
    chosen = _target(target, board, None)
    graph = load(model, name=name)
    pipeline.run(graph, chosen)
    return [strategy.explain(node, chosen) for node in graph.nodes]


def _target(target: str | Target | None, board: str | None, opt: str | None) -> Target:
    if (target is None) == (board is None):
        raise TargetError(
            "compile: target and board, got "
            + ("neither" if target is None else "both")
            + ', expected one of them. Say target="c -mcpu=cortex-m4" or board="arm/mps2_an386"'
        )
    chosen = Target(target if target is not None else boards.load(str(board)).target)
    return chosen if opt is None else chosen.overridden({"opt": opt})
