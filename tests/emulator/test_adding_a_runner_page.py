"""The manual of runners: its packages are put where Python finds them, and its flasher and runner do their work."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from aboard import boards
from aboard.base import programs
from aboard.runners.process import Supervised
from aboard.runners.qemu import command
from support import markdown, warm_start

PAGE = "docs/how-to/adding_a_runner.md"
ACMEPROG = """#!/bin/sh
echo "acmeprog 2.1"
[ "$1" = --version ] && exit
echo "$@" > "$ACMEPROG_WORDS"
[ "$4" = 1234 ] && { echo "no probe with id 1234"; exit 1; }
echo verified
"""


def files() -> dict[str, str]:
    found = (
        re.match(r"# (\S+)\n", text) and (re.match(r"# (\S+)\n", text)[1], text) for _, text in markdown.blocks(PAGE)
    )
    return {name: text for name, text in filter(None, found) if name != "pyproject.toml"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with what the page says in it; the environment has its packages as good as installed."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    tables = [text for _, text in markdown.blocks(PAGE) if "entry-points" in text]
    entries = "\n".join(
        f"[{group}]\n{entry.replace(chr(34), '')}"
        for group, entry in re.findall(r'entry-points\."([\w.]+)"\]\n(.*)', "\n".join(tables))
    )
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"{entries}\nlost = acme_lost:Lost\n")
    program = folder / "bin" / "acmeprog"
    program.parent.mkdir()
    program.write_text(ACMEPROG)
    program.chmod(0o755)
    return folder, {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "ACMEPROG_WORDS": str(folder / "words"),
        boards.SEARCH_PATH: str(folder / "boards"),
    }


def aboard(desk: tuple[Path, dict[str, str]], words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    folder, environment = desk
    line = [*warm_start.program(), *words.split()]
    return subprocess.run(
        line, cwd=folder, env={**environment, **variables}, capture_output=True, text=True, check=False, timeout=120
    )


def test_the_page(desk: tuple[Path, dict[str, str]]) -> None:
    (shell,) = [text for language, text in markdown.blocks(PAGE) if language == "sh"]
    outputs = [aboard(desk, line.removeprefix("aboard ")) for line in markdown.commands(shell)]
    assert [done.returncode for done in outputs] == [0, 0, 0, 0], [done.stderr for done in outputs]
    assert re.search(r"probe +acmeprog +found +\w+ +2\.1 +flashes over Acme's probe", outputs[0].stdout)
    assert (
        "lost: acme_lost:Lost cannot be imported, got ModuleNotFoundError: No module named 'acme_lost'."
        in outputs[0].stdout
    )
    assert re.fullmatch(r"acmeprog --chip AX52 --id 1234 --write \S+/image\.hex\n", outputs[3].stdout)

    refused = aboard(desk, "flash build/kit --device 1234")
    assert refused.returncode == 1
    assert (
        "acmeprog: the board was not found, got 'no probe with id 1234', expected the attached acme/kit"
        in refused.stderr
    )
    flashed = aboard(desk, "flash build/kit --runner acmeprog --device 99 --no-check --json")
    result = json.loads(flashed.stdout)
    assert (result["runner"], result["version"], result["verified"]) == ("acmeprog", "2.1", True)
    assert (desk[0] / "words").read_text().split()[:4] == ["--chip", "AX52", "--id", "99"]

    run_in_the_lab(desk)


def run_in_the_lab(desk: tuple[Path, dict[str, str]]) -> None:
    qemu = boards.load("bbc/microbit").emulator.qemu
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = programs.require(qemu.program, "apt install it")
    chardev = f"socket,host=127.0.0.1,port={port},server=on,wait=on"
    machine = Supervised("QEMU", command(str(program), qemu, str(desk[0] / "build/kit/build/firmware.elf"), chardev))
    try:
        done = aboard(desk, "run build/kit --runner lab --json", ACME_LAB=f"127.0.0.1:{port}")
    finally:
        machine.stop()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runner"] == "lab"
    unset = aboard(desk, "run build/kit --runner lab")
    assert "runner lab: ACME_LAB is not set. To get a board: ask the lab" in unset.stderr
