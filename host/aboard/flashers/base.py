"""The contract of flashers: each drives one tool that writes images into a board's flash.

The tool's capabilities are data. One pure function builds its command line, another reads its output. Only
`Flasher.run` starts the tool.
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
    """Settings of a tool in a board file: the keys of its table. Each flasher derives its own class."""

    model_config = ConfigDict(extra="forbid", frozen=True)


SettingsT = TypeVar("SettingsT", bound=Settings)


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a tool.

    Attributes:
        form: Format of the image that the tool takes.
        selects: How the tool selects one of several boards: by the serial number of its probe, by its serial port, or
            by the folder of its drive.
        verifies: True if the tool compares the flash with the image.
        debugs: True if the tool has a gdb server.
    """

    form: Form
    selects: Literal["serial number", "port", "drive"]
    verifies: bool
    debugs: bool


@dataclass(frozen=True)
class Job(Generic[SettingsT]):
    """What to flash, and where.

    Attributes:
        board: Id of the board.
        settings: The tool's settings in the board's file.
        elf: The built image.
        image: The image in the format that the tool takes.
        scratch: Temporary folder for scripts, deleted after the job.
        project: Folder of the project.
        serial_number: Serial number of the probe; None to take the only one that is attached.
        port: Serial port of the board; None if it is unknown.
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
    """The meaning of a line of output.

    Attributes:
        pattern: Regular expression, searched in the output; case-sensitive.
        problem: The problem that a match means.
    """

    pattern: str
    problem: Problem


@dataclass(frozen=True)
class Done:
    """The result of a tool that succeeded.

    Attributes:
        command: The command line that was run; empty if no program was needed.
        output: Its output, both streams.
    """

    command: tuple[str, ...]
    output: str


class Flasher(ABC, Generic[SettingsT]):
    """One tool.

    Attributes:
        name: Name on the command line, and of the table in board files.
        order: Flashers with lower numbers are tried first.
        interface: Version of this contract that the class was written for. Write it as a number, not as `INTERFACE`.
        program: The tool's program; None where it needs none.
        purpose: What the tool does, in a few words.
        how_to_get: How to install the program, without a full stop.
        version_arguments: Arguments with which the program prints its version; None if it needs a probe for that.
        capabilities: Capabilities of the tool.
        settings: Class of its settings in a board file.
        findings: Meanings of its output; the first match counts.
        proof: Regular expression that the output contains on success; None if the exit code is enough.
        gdb_start: gdb's commands after the connection to the tool's gdb server.
        advice: Advice by problem, where this tool needs other advice than `problems.ADVICE`.
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
        """Returns the text of the scripts that the command line names, by file name in the job's scratch folder."""
        del job
        return {}

    def gdb_server(self, job: Job[SettingsT], program: str, port: int) -> list[str] | None:
        """Returns the command line of a gdb server on a TCP port; None where the tool has none."""
        del job, program, port
        return None

    def diagnose(self, output: str, code: int) -> Diagnosis | None:
        """Reads the tool's output for problems.

        Args:
            output: What the tool wrote, both streams.
            code: Its exit code.

        Returns:
            The problem with the line that shows it; None if the tool succeeded.
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
        """Returns the reason why it cannot flash a board; None if it can.

        Args:
            board: The board.
            template: Template of the project, for tools that flash the output of one build system only.
        """
        del template
        if board.flash is None:
            core = f" for its core {board.core().name}" if board.selected else ""
            return f"whose file has no [flash]{core}"
        return None if self.name in board.flash.tools else f"whose file has no [flash.{self.name}]"

    def read(self, board: Board) -> SettingsT:
        """Returns the tool's settings in a board's file.

        Raises:
            BoardError: A key is missing, unknown or wrong.
        """
        table = board.flash.tools.get(self.name, {}) if board.flash is not None else {}
        try:
            return self.settings.model_validate(table)
        except ValidationError as error:
            raise BoardError(
                f"board {board.id}: flash.{self.name}: {'; '.join(_wrong(error, self.settings))}. "
                "docs/how-to/flashing.md describes the keys"
            ) from error

    def missing(self) -> str | None:
        """Returns what has to be installed, and how; None if nothing is missing."""
        if self.program is None or programs.find(self.program) is not None:
            return None
        return f"{self.program} is not on PATH. To get it: {self.how_to_get}"

    def convert(self, elf: Path, scratch: Path, settings: SettingsT) -> Path:
        """Writes an image in the format that the tool takes, and returns the file.

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
            FlashError: The tool failed.
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
        """Returns the error for a problem, with advice and the state of the board's flash."""
        which = f" with serial number {job.serial_number}" if job.serial_number else ""
        advice = self.advice.get(found.problem, found.problem.advice)
        advice = advice.format(program=self.program, board=job.board, python=sys.executable)
        message = (
            f"{self.name}: {found.problem.what}, got {found.evidence!r}, expected {found.problem.expected} "
            f"{job.board}{which}. {found.problem.left_behind}. {advice}"
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
