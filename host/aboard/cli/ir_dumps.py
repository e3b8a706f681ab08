"""`--print-ir-before` and `--print-ir-after`: prints the IR on stderr while the passes run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from aboard.cli.console import Console
from aboard.cli.schema_compile import IrDump
from aboard.errors import PassError, did_you_mean

if TYPE_CHECKING:
    from aboard.ir import Graph

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ALL = "all"


def print_ir_options(function: _Function) -> _Function:
    """Adds `--print-ir-before` and `--print-ir-after`; the command takes `ir_before` and `ir_after`."""
    for position in ("after", "before"):
        function = click.option(
            f"--print-ir-{position}",
            f"ir_{position}",
            metavar="NAME",
            multiple=True,
            help=f"Print the IR on stderr {position} a pass (`aboard passes`), or {_ALL}; can be repeated.",
        )(function)
    return function


@dataclass
class IrPrinter:
    """Prints the IR before and after the named passes.

    Attributes:
        console: The console, whose stderr gets the IR.
        before: Names of passes before which the IR is printed, or `all`.
        after: Names of passes after which the IR is printed, or `all`.
        dumps: Everything that was printed.
    """

    console: Console
    before: Collection[str]
    after: Collection[str]
    dumps: list[IrDump] = field(default_factory=list)

    @property
    def wanted(self) -> bool:
        """True if the IR is printed before or after any pass."""
        return bool(self.before or self.after)

    def check(self, names: Sequence[str]) -> None:
        """Checks the names of the passes against those of the steps that run.

        Raises:
            PassError: One is not the name of a step.
        """
        for option, given in (("--print-ir-before", self.before), ("--print-ir-after", self.after)):
            for name in given:
                if name not in (_ALL, *names):
                    raise PassError(f"{option}: {name} does not run. {did_you_mean(name, [*names, _ALL])}")

    def __call__(self, graph: Graph, done: str, following: str | None) -> None:
        """Prints the graph between two steps; see `aboard.partition.pipeline.OnStep`."""
        if done in self.after or _ALL in self.after:
            self._print(graph, "after", done)
        if following is not None and (following in self.before or _ALL in self.before):
            self._print(graph, "before", following)

    def _print(self, graph: Graph, position: str, step: str) -> None:
        from aboard.ir.printer import dump

        text = dump(graph)
        self.dumps.append(IrDump(position=position, step=step, text=text))
        self.console.diagnostic(f"IR {position} {step}\n\n{text}\n")
