"""`west aboard ...`: the commands of aboard, with the same words, within a west workspace."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from west.commands import WestCommand

_HERE = Path(__file__).resolve().parent.parent


class Aboard(WestCommand):
    """Hands its words to aboard: that of west's own Python, else the one on PATH."""

    def __init__(self) -> None:
        """Names the command as west-commands.yml does."""
        super().__init__(
            "aboard",
            "take machine-learning models aboard boards",
            "Compile models, make applications of them, build, flash and run these: the commands of aboard.",
            accepts_unknown_args=True,
            requires_workspace=False,
        )

    def do_add_parser(self, parser_adder: Any) -> argparse.ArgumentParser:
        """Adds a parser that takes no words itself, not even `--help`: all are aboard's."""
        parser: argparse.ArgumentParser = parser_adder.add_parser(
            self.name,
            help=self.help,
            description=self.description,
            add_help=False,
            allow_abbrev=False,
            prefix_chars="\0",
        )
        parser.add_argument("words", nargs=argparse.REMAINDER)
        return parser

    def do_run(self, args: argparse.Namespace, unknown: list[str]) -> None:
        """Runs aboard, and ends with its exit code."""
        words = [*args.words, *unknown]
        try:
            from aboard.cli import invoke
        except ModuleNotFoundError:
            sys.exit(self._run_program(words))
        sys.exit(invoke(words, program="west aboard"))

    def _run_program(self, words: list[str]) -> int:
        program = shutil.which("aboard")
        if program is None:
            self.die(
                f"aboard: is not installed, got neither a package of {sys.executable} nor a program on PATH, expected "
                f"one of them. Install it: {sys.executable} -m pip install {_HERE}"
            )
        return subprocess.call([str(program), *words])
