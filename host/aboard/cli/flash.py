"""`aboard flash`: flashes an image into a board, and asks the board which build it runs."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from aboard.base.table import facts
from aboard.cli.console import Console
from aboard.cli.options import device_option, example, pass_console, port_option
from aboard.cli.output_options import output_options
from aboard.cli.schema_flash import FlashResult
from aboard.device import flash, usb
from aboard.device.flash import Flashed
from aboard.flashers import Flasher
from aboard.project import mlperf
from aboard.project.project import Project


@click.command(
    "flash",
    epilog=example(
        "aboard flash build/kws",
        "aboard flash build/kws --runner openocd --device 0670FF485457725187103732",
        "aboard flash build/kws --runner jlink --dry-run",
    ),
)
@click.argument("project", metavar="[DIR]", type=click.Path(path_type=Path), default=".")
@click.option(
    "--runner",
    "tool",
    metavar="NAME",
    help="Tool that flashes the board: openocd, pyocd, jlink, stlink, nrfjprog, esptool, uf2, west, or the tool of a "
    "package. Default: the first installed tool that can flash the board (docs/how-to/flashing.md).",
)
@device_option
@port_option
@click.option("--no-check", is_flag=True, help="Do not ask the board over RPC which build it runs.")
@click.option("--dry-run", is_flag=True, help="Print the command line and run nothing.")
@output_options
@pass_console
def command(
    console: Console,
    project: Path,
    tool: str | None,
    device: str | None,
    port: str | None,
    no_check: bool,
    dry_run: bool,
) -> None:
    """Flash the image of the project in DIR into its board.

    DIR is the current folder by default. After flashing, aboard asks the board over RPC which build it runs.
    """
    opened = Project.open(project)
    flasher = flash.choose(opened, tool, installed=not dry_run)
    place = usb.find(opened.board, device)
    if dry_run:
        planned = Flashed(flasher.name, flash.plan(opened, flasher, place), place, False, None, 0.0, None)
        result = _describe(opened, flasher, planned, None)
        console.emit(result, lambda: shlex.join(result.command))
        return
    with console.step(f"flashing {opened.board.id} ({flasher.name})"):
        done = flash.write(opened, flasher, place, on_note=console.note)
    unasked = no_check or mlperf.asked_for(opened.info.options)
    asked = None if unasked else flash.port_of(opened, place, port)
    if asked is not None:
        with console.step(f"asking {opened.board.id} on {asked}"):
            flash.check(opened, asked)
        done = replace(done, answered=True)
    elif not unasked:
        console.note(
            f"{opened.board.id}: was flashed and not asked whether it runs the image: no serial port of it is known. "
            "Name one with --port"
        )
    result = _describe(opened, flasher, done, asked)
    console.emit(result, lambda: _report(result))


def _describe(project: Project, flasher: Flasher[Any], done: Flashed, asked: str | None) -> FlashResult:
    return FlashResult(
        path=str(project.path),
        board=project.board.id,
        image=str(project.image),
        build_id=project.build_id,
        runner=done.flasher,
        version=flash.version(flasher),
        command=list(done.command),
        flashed=done.log is not None,
        serial_number=done.place.serial_number,
        port=asked,
        verified=done.verified,
        answered=done.answered,
        seconds=None if done.log is None else done.seconds,
        log=None if done.log is None else str(done.log),
    )


def _report(result: FlashResult) -> str:
    checked = {True: f"the board runs build {result.build_id}", None: "not asked whether it runs"}[result.answered]
    lines = facts(
        [
            ("board", result.board),
            ("tool", f"{result.runner} {result.version or ''}".strip()),
            ("probe", result.serial_number),
            ("image", result.image),
            ("verified", f"{'by the tool; ' if result.verified else ''}{checked}"),
            ("time", f"{result.seconds or 0:.1f} s"),
        ]
    )
    return f"{lines}\n\nNext: aboard run {result.path} --runner serial"
