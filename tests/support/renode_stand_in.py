"""A program that takes Renode's command line and does what is seen of it: executes scripts, offers the serial line.

What lies behind the line is our own emulation of the board, so that images really answer. It is no proof that Renode's
peripherals do what ours do: tests that run it run the real program too, wherever that is installed.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import sys
import threading
import tty
from pathlib import Path

from aboard import boards, emulation
from aboard.boards.board import Board, Unicorn
from aboard.emulation.machine import Machine
from support.renode_script import Monitor, read_platform

VERSION = "1.16.1.22222"
_CHUNK = 4096


def unquoted(text: str) -> str:
    return text.removeprefix("@").replace("\\ ", " ").strip('"')


def complain(message: str) -> None:
    """Says what is wrong and goes on to wait for commands, as the monitor does."""
    print(message, flush=True)


def serve(monitor: Monitor) -> None:
    """Boots what the script loaded, and joins it with the line."""
    (image,), (terminal,) = monitor.of("sysbus LoadELF"), monitor.of("emulation CreateServerSocketTerminal")
    (platform,) = monitor.of("machine LoadPlatformDescription")
    connected = [words.split()[0].removeprefix("sysbus.") for words in monitor.of("connector Connect")]
    path = Path(unquoted(platform))
    if path.is_file() and not set(connected) <= set(read_platform(path.read_text(encoding="utf-8"))):
        raise ValueError(f"There was an error executing command 'connector Connect sysbus.{connected[0]}'")
    (mips,) = monitor.of("cpu PerformanceInMips")
    machine = emulation.machine(board_at(int(mips) * 1_000_000))
    ptys = [unquoted(words.split()[1]) for words in monitor.of("emulation CreateUartPtyTerminal")]
    listener = socket.create_server(("127.0.0.1", int(terminal.split()[0])))
    machine.start(Path(unquoted(image)))
    threading.Thread(target=join, args=(machine, open_pty(ptys[0]) if ptys else listener), daemon=True).start()


def board_at(instructions_per_second: int) -> Board:
    board = boards.load(os.environ["RENODE_STAND_IN_BOARD"])
    unicorn = Unicorn(instructions_per_second=instructions_per_second)
    return board.model_copy(update={"emulator": board.emulator.model_copy(update={"unicorn": unicorn})})


def open_pty(path: str) -> int:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    Path(path).symlink_to(os.ttyname(theirs))
    return ours


def join(machine: Machine, line: int | socket.socket) -> None:
    if isinstance(line, socket.socket):
        with line:
            line = line.accept()[0].detach()
    try:
        carry(machine, line)
    finally:
        os.close(line)
        machine.stop()


def carry(machine: Machine, line: int) -> None:
    """Carries bytes both ways until the other end of the line is closed."""
    while True:
        if select.select([line], [], [], 0.001)[0]:
            data = os.read(line, _CHUNK)
            if not data:
                return
            machine.write(data)
        data = machine.read(0)
        if data:
            os.write(line, data)


def main() -> None:
    """Runs it."""
    words = sys.argv[1:]
    if "--version" in words:
        print(f"Renode v{os.environ.get('RENODE_STAND_IN_VERSION', VERSION)}\n  build: stand-in")
        return
    assert words[:4] == ["--console", "--disable-xwt", "--plain", "--hide-log"], words
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    monitor = Monitor()
    if os.environ.get("RENODE_STAND_IN_CRASH"):
        os._exit(3)
    try:
        for option, line in zip(words[4::2], words[5::2], strict=True):
            assert option == "-e"
            monitor.execute(line)
            if line.startswith("logFile"):
                Path(unquoted(line.split()[1])).write_text("10:00:00.0000 [ERROR] cpu: stand-in\n", encoding="utf-8")
        serve(monitor)
    except (ValueError, OSError, KeyError) as error:
        complain(f"{error}")
    for command in sys.stdin:
        if re.fullmatch(r"quit\s*", command):
            os._exit(0)
    signal.pause()


if __name__ == "__main__":
    main()
