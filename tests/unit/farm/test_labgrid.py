"""Places of labgrid become attached boards, are acquired and released, and say what they lack.

`labgrid-client` is a script here, which prints what labgrid 26.0.1 printed; `make test-labgrid` runs labgrid itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import AboardError, BoardError, InputError, ToolError, TransportError
from aboard.farm import labgrid
from aboard.farm.labgrid import LabgridPlace

SHOWN = """Place 'desk':
  aliases: st
  tags: aboard_board=st/nucleo_f446re, other=x
  matches:
    here/board0/*
  acquired: None
  acquired resources:
  created: 2026-11-26 22:33:05.166321
  changed: 2026-11-26 22:33:07.917180
Matching resource 'NetworkPowerPort' (here/board0/NetworkPowerPort/NetworkPowerPort):
  {'acquired': None,
   'avail': True,
   'cls': 'NetworkPowerPort',
   'params': {'extra': {'proxy': 'localhost', 'proxy_required': False},
              'host': 'http://192.168.1.9',
              'index': 1,
              'model': 'shelly_gen1'}}
Matching resource 'USBSerialPort' (here/board0/NetworkSerialPort/USBSerialPort):
  {'acquired': None,
   'avail': True,
   'cls': 'NetworkSerialPort',
   'params': {'extra': {'path': '/dev/ttyACM3',
                        'proxy': 'localhost',
                        'proxy_required': False},
              'host': '127.0.0.1',
              'port': None,
              'speed': 115200}}
"""
SERIAL = SHOWN[SHOWN.index("Matching resource 'USB") :]

# Plays a place: `show` prints the file, and what changes it is noted. The answers are exit code and last line.
CLIENT = """#!{python}
import json, pathlib, sys
folder = pathlib.Path({folder!r})
words = sys.argv[1:]
with (folder / "calls").open("a") as calls:
    print(*words, file=calls)
code, text = json.loads((folder / "answers").read_text())[words[-1]]
print(text, file=sys.stderr if code else sys.stdout, end="")
sys.exit(code)
"""


class Client:
    """The script, with what it answers to each of its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "labgrid-client"
        self.path.write_text(CLIENT.format(python=sys.executable, folder=str(folder)))
        self.path.chmod(0o755)
        self.answers: dict[str, Any] = {"version": (0, "26.0.1\n"), "show": (0, SHOWN)}
        self.answer("acquire", 0, "acquired place desk\n")
        self.answer("release", 0, "released place desk\n")

    def answer(self, command: str, code: int, text: str) -> None:
        self.answers[command] = (code, text)
        (self.folder / "answers").write_text(json.dumps(self.answers))

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("LG_ENV", raising=False)
    monkeypatch.delenv("LG_COORDINATOR", raising=False)
    return Client(tmp_path)


def refused(*names: str) -> AboardError:
    with pytest.raises(AboardError) as caught, labgrid.held(names):
        raise AssertionError("it was given")
    return caught.value


def test_a_place_is_acquired_while_it_is_used(client: Client) -> None:
    client.answer("version", 0, "Selected role main and place desk from configuration file\n26.0.1\n")
    power = f"{client.path} -p desk power cycle"
    with labgrid.held(["des", "desk"]) as found:
        assert found == [LabgridPlace("desk", "st/nucleo_f446re", "/dev/ttyACM3", power)]
        assert client.calls() == ["version", "-p des show", "-p desk show", "-p desk acquire"]
    assert client.calls()[4:] == ["-p desk release"]
    with pytest.raises(KeyboardInterrupt), labgrid.held(["desk"]):
        raise KeyboardInterrupt
    assert client.calls()[-1] == "-p desk release"


def test_without_places_labgrid_is_not_asked(client: Client) -> None:
    with labgrid.held([]) as found:
        assert found == []
    assert not (client.folder / "calls").exists()


def test_reset_takes_the_place_of_power(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    output = SERIAL.replace("USBSerialPort", "reset").replace("'NetworkSerialPort'", "'HttpDigitalOutput'")
    head = SHOWN[: SHOWN.index("Matching resource")]
    found = labgrid.parsed("a {b}", head + output + SERIAL, "lg")
    pulse = "lg -p 'a {{b}}' io high reset && sleep 0.2 && lg -p 'a {{b}}' io low reset"
    assert found.power_cycle == f"""sh -c '{pulse.replace("'", "'" + '"' + "'" + '"' + "'")}'"""
    assert labgrid.parsed("desk", head + SERIAL, "lg").power_cycle is None
    monkeypatch.setenv("LG_ENV", "place.yaml")
    assert labgrid.parsed("desk", head + SERIAL, "lg").power_cycle == "lg -p desk power cycle"


def test_the_port_of_the_rpc_among_several(client: Client) -> None:
    named = SERIAL.replace("USBSerialPort", "rpc").replace("ttyACM3", "ttyUSB0")
    assert labgrid.parsed("desk", SHOWN + named, "lg").port == "/dev/ttyUSB0"
    other = SERIAL.replace("USBSerialPort", "console")
    with pytest.raises(InputError, match="which serial port is the board's, got USBSerialPort, console, expected one"):
        labgrid.parsed("desk", SHOWN + other, "lg")


@pytest.mark.parametrize(
    ("old", "new", "kind", "problem"),
    [
        ("acquired: None\n", "acquired: lab/ines\n", TransportError, "desk: busy, acquired by lab/ines. Wait for them"),
        ("aboard_board=", "board=", InputError, "does not say which board it has, got no tag aboard_board. Set it"),
        ("st/nucleo_f446re", "st/none", BoardError, "board st/none: unknown"),
        (SERIAL, "", InputError, "which serial port is the board's, got none, expected one, or one named rpc. Add it"),
        ("'127.0.0.1'", "'far.lan'", InputError, "its serial port is not on this machine, got one of far.lan, expec"),
        ("'path': '/dev/ttyACM3',", "", InputError, "its serial port is not on this machine, got one of 127.0.0.1, "),
    ],
)
def test_what_a_place_lacks(client: Client, old: str, new: str, kind: type[AboardError], problem: str) -> None:
    client.answer("show", 0, SHOWN.replace(old, new))
    error = refused("desk")
    assert type(error) is kind
    assert problem in str(error)
    assert not any("acquire" in call for call in client.calls())


@pytest.mark.parametrize(
    ("command", "code", "text", "kind", "problem"),
    [
        (
            "show",
            1,
            "labgrid-client: Error: place pattern desk matches nothing",
            InputError,
            "desk: not found, got '",
        ),
        (
            "acquire",
            1,
            "Server error: broken",
            ToolError,
            "desk: not acquired, got 'Server error: broken', ",
        ),
        ("acquire", 1, "", ToolError, "desk: not acquired, got 'exit code 1'"),
        (
            "version",
            1,
            "Could not connect",
            ToolError,
            "no coordinator at 127.0.0.1:20408, got 'Could not connect'",
        ),
        ("version", 0, "24.0\n", ToolError, "labgrid-client: too old a labgrid, got '24.0', expected 25 or later. Up"),
        ("version", 0, "new", ToolError, "labgrid-client: too old a labgrid, got 'new', expected 25 or later. Update"),
    ],
)
def test_what_labgrid_refuses(
    client: Client, command: str, code: int, text: str, kind: type[AboardError], problem: str
) -> None:
    client.answer(command, code, text)
    error = refused("desk")
    assert type(error) is kind
    assert problem in str(error)


def test_the_coordinator_that_does_not_answer_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.answer("version", 1, "no")
    monkeypatch.setenv("LG_ENV", "place.yaml")
    assert "no coordinator at the address in place.yaml, got " in str(refused("desk"))
    monkeypatch.setenv("LG_COORDINATOR", "lab.lan:20408")
    assert "no coordinator at lab.lan:20408, got " in str(refused("desk"))


def test_labgrid_that_cannot_run(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labgrid, "_TIMEOUT_S", 0.2)
    client.path.write_text("#!/bin/sh\nexec sleep 60\n")
    assert "labgrid-client version: did not end within 0.2 s. See whether the coordinator runs" in str(refused("desk"))
    client.path.write_text("#!/nowhere/python\n")
    assert "labgrid-client: cannot be run, got No such file or directory. Install labgrid again" in str(refused("desk"))
    client.path.unlink()
    monkeypatch.setenv("PATH", str(client.folder))
    assert "labgrid-client: not found, got no such program on PATH" in str(refused("desk"))
