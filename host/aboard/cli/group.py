"""The click group `aboard`, which imports a command when it is called."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence

import click
from typing_extensions import override

from aboard.base import platforms
from aboard.cli import brought, settings
from aboard.cli.output_options import verbosity_options
from aboard.errors import ToolError, did_you_mean

#: Commands in the order of `aboard --help`: name, module and short help.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "new": ("aboard.cli.new", "Write a folder with a working application: board, model, sensor, decisions."),
    "compile": ("aboard.cli.compile", "Compile a model to a bundle of standalone C."),
    "create": ("aboard.cli.create", "Create a project that runs models on a board."),
    "build": ("aboard.cli.build", "Build a project's image."),
    "flash": ("aboard.cli.flash", "Flash a project's image into its board, and check that the board runs it."),
    "run": ("aboard.cli.run", "Boot a project's image and run one inference."),
    "deploy": ("aboard.cli.deploy", "Compile a model, create and build a project, and run one inference."),
    "verify": ("aboard.cli.verify", "Compare the device with the reference, byte for byte."),
    "evaluate": ("aboard.cli.evaluate", "Measure accuracy and time on the device."),
    "quantize": ("aboard.cli.quantize", "Make an int8 model of a model of real numbers, with samples."),
    "compare": ("aboard.cli.compare", "Compare two models layer by layer, and name the first layer that is wrong."),
    "bench": ("aboard.cli.bench", "Measure models on a board, layer by layer, and write what was measured."),
    "tune": ("aboard.cli.tune", "Find the best values for the knobs of a target's devices, and record them."),
    "report": ("aboard.cli.report", "Write a report of a model on a target: one HTML file with pictures."),
    "partition": ("aboard.cli.partition", "Show which device of a composite target computes which node."),
    "passes": ("aboard.cli.passes", "List the passes that rewrite a model for a target, in their order."),
    "ops": ("aboard.cli.ops", "List the operators that models may have, or show some."),
    "ci": ("aboard.cli.ci", "Write a CI workflow and suites that check a project's outputs on emulated boards."),
    "debug": ("aboard.cli.debug", "Start gdb on a project's image, emulated or on its board."),
    "farm": ("aboard.cli.farm", "Share boards of several machines, and verify many models on many boards."),
    "devices": ("aboard.cli.devices", "List the boards that are attached."),
    "boards": ("aboard.cli.boards", "List boards, or show one."),
    "hardware": ("aboard.cli.hardware", "List boards with their cores, what a board implies, or attached boards."),
    "targets": ("aboard.cli.targets", "List kinds of target and cores, or show a target."),
    "new-target": ("aboard.cli.new_target", "Write a package that brings a kind of target."),
    "doctor": ("aboard.cli.doctor", "List the installed tools, and how to install the others."),
}

#: Commands that need the device path only, which also runs on Windows.
_EVERYWHERE = frozenset({"boards", "debug", "devices", "doctor", "flash", "hardware", "run"})


class _LazyGroup(click.Group):
    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *brought.entries(COMMANDS)]

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return brought.command(cmd_name, COMMANDS)
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        is_option = not name or name.startswith("-")
        if not is_option and name not in COMMANDS and name not in brought.entries(COMMANDS):
            ctx.fail(f"No such command {name!r}. {did_you_mean(name, self.list_commands(ctx))}")
        problem = None if name in _EVERYWHERE or is_option else platforms.problem()
        if problem is not None:
            raise ToolError(problem)
        found, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS and not ctx.resilient_parsing:
            _refuse_attributes(ctx, rest)
        if found is not None and command is not None and not ctx.resilient_parsing:
            settings.apply(ctx, found, command)
        return found, command, rest

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])
        others = brought.entries(COMMANDS)
        if others:
            with formatter.section("Commands of packages"):
                formatter.write_dl([(name, f"From {brought.package(found)}.") for name, found in others.items()])


def _refuse_attributes(ctx: click.Context, args: Sequence[str]) -> None:
    """Fails if an argument is an attribute of a target: click reads `-opt=size` as the option -o with `pt=size`."""
    given = next((found for arg in args if (found := re.match(r"-([a-z][a-z-]+)=(.*)", arg))), None)
    if given is None:
        return
    from aboard.target.c import C

    name, value = given.groups()
    if name in C.schema:
        option = f"--opt {value}, or " if name == "opt" else ""
        ctx.fail(
            f"-{name}={value} is an attribute of a target. Write {option}it after the board or core: "
            f'--target "arm/mps2_an386 -{name}={value}"'
        )


def _print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    if value and not ctx.resilient_parsing:
        from aboard.base.version import VERSION

        click.echo(f"aboard {VERSION}")
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    epilog="\b\nExample:\n  aboard deploy digits --board arm/mps2_an386",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
@verbosity_options
def group() -> None:
    """Bring machine-learning models aboard microcontrollers."""
