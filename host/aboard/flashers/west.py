"""Zephyr's runners through `west flash`, with the board's defaults: for projects of the template zephyr."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from aboard.boards.board import Board
from aboard.boards.zephyr import workspace
from aboard.flashers.base import Capabilities, Finding, Flasher, Job, Settings
from aboard.flashers.esptool import EspTool
from aboard.flashers.jlink import JLink
from aboard.flashers.nrfjprog import NrfJprog
from aboard.flashers.openocd import OpenOcd
from aboard.flashers.problems import Problem
from aboard.flashers.pyocd import PyOcd
from aboard.flashers.stlink import StLink

_TEMPLATE = "zephyr"


class WestSettings(Settings):
    """Keys of `[flash.west]`. The table is optional.

    Attributes:
        runner: Zephyr's runner; None for the board's default.
    """

    runner: str | None = None


class West(Flasher[WestSettings]):
    """Flashes the output of `west build` with `west flash`."""

    name: ClassVar[str] = "west"
    order: ClassVar[int] = 60
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "west"
    purpose: ClassVar[str] = "flashes with Zephyr's own runners"
    how_to_get: ClassVar[str] = "pip install west"
    capabilities: ClassVar[Capabilities] = Capabilities("elf", "serial number", verifies=False, debugs=True)
    settings = WestSettings
    gdb_start: ClassVar[tuple[str, ...]] = ("load",)
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"required program .* not found|FATAL ERROR: .*not (?:found|installed)", Problem.NOT_STARTED),
        Finding(r"unknown command|not in a west workspace|no west workspace", Problem.NOT_STARTED),
        Finding(r"doesn't support --dev-id", Problem.NOT_SUPPORTED),
        # west passes on the messages of the tools that it runs.
        *(f for tool in (OpenOcd, PyOcd, JLink, StLink, NrfJprog, EspTool) for f in tool.findings),
        Finding(
            r"no (?:matching )?(?:boards?|UF2 partitions?) (?:connected|found)|Unable to find a board", Problem.NO_PROBE
        ),
    )

    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.NOT_STARTED: "Install what Zephyr's runner needs, and run it in a west workspace (west init); or say "
        "--runner openocd, or another tool of the board",
        Problem.NOT_SUPPORTED: "This runner of Zephyr's takes no serial number or does not know the chip: say --runner "
        "openocd, or another tool of the board",
    }

    @override
    def supports(self, board: Board, template: str | None = None) -> str | None:
        if template not in (_TEMPLATE, None):
            return f"whose project is not of the template {_TEMPLATE}"
        return None if board.zephyr else "which Zephyr does not have"

    @override
    def command(self, job: Job[WestSettings], program: str) -> list[str]:
        return [program, "flash", *_chosen(job)]

    @override
    def gdb_server(self, job: Job[WestSettings], program: str, port: int) -> list[str] | None:
        return [program, "debugserver", *_chosen(job), "--gdb-port", str(port)]

    @override
    def folder(self, job: Job[WestSettings]) -> Path:
        return workspace.find(job.project).topdir or job.project

    @override
    def environment(self, job: Job[WestSettings]) -> Mapping[str, str]:
        return {**os.environ, workspace.BASE: str(workspace.find(job.project).base)}


def _chosen(job: Job[WestSettings]) -> list[str]:
    runner = ["-r", job.settings.runner] if job.settings.runner else []
    serial = ["--dev-id", job.serial_number] if job.serial_number else []
    return ["-d", str(job.project / "build"), "--skip-rebuild", *runner, *serial]
