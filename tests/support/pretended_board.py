"""A pretended board: the firmware of this machine behind a pseudo-terminal, at a port that can vanish.

As a program, `pretended_board.py IMAGE PORT [SEED]`: runs the image and links its terminal to PORT. With a seed it
hangs (stops without an end) and vanishes (its port goes, and is back with a fresh boot) at random moments. SIGUSR1 is
the power switch: the image boots again, at the same port.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_TERMINAL = re.compile(r"/dev/\S+")


class PretendedBoard:
    """The board; `boot`, `hang` and `vanish` are what happens to it."""

    def __init__(self, image: Path, port: Path) -> None:
        self.image = image
        self.port = port
        self._process: subprocess.Popen[str] | None = None

    def boot(self) -> None:
        """Starts the image, after its end if it runs, and links its terminal."""
        self.vanish()
        self._process = subprocess.Popen([self.image], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        found = _TERMINAL.search(self._process.stdout.readline())
        assert found is not None
        fresh = self.port.with_name(f"{self.port.name}.fresh")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(found.group())
        fresh.rename(self.port)

    def hang(self) -> None:
        """Stops the image, so that it answers nothing."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def vanish(self) -> None:
        """Removes the port and ends the image."""
        self.port.unlink(missing_ok=True)
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None


@contextlib.contextmanager
def running(image: Path, port: Path, seed: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Yields a process with a board at a port."""
    words = [sys.executable, __file__, str(image), str(port), *([] if seed is None else [str(seed)])]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not port.exists():
            assert process.poll() is None, "the board did not start"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        process.communicate()  # its standard input ends, and so does the board


def firmware(pid: int) -> int:
    """Returns the process id of the image that the process of a board runs."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def main() -> None:
    board = PretendedBoard(Path(sys.argv[1]), Path(sys.argv[2]))
    draw = random.Random(int(sys.argv[3])) if len(sys.argv) > 3 else None
    wanted = [True]

    def switch(signum: int, frame: FrameType | None) -> None:
        wanted.append(True)

    signal.signal(signal.SIGUSR1, switch)
    while True:
        if wanted:
            wanted.clear()
            board.boot()
        pause = 3600.0 if draw is None else draw.uniform(0.5, 4.0)
        end = time.monotonic() + pause
        while not wanted and time.monotonic() < end:
            if select.select([sys.stdin], [], [], 0.02)[0] and not os.read(sys.stdin.fileno(), 1):
                board.vanish()
                return
        if draw is not None and not wanted:
            if draw.random() < 0.5:
                board.hang()
            else:
                board.vanish()
                time.sleep(draw.uniform(0.2, 1.5))
                wanted.append(True)


if __name__ == "__main__":
    main()
