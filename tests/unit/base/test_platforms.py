"""What runs on Windows, and what the errors of the rest say."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from aboard import cli
from aboard.base import platforms
from aboard.cli.group import COMMANDS
from aboard.errors import ToolError
from aboard.runners.process import Supervised
from aboard.transports.pipe import PipeTransport
from aboard.transports.pty import Pty
from aboard.transports.tcp import SocketTransport

REFUSED = "this part of aboard does not run on this system, expected Linux or macOS"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (Pty, "pseudo-terminals"),
        (lambda: PipeTransport(0, 1, "a pipe"), "pipes to processes"),
        (lambda: SocketTransport.unix("a"), "local sockets"),
        (lambda: Supervised("qemu", ["qemu"]), "emulators and images of this machine"),
    ],
    ids=["pty", "pipe", "socket", "process"],
)
def test_what_only_posix_has_is_refused_on_windows(
    make: Callable[[], object], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ToolError) as caught:
        make()
    assert str(caught.value) == f"{what}: not available on win32, expected Linux or macOS. Use WSL2, or one of them"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_of_the_device_path_alone_start_on_other_systems(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platforms, "problem", lambda: "plan9: does not run. Use another")
    starts = name in {"boards", "debug", "devices", "doctor", "flash", "hardware", "run"}
    assert cli.invoke([name, "--help"]) == (0 if starts else 1)
    printed = capsys.readouterr()
    assert printed.err == ("" if starts else "error: plan9: does not run. Use another\n")


@pytest.mark.parametrize(
    ("system", "begin", "end"), [("linux", "Linux ", "(tested)"), ("win32", "Windows ", "(not tested)")]
)
def test_the_system_is_described_with_what_was_run(
    system: str, begin: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.release", lambda: "1")
    monkeypatch.setattr("platform.machine", lambda: os.name)
    said = platforms.described()
    assert said == f"{begin}1 {os.name} {end}"


@pytest.mark.parametrize(
    ("system", "problem"),
    [
        ("linux", None),
        ("darwin", None),
        (
            "win32",
            f"Windows: {REFUSED}. Use it in WSL2 (docs/how-to/installation.md)",
        ),
        ("plan9", f"plan9: {REFUSED}. Use one of them"),
    ],
)
def test_each_system_has_its_advice(system: str, problem: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", system)
    assert platforms.problem() == problem
