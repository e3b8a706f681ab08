"""The plugin of QEMU is built and tried before it counts, and each way in which that fails names a remedy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from aboard.base import programs
from aboard.cycles import histogram, plugin
from aboard.cycles.histogram import Count
from aboard.errors import ToolError

TEXT = """run
100 3 1
104 2 0
run
100 4 2
node 0
100 3 2
node 2
100 1 0
"""


def script(path: Path, text: str) -> Path:
    """Writes a shell script that stands for a program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that succeeds, the only program that is found; it counts its calls."""
    made = script(tmp_path / "cc", f"echo called >> {tmp_path}/calls\necho library > histogram.so")
    monkeypatch.setattr(programs, "find", lambda name: made if name == "cc" else None)
    return made


def test_runs_and_nodes_are_read() -> None:
    alone, profiled = histogram.parse(TEXT)
    assert alone.counts == {0x100: Count(3, 1), 0x104: Count(2, 0)}
    assert alone.instructions == 5
    assert alone.nodes == {}
    assert {number: node.instructions for number, node in profiled.nodes.items()} == {0: 3, 2: 1}


def test_a_comma_in_a_path_does_not_end_it() -> None:
    found = plugin.argument(Path("/a,b/p.so"), Path("/a,b/counts"), ["code=0:8", "align=4"])
    assert found == "/a,,b/p.so,out=/a,,b/counts,code=0:8,align=4"


def test_a_plugin_that_qemu_loads_is_built_once(compiler: Path, tmp_path: Path) -> None:
    qemu = script(tmp_path / "qemu", "echo 'histogram: no code or no file to write' >&2\nexit 1")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        assert plugin.build(tmp_path / name, qemu) == tmp_path / name / "histogram.so"
        assert (tmp_path / name / "histogram.so").read_text() == "library\n"
    assert (tmp_path / "calls").read_text() == "called\n"
    os.utime(qemu, ns=(0, 0))
    plugin.build(tmp_path, qemu)
    assert (tmp_path / "calls").read_text() == "called\n" * 2


def test_a_machine_without_a_compiler_builds_no_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda name: None)
    with pytest.raises(ToolError, match=r"no C compiler for this machine, got none of cc, gcc, clang .* Install gcc$"):
        plugin.build(tmp_path, tmp_path / "qemu")


def test_a_compiler_that_fails_is_named(compiler: Path, tmp_path: Path) -> None:
    script(tmp_path / "qemu", "exit 0")
    script(compiler, "echo 'first line'\necho 'no headers'\nexit 2")
    with pytest.raises(ToolError, match=r"cc failed, got exit code 2 and 'no headers', expected a plugin of QEMU"):
        plugin.build(tmp_path, tmp_path / "qemu")


def test_a_qemu_that_refuses_the_plugin_is_named(compiler: Path, tmp_path: Path) -> None:
    qemu = script(tmp_path / "qemu", "echo 'TCG plugin requires API version 2' >&2\nexit 1")
    with pytest.raises(ToolError, match=r"qemu did not load the plugin, got 'TCG plugin requires API version 2'"):
        plugin.build(tmp_path, qemu)
    script(qemu, "exit 0")
    with pytest.raises(ToolError, match=r"did not load the plugin, got no output, expected a QEMU with plugins"):
        plugin.build(tmp_path, qemu)


def test_an_image_without_the_firmware_of_a_session_is_not_counted(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"has no function aboard_port_ticks_align, expected the firmware of a session"):
        histogram.arguments(Path(sys.executable))
    no_image = tmp_path / "firmware.elf"
    with pytest.raises(ToolError, match=r"firmware\.elf: cannot be read, got .*No such file.*, expected an ELF file"):
        histogram.arguments(no_image)
    no_image.write_text("not an ELF file")
    with pytest.raises(ToolError, match=r"firmware\.elf: cannot be read, got Magic number.*, expected an ELF file"):
        histogram.arguments(no_image)
