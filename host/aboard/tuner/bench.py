"""Benches that try points: an emulated board, which also measures them, or this process, which does not measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aboard import runners
from aboard.api import Session, create
from aboard.base.scratch import Scratch
from aboard.boards.board import Board
from aboard.check import region_check
from aboard.check.host_trace import TracedHostModel
from aboard.check.region_check import WrongRegion
from aboard.compiler.host_runtime import HostModel
from aboard.compiler.pipeline import Module
from aboard.device.input_files import Named
from aboard.device.tensor_io import Values


@dataclass(frozen=True)
class BenchRun:
    """The results of running a module.

    Attributes:
        outputs: For each input, the outputs by tensor name.
        nodes: Instructions of each node for the first input; None if the bench does not count them.
        total: Instructions of the whole run for the first input; None if the bench does not count them.
    """

    outputs: tuple[Mapping[str, Values], ...]
    nodes: tuple[int, ...] | None
    total: int | None


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
        return BenchRun(tuple(loaded.run_named(feed) for feed in inputs), None, None)

    def faults(self, module: Module, inputs: Sequence[Named]) -> list[WrongRegion]:
        """Compares regions; see `Bench.faults`."""
        return list(region_check.faults(module, TracedHostModel(module).trace, inputs))


@dataclass(frozen=True)
class OnBoard:
    """Builds an image for a board, boots it and profiles it.

    Attributes:
        board: The board.
        runner: Name of the runner; None for the first runner that supports the board.
        template: Name of the project template; None for the default template of the board.
        options: Options of the template.
        toolchain: Name of the toolchain; None for the default toolchain.
    """

    board: Board
    runner: str | None = None
    template: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    toolchain: str | None = None

    @property
    def name(self) -> str:
        """Names of the board and the runner."""
        return f"{self.board.id} ({runners.choose(self.board, self.runner).name})"

    @property
    def compiler(self) -> str | None:
        """Name of the toolchain; see `Bench.compiler`."""
        return self.toolchain

    def run(self, module: Module, inputs: Sequence[Named]) -> BenchRun:
        """Runs a module; see `Bench.run`."""
        with self._session(module, {}) as device:
            outputs = tuple(device.infer(feed).outputs for feed in inputs)
            profile = device.profile(inputs[0])
        counts = [entry.duration.instructions for entry in profile.nodes]
        counted = tuple(count for count in counts if count is not None)
        return BenchRun(outputs, counted if len(counted) == len(counts) else None, profile.run.instructions)

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
            with Session.open(project, runners.choose(self.board, self.runner)) as device:
                yield device
