"""What tools say becomes our errors: outputs recorded of the tools themselves, and those that people have reported."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from aboard import boards, flashers
from aboard.base import programs
from aboard.device import flash
from aboard.errors import FlashError, ToolError
from aboard.flashers import Diagnosis, Job, Problem

DATA = Path(__file__).parents[2] / "data" / "flash"
RECORDED = json.loads((DATA / "recorded.json").read_text())
REPORTED = json.loads((DATA / "reported.json").read_text())
SUCCESS = {
    "openocd": "** Programming Started **\n** Programming Finished **\n** Verify Started **\n** Verified OK **\n"
    "** Resetting Target **\nshutdown command invoked\n",
    "jlink": "Downloading file [image.hex]...\nJ-Link: Flash download: Bank 0 @ 0x00000000: 1 range affected\nO.K.\n",
    "stlink": "2023-07-12T14:39:11 INFO common.c: Flash written and verified! jolly good!\n",
    "nrfjprog": "Parsing image file.\nVerifying programming.\nVerified OK.\nApplying system reset.\nRun.\n",
    "esptool": "Wrote 7888 bytes (4535 compressed) at 0x00000000 in 0.3 seconds.\nHash of data verified.\n",
    "pyocd": "0000912 I Erased 8192 bytes (2 sectors), programmed 8192 bytes (2 pages) at 14.32 kB/s [loader]\n",
    "west": "-- west flash: using runner openocd\n** Verified OK **\n",
    "uf2": "",
}


def problem_of(found: Diagnosis | None) -> str | None:
    return None if found is None else found.problem.value


@pytest.mark.parametrize("name", RECORDED["runs"])
def test_recorded_outputs(name: str) -> None:
    run = RECORDED["runs"][name]
    output = (DATA / f"{name}.txt").read_text()
    found = flashers.all_flashers()[run["tool"]].diagnose(output, run["code"])
    assert problem_of(found) == run["problem"]
    assert found is not None
    assert found.evidence in output


@pytest.mark.parametrize("report", REPORTED, ids=lambda report: f"{report['tool']}-{report['problem']}")
def test_reported_outputs(report: dict[str, object]) -> None:
    found = flashers.all_flashers()[str(report["tool"])].diagnose(str(report["output"]), int(str(report["code"])))
    assert problem_of(found) == report["problem"], report["source"]


@pytest.mark.parametrize("name", SUCCESS)
def test_success(name: str) -> None:
    flasher = flashers.all_flashers()[name]
    assert flasher.diagnose(SUCCESS[name], 0) is None
    assert set(SUCCESS) == set(flashers.all_flashers())


@pytest.mark.parametrize("name", SUCCESS)
def test_a_failure_without_words_is_one(name: str) -> None:
    found = flashers.all_flashers()[name].diagnose("", 3)
    assert found == Diagnosis(Problem.FAILED, "exit code 3 and no output")


def test_a_tool_that_ends_well_without_proof_has_failed() -> None:
    found = flashers.all_flashers()["openocd"].diagnose("** Programming Finished **\n** Verify Failed **\n", 0)
    assert found == Diagnosis(Problem.VERIFY, "** Verify Failed **")
    assert problem_of(flashers.all_flashers()["jlink"].diagnose("Script processing completed.\n", 0)) == "failed"


def test_the_exit_code_of_nrfjprog_tells_more_than_its_words() -> None:
    nrfjprog = flashers.all_flashers()["nrfjprog"]
    assert problem_of(nrfjprog.diagnose("ERROR: something\n", 16)) == "locked"
    assert problem_of(nrfjprog.diagnose("ERROR: something\n", 55)) == "verify"
    assert problem_of(nrfjprog.diagnose("ERROR: something\n", 1)) == "failed"


@pytest.mark.parametrize("name", RECORDED["versions"])
def test_versions_are_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flasher = flashers.all_flashers()[name.removesuffix("_version")]
    program = fake(tmp_path, str(flasher.program), (DATA / f"{name}.txt").read_text(), 0)
    monkeypatch.setattr(programs, "find", lambda name: program)
    assert flash.version(flasher) == RECORDED["versions"][name]


def fake(folder: Path, name: str, output: str, code: int) -> Path:
    """Makes a program that says what a tool has said, and where it was run with what."""
    (folder / "said.txt").write_text(output)
    program = folder / name
    program.write_text(
        f'#!/bin/sh\necho "$PWD" > "{folder}/cwd"\nprintf "%s\\n" "$@" > "{folder}/words"\n'
        f'cat "{folder}/said.txt"\nexit {code}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def job(board: str, flasher: str, folder: Path, **where: str) -> Job:
    found = boards.load(board)
    tool = flashers.all_flashers()[flasher]
    return Job(board, tool.read(found), folder / "a.elf", folder / "image.hex", folder, folder, **where)


MESSAGES = [
    (
        "nordic/nrf52840dk",
        "openocd",
        "openocd_no_probe_jlink",
        {"serial_number": "683123456"},
        (
            "openocd: the board was not found, got 'Error: No J-Link device found', expected the attached "
            "nordic/nrf52840dk with serial number 683123456. Nothing was written to the board. Plug it in with a "
            "cable that carries data; `aboard devices` lists what is attached"
        ),
    ),
    (
        "st/nucleo_f746zg",
        "stlink",
        "stlink_no_probe",
        {},
        (
            "stlink: the board was not found, got \"2026-11-21T10:59:59 WARN usb.c: Couldn't find any "
            'ST-Link devices", '
            "expected the attached st/nucleo_f746zg. Nothing was written to the board. Plug it in with a cable that "
            "carries data; `aboard devices` lists what is attached"
        ),
    ),
    (
        "espressif/esp32c3_devkitm",
        "esptool",
        "esptool_silent",
        {"port": "/dev/ttyUSB0"},
        (
            "esptool: the chip does not answer its probe, got 'ERROR: A fatal error occurred: Failed to connect to "
            "ESP32-C3: No serial data received.', expected a powered espressif/esp32c3_devkitm. Nothing was written to "
            "the board. Hold BOOT, press and release RESET, release BOOT, and flash again"
        ),
    ),
]


@pytest.mark.parametrize(("board", "flasher", "name", "where", "message"), MESSAGES)
def test_what_the_user_reads(
    board: str,
    flasher: str,
    name: str,
    where: dict[str, str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tool = flashers.all_flashers()[flasher]
    run = RECORDED["runs"][name]
    program = fake(tmp_path, str(tool.program), (DATA / f"{name}.txt").read_text(), run["code"])
    monkeypatch.setattr(programs, "find", lambda name: program)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(FlashError) as caught:
        tool.run(job(board, flasher, scratch, **where))
    assert str(caught.value) == message
    assert caught.value.problem == run["problem"]
    assert caught.value.output == (DATA / f"{name}.txt").read_text()
    assert (tmp_path / "cwd").read_text().strip() == str(scratch)


@pytest.mark.parametrize("problem", list(Problem))
def test_every_problem_says_what_to_do_and_what_has_become_of_the_board(problem: Problem, tmp_path: Path) -> None:
    for name, board in [("openocd", "st/nucleo_f746zg"), ("nrfjprog", "nordic/nrf52dk"), ("pyocd", "bbc/microbit")]:
        flasher = flashers.all_flashers()[name]
        error = flasher.error(job(board, name, tmp_path), Diagnosis(problem, "words"))
        written = problem in (Problem.VERIFY, Problem.FAILED)
        state = "flash it again before it is used" if written else "Nothing was written to the board"
        advice = flasher.advice.get(problem, problem.advice).partition("{")[0]
        start = rf"{name}: [^{{}}]+, got 'words', expected [^{{}}]+{board}\. [^{{}}]*{state}\. {re.escape(advice)}"
        assert re.match(start, str(error))
        assert "{" not in str(error)


def test_locked_flash_says_how_each_tool_unlocks_it() -> None:
    words = {
        "openocd": "nrf52_recover", "pyocd": "pyocd erase --mass", "jlink": "unlock", "nrfjprog": "nrfjprog --recover",
        "stlink": "RDP level 0", "esptool": "ESP-IDF",
    }  # fmt: skip
    for name, word in words.items():
        assert word in flashers.all_flashers()[name].advice[Problem.LOCKED]


def test_a_tool_that_is_missing_or_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openocd = flashers.all_flashers()["openocd"]
    monkeypatch.setattr(programs, "find", lambda name: None)
    with pytest.raises(ToolError, match=r"openocd: not found.*To get it: apt install openocd"):
        openocd.run(job("st/nucleo_f746zg", "openocd", tmp_path))
    (tmp_path / "text").write_text("no program")
    monkeypatch.setattr(programs, "find", lambda name: tmp_path / "text")
    with pytest.raises(FlashError, match=r"openocd: the tool cannot be run, got .*Nothing was written"):
        openocd.run(job("st/nucleo_f746zg", "openocd", tmp_path))


def test_esptool_never_looks_for_a_port_itself(tmp_path: Path) -> None:
    with pytest.raises(FlashError, match="esptool: the board was not found, got 'no serial port of the board'"):
        flashers.all_flashers()["esptool"].run(job("espressif/esp32c3_devkitm", "esptool", tmp_path))
