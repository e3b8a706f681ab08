"""The compile path: from a model file to a bundle of standalone C.

`compile_model` is the whole way, on one screen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aboard import boards, ops
from aboard.base import extensions
from aboard.base.manifest import Manifest
from aboard.compiler import fitting, ram_advice
from aboard.compiler.fitting import Scheduled
from aboard.emit import bundle
from aboard.errors import CapacityError, ProjectError, TargetError
from aboard.importers import load
from aboard.ir import Graph
from aboard.kernels.select import strategy
from aboard.partition import pipeline as pipelines
from aboard.partition.partitioner import Partition
from aboard.partition.pipeline import OnStep
from aboard.schedule import search, trade
from aboard.schedule.trade import Trade
from aboard.target import Target
from aboard.tuning import records
from aboard.tuning.choice import Tuning

if TYPE_CHECKING:
    from aboard.compiler.host_runtime import HostModel, Inputs, Results


@dataclass
class Module:
    """A compiled model: C sources and the manifest that describes them.

    Attributes:
        manifest: What the device path has to know.
        files: Text of each file of the bundle by its relative path.
        graph: The graph as compiled; None for a module that was read from a folder.
        partition: Which device computes what, and why the others do not; None for a module that was read.
        scheduled: Its schedule; None for a module that was read.
    """

    manifest: Manifest
    files: dict[str, str]
    graph: Graph | None = None
    partition: Partition | None = None
    scheduled: Scheduled | None = None
    _host: HostModel | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """C identifier of the model."""
        return self.manifest.name

    @property
    def target(self) -> Target:
        """Where the code will run."""
        return Target(self.manifest.target)

    def schedule(self) -> Scheduled:
        """Returns the schedule.

        Raises:
            ProjectError: The module was read from a folder, which does not hold it.
        """
        if self.scheduled is None:
            raise ProjectError(
                f"{self.name}: has no schedule, got a bundle that was read, expected a model compiled in this process. "
                "Give the model file"
            )
        return self.scheduled

    def with_hooks(self) -> Module:
        """Returns the same module with code that can profile, trace, and run one node by itself.

        A module that was read from a folder cannot be emitted again: it is returned as it is.
        """
        if self.manifest.hooks or self.scheduled is None or self.graph is None:
            return self
        files, manifest = _emitted(self.graph, self.scheduled, self.manifest.macs, self.manifest.target, hooks=True)
        return replace(self, files=files, manifest=manifest, _host=None)

    def trade(self) -> Trade:
        """Returns what the schedules cost that were weighed, and by which rule one was taken; takes seconds.

        Raises:
            ProjectError: The module was read from a folder.
        """
        taken = self.schedule()
        rule = search.rule(self.target, taken.aim)
        return trade.weigh(taken.program.graph, taken.calls, taken.program.assignment, rule)

    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Writes the bundle: all of it, or nothing.

        Args:
            folder: A new folder, or a bundle that is replaced.
            force: Whether files that aboard did not write, or that were changed since, are overwritten where they are
                in the way. All other files of yours stay.

        Returns:
            The folder.

        Raises:
            ProjectError: The folder holds something else or a bundle that was changed, or cannot be written.
        """
        return bundle.save(self.files, self.manifest, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path) -> Module:
        """Reads a bundle.

        Raises:
            ProjectError: It is missing or damaged.
        """
        manifest, files = bundle.load(Path(folder))
        return cls(manifest, files)

    def run(self, feed: Inputs) -> Results:
        """Runs the model in this process; for `-runtime=host` only.

        Args:
            feed: The input, or inputs by tensor name.

        Returns:
            The output, or outputs by tensor name when there are several.

        Raises:
            TargetError: The module was compiled for another runtime or another instruction set.
            InputError: A wrong name, shape or type.
        """
        from aboard.compiler.host_runtime import HostModel

        if self._host is None:
            self._host = HostModel(self)
        return self._host.run(feed)


@extensions.blamed()
def compile_model(
    model: str | Path | bytes,
    *,
    target: str | Target | None = None,
    board: str | None = None,
    name: str | None = None,
    opt: str | None = None,
    tuning: str | Path | Tuning | None = None,
    passes: str | None = None,
    on_step: OnStep | None = None,
    hooks: bool = False,
) -> Module:
    """Compiles a model to standalone C.

    Args:
        model: A TFLite file: its path, or its bytes.
        target: Where the code will run. Give this or `board`.
        board: A board whose target is taken.
        name: C identifier for the model; from the file name by default.
        opt: `size`, `balanced` or `speed`; overrides the target's.
        tuning: Which values the knobs of devices get: a file that `aboard tune` wrote, or something that chooses
            (`aboard.tuning.choice`). By default the user's own file, where there is one.
        passes: The passes that run, in their order, as text: `fold-constants,remove-dead-code,divide-wide-nodes`; the
            target's own by default. `aboard passes` prints them, `aboard.passes.text` describes the grammar.
        on_step: Called between two passes with the graph, the name of the pass that has run (`import` at first), and
            the name of the pass that runs next (None at last). `aboard.ir.printer.dump` makes text of the graph.
        hooks: Whether the C source can profile, trace, and run one node by itself. `aboard.create` adds that to a
            module without it, but not to a bundle on disk.

    Returns:
        The compiled module.

    Raises:
        ModelError: The model cannot be read, or uses what is not supported.
        TargetError: The target is not valid, or neither or both of `target` and `board` are given.
        BoardError: The board is not known.
        PassError: `passes` names an unknown pass or option, or leaves out a pass that the others need.
        InputError: The records of tuning cannot be read.
        CapacityError: The model does not fit the arenas of the target (`-arena`, `-ram-max`), or its flash
            (`-flash-max`).
    """
    chosen = _target(target, board, opt)
    tuned = _tuning(tuning)
    pipeline = pipelines.pipeline_of(chosen, passes)
    graph = load(model, name=name)
    macs = sum(ops.get(node.op).macs(node) for node in graph.nodes)
    decided = pipelines.run(graph, chosen, on_step, tuned, pipeline)
    scheduled = _fitted(graph, chosen)
    graph.nodes = scheduled.program.graph.nodes
    files, manifest = _emitted(graph, scheduled, macs, str(chosen), hooks=hooks)
    return Module(manifest, files, graph, decided, scheduled)


def _emitted(
    graph: Graph, scheduled: Scheduled, macs: int, target: str, *, hooks: bool
) -> tuple[dict[str, str], Manifest]:
    """Returns the files and the manifest of a bundle; the target is the one asked for, not the one of its kernels."""
    files, manifest = bundle.emit(graph, scheduled.program, scheduled.layout, scheduled.calls.target, macs, hooks=hooks)
    return files, manifest.model_copy(update={"target": target})


def _fitted(graph: Graph, target: Target) -> Scheduled:
    try:
        return fitting.fit(graph, target)
    except CapacityError as error:
        if error.least_bytes is None:
            raise
        raise ram_advice.advised(graph, target, error) from error


@extensions.blamed()
def partition_model(
    model: str | Path | bytes, *, target: str | Target | None = None, board: str | None = None, name: str | None = None
) -> Partition:
    """Decides which device of a target would compute what; nothing is compiled. Arguments as for `compile_model`.

    Raises:
        AboardError: As for `compile_model`; a device's package may also be wrong.
    """
    chosen = _target(target, board, None)
    return pipelines.decide(load(model, name=name), chosen)


@extensions.blamed()
def explain_model(
    model: str | Path | bytes, *, target: str | Target | None = None, board: str | None = None, name: str | None = None
) -> list[strategy.Explanation]:
    """Says for each node how it would be computed, and why so. Arguments and errors as for `compile_model`."""
    chosen = _target(target, board, None)
    graph = load(model, name=name)
    pipelines.run(graph, chosen)
    return strategy.explain_all(graph, chosen, chosen.flash_max)


def _tuning(given: str | Path | Tuning | None) -> Tuning:
    if given is None:
        return records.Records(records.default_path())
    return records.Records(Path(given), required=True) if isinstance(given, str | Path) else given


def _target(target: str | Target | None, board: str | None, opt: str | None) -> Target:
    if (target is None) == (board is None):
        raise TargetError(
            "compile: target and board, got "
            + ("neither" if target is None else "both")
            + ', expected one of them. Say target="c -mcpu=cortex-m4" or board="arm/mps2_an386"'
        )
    chosen = Target(target if target is not None else boards.load(str(board)).target)
    return chosen if opt is None else chosen.overridden({"opt": opt})
