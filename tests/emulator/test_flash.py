"""A board on the desk, played by QEMU on a pseudo-terminal: found by its USB ids, flashed, asked, run, debugged."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import aboard
from aboard import boards, cli, runners
from aboard.api import Project, Session
from aboard.base import programs, resources
from aboard.boards import usb_ids
from aboard.cli.schema import RESULTS
from aboard.cli.schema_result import ErrorResult
from aboard.device import flash
from aboard.device.usb import Connection
from aboard.errors import FlashError, ToolError, TransportError
from aboard.rpc.exchange import Timing
from aboard.runners import debug
from aboard.runners.process import Supervised
from aboard.runners.qemu import command

MODEL = resources.models() / "digits.tflite"
BOARD = "bbc/microbit"
SERIAL = "9904360259834e45"
VERIFIED = "** Programming Started **\n** Programming Finished **\n** Verified OK **\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    module = aboard.compile(MODEL, board=BOARD)
    made = aboard.create(module, board=BOARD, path=tmp_path_factory.mktemp("desk") / "project")
    made.build()
    return made


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Project:
    module = aboard.compile(MODEL, board=BOARD)
    path = tmp_path_factory.mktemp("desk") / "other"
    made = aboard.create(module, board=BOARD, path=path, options={"receive_bytes": 512})
    made.build()
    return made


@pytest.fixture
def desk(project: Project) -> Iterator[str]:
    """A board that runs the project's image; gives its port."""
    qemu = project.board.emulator.qemu
    assert qemu is not None
    program = programs.require(qemu.program, "apt install it")
    machine = Supervised("QEMU", command(str(program), qemu, str(project.image), "pty"))
    try:
        yield port_of(machine)
    finally:
        machine.stop()


def port_of(machine: Supervised) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = re.search(r"redirected to (/dev/\S+)", machine.seen() + machine.last_words())
        if found:
            return found.group(1)
        time.sleep(0.01)
    raise AssertionError(machine.end_reason())


def attach(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, str]) -> None:
    """Makes serial ports those of boards: each with its serial number."""
    ports = [usb_ids.UsbPort(port, "0d28:0204", number, "BBC micro:bit", (BOARD,)) for port, number in found]
    monkeypatch.setattr("aboard.device.usb._SYSFS", Path("/nowhere"))
    monkeypatch.setattr(usb_ids, "serial_ports", lambda: ports)


@pytest.fixture
def openocd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tool that says what OpenOCD says when all went well; gives the file with the words it was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "openocd"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo "Open On-Chip Debugger 0.12.0"; exit; fi\n'
        f'printf "%s\\n" "$@" > "{folder}/words"\nls > "{folder}/files"\nprintf "{VERIFIED}"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "words"


def call(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> Any:
    capsys.readouterr()
    assert cli.invoke([*map(str, words), "--json"]) == code
    result = json.loads(capsys.readouterr().out)
    schema = ErrorResult if "error" in result else RESULTS[str(words[0])]
    jsonschema.validate(result, schema.model_json_schema(), cls=jsonschema.Draft202012Validator)
    return result


def test_flash_and_ask(
    project: Project, desk: str, openocd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attach(monkeypatch, (desk, SERIAL))
    result = call(capsys, "flash", project.path, "--runner", "openocd")
    assert (result["flashed"], result["verified"], result["answered"]) == (True, True, True)
    assert (result["runner"], result["version"]) == ("openocd", "0.12.0")
    assert (result["serial_number"], result["port"], result["build_id"]) == (SERIAL, desk, project.build_id)
    assert openocd.read_text().splitlines() == result["command"][1:]
    assert f"adapter serial {SERIAL}" in result["command"]
    assert (openocd.parent / "files").read_text() == "image.elf\n"
    assert VERIFIED.splitlines()[-1] in Path(result["log"]).read_text()
    assert cli.invoke(["flash", str(project.path), "--runner", "openocd"]) == 0
    said = capsys.readouterr().out
    assert f"by the tool; the board runs build {project.build_id}" in said
    assert f"Next: aboard run {project.path} --runner serial" in said


def test_a_board_that_runs_something_else(other: Project, desk: str) -> None:
    with pytest.raises(
        FlashError, match=r"bbc/microbit: was flashed and runs another image, got: .*another build"
    ) as e:
        flash.check(other, desk)
    assert e.value.problem == "other_build"


def test_a_board_that_does_not_answer(project: Project) -> None:
    controller, terminal = pty.openpty()
    try:
        with pytest.raises(FlashError, match=r"was flashed and does not answer on /dev/\S+, got: .*--port names") as e:
            flash.check(project, os.ttyname(terminal), Timing(hello_s=1))
    finally:
        os.close(controller)
        os.close(terminal)
    assert e.value.problem == "silent"


def test_run_on_a_board_that_was_flashed(
    project: Project, desk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attach(monkeypatch, (desk, SERIAL), ("/dev/null", "9905"))
    emulated = call(capsys, "run", project.path, "--runner", "qemu", "--input", "random:5")
    for named in (SERIAL, SERIAL.upper(), f"00{SERIAL}", desk):
        result = call(capsys, "run", project.path, "--device", named, "--input", "random:5")
        assert result["runner"] == "serial"
        assert result["outputs"] == emulated["outputs"]
    refused = call(capsys, "run", project.path, "--runner", "serial", code=1)
    assert re.search(
        rf"bbc/microbit: 2 attached devices could be this board, got {SERIAL}, 9905, expected one\. Say which with "
        rf"--device, as in --device {SERIAL}",
        refused["error"]["message"],
    )


def test_flash_and_run(project: Project, desk: str, openocd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, (desk, SERIAL))
    x = np.zeros(project.models[0].inputs[0].shape, np.int8)
    with Session.open(project, "serial") as device:
        expected = device.run(x)
    assert not openocd.exists()
    with Session.open(project, runners.choose(project.board, "openocd", device=SERIAL)) as device:
        assert np.array_equal(np.asarray(device.run(x)), np.asarray(expected))
    assert f"adapter serial {SERIAL}" in openocd.read_text()


def test_a_busy_port_says_who_holds_it(project: Project, desk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, (desk, SERIAL))
    with (
        Session.open(project, "serial"),
        pytest.raises(TransportError, match=rf"the port is busy, held by .*\(pid {os.getpid()}, this process\)"),
    ):
        flash.check(project, desk)


def test_devices_name_who_holds_a_port(
    project: Project, desk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attach(monkeypatch, (desk, SERIAL))
    with Session.open(project, "serial"):
        (device,) = call(capsys, "devices")["devices"]
    assert (device["usb_id"], device["serial_number"], device["boards"]) == ("0d28:0204", SERIAL, [BOARD])
    assert device["ports"][0]["device"] == desk
    assert any(f"pid {os.getpid()}" in holder for holder in device["ports"][0]["held_by"])
    assert cli.invoke(["devices"]) == 0
    assert re.search(rf"{SERIAL} +0d28:0204 +{desk} .*{BOARD} +BBC micro:bit", capsys.readouterr().out)


def test_an_interrupt_says_what_has_become_of_the_board(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(programs, "find", Path)
    monkeypatch.setattr(programs, "run", interrupt)
    notes: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        flash.write(project, flash.choose(project, "openocd"), Connection(), notes.append)
    assert notes == [
        (
            "bbc/microbit: flashing was interrupted: the board's flash may be erased or hold a part of the image. "
            "Flash it again before it is used"
        )
    ]


GDB = """#!{python}
import socket, sys

place = next(word for word in sys.argv if word.startswith("target extended-remote ")).rpartition(" ")[2]
host, _, port = place.partition(":")
for _ in range(200):
    try:
        line = socket.create_connection((host, int(port)), timeout=10)
        break
    except OSError:
        import time
        time.sleep(0.05)

def ask(text):
    line.sendall(f"${{text}}#{{sum(text.encode()) & 0xFF:02x}}".encode())
    reply = b""
    while not (b"#" in reply and len(reply.partition(b"#")[2]) >= 2):
        reply += line.recv(4096)
    line.sendall(b"+")
    return reply.partition(b"$")[2].partition(b"#")[0].decode()

print("halted", ask("?")[:3])
print("vectors", ask("m0,8"))
sys.exit(7)
"""


def test_debug_starts_the_server_and_gdb(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    gdb = tmp_path / "gdb"
    gdb.write_text(GDB.format(python=sys.executable))
    gdb.chmod(0o755)
    assert cli.invoke(["debug", str(project.path), "--gdb", str(gdb), "--json"]) == 0
    printed = capfd.readouterr()
    result = json.loads(printed.out)
    jsonschema.validate(result, RESULTS["debug"].model_json_schema(), cls=jsonschema.Draft202012Validator)
    assert (result["runner"], result["exit_code"]) == ("qemu", 7)
    # The machine waits at its first instruction, and the vectors are the image's.
    vectors = struct.unpack("<2I", bytes.fromhex(re.search(r"vectors (\w+)", printed.err)[1]))
    assert "halted T05" in printed.err
    assert 0x2000_0000 < vectors[0] <= 0x2000_4000
    assert vectors[1] & 1


def test_debug_with_a_probe(project: Project, openocd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("debug", project.path, "--runner", "openocd", "--gdb", sys.executable, "--gdb-port", "4444", "--dry-run")
    result = call(capsys, *words, "--ex", "break main")
    assert result["server"] == [
        str(openocd.parent / "openocd"), "-f", "interface/cmsis-dap.cfg", "-c", "transport select swd",
        "-f", "target/nrf51.cfg", "-c", "gdb_port 4444", "-c", "telnet_port disabled", "-c", "tcl_port disabled",
    ]  # fmt: skip
    assert result["gdb"] == [
        sys.executable, str(project.image), "-ex", "target extended-remote 127.0.0.1:4444",
        "-ex", "monitor reset halt", "-ex", "load", "-ex", f"directory {project.path}", "-ex", "break main",
    ]  # fmt: skip
    assert result["exit_code"] is None


NO_DEBUG = [
    ("unicorn", r"runner unicorn: has no gdb server\. Choose one that has: qemu, openocd, pyocd, jlink"),
    ("nrfjprog", r"runner nrfjprog: has no gdb server|runner nrfjprog: nrfjprog is not on PATH"),
    ("gdbserver", r"runner gdbserver: unknown"),
]


@pytest.mark.parametrize(("runner", "message"), NO_DEBUG)
def test_what_cannot_debug(project: Project, runner: str, message: str) -> None:
    with pytest.raises(ToolError, match=message), debug.prepared(project, runner, gdb=sys.executable):
        pass


def test_no_gdb_and_no_image(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "find", lambda name: None)
    with (
        pytest.raises(ToolError, match=r"gdb-multiarch: not found.*apt install gdb-multiarch"),
        debug.prepared(project),
    ):
        pass
    empty = Project(tmp_path, project.info)
    with pytest.raises(ToolError, match="no image, expected a built project"), debug.prepared(empty):
        pass
    with pytest.raises(ToolError, match="no image, expected a built project"):
        flash.plan(empty, flash.choose(project, "jlink", installed=False), Connection())


def test_devices_of_a_target_need_no_model_on_the_board_itself() -> None:
    runner = runners.choose(boards.load(BOARD), "serial", device="/dev/ttyACM3")
    assert (runner.name, runner.lacks([]), runner.alive()) == ("serial", None, False)
    assert runner.fresh().__dict__ == runner.__dict__
