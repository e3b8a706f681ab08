"""What MLPerf Tiny's published runner does with a device, for tests: the same commands, pieces, patterns and deadlines.

The facts are from github.com/mlcommons/tiny, benchmark/runner: device_under_test.py, serial_device.py, script.py.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from aboard.transports.base import Transport

#: Data bytes of a `db` command.
PIECE = 31
LINE_S = 5.0
INFER_S = 30.0


@dataclass(frozen=True)
class Inference:
    """What the runner reads from the answer to `infer`."""

    results: tuple[float, ...]
    microseconds: int


class Runner:
    """Drives a device over a line."""

    def __init__(self, line: Transport) -> None:
        self._line = line
        self._text = ""

    def greeting(self) -> list[str]:
        """Drops what the device says before it is asked anything, as the runner does; returns what came of it.

        Whoever opens a pseudo-terminal late misses bytes, so the first line may begin anywhere, even at its end.
        """
        self.send("name")
        line = self._line_until(time.monotonic() + LINE_S).removesuffix("\r")
        lines = []
        while not line.startswith("m-name"):
            lines.append(line)
            line = self.read_line()
        assert self.answer() == []
        return lines

    def read_line(self, seconds: float = LINE_S) -> str:
        """Returns the next line; fails when none comes in time."""
        line = self._line_until(time.monotonic() + seconds)
        assert line.endswith("\r"), line
        return line[:-1]

    def _line_until(self, end: float) -> str:
        """Returns the text before the next line feed; fails when none comes until a moment of the monotonic clock."""
        while "\n" not in self._text:
            left = end - time.monotonic()
            assert left > 0, f"no line in time, after {self._text!r}"
            self._text += self._line.read(left).decode("ascii")
        line, self._text = self._text.split("\n", 1)
        return line

    def answer(self, seconds: float = LINE_S) -> list[str]:
        """Returns the lines up to `m-ready`, which is left out."""
        lines: list[str] = []
        while "m-ready" not in (line := self.read_line(seconds)):
            lines.append(line)
        return lines

    def command(self, text: str, seconds: float = LINE_S) -> list[str]:
        """Sends a command and returns its answer."""
        self.send(text)
        return self.answer(seconds)

    def send(self, text: str) -> None:
        """Sends a command."""
        self._line.write(f"{text}%".encode())

    def name(self) -> str:
        """Asks for the device's name."""
        return self._only(r"m-name-dut-\[([^]]+)]", self.command("name"))

    def model(self) -> str:
        """Asks which benchmark the device's model is for."""
        profile, model = self.command("profile")
        assert re.fullmatch(r"m-profile-\[([^]]+)]", profile)
        return self._only(r"m-model-\[([^]]+)]", [model])

    def load(self, data: bytes) -> None:
        """Loads an input."""
        assert self.command(f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
        for first in range(0, len(data), PIECE):
            answer = self.command(f"db {data[first : first + PIECE].hex()}")
            assert answer == (["m-load-done"] if first + PIECE >= len(data) else [])

    def infer(self, count: int, warmups: int) -> Inference:
        """Runs a series of inferences."""
        lines = self.command(f"infer {count} {warmups}", INFER_S)
        assert lines[0] == f"m-warmup-start-{warmups}"
        assert lines[1] == "m-warmup-done"
        assert lines[2] == f"m-infer-start-{count}"
        start, end = (int(self._only(r"m-lap-us-([0-9]+)", [line])) for line in lines[3:5])
        assert lines[5] == "m-infer-done"
        return Inference(self._results(lines[6:]), end - start)

    def results(self) -> tuple[float, ...]:
        """Asks for the result of the last inference."""
        return self._results(self.command("results"))

    def _results(self, lines: list[str]) -> tuple[float, ...]:
        return tuple(float(value) for value in self._only(r"m-results-\[([^]]+)]", lines).split(","))

    @staticmethod
    def _only(pattern: str, lines: list[str]) -> str:
        assert len(lines) == 1, lines
        found = re.fullmatch(pattern, lines[0])
        assert found, lines
        return found.group(1)
