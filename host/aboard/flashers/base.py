"""What a flasher is: it knows one tool that writes images into a board's flash.

What the tool can do is data, its command line is built by a pure function, and what it says is read by another. The
one place that starts it is `Flasher.run`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from aboard.base import programs
from aboard.boards.board import Board
from aboard.errors import BoardError, FlashError, did_you_mean
from aboard.flashers import formats
from aboard.flashers.problems import Diagnosis, Problem

Form = Literal["elf", "hex", "bin", "uf2"]
_TIMEOUT_S = 300.0
_LONGEST_EVIDENCE = 200


class Settings(BaseModel):
    """What a board file says to a tool: the keys of its table. A flasher derives its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


SettingsT = TypeVar("SettingsT", bound=Settings)


@dataclass(frozen=True)
class Capabilities:
    """What a tool can do.

    Attributes:
        form: Form of the image that it takes.
        selects: How one of several boards is chosen: by the serial number of its probe, by its serial port, or by the
            folder of its drive.
        verifies: True when it compares the flash with the image itself.
        debugs: True when it has a gdb server.
    """

    form: Form
    selects: Literal["serial number", "port", "drive"]
    verifies: bool
    debugs: bool


@dataclass(frozen=True)
class Job(Generic[SettingsT]):
    """What is to be flashed, and where.

    Attributes:
        board: Id of the board.
        settings: What its file says to the tool.
        elf: The built image.
        image: The image in the form the tool takes.
        scratch: Folder for scripts, which is gone afterwards.
        project: Folder of the project.
        serial_number: Of the probe; None to take the only one there is.
        port: Serial port of the board; None where it is not known.
    """

    board: str
    settings: SettingsT
    elf: Path
    image: Path
    scratch: Path
    project: Path
    serial_number: str | None = None
    port: str | None = None


@dataclass(frozen=True)
class Finding:
    """What a line of output means.

    Attributes:
        pattern: Regular expression, searched in the output; case counts.
        problem: What it tells.
    """

    pattern: str
    problem: Problem


@dataclass(frozen=True)
class Done:
    """A tool that has done its work.

    Attributes:
        command: What was run; empty where nothing had to be.
        output: What it said.
    """

    command: tuple[str, ...]
    output: str


class Flasher(ABC, Generic[SettingsT]):
    """One tool.

    Attributes:
        name: Name on the command line, and of the table in board files.
        order: Flashers with lower numbers are tried first.
        interface: Version of this contract that the class was written for; a number, not `INTERFACE`.
        program: The tool's program; None where it needs none.
        purpose: What it does, in a few words.
        how_to_get: What to do where the program is missing, without a full stop.
        version_arguments: What makes the program print its version; None where it does not answer without a probe.
        capabilities: What it can do.
        settings: What a board file says to it.
        findings: What its output means; the first that is found counts.
        proof: Regular expression that its output has when all went well; None where the exit code is enough.
        gdb_start: What gdb is told once it is connected to the tool's gdb server.
        advice: What to do about a problem, where this tool knows better than `problems.ADVICE`.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    interface: ClassVar[int]
    program: ClassVar[str | None]
    purpose: ClassVar[str]
    how_to_get: ClassVar[str]
    version_arguments: ClassVar[tuple[str, ...] | None] = ("--version",)
    capabilities: ClassVar[Capabilities]
    settings: type[SettingsT]
    findings: ClassVar[tuple[Finding, ...]] = ()
    proof: ClassVar[str | None] = None
    gdb_start: ClassVar[tuple[str, ...]] = ("monitor reset halt", "load")
    advice: ClassVar[Mapping[Problem, str]] = {}

    @abstractmethod
    def command(self, job: Job[SettingsT], program: str) -> list[str]:
        """Returns the command line that flashes an image, verifies it where the tool can, and starts it."""

    def scripts(self, job: Job[SettingsT]) -> Mapping[str, str]:
        """Returns the files that the command line names, by their names in the job's scratch folder."""
        del job
        return {}

    def gdb_server(self, job: Job[SettingsT], program: str, port: int) -> list[str] | None:
        """Returns the command line of a gdb server on a TCP port; None where the tool has none."""
        del job, program, port
        return None

    def diagnose(self, output: str, code: int) -> Diagnosis | None:
        """Says what went wrong.

        Args:
            output: What the tool wrote, both streams.
            code: Its exit code.

        Returns:
            The problem with the line that tells it, or None when all went well.
        """
        proven = code == 0 and (self.proof is None or re.search(self.proof, output, re.MULTILINE) is not None)
        if proven:
            return None
        for finding in self.findings:
            found = re.search(f"^.*(?:{finding.pattern}).*$", output, re.MULTILINE)
            if found is not None:
                return Diagnosis(finding.problem, _shortened(found.group()))
        lines = [line for line in output.splitlines() if line.strip()]
        return Diagnosis(Problem.FAILED, _shortened(lines[-1]) if lines else f"exit code {code} and no output")

    def supports(self, board: Board, template: str | None = None) -> str | None:
        """Returns why it cannot flash a board, or None when it can.

        Args:
            board: The board.
            template: Template of the project, for tools that flash what one build system made.
        """
        del template
        if board.flash is None:
            core = f" for its core {board.core().name}" if board.selected else ""
            return f"whose file has no [flash]{core}"
        return None if self.name in board.flash.tools else f"whose file has no [flash.{self.name}]"

    def read(self, board: Board) -> SettingsT:
        """Returns what a board's file says to the tool.

        Raises:
            BoardError: A key is missing, unknown or wrong.
        """
        table = board.flash.tools.get(self.name, {}) if board.flash is not None else {}
        try:
            return self.settings.model_validate(table)
        except ValidationError as error:
            raise BoardError(
                f"board {board.id}: flash.{self.name}: {'; '.join(_wrong(error, self.settings))}. "
                "docs/flashing.md describes the keys"
            ) from error

    def missing(self) -> str | None:
        """Returns what has to be installed, and how, or None when all is there."""
        if self.program is None or programs.find(self.program) is not None:
            return None
        return f"{self.program} is not on PATH. To get it: {self.how_to_get}"

    def convert(self, elf: Path, scratch: Path, settings: SettingsT) -> Path:
        """Writes an image in the form the tool takes, and returns the file.

        Raises:
            ToolError: There is no image, or it holds nothing to flash.
        """
        del settings
        if self.capabilities.form == "hex":
            return formats.write_hex(elf, scratch / "image.hex")
        return elf

    def folder(self, job: Job[SettingsT]) -> Path:
        """Returns the folder that the tool runs in."""
        return job.scratch

    def environment(self, job: Job[SettingsT]) -> Mapping[str, str]:
        """Returns the environment variables of the tool."""
        del job
        return os.environ

    def run(self, job: Job[SettingsT]) -> Done:
        """Flashes an image.

        Raises:
            FlashError: The tool says that it failed.
            ToolError: The tool is missing.
        """
        program = programs.require(self.program or self.name, f"To get it: {self.how_to_get}")
        for name, text in self.scripts(job).items():
            (job.scratch / name).write_text(text, encoding="utf-8")
        command = self.command(job, str(program))
        try:
            code, output = programs.run(command, self.folder(job), self.environment(job), _TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise self.error(job, Diagnosis(Problem.FAILED, f"no end within {_TIMEOUT_S:g} s")) from error
        except OSError as error:
            raise self.error(job, Diagnosis(Problem.NOT_STARTED, str(error))) from error
        found = self.diagnose(output, code)
        if found is not None:
            raise self.error(job, found, output)
        return Done(tuple(command), output)

    def error(self, job: Job[SettingsT], found: Diagnosis, output: str = "") -> FlashError:
        """Returns the error of a problem, with advice and what has become of the board."""
        which = f" with serial number {job.serial_number}" if job.serial_number else ""
        advice = self.advice.get(found.problem, found.problem.advice)
        message = (
            f"{self.name}: {found.problem.what}, got {found.evidence!r}, expected {found.problem.expected} "
            f"{job.board}{which}. {advice.format(program=self.program, board=job.board, python=sys.executable)}. "
            f"{found.problem.left_behind}"
        )
        return FlashError(message, problem=found.problem.value, output=output)


def _shortened(line: str) -> str:
    text = line.strip()
    return text if len(text) <= _LONGEST_EVIDENCE else f"{text[:_LONGEST_EVIDENCE]}..."


def _wrong(error: ValidationError, settings: type[Settings]) -> Sequence[str]:
    found = []
    for detail in error.errors():
        where = ".".join(map(str, detail["loc"]))
        if detail["type"] == "extra_forbidden":
            found.append(f"{where}: unknown key. {did_you_mean(where, settings.model_fields)}")
        elif detail["type"] == "missing":
            found.append(f"{where}: missing, got nothing, expected a value")
        else:
            found.append(f"{where}: {detail['msg']}, got {detail['input']!r}")
    return found
