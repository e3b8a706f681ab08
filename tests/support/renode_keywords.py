"""Renode's keywords for Robot Framework, with the arguments they have, over the stand-in for Renode.

`renode-test` adds its keywords to each suite that it is given; `suite_of` does the same with these.
"""

from __future__ import annotations

from pathlib import Path

from robot.api import TestSuite

from support import renode_stand_in
from support.renode_script import Monitor

# Arguments as in Renode's UartKeywords.cs and RenodeKeywords.cs, 1.16.1.


class RenodeKeywords:
    """The keywords that suites of ours use."""

    ROBOT_LIBRARY_SCOPE = "TEST"

    def __init__(self) -> None:
        self._monitor = Monitor()

    def execute_command(self, command: str, machine: str | None = None) -> str:
        del machine
        self._monitor.execute(command)
        return ""

    def execute_script(self, path: str) -> str:
        self._monitor.include(Path(path))
        return ""

    def start_emulation(self) -> None:
        renode_stand_in.serve(self._monitor)

    def create_terminal_tester(
        self,
        uart: str,
        timeout: float | None = None,
        machine: str | None = None,
        endLineOption: str | None = None,
        defaultPauseEmulation: bool | None = None,
        defaultWaitForEcho: bool | None = None,
        defaultMatchNextLine: bool | None = None,
        binaryMode: bool = False,
    ) -> int:
        raise NotImplementedError("for --dryrun")

    def wait_for_bytes_on_uart(
        self,
        content: str,
        timeout: float | None = None,
        testerId: int | None = None,
        treatAsRegex: bool = False,
        pauseEmulation: bool | None = None,
        matchStart: bool = False,
    ) -> object:
        raise NotImplementedError("for --dryrun")


def suite_of(path: Path) -> TestSuite:
    """Returns a suite with the keywords, as `renode-test` makes it."""
    suite = TestSuite.from_file_system(path)
    suite.resource.imports.create(type="Library", name="support.renode_keywords.RenodeKeywords")
    return suite
