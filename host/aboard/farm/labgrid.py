"""Places of labgrid as attached boards: serial port, power and reset, acquired while a worker gives them to a farm.

The program `labgrid-client` does the work, and labgrid is not imported: it brings a pyserial of its own, so it belongs
into another Python environment than aboard. Formats: the output of `labgrid-client show` of labgrid 25 and 26
(https://labgrid.readthedocs.io/en/latest/man/client.html).
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aboard import boards
from aboard.base import programs
from aboard.errors import InputError, ToolError, TransportError

#: Tag of a place that names its board.
TAG = "aboard_board"
#: Name of the serial port of the RPC, if a place has several, and of the digital output that resets the board.
RPC, RESET = "rpc", "reset"
#: Oldest release whose coordinator and client speak gRPC, as all later ones.
OLDEST = 25
_TIMEOUT_S = 60.0
_RESET_S = 0.2
_PLACE = re.compile(r"^Place '(.*)':$", re.MULTILINE)
_RESOURCE = re.compile(r"^(?:Matching|Acquired) resource '(.*)' \(.*\):\n((?: +.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class LabgridPlace:
    """A place whose board this machine can use.

    Attributes:
        name: Its full name.
        board: Board id, from the tag.
        port: Path of its serial port on this machine.
        power_cycle: Command that switches its power off and on, or resets the board; None without such a resource.
    """

    name: str
    board: str
    port: str
    power_cycle: str | None


@contextmanager
def held(names: Sequence[str]) -> Iterator[list[LabgridPlace]]:
    """Yields places of labgrid, which are acquired while the context lasts.

    Args:
        names: Names or aliases, as for `labgrid-client -p`.

    Raises:
        ToolError: labgrid is not installed or too old, its coordinator does not answer, or it does not give a place.
        InputError: A place does not exist, or does not say which board it has or where its serial port is.
        BoardError: The tag of a place names an unknown board.
        TransportError: Somebody has acquired a place.
    """
    if not names:
        yield []
        return
    program = programs.require(
        "labgrid-client", "Install labgrid in an environment of its own, with `pipx install labgrid`"
    )
    _check_version(program)
    found = {place.name: place for place in (_read(program, name) for name in names)}
    with ExitStack() as stack:
        for name in found:
            _acquire(program, name)
            stack.callback(_ran, program, "-p", name, "release")
        yield list(found.values())


def _check_version(program: Path) -> None:
    done = _ran(program, "version")
    if done.returncode:
        raise ToolError(
            f"labgrid: no coordinator at {_coordinator()}, got {_last_line(done)!r}, expected an answer to "
            "`labgrid-client version`. Start `labgrid-coordinator`, or set LG_COORDINATOR"
        )
    # Before it, the program says which place it takes from an environment file.
    version = _last_line(done)
    number = re.match(r"\d+", version)
    if number is None or int(number.group()) < OLDEST:
        raise ToolError(f"{program}: too old a labgrid, got {version!r}, expected {OLDEST} or later. Update it")


def _coordinator() -> str:
    environment = os.environ.get("LG_ENV")
    return os.environ.get("LG_COORDINATOR") or (f"the address in {environment}" if environment else "127.0.0.1:20408")


def _acquire(program: Path, name: str) -> None:
    done = _ran(program, "-p", name, "acquire")
    if done.returncode:
        raise ToolError(
            f"labgrid place {name}: not acquired, got {_last_line(done)!r}, expected it for this worker. See "
            "what its exporter says, and try again"
        )


def _read(program: Path, named: str) -> LabgridPlace:
    done = _ran(program, "-p", named, "show")
    name = _PLACE.search(done.stdout)
    if done.returncode or name is None:
        raise InputError(
            f"labgrid place {named}: not found, got {_last_line(done)!r}, expected one place. `labgrid-client places` "
            "lists them; correct --labgrid"
        )
    return parsed(name[1], done.stdout, str(program))


def parsed(name: str, text: str, program: str) -> LabgridPlace:
    """Returns the place that `labgrid-client show` describes.

    Args:
        name: Its name.
        text: What the program printed.
        program: The program, for the commands of the place.

    Raises:
        InputError: The place does not say which board it has, or has no serial port on this machine.
        BoardError: Its board is unknown.
        TransportError: Somebody has acquired it.
    """
    holder = _field(text, "acquired")
    if holder not in ("", "None"):
        raise TransportError(
            f"labgrid place {name}: busy, acquired by {holder}. Wait for them, or release it there: labgrid-client -p "
            f"{shlex.quote(name)} release"
        )
    tags = dict(pair.partition("=")[::2] for pair in _field(text, "tags").split(", "))
    if TAG not in tags:
        raise InputError(
            f"labgrid place {name}: does not say which board it has, got no tag {TAG}. Set it: labgrid-client -p "
            f"{shlex.quote(name)} set-tags {TAG}=VENDOR/BOARD"
        )
    resources = [(found[1], ast.literal_eval(found[2].strip())) for found in _RESOURCE.finditer(text)]
    board = boards.load(tags[TAG]).id
    return LabgridPlace(name, board, _port(name, resources), _power_cycle(name, resources, program))


def _field(text: str, name: str) -> str:
    found = re.search(rf"^  {name}: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def _port(place: str, resources: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Returns the path of the serial port, which the exporter of this machine states."""
    ports = {name: facts["params"] for name, facts in resources if facts["cls"] == "NetworkSerialPort"}
    chosen = ports.get(RPC) if len(ports) > 1 else next(iter(ports.values()), None)
    if chosen is None:
        raise InputError(
            f"labgrid place {place}: which serial port is the board's, got {', '.join(ports) or 'none'}, expected one, "
            f"or one named {RPC}. Add it with `labgrid-client add-named-match`, and see that its exporter runs"
        )
    path, host = chosen.get("extra", {}).get("path"), chosen.get("host")
    if path is None or host not in {socket.gethostname(), socket.getfqdn(), "localhost", "127.0.0.1", "::1"}:
        raise InputError(
            f"labgrid place {place}: its serial port is not on this machine, got one of {host}, expected a port of "
            "this machine's exporter, as the board is flashed from here too. Run `aboard farm worker` there"
        )
    return str(path)


def _power_cycle(place: str, resources: Sequence[tuple[str, dict[str, Any]]], program: str) -> str | None:
    """Returns the command that brings a board back, with braces doubled, as the station fills names in."""
    client = f"{shlex.quote(program)} -p {shlex.quote(place)}"
    # Drivers of power switches may also stand in labgrid's environment file.
    if os.environ.get("LG_ENV") or any("Power" in facts["cls"] for _, facts in resources):
        command = f"{client} power cycle"
    elif any(name == RESET for name, _ in resources):
        pulse = f"{client} io high {RESET} && sleep {_RESET_S} && {client} io low {RESET}"
        command = f"sh -c {shlex.quote(pulse)}"
    else:
        return None
    return command.replace("{", "{{").replace("}", "}}")


def _ran(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(program), *words]
    programs.log_start(command)
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except OSError as error:
        raise ToolError(f"{program}: cannot be run, got {error.strerror}. Install labgrid again") from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{shlex.join(command)}: did not end within {_TIMEOUT_S:g} s. See whether the coordinator runs, and start "
            "it again"
        ) from error


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    text = done.stderr if done.returncode and done.stderr.strip() else done.stdout
    lines = text.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
