"""Zephyr applications built and run for real, where ZEPHYR_BASE names a tree; deselected where it does not.

Boards whose modules the workspace lacks are left out of the builds.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aboard
from aboard import boards, cli
from aboard.api import Project
from aboard.boards.zephyr import modules, workspace
from aboard.errors import DeviceFault, ToolError
from support import models

HERE = bool(os.environ.get(workspace.BASE))
RUNS = [
    (name, board)
    for board in ("arm/mps2_an385", "arm/mps3_an547", "ti/lm3s6965evb", "host/native")
    for name in models.available([models.SHIPPED, "kws", "ic"])
    if HERE and (name, board) != ("ic", "ti/lm3s6965evb")  # 64 KB of RAM
]
BUILDS = [
    ("nordic/nrf52840dk", "TIMING"),
    ("st/nucleo_f746zg", "CYCLES"),
    ("st/nucleo_l4r5zi", "CYCLES"),
    ("raspberrypi/rpi_pico", "CYCLES"),
]


def lacking(board: str) -> list[str]:
    """Modules that a board needs and the workspace lacks."""
    return modules.missing(modules.needed(boards.load(board)), workspace.find(Path.cwd()).modules)


def buildable() -> list[tuple[str, str]]:
    return [(board, counter) for board, counter in BUILDS if HERE and not lacking(board)]


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    code = cli.invoke([*words, "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize(("name", "board"), RUNS)
def test_integers_are_those_of_tflite_micro(name: str, board: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("verify", str(models.path(name)), "--board", board, "--template", "zephyr", "--samples", "1")
    result = call(capsys, *words)
    assert (result["reference"], result["differing_bytes"], result["samples"]) == ("tflite-micro", 0, 3)


@pytest.mark.parametrize("board", ["zephyr:mps2/an385"] if HERE else [])
def test_deploy_measures_as_without_zephyr(board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("deploy", models.SHIPPED, "--board", board)
    found = call(capsys, *words, "--template", "zephyr", "-o", str(tmp_path / "zephyr"))
    bare = call(capsys, *words, "--template", "baremetal", "-o", str(tmp_path / "bare"))
    assert found["outputs"] == bare["outputs"]
    assert found["image"].endswith("build/zephyr/zephyr.elf")
    # Zephyr's tick comes on top: a few thousand instructions.
    assert found["instructions"] == pytest.approx(bare["instructions"], abs=5_000)
    assert found["stack_bytes"] == pytest.approx(bare["stack_bytes"], abs=64)
    assert found["flash_bytes"] == pytest.approx(bare["flash_bytes"], rel=0.1)
    # A folder that was moved is built again; then nothing is.
    moved = Path(found["path"]).rename(tmp_path / "moved")
    built = call(capsys, "build", str(moved))
    before = Path(built["image"]).stat().st_mtime_ns
    again = call(capsys, "build", str(moved))
    assert (again, Path(again["image"]).stat().st_mtime_ns) == (built, before)
    assert {region["name"] for region in built["regions"]} >= {"FLASH", "RAM"}
    parts = {module["name"]: module for module in built["modules"]}
    assert parts[f"model {models.SHIPPED}"]["flash_bytes"] == found["flash_bytes"]
    assert parts["application"]["ram_bytes"] > found["ram_bytes"]
    assert {"aboard", "zephyr kernel", "zephyr drivers"} <= set(parts)


@pytest.mark.parametrize(("board", "counter"), buildable())
def test_applications_for_real_boards_build(
    board: str, counter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "app"
    call(capsys, "create", models.SHIPPED, "--board", board, "--template", "zephyr", "-o", str(folder))
    built = call(capsys, "build", str(folder))
    assert 20_000 < built["image_flash_bytes"] < 60_000
    config = (folder / "build/zephyr/.config").read_text(encoding="utf-8")
    assert f"CONFIG_ABOARD_COUNTER_{counter}=y\n" in config
    assert "CONFIG_ABOARD_UART_INTERRUPT=y\n" in config
    assert ("CONFIG_FPU=y\n" in config) == (board != "raspberrypi/rpi_pico")


#: An application of the user's own, beside the server: it logs in two ways, and crashes once when it is told to.
APPLICATION = """
#include <zephyr/logging/log.h>

LOG_MODULE_REGISTER(app, LOG_LEVEL_INF);

static void crash(struct k_timer *timer) {
    ARG_UNUSED(timer);
    *(volatile uint32_t *)0xF0000000u = 1;
}
static K_TIMER_DEFINE(crasher, crash, NULL);

int main(void) {
    k_msleep(500);
    printk("printed %d\\n", 42);
    LOG_INF("logged %d", 43);
    k_msleep(5000);
    if (aboard_port_fault()->kind == 0) {
        k_timer_start(&crasher, K_NO_WAIT, K_NO_WAIT);
    }
    return 0;
}
"""


def application(tmp_path: Path, board: str, further: str = "") -> Project:
    module = aboard.compile(models.read(models.SHIPPED), board=board, name="digits")
    project = aboard.create(module, board, template="zephyr", path=tmp_path / "app")
    main = project.path / "src/main.c"
    main.write_text(main.read_text(encoding="utf-8") + APPLICATION, encoding="utf-8")
    conf = project.path / "prj.conf"
    conf.write_text(conf.read_text(encoding="utf-8") + further, encoding="utf-8")
    return project


def run_until_it_fails(device: aboard.Session, inputs: np.ndarray) -> None:
    for _ in range(100):
        device.listen(0.1)
        device.run(inputs)


@pytest.mark.parametrize("board", ["arm/mps2_an385"] if HERE else [])
def test_logs_and_faults_reach_the_host(board: str, tmp_path: Path) -> None:
    project = application(tmp_path, board, "CONFIG_LOG=y\n")
    project.build()
    logs: list[str] = []
    inputs = np.zeros(project.models[0].inputs[0].shape, np.int8)
    with aboard.Session.open(project, on_log=logs.append) as device:
        first = device.run(inputs)
        for _ in range(50):
            device.listen(0.1 if len(logs) < 2 else 0)
        assert "printed 42" in logs
        assert any(re.fullmatch(r".*app: logged 43", line) for line in logs)
        with pytest.raises(DeviceFault, match=r"got fault 5: bus fault at 0xf0000000(?s:.*)status 0x00000200"):
            run_until_it_fails(device, inputs)
        # The next call works, and the record is there until it is cleared.
        np.testing.assert_array_equal(device.run(inputs), first)
        record = device.fault(clear=True)
        assert record is not None
        assert (record.kind, record.address) == (5, 0xF0000000)
        assert device.fault() is None
        device.reset()
        np.testing.assert_array_equal(device.run(inputs), first)


@pytest.mark.parametrize("line", ["CONFIG_ABOARD_UART_POLLING=y\n"] if HERE else [])
def test_a_polled_line_serves_too(line: str, tmp_path: Path) -> None:
    project = application(tmp_path, "arm/mps2_an385", line)
    project.build()
    inputs = np.zeros(project.models[0].inputs[0].shape, np.int8)
    with aboard.Session.open(project) as device:
        assert device.infer(inputs).stack_bytes > 0


@pytest.mark.parametrize("board", ["arm/mps2_an385"] if HERE else [])
def test_a_missing_module_is_named(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = aboard.compile(models.read(models.SHIPPED), board=board, name="digits")
    project = aboard.create(module, board, template="zephyr", path=tmp_path / "app")
    (tmp_path / "other" / "zephyr").mkdir(parents=True)
    (tmp_path / "other" / "zephyr" / "module.yml").write_text("name: other\n", encoding="utf-8")
    monkeypatch.setenv(workspace.MODULES, str(tmp_path / "other"))
    with pytest.raises(
        ToolError,
        match=r"zephyr in \S+ \(.*\): board mps2/an385 needs the module cmsis\w* of Zephyr\. In the workspace",
    ):
        project.build()


@pytest.mark.parametrize(
    ("name", "core", "bytes_of_ram"),
    [("v2m_beetle", "cortex-m3", 131072), ("mps2/an521/cpu0", "cortex-m33+nodsp+nofp", 0)] if HERE else [],
)
def test_boards_without_a_file_are_asked_of_zephyr(name: str, core: str, bytes_of_ram: int) -> None:
    board = boards.load(f"zephyr:{name}")
    assert board.core().mcpu == core
    if bytes_of_ram:
        assert (board.id, board.zephyr, board.ram_bytes) == (f"zephyr:{name}", name, bytes_of_ram)
        assert board.source.startswith("Zephyr 3.") or board.source.startswith("Zephyr 4.")
    else:
        assert board.id == "arm/mps2_an521"


@pytest.mark.parametrize("board", ["zephyr:qemu_cortex_m0"] if HERE and not lacking("bbc/microbit") else [])
def test_a_board_without_a_file_runs_in_qemu(board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--board", board, "-O", "profile=off", "-o", str(tmp_path / "app"))
    found = call(capsys, "deploy", models.SHIPPED, *options)
    expected = call(capsys, "deploy", models.SHIPPED, "--board", "bbc/microbit", "-o", str(tmp_path / "bare"))
    assert (found["board"], found["runner"]) == (board, "qemu")
    assert found["outputs"] == expected["outputs"]
