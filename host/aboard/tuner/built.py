"""Builds and runs images, and refuses those that are not exact. Modules with the same code share one build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aboard.check import region_check
from aboard.compiler.pipeline import Module
from aboard.device.input_files import Named
from aboard.errors import TargetError
from aboard.tuner.bench import Bench, BenchRun
from aboard.tuner.trials import Trials, key_of
from aboard.tuning.key import toolchain

#: Whose bug a wrong point is.
_OF_DEVICE, _OF_HOST = "the device's package", "aboard's kernel"


class NotExactError(TargetError):
    """A point does not give the right results."""


@dataclass(frozen=True)
class Built:
    """Runs modules.

    Attributes:
        bench: Where they run.
        inputs: The inputs of each run.
        expected: The results of the host alone, at its defaults.
        trials: What was measured before.
    """

    bench: Bench
    inputs: Sequence[Named]
    expected: BenchRun
    trials: Trials
    _outcomes: dict[str, BenchRun] = field(default_factory=dict)

    def run(self, module: Module, what: str, *, of_host: bool = False) -> BenchRun:
        """Returns the results of a module.

        Args:
            module: The module.
            what: What it tries, for messages.
            of_host: True if it tries points of the host's kernels.

        Raises:
            NotExactError: Outputs or regions are not exact.
            AboardError: It does not build, does not fit, or crashes.
        """
        compiler = toolchain(module.target, self.bench.compiler)
        key = key_of(module, (self.bench.name, compiler, module.manifest.target), self.inputs)
        if key not in self._outcomes:
            measured = self.trials.find(key)
            if measured is None:
                outcome = self._fresh(module, what, _OF_HOST if of_host else _OF_DEVICE)
                if outcome.measured is not None:
                    self.trials.add(key, outcome.measured)
            else:
                # Only exact images have their figures kept.
                outcome = BenchRun(self.expected.outputs, measured)
            self._outcomes[key] = outcome
        return self._outcomes[key]

    def _fresh(self, module: Module, what: str, whose: str) -> BenchRun:
        outcome = self.bench.run(module, self.inputs)
        _compare(outcome, self.expected, what, whose)
        if region_check.has_regions(module):
            fault = next(iter(self.bench.faults(module, self.inputs)), None)
            if fault is not None:
                raise NotExactError(
                    f"{what}: is not exact, got {fault}, expected what its operators mean. This is a bug of the "
                    "device's package; take the value out of its knob until it is mended"
                )
        return outcome


def _compare(outcome: BenchRun, expected: BenchRun, what: str, whose: str) -> None:
    """Refuses results that differ from the expected ones in any bit."""
    for number, (got, wanted) in enumerate(zip(outcome.outputs, expected.outputs, strict=True)):
        for name, values in wanted.items():
            if got[name].tobytes() != values.tobytes():
                raise NotExactError(
                    f"{what}: is not exact, got {int((got[name] != values).sum())} of {values.size} elements of output "
                    f"{name} that differ for sample {number}, expected what the host alone computes. "
                    f"This is a bug of {whose}; take the value out of its knob until it is mended"
                )
