"""The compile path: from a model file to a bundle of standalone C.

`compile_model` contains every step, on one screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aboard import boards, frameworks, ops
from aboard.base import extensions, progress
from aboard.base.manifest import Manifest
from aboard.compiler import fitting, ram_advice
from aboard.compiler.scheduled import Scheduled
from aboard.emit import amalgamation, bundle, limits
from aboard.errors import CapacityError, ProjectError, TargetError
from aboard.importers import identifier, load
from aboard.ir import Graph
from aboard.kernels.select import strategy
from aboard.partition import pipeline as pipelines
from aboard.partition.partitioner import Partition
from aboard.partition.pipeline import OnStep
from aboard.schedule import aims, trade
from aboard.schedule.trade import Trade
from aboard.target import Target
from aboard.tuning import record_file
from aboard.tuning.choice import Tuning

if TYPE_CHECKING:
    import numpy.typing as npt

    from aboard.compiler.host_runtime import HostModel, Inputs, Results
    from aboard.device.tensor_io import Values


@dataclass
class Module:
    """A compiled model: C sources and the manifest that describes them.

    Attributes:
        manifest: The facts for the device path.
        files: Text of each file of the bundle by its relative path.
        graph: The graph after all passes; None for a module that was read from a folder.
        partition: The owner of each node, and the reasons of other devices; None for a module that was read.
        scheduled: The schedule; None for a module that was read.
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
        """The target of the code."""
        return Target(self.manifest.target)

    def schedule(self) -> Scheduled:
        """Returns the schedule.

        Raises:
            ProjectError: The module was read from a folder, which does not contain the schedule.
        """
        if self.scheduled is None:
            raise ProjectError(
                f"{self.name}: has no schedule, got a bundle that was read, expected a model compiled in this process. "
                "Give the model file"
            )
        return self.scheduled

    def with_hooks(self) -> Module:
        """Returns the same module with code that can profile, trace, and run a single node.

        A module that was read from a folder cannot be emitted again and is returned unchanged.
        """
        if self.manifest.hooks or self.scheduled is None or self.graph is None:
            return self
        files, manifest = _emitted(self.graph, self.scheduled, self.manifest.macs, self.manifest.target, hooks=True)
        return replace(self, files=files, manifest=manifest, _host=None)

    def trade(self) -> Trade:
        """Returns the schedules of the Pareto front with their costs, and the rule of the choice; takes seconds.

        Raises:
            ProjectError: The module was read from a folder.
        """
        taken = self.schedule()
        balanced = taken.calls.target.opt != self.target.opt
        rule = aims.rule(self.target, taken.aim, less_scratch=taken.less_scratch, kernels_of_balanced=balanced)
        return trade.weigh(taken.program.graph, taken.calls, taken.program.assignment, rule)

    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Writes the whole bundle, or nothing.

        Args:
            folder: A new folder, or a bundle that is replaced.
            force: True to overwrite files in the way that aboard did not write or that were changed since. Other files
                in the folder stay.

        Returns:
            The folder.

        Raises:
            ProjectError: The folder holds something other than an unchanged bundle, or cannot be written.
        """
        return bundle.save(self.files, self.manifest, Path(folder), force=force)

    def amalgamate(self, folder: str | Path, force: bool = False) -> Path:
        """Writes the model as one C file and one header, `<name>.c` and `<name>.h`, or nothing.

        Args:
            folder: A new folder, or an amalgamation that is replaced.
            force: As in `save`.

        Returns:
            The folder.

        Raises:
            ProjectError: The model has hooks, or sources that need flags of their own; or the folder holds something
                else, or cannot be written.
        """
        return amalgamation.save(self.files, self.manifest, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path) -> Module:
        """Reads a bundle.

        Raises:
            ProjectError: The bundle is missing or damaged.
        """
        manifest, files = bundle.load(Path(folder))
        return cls(manifest, files)

    def run(self, feed: Inputs) -> Results:
        """Runs the model in this process; for `-runtime=host` only. A model with state keeps it from call to call.

        Args:
            feed: The input, or inputs by tensor name.

        Returns:
            The output, or outputs by tensor name when there are several.

        Raises:
            TargetError: The module was compiled for another runtime or another instruction set.
            InputError: A wrong name, shape or type.
        """
        return self._loaded().run(feed)

    def state(self) -> dict[str, Values]:
        """Returns what the runs so far leave for the next one: arrays by name, in the shapes of the model file.

        The result restores the state with `set_state`, here or on a device (`Session.set_state`). It is empty for a
        model without state. Errors as for `run`.
        """
        return self._loaded().state()

    def set_state(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Replaces the whole state, so that the next `run` continues from there; errors as for `run`.

        Args:
            state: Arrays by name, such as `state` or `Session.state` returned.
        """
        self._loaded().set_state(state)

    def reset_state(self) -> None:
        """Gives every state its initial value, so that the next `run` in this process is the first of a sequence."""
        if self._host is not None:
            self._host.reset_state()

    def _loaded(self) -> HostModel:
        """Returns the model in this process; loads it at first."""
        from aboard.compiler.host_runtime import HostModel

        if self._host is None:
            self._host = HostModel(self)
        return self._host


@extensions.blamed()
def compile_model(
    model: str | Path | bytes | object,
    *,
    target: str | Target | None = None,
    board: str | None = None,
    name: str | None = None,
    opt: str | None = None,
    tuning: str | Path | Tuning | None = None,
    passes: str | None = None,
    on_step: OnStep | None = None,
    hooks: bool = False,
    dimensions: Mapping[str, int] | None = None,
    example_inputs: object = None,
) -> Module:
    """Compiles a model to standalone C.

    Args:
        model: A model file: its path, or the bytes of a TFLite or ONNX file. Or an object: a module or exported program
            of PyTorch, a fitted estimator of scikit-learn, a Keras model.
        target: The target of the code. Give either `target` or `board`.
        board: A board; the code is for its target.
        name: C identifier for the model; from the file name, or the class of an object, by default.
        opt: `size`, `balanced` or `speed`; overrides the target's.
        tuning: The source of the values of knobs, of devices and of the host's kernels: a file that `aboard tune`
            wrote, or an object that chooses (`aboard.tuning.choice`). By default the user's own file, if it exists.
        passes: The passes in order, as text: `fold-constants,remove-dead-code,divide-wide-nodes`; by default the
            target's passes. `aboard passes` prints them, `aboard.passes.text` describes the grammar.
        on_step: Called between two passes with the graph, the name of the pass that has run (`import` at first), and
            the name of the pass that runs next (None at last). `aboard.ir.printer.dump` prints the graph.
        hooks: True for C source that can profile, trace, and run a single node. `aboard.create` adds hooks to a module
            without them, but not to a bundle on disk.
        dimensions: Sizes of free dimensions of an ONNX file by their name; a batch is 1 by default.
        example_inputs: Of a module of PyTorch the arguments of a call, with one sample: a tensor or array, a tuple of
            them, or a dictionary by name. Of an estimator of scikit-learn samples, (N, features).

    Returns:
        The compiled module.

    Raises:
        ModelError: The model cannot be read, or uses an unsupported feature.
        TargetError: The target is not valid, or neither or both of `target` and `board` are given.
        BoardError: The board is unknown.
        PassError: `passes` names an unknown pass or option, or lacks a pass that others need.
        InputError: The tuning records cannot be read; or `example_inputs` are missing, wrong or not needed.
        ExtraError: The framework that converts the model is not installed.
        CapacityError: The model does not fit the arenas of the target (`-arena`, `-ram-max`) or its flash
            (`-flash-max`).
    """
    chosen = _target(target, board, opt)
    tuned = _tuning(tuning)
    pipeline = pipelines.pipeline_of(chosen, passes)
    file, name_of_class = frameworks.as_file(model, example_inputs)
    graph = load(file, name or (identifier(name_of_class) if name_of_class else None), dimensions)
    limits.check(graph)
    progress.report("passes")
    macs = sum(ops.get(node.op).macs(node) for node in graph.nodes)
    decided = pipelines.run(graph, chosen, on_step, tuned, pipeline)
    scheduled = _fitted(graph, chosen, tuned)
    graph.nodes = scheduled.program.graph.nodes
    progress.report("C sources")
    files, manifest = _emitted(graph, scheduled, macs, str(chosen), hooks=hooks)
    return Module(manifest, files, graph, decided, scheduled)


def _emitted(
    graph: Graph, scheduled: Scheduled, macs: int, target: str, *, hooks: bool
) -> tuple[dict[str, str], Manifest]:
    """Returns the files and the manifest of a bundle; `target` is the requested one, not the target of the kernels."""
    files, manifest = bundle.emit(
        graph,
        scheduled.program,
        scheduled.layout,
        scheduled.calls.target,
        macs,
        hooks=hooks,
        code_in_ram=scheduled.calls.code_in_ram,
    )
    return files, manifest.model_copy(update={"target": target})


def _fitted(graph: Graph, target: Target, tuning: Tuning) -> Scheduled:
    try:
        return fitting.fit(graph, target, tuning)
    except CapacityError as error:
        if error.least_bytes is None:
            raise
        raise ram_advice.advised(graph, target, error) from error


@extensions.blamed()
def partition_model(
    model: str | Path | bytes, *, target: str | Target | None = None, board: str | None = None, name: str | None = None
) -> Partition:
    """Assigns nodes to the devices of a target without compiling. Arguments as for `compile_model`.

    Raises:
        AboardError: As for `compile_model`; a device's package may also be wrong.
    """
    chosen = _target(target, board, None)
    return pipelines.decide(load(model, name=name), chosen)


@extensions.blamed()
def explain_model(
    model: str | Path | bytes, *, target: str | Target | None = None, board: str | None = None, name: str | None = None
) -> list[strategy.Explanation]:
    """States the implementation of each node and the reason for it. Arguments and errors as for `compile_model`."""
    chosen = _target(target, board, None)
    graph = load(model, name=name)
    pipelines.run(graph, chosen)
    return strategy.explain_all(graph, chosen, chosen.flash_max)


def _tuning(given: str | Path | Tuning | None) -> Tuning:
    if given is None:
        return record_file.Records(record_file.default_path())
    return record_file.Records(Path(given), required=True) if isinstance(given, str | Path) else given


def _target(target: str | Target | None, board: str | None, opt: str | None) -> Target:
    if (target is None) == (board is None):
        raise TargetError(
            "compile: target and board, got "
            + ("neither" if target is None else "both")
            + ', expected one of them. Say target="c -mcpu=cortex-m4" or board="arm/mps2_an386"'
        )
    chosen = Target(target if target is not None else boards.load(str(board)).target)
    return chosen if opt is None else chosen.overridden({"opt": opt})
