"""Arguments and options that several commands share, and the records that hold them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from aboard.cli import completion, settings
from aboard.cli.console import Console
from aboard.errors import TargetError

if TYPE_CHECKING:
    from aboard.boards import Board
    from aboard.target import Target

_Function = TypeVar("_Function", bound=Callable[..., Any])

OPT_LEVELS = ("size", "balanced", "speed")


def pass_console(function: Callable[..., Any]) -> Callable[..., Any]:
    """Passes the console to a command. With --verbose, it first prints which options come from `aboard.toml`."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        ctx = click.get_current_context()
        console = ctx.ensure_object(Console)
        settings.announce(ctx, console)
        return function(console, *args, **kwargs)

    return called


def example(*lines: str) -> str:
    """Returns the epilog of a command's help."""
    head = "Example:" if len(lines) == 1 else "Examples:"
    return "\b\n" + "\n".join([head, *(f"  {line}" for line in lines)])


model_argument = click.argument("model", metavar="MODEL")
models_argument = click.argument("models", metavar="MODEL...", nargs=-1, required=True)
project_argument = click.argument("project", metavar="DIR", type=click.Path(path_type=Path))

name_option = click.option("--name", metavar="NAME", help="C identifier of the model. Default: from the file name.")
opt_option = click.option(
    "--opt", type=click.Choice(OPT_LEVELS), help="Optimisation goal for layers that can be small or fast."
)
tuning_option = click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Records of `aboard tune`. Default: the file that ABOARD_TUNING names, or your own file.",
)
passes_option = click.option(
    "--passes",
    metavar="LIST",
    help="Passes that rewrite the model, in order. `aboard passes` prints the passes of a target.",
)
template_option = click.option(
    "--template",
    metavar="NAME",
    shell_complete=completion.template,
    help="Project template. Default: the template for the board.",
)
runner_option = click.option(
    "--runner",
    metavar="NAME",
    help="Program that runs the image: an emulator (qemu, renode, unicorn), native for this machine, serial for a "
    "flashed board, or a tool that flashes the board (openocd, pyocd, jlink, stlink, nrfjprog, esptool, uf2, west).",
)
device_option = click.option(
    "--device",
    metavar="SERIAL",
    help="The attached board: serial number of its probe, its port, or its boot loader's drive (`aboard devices`).",
)
port_option = click.option("--port", metavar="PORT", help="Serial port of the RPC, if it is not the port of the probe.")
farm_option = click.option(
    "--farm",
    metavar="ADDRESS",
    help="Run on a board of a farm, whose scheduler is at this address, such as tcp://127.0.0.1:8786 (`aboard farm`).",
)
toolchain_option = click.option(
    "--toolchain",
    metavar="NAME",
    help="C toolchain: arm-none-eabi-gcc, riscv64-unknown-elf-gcc, zig, zephyr-sdk, or a path.",
)
input_option = click.option(
    "--input",
    "source",
    metavar="SOURCE",
    default="random:0",
    show_default=True,
    help="FILE.npy, FILE.npz (by tensor name), FILE.bin (raw, little-endian), or random:SEED.",
)
output_option = click.option(
    "--output",
    metavar="FILE.npz",
    type=click.Path(path_type=Path),
    help="Write the outputs to this .npz file, by tensor name.",
)
force_option = click.option(
    "--force",
    is_flag=True,
    help="Overwrite existing files even if aboard did not write them, or if they were changed since.",
)
state_option = click.option(
    "--state",
    metavar="FILE.npz",
    type=click.Path(path_type=Path),
    help="Restore the model's state from this file before the run; by default it has its initial value.",
)
save_state_option = click.option(
    "--save-state",
    metavar="FILE.npz",
    type=click.Path(path_type=Path),
    help="Write the model's state after the run to this .npz file, for --state.",
)
profile_option = click.option("--profile", is_flag=True, help="Measure the time of every operator, in a second run.")


def output_dir_option(default: str) -> Callable[[_Function], _Function]:
    """Returns the option `-o`, whose help names the default; required if `default` is empty."""
    return click.option(
        "-o",
        "--output-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        required=not default,
        help=f"Folder to make.{f' Default: {default}.' if default else ''}",
    )


@dataclass(frozen=True)
class Place:
    """Board or target of a model: `--target` or `--board`, of which one is given.

    Attributes:
        target: Target string.
        board: Board id or alias.
    """

    target: str | None
    board: str | None

    @classmethod
    def chosen(cls, target: str | None, board: str | None) -> Place:
        """Returns the target string, or the board id or alias. The command line takes precedence over `aboard.toml`.

        Raises:
            click.UsageError: Neither or both are given.
        """
        ctx = click.get_current_context(silent=True)
        if ctx is not None:
            target, board = settings.prefer_command_line(ctx, ("target", target), ("board", board))
        if target is not None and board is not None:
            raise click.UsageError("--target and --board exclude each other: give one. A target may be a board.")
        if target is None and board is None:
            raise click.UsageError("Missing option '--board' or '--target'.")
        return cls(target, board)

    def words(self) -> list[str]:
        """Returns the option and its value as the user gave them."""
        return ["--board", self.board] if self.board is not None else ["--target", str(self.target)]

    def board_name(self) -> str:
        """Returns the board id or alias: that of --board, or the one that the target's attributes name.

        Raises:
            TargetError: The target is not valid, or names no board.
        """
        if self.board is not None:
            return self.board
        from aboard.target import Target

        hardware = Target(str(self.target)).hardware
        if hardware is None:
            raise TargetError(
                f"--target: names no board, got {self.target!r}, expected hardware in it. "
                'Say --board B, or --target "B -input=kept" with a board B of `aboard boards`'
            )
        return hardware

    def board_or_core(self) -> Board:
        """Returns the board; where the target names none, a board of which only the core is known.

        Raises:
            AboardError: The target is not valid, or there is no such board.
        """
        from aboard import boards
        from aboard.target import Target

        target = None if self.target is None else Target(self.target)
        if target is not None and target.hardware is None:
            return boards.of_core(target.cpu.name)
        return boards.of_hardware(self.board_name()) if self.board is None else boards.load(self.board)

    def as_target(self) -> Target:
        """Returns the target: that of --target, or the one that the board's file names.

        Raises:
            AboardError: The target is not valid, or there is no such board.
        """
        from aboard import boards
        from aboard.target import Target

        return Target(self.target if self.target is not None else boards.load(str(self.board)).target)


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--target` and `--board`; the command takes `place: Place`."""

    @functools.wraps(function)
    def placed(*args: Any, target: str | None, board: str | None, **kwargs: Any) -> Any:
        return function(*args, place=Place.chosen(target, board), **kwargs)

    about = "Board (`aboard boards`), or zephyr:BOARD."
    placed = click.option("--board", "-b", metavar="B", shell_complete=completion.board, help=about)(placed)
    return click.option("--target", "-t", metavar="T", help="Core or board, with attributes (`aboard targets`).")(
        placed
    )


def _pairs(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    stated = ctx.lookup_default(str(parameter.name))
    for word in (*(stated or ()), *value):
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"got {word!r}, expected KEY=VALUE, as in -O trace=on", ctx, parameter)
        found[name] = text
    return found


template_options = click.option(
    "-O",
    "--option",
    "options",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_pairs,
    help="Option of the template; can be repeated.",
)


@dataclass(frozen=True)
class Means:
    """How to make an image and run it; None for the default of the board or of this machine.

    Attributes:
        template: Name of the project template.
        options: Its options.
        toolchain: Name of the C toolchain, or a path.
        runner: Name of the runner or flasher.
        device: Serial number, port or drive of the attached board.
        port: Serial port of its RPC.
        farm: Address of the scheduler of a farm that has the board.
    """

    template: str | None
    options: Mapping[str, str]
    toolchain: str | None
    runner: str | None
    device: str | None = None
    port: str | None = None
    farm: str | None = None


def repeats_option(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns the option of the commands that measure; `default` is its default."""
    return click.option(
        "--repeats",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        metavar="K",
        help="Runs of which the median counts, where ticks are measured and not instructions counted.",
    )


def means_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of `Means`; the command takes `means: Means`."""

    @functools.wraps(function)
    def given(*args: Any, **kwargs: Any) -> Any:
        means = Means(**{field.name: kwargs.pop(field.name) for field in fields(Means)})
        return function(*args, means=means, **kwargs)

    for add in (
        toolchain_option,
        farm_option,
        port_option,
        device_option,
        runner_option,
        template_options,
        template_option,
    ):
        given = add(given)
    return given


def _named_size(value: str) -> tuple[str, int]:
    """Returns name and size of `NAME=SIZE`."""
    name, _, size = value.partition("=")
    if not name or not size.isdecimal() or int(size) < 1:
        raise click.BadParameter(f"got {value!r}, expected NAME=SIZE with a size from 1, such as seq=16. Give a size")
    return name, int(size)


dimension_option = click.option(
    "--dimension",
    "dimensions",
    multiple=True,
    type=_named_size,
    metavar="NAME=SIZE",
    help="Size of a free dimension of an ONNX file; a batch is 1 by default. May be given several times.",
)
