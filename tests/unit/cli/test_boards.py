"""`aboard boards`: what works where, and the filters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aboard import boards, cli
from aboard.project import templates


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.invoke([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    return [board["id"] for board in call(capsys, "boards", *words)["boards"]]


def test_machines_are_listed_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(capsys)
    everything = listed(capsys, "--machines")
    assert everything == boards.names()
    assert set(everything) - set(found) == {name for name in boards.names() if boards.load(name).is_host}
    assert "raspberrypi/rpi_4b" not in found


def test_each_board_says_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    by_id = {board["id"]: board for board in call(capsys, "boards")["boards"]}
    microbit, nucleo, qemu = (by_id[name] for name in ("bbc/microbit", "st/nucleo_l476rg", "arm/mps2_an386"))
    keys = ("bare_metal", "zephyr", "zephyr_since", "arduino", "emulators", "flashers", "ram_bytes", "flash_bytes")
    assert [microbit[key] for key in keys] == [
        *(True, "bbc_microbit", "3.7", "sandeepmistry:nRF5:BBCmicrobit", ["qemu", "unicorn"]),
        *(["openocd", "pyocd", "jlink", "nrfjprog", "west"], 16384, 262144),
    ]
    assert (nucleo["bare_metal"], nucleo["emulators"], nucleo["templates"]) == (
        False,
        [],
        ["arduino", "cmake-lib", "cmsis-pack", "makefile", "platformio", "zephyr"],
    )
    # A machine that exists in an emulator only is flashed by nothing.
    assert (qemu["zephyr_since"], qemu["arduino"], qemu["flashers"]) == ("4.1", None, [])


def test_every_template_of_a_board_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    for board in call(capsys, "boards", "--machines")["boards"]:
        assert set(board["templates"]) <= set(templates.names())
        assert board["bare_metal"] == ("baremetal" in board["templates"])
        assert (board["zephyr_since"] is None) == ("zephyr" not in board["templates"])


@pytest.mark.parametrize(
    ("can", "key"),
    [
        ("bare-metal", "bare_metal"),
        ("zephyr", "zephyr_since"),
        ("arduino", "arduino"),
        ("emulate", "emulators"),
        ("flash", "flashers"),
    ],
)
def test_can_lists_the_boards_that_can(capsys: pytest.CaptureFixture[str], can: str, key: str) -> None:
    everything = call(capsys, "boards")["boards"]
    found = listed(capsys, "--can", can)
    assert found == [board["id"] for board in everything if board[key]]
    assert 0 < len(found) < len(everything)


def test_filters_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    both = set(listed(capsys, "--can", "emulate", "--can", "arduino"))
    assert both == set(listed(capsys, "--can", "emulate")) & set(listed(capsys, "--can", "arduino"))


def test_fits_lists_the_boards_that_a_model_fits(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "boards", "--can", "bare-metal", "--fits", "digits")
    found = {board["id"]: board for board in result["boards"]}
    assert "bbc/microbit" in found
    assert [need["board"] for need in result["needs"]] == list(found)
    for need in result["needs"]:
        assert 0 < need["ram_needed_bytes"] <= found[need["board"]]["ram_bytes"]
        assert 0 < need["flash_needed_bytes"] <= found[need["board"]]["flash_bytes"]
    assert call(capsys, "boards")["needs"] is None


def test_fits_says_the_same_as_compile(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    result = call(capsys, "boards", "--can", "bare-metal", "--fits", "digits")
    needs = {need["board"]: need["ram_needed_bytes"] for need in result["needs"]}
    for board in ("bbc/microbit", "riscv/qemu_virt32"):
        compiled = call(capsys, "compile", "digits", "-b", board, "-o", str(tmp_path / board))
        assert (compiled["fits"], compiled["ram_needed_bytes"]) == (True, needs[board])


def test_a_bundle_fits_boards_of_its_core_only(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    bundle = str(tmp_path / "bundle")
    call(capsys, "compile", "digits", "-b", "bbc/microbit", "-o", bundle)
    found = call(capsys, "boards", "--fits", bundle)["boards"]
    assert {board["cores"][0]["mcpu"] for board in found} == {"cortex-m0"}


def test_a_model_that_fits_nothing_leaves_no_board(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    bundle = str(tmp_path / "bundle")
    call(capsys, "compile", "digits", "-t", "c -mcpu=cortex-a53", "-o", bundle)
    assert cli.invoke(["boards", "--fits", bundle]) == 0
    assert capsys.readouterr().out == f"0 boards that {bundle} fits. `aboard boards` without options lists all\n"


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("words", [("boards", "--machines"), ("targets",), ("hardware",)], ids=" ".join)
def test_lists_fit_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert cli.invoke([*words]) == 0
    widest = max(map(len, capsys.readouterr().out.splitlines()))
    assert widest <= columns
    assert columns == 80 or widest > 80
