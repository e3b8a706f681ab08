"""`aboard debug`: gdb on a project's image."""

from __future__ import annotations

import functools
import shlex
import sys
from pathlib import Path

import click

from aboard.cli.console import Console
from aboard.cli.options import device_option, example, pass_console, project_argument
from aboard.cli.output_options import output_options
from aboard.cli.schema_flash import DebugResult
from aboard.project.project import Project
from aboard.runners import debug


@click.command(
    "debug",
    epilog=example(
        "aboard debug build/kws",
        "aboard debug build/kws --runner openocd --ex 'break main' --ex continue",
        "aboard debug build/kws --dry-run",
    ),
)
@project_argument
@click.option(
    "--runner",
    "tool",
    metavar="NAME",
    help="Program with the gdb server: qemu, or the tool of a probe (openocd, pyocd, jlink, stlink, west).",
)
@device_option
@click.option("--gdb", metavar="PROGRAM", help="Program of gdb. Default: by the board's architecture.")
@click.option("--gdb-port", type=click.IntRange(1, 65535), metavar="PORT", help="TCP port. Default: a free one.")
@click.option("--ex", "commands", multiple=True, metavar="COMMAND", help="Command for gdb; can be repeated.")
@click.option("--dry-run", is_flag=True, help="Print the two command lines and start nothing.")
@output_options
@pass_console
def command(
    console: Console,
    project: Path,
    tool: str | None,
    device: str | None,
    gdb: str | None,
    gdb_port: int | None,
    commands: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Start gdb on the image of the project in DIR, with the gdb server of an emulator or a probe.

    An emulated board waits at its first instruction. A real board is flashed by gdb and halted after reset. The command
    prints the pseudo-terminal of an emulated board's serial line. Once the image runs, `aboard run --port` connects to
    it.
    """
    opened = Project.open(project)
    with debug.prepared(opened, tool, device=device, gdb=gdb, port=gdb_port, commands=commands) as plan:
        # With --json, stdout is for the result, so gdb writes to stderr.
        lines: list[str] = []
        announce = functools.partial(_announce, console, opened, lines)
        code = None if dry_run else debug.run(plan, sys.stderr.fileno() if console.json else None, announce)
    result = DebugResult(
        path=str(opened.path),
        image=str(opened.image),
        runner=plan.runner,
        server=list(plan.server),
        gdb=list(plan.gdb),
        port=plan.port,
        line=lines[0] if lines else None,
        exit_code=code,
    )
    console.emit(result, lambda: _report(result) if dry_run else f"gdb ended with exit code {code}")


def _announce(console: Console, project: Project, lines: list[str], line: str) -> None:
    lines.append(line)
    words = shlex.join(["aboard", "run", str(project.path), "--port", line])
    console.note(f"the board's line is {line}. Once the image runs (gdb: continue), say in another terminal: {words}")


def _report(result: DebugResult) -> str:
    return "\n".join(shlex.join(words) for words in (result.server, result.gdb) if words)
