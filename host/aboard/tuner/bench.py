"""Benches that try points: a board or its emulator, which also measure them, or this process, which does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aboard import runners
from aboard.api import Session, create
from aboard.base.measured_cost import MeasuredCost
from aboard.base.scratch import Scratch
from aboard.boards.board import Board
from aboard.check import region_check
from aboard.check.host_trace import TracedHostModel
from aboard.check.region_check import WrongRegion
from aboard.compiler.host_runtime import HostModel
from aboard.compiler.pipeline import Module
from aboard.device.input_files import Named
from aboard.device.measure import Measurement, measure
from aboard.device.tensor_io import Values
from aboard.runners import Runner


@dataclass(frozen=True)
class BenchRun:
    """The results of running a module.

    Attributes:
        outputs: For each input, the outputs by tensor name.
        measured: Costs for the first input; None if the bench does not measure.
    """

    outputs: tuple[Mapping[str, Values], ...]
    measured: Measurement | None = None

    @property
    def total(self) -> MeasuredCost | None:
        """Cost of the whole run; None if the bench does not measure."""
        return None if self.measured is None else self.measured.run


class Bench(Protocol):
    """Interface of the classes that run modules."""

    @property
    def name(self) -> str:
        """Name of the bench in tables."""

    @property
    def compiler(self) -> str | None:
        """Name of the toolchain, or path of the compiler; None for the default toolchain."""

    def run(self, module: Module, inputs: Sequence[Named]) -> BenchRun:
        """Runs a module with several inputs.

        Raises:
            AboardError: It does not build, does not fit, or crashes.
        """

    def faults(self, module: Module, inputs: Sequence[Named]) -> list[WrongRegion]:
        """Returns the regions of a module whose results are not exact, from a run with tensor capture.

        Raises:
            AboardError: It does not build, does not fit, or crashes.
        """


@dataclass(frozen=True)
class ThisProcess:
    """Runs modules of `-runtime=host` in this process. It checks results and does not count instructions."""

    name: str = "this process"
    compiler: str | None = None

    def run(self, module: Module, inputs: Sequence[Named]) -> BenchRun:
        """Runs a module; see `Bench.run`."""
        loaded = HostModel(module)
        return BenchRun(tuple(loaded.run_named(feed) for feed in inputs))

    def faults(self, module: Module, inputs: Sequence[Named]) -> list[WrongRegion]:
        """Compares regions; see `Bench.faults`."""
        return list(region_check.faults(module, TracedHostModel(module).trace, inputs))


@dataclass(frozen=True)
class OnBoard:
    """Builds an image for a board, boots or flashes it, and profiles it.

    Attributes:
        board: The board.
        runner: What runs images, not started: an emulator, the board itself, or a farm; None for the first emulator
            that supports the board.
        template: Name of the project template; None for the default template of the board.
        options: Options of the template.
        toolchain: Name of the toolchain; None for the default toolchain.
        repeats: Runs of which ticks are the median; instructions are the same in every run.
    """

    board: Board
    runner: Runner | None = None
    template: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    toolchain: str | None = None
    repeats: int = 5

    @property
    def name(self) -> str:
        """Names of the board and the runner."""
        return f"{self.board.id} ({self._fresh().name})"

    def _fresh(self) -> Runner:
        return runners.choose(self.board, None) if self.runner is None else self.runner.fresh()

    @property
    def compiler(self) -> str | None:
        """Name of the toolchain; see `Bench.compiler`."""
        return self.toolchain

    def run(self, module: Module, inputs: Sequence[Named]) -> BenchRun:
        """Runs a module; see `Bench.run`."""
        with self._session(module, {}) as device:
            outputs = tuple(device.infer(feed).outputs for feed in inputs)
            return BenchRun(outputs, measure(device, inputs[0], self.repeats))

    def faults(self, module: Module, inputs: Sequence[Named]) -> list[WrongRegion]:
        """Compares regions in an image with tensor capture; see `Bench.faults`."""
        with self._session(module, {"trace": "on"}) as device:
            return list(region_check.faults(module, device.trace, inputs))

    @contextmanager
    def _session(self, module: Module, further: Mapping[str, str]) -> Iterator[Session]:
        """Builds an image with additional template options in a temporary folder, and boots the image."""
        with Scratch() as temporary:
            folder = temporary / module.name
            project = create([module], self.board, self.template, folder, {**self.options, **further})
            project.build(self.toolchain)
            with Session.open(project, self._fresh()) as device:
                yield device
