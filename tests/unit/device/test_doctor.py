"""Doctor: what is there and what is not, without failing because of a tool."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from aboard import cli
from aboard.device import doctor
from aboard.project import toolchain


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it: the folder is its whole PATH, and there are no Python packages."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def install(folder: Path, name: str, prints: str, code: int = 0) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{prints}'\nexit {code}\n")
    program.chmod(0o755)


def checks() -> dict[str, doctor.Check]:
    return {check.name: check for check in doctor.inspect()}


def test_every_tool_is_listed_once_by_kind(bare: Path) -> None:
    by_kind: dict[str, list[str]] = {}
    for check in doctor.inspect():
        by_kind.setdefault(check.kind, []).append(check.name)
    assert by_kind == {
        "toolchain": [compiler.name for compiler in toolchain.COMPILERS],
        "build": ["cmake", "ninja", "zephyr"],
        "emulator": ["qemu-system-arm", "qemu-system-riscv32", "renode", "renode-test", "unicorn"],
        "probe": ["openocd", "esptool", "pyocd", "st-flash", "JLinkExe", "nrfjprog", "west"],
        "device": ["CMSIS-NN"],
        "package": ["tflite", "flatbuffers", "cffi", "tflite_micro"],
    }
    assert list(by_kind) == ["toolchain", "build", "emulator", "probe", "device", "package"]


def test_what_is_missing_says_how_to_get_it(bare: Path) -> None:
    for check in doctor.inspect():
        assert (check.found, check.version, check.path, check.problem) == (False, None, None, None)
        assert re.search(r"apt install|pip install|install the|unpack Renode|git clone|west init", check.how_to_get)
        assert check.purpose


def test_what_is_there_says_version_and_place(bare: Path) -> None:
    install(bare, "qemu-system-arm", "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)")
    install(bare, "openocd", "Open On-Chip Debugger 0.12.0")
    found = checks()
    assert (found["qemu-system-arm"].version, found["qemu-system-arm"].path) == (
        "7.2.22",
        str(bare / "qemu-system-arm"),
    )
    assert (found["openocd"].found, found["openocd"].version) == (True, "0.12.0")


def test_what_does_not_run_is_not_found(bare: Path) -> None:
    install(bare, "pyocd", "broken", code=1)
    check = checks()["pyocd"]
    assert (check.found, check.version, check.path) == (False, None, str(bare / "pyocd"))
    assert check.problem is not None
    assert "pyocd --version: failed, got exit code 1 and ['broken'], expected a version" in check.problem


def test_what_cannot_be_asked_is_found_without_version(bare: Path) -> None:
    install(bare, "JLinkExe", "would wait for input", code=1)
    check = checks()["JLinkExe"]
    assert (check.found, check.version, check.problem) == (True, None, None)


def test_the_package_index_is_enough() -> None:
    found = checks()
    assert found["zig"].found
    assert found["unicorn"].found
    assert found["unicorn"].version is not None
    assert found["unicorn"].version.startswith("2.")


def test_a_zephyr_tree_is_looked_for_as_a_build_would(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (checks()["zephyr"].found, checks()["zephyr"].problem) == (False, None)
    (bare / "VERSION").write_text("VERSION_MAJOR = 3\nVERSION_MINOR = 7\nPATCHLEVEL = 1\n")
    monkeypatch.setenv("ZEPHYR_BASE", str(bare))
    found = checks()["zephyr"]
    assert (found.found, found.version, found.path) == (True, "3.7.1", str(bare))
    monkeypatch.setenv("ZEPHYR_BASE", str(bare / "gone"))
    assert "not a Zephyr tree, got no version in" in str(checks()["zephyr"].problem)


NOTHING = [
    "cmake",
    "ninja",
    "tflite",
    "flatbuffers",
    "a compiler for microcontrollers (one of arm-none-eabi-gcc, riscv64-unknown-elf-gcc, zig)",
    "an emulator (one of qemu-system-arm, qemu-system-riscv32, renode, unicorn)",
]


def test_what_is_needed_is_named_and_ends_with_1(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.missing(doctor.inspect()) == NOTHING
    assert cli.invoke(["doctor", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["ready"], result["missing"]) == (False, NOTHING)
    assert {tool["name"]: tool["need"] for tool in result["tools"]}["renode"] == "one"
    assert cli.invoke(["doctor"]) == 1
    out = capsys.readouterr().out
    assert out.endswith(f"Not ready, missing: {'; '.join(NOTHING)}.\n")
    assert re.search(r"^emulator +qemu-system-arm +missing +one of these ", out, re.MULTILINE)
    assert re.search(r"^probe +openocd +missing +no ", out, re.MULTILINE)


def test_what_is_optional_is_not_needed(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cmake", "ninja", "arm-none-eabi-gcc", "qemu-system-riscv32"):
        install(bare, name, "version 4.2.1")
    there = importlib.util.spec_from_loader("there", None)
    wanted = ("tflite", "flatbuffers")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: there if name in wanted else None)
    assert doctor.missing(doctor.inspect()) == ["an emulator for Cortex-M, which the compiler is for"]
    install(bare, "qemu-system-arm", "version 7.2")
    assert doctor.missing(doctor.inspect()) == []
    assert cli.invoke(["doctor"]) == 0
    assert "Ready: a model can be compiled" in capsys.readouterr().out
