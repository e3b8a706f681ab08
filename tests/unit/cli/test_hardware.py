"""`aboard hardware`: the tree and its filters, what hardware implies, what is attached; as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aboard import boards, cli
from aboard.boards import cpu
from aboard.boards.usb_ids import serial_ports
from aboard.cli.schema import RESULTS
from aboard.target import Target

K = 1 << 10


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.invoke(["hardware", *words]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    value = json.loads(printed(capsys, *words, "--json"))
    command = " ".join(["hardware", *(word for word in words[:1] if word in ("show", "detect"))])
    assert RESULTS[command].model_validate(value).model_dump(by_alias=True) == value
    return value


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """Serial ports as pyserial lists them: a Nucleo, a micro:bit v2, an adapter, and one that is no USB device."""

    def port(device: str, vid: int | None, pid: int | None, serial_number: str | None, text: str) -> SimpleNamespace:
        return SimpleNamespace(device=device, vid=vid, pid=pid, serial_number=serial_number, description=text)

    found = [
        port("/dev/ttyUSB0", 0x1A86, 0x7523, None, "USB Serial"),
        port("/dev/ttyS0", None, None, None, "ttyS0"),
        port("/dev/ttyACM1", 0x0D28, 0x0204, "9904", "BBC micro:bit CMSIS-DAP"),
        port("/dev/ttyACM0", 0x0483, 0x374B, "066A", "STM32 STLink"),
    ]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: found)
    return found


def test_the_tree_has_every_core(capsys: pytest.CaptureFixture[str]) -> None:
    result = as_json(capsys)
    assert [board["id"] for board in result["hardware"]] == boards.names()
    cores = {core["hardware"]: core for board in result["hardware"] for core in board["cores"]}
    assert len(cores) == sum(len(boards.load(name).cores) for name in boards.names())
    net = cores["nordic/nrf5340dk:net"]
    assert (net["mcpu"], net["flash_bytes"], net["ram_bytes"]) == ("cortex-m33+nodsp+nofp", 256 * K, 64 * K)
    assert net["aliases"] == ["nrf5340dk_nrf5340_cpunet", "nordic/nrf5340dk:cpunet"]
    assert all(Target(alias).hardware == name for name, core in cores.items() for alias in core["aliases"])
    assert {"id": "nvidia/gtx2080ti", "name": "NVIDIA GeForce RTX 2080 Ti"} in result["gpus"]


def test_the_tree_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--vendor", "nordic")
    assert "\n  nordic/nrf5340dk  Nordic nRF5340 DK (two Cortex-M33)  (SoC nordic/nrf5340)\n" in text
    assert "    :app  cortex-m33  128 MHz  flash 1,024 KiB, RAM 512 KiB" in text
    assert text.splitlines()[0] == "nordic"
    assert "6 boards with 7 cores" in text
    assert "GPU, not supported" in printed(capsys, "--vendor", "rockchip")
    assert "also nucleo-l4" in printed(capsys, "--vendor", "st", "--core", "cortex-m4")


def test_filters_by_core_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    result = as_json(capsys, "--core", "cortex-m4", "--min-ram", "64K", "--min-flash", "1m")
    cores = [core for board in result["hardware"] for core in board["cores"]]
    wanted = {
        view.target
        for name in boards.names()
        for view in (boards.load(f"{name}:{core.name}") for core in boards.load(name).cores)
        if cpu.find(view.core().mcpu).base == "cortex-m4"
        and (view.ram_bytes or 0) >= 64 * K
        and (view.flash_bytes or 0) >= 1 << 20
    }
    assert {core["hardware"] for core in cores} == wanted
    assert "st/nucleo_l4r5zi" in wanted
    assert "st/nucleo_f303re" not in wanted
    assert result["gpus"] == []


def test_a_core_with_modifiers_is_that_one_only(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "--core", "cortex-m33+nofp+nodsp")
    assert {core["mcpu"] for board in found["hardware"] for core in board["cores"]} == {"cortex-m33+nodsp+nofp"}


def test_no_board_passes_the_filters(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        printed(capsys, "--min-ram", "4000M", "--core", "cortex-m0").splitlines()[0] == "No board passes the filters."
    )


@pytest.mark.parametrize(("text", "count"), [("65536", 65536), ("64K", 65536), ("64KiB", 65536), ("1 mb", 1 << 20)])
def test_sizes(text: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [
        core["ram_bytes"]
        for board in as_json(capsys, "--min-ram", text)["hardware"]
        for core in board["cores"]
        if core["ram_bytes"] is not None
    ]
    assert min(sizes) >= count
    assert min(sizes) < 2 * count


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--min-ram", "lots"], 2, "got 'lots', expected a number of bytes, as in 65536, 64K or 1M"),
        (["--core", "cortex-m44"], 1, "Did you mean cortex-m4, cortex-m7"),
        (
            ["--vendor", "nordik"],
            1,
            "--vendor nordik: unknown vendor. Did you mean nor",
        ),
        (["show", "nvidia/gtx2080ti"], 1, "board nvidia/gtx2080ti: is a GPU, which is not supported"),
        (["show", "c -mcpu=cortex-m4"], 1, "names no hardware, expected a board. `aboard hardware` lists them"),
        (["show", "st/nucleo_f767"], 1, "Did you mean st/nucleo_f767zi"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["hardware", *words]) == code
    assert text in capsys.readouterr().err


def test_show_says_what_is_implied_and_by_which_file(capsys: pytest.CaptureFixture[str]) -> None:
    result = as_json(capsys, "show", "nucleo-f7 -opt=size")
    target = Target("st/nucleo_f767zi -opt=size")
    assert (result["hardware"], result["target"], result["key"]) == ("st/nucleo_f767zi", str(target), target.key)
    attributes = {a["name"]: (a["value"], a["origin"]) for a in result["attributes"]}
    assert {name: value for name, (value, _) in attributes.items()} == dict(target.attrs)
    assert attributes["mcpu"] == ("cortex-m7", "core cpu0 of the SoC")
    assert attributes["opt"] == ("size", "given")
    assert {a["file"] for a in result["attributes"]} == {result["board_file"], result["soc_file"], None}
    assert Path(result["soc_file"]).name == "stm32f767zi.toml"
    assert [m["name"] for m in result["memory"]] == ["itcm", "flash", "dtcm", "sram"]
    assert result["core"]["clock_hz"] == 216_000_000
    assert all("https://" in source for source in result["sources"])


def test_show_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "show", "rk3399:littlecpu")
    assert "core       littlecpu, cortex-a53\n" in text
    assert "aliases    rockchip/rk3399:little\n" in text
    assert re.search(r"^-runtime +host +the board", text, re.MULTILINE)
    assert "\n  from https://opensource.rock-chips.com" in text
    assert "USB        0483:374b, 0483:3752" in printed(capsys, "show", "nucleo-l4")


def test_a_board_without_a_port_takes_models_and_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = ["--board", "nordic/nrf5340dk:net"]
    assert cli.invoke(["compile", "digits", *board, "-o", str(tmp_path / "bundle"), "--json"]) == 0
    assert "-hardware=nordic/nrf5340dk:net" in json.loads(capsys.readouterr().out)["target"]
    words = ["create", str(tmp_path / "bundle"), *board, "--template", "baremetal", "-o", str(tmp_path / "project")]
    assert cli.invoke(words) == 1
    message = capsys.readouterr().err
    assert "nordic/nrf5340dk:net: has no port yet, got a board without [counter] in the file of its SoC" in message
    assert "nordic/nrf5340 and [rpc] in its own file, expected [counter] and [rpc]" in message
    assert not (tmp_path / "project").exists()


def test_detect_names_boards_by_their_usb_ids(ports: list[SimpleNamespace], capsys: pytest.CaptureFixture[str]) -> None:
    found = {port["device"]: port for port in as_json(capsys, "detect")["ports"]}
    assert list(found) == ["/dev/ttyACM0", "/dev/ttyACM1", "/dev/ttyUSB0"]
    nucleo = found["/dev/ttyACM0"]
    assert (nucleo["usb_id"], nucleo["serial_number"]) == ("0483:374b", "066A")
    assert "st/nucleo_f767zi" in nucleo["boards"]
    assert "st/nucleo_u575zi_q" not in nucleo["boards"]
    assert "bbc/microbit_v2" in found["/dev/ttyACM1"]["boards"]
    assert found["/dev/ttyUSB0"]["boards"] == []
    text = printed(capsys, "detect")
    assert "not known" in text
    assert "bbc/microbit_v2" in text


def test_detect_where_nothing_is_attached(ports: list[SimpleNamespace], capsys: pytest.CaptureFixture[str]) -> None:
    ports.clear()
    assert printed(capsys, "detect") == "No USB device with a serial port is attached.\n"
    assert as_json(capsys, "detect") == {"ports": []}


def test_a_broken_file_of_the_user_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ports: list[SimpleNamespace], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "broken.toml").write_text("name = 3")
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))
    assert cli.invoke(["hardware", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "acme/broken" not in {board["id"] for board in json.loads(out)["hardware"]}
    assert "left out: " in err
    assert "broken.toml: name: " in err
    assert [port.boards for port in serial_ports()][-1] == ()
