"""Zephyr applications as they are generated: complete, parseable, the same everywhere, and without a place or board."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from aboard import boards
from aboard.api import Project, create
from aboard.base import programs
from aboard.errors import ProjectError
from aboard.project import templates
from aboard.rpc import framing
from aboard.rpc.messages import MAJOR, MINOR, Header, Type
from support.bundles import tiny_bundle

DATA = Path(__file__).parents[2] / "data" / "zephyr"
ROOT = Path(__file__).parents[3]
BOARDS = [
    "arm/mps2_an385",
    "arm/mps3_an547",
    "ti/lm3s6965evb",
    "nordic/nrf52840dk",
    "st/nucleo_f746zg",
    "raspberrypi/rpi_pico",
    "sifive/hifive1",
    "host/native",
]
KEYWORDS = (
    "config menuconfig choice endchoice if endif depends default select imply prompt bool int help mainmenu source"
)


def zephyr_project(folder: Path, board: str, names: tuple[str, ...] = ("tiny",), **options: str) -> Project:
    core = boards.load(board).core().mcpu
    bundles = [tiny_bundle(folder / f"bundle_{name}", core, name) for name in names]
    return create(bundles, board, "zephyr", folder / "app", options)


@pytest.fixture(scope="module", params=BOARDS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return zephyr_project(tmp_path_factory.mktemp("zephyr"), request.param)


def texts(project: Project) -> dict[str, str]:
    files = (path for path in project.path.rglob("*") if path.is_file())
    return {path.relative_to(project.path).as_posix(): path.read_text(encoding="utf-8") for path in files}


def read(project: Project, name: str) -> Any:
    return yaml.safe_load((project.path / name).read_text(encoding="utf-8"))


def test_an_application_is_complete(project: Project) -> None:
    files = set(texts(project))
    assert {
        *("CMakeLists.txt", "Kconfig", "prj.conf", "west.yml", "sample.yaml", "README.md", "src/main.c"),
        *("firmware/zephyr/module.yml", "firmware/zephyr/CMakeLists.txt", "firmware/zephyr/Kconfig"),
        *("models/tiny/CMakeLists.txt", "models/tiny/zephyr/module.yml", "models/tiny/zephyr/CMakeLists.txt"),
        *("models/tiny/zephyr/Kconfig", "firmware/ports/zephyr/port.c", "firmware/rpc/server.c"),
    } <= files
    assert not {path for path in files if "cortex_m/" in path or path.startswith("firmware/ports/uart/")}
    scripts = {"renode/board.resc", "renode/board.robot"}
    assert files & scripts == (scripts if project.board.emulator.renode else set())


def test_cores_that_count_loops_are_kept_from_it(project: Project) -> None:
    lines = texts(project)["CMakeLists.txt"].splitlines()
    assert ("zephyr_cc_option(-fno-branch-count-reg)" in lines) == ("M55" in project.board.name)


def test_text_is_clean_and_names_no_place(project: Project) -> None:
    clang_format = programs.require("clang-format", "pip install clang-format")
    for path, text in texts(project).items():
        assert text.endswith("\n"), path
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
        assert str(project.path.parent) not in text, path
        assert not re.search(r"(^|[\s\"'=])/(home|root|tmp|work|usr/local|opt)/", text, re.MULTILINE), path
        if path.startswith(("src/", "board/")):
            command = [clang_format, f"--style=file:{ROOT / '.clang-format'}", project.path / path]
            assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == text, path


def test_west_manifest(project: Project) -> None:
    manifest = read(project, "west.yml")["manifest"]
    (zephyr,) = manifest["projects"]
    assert (zephyr["name"], zephyr["revision"], manifest["self"]) == ("zephyr", "v3.7.1", {"path": "app"})
    assert zephyr["remote"] in {remote["name"] for remote in manifest["remotes"]}
    allowed = set(zephyr["import"]["name-allowlist"] or [])
    assert ("cmsis" in allowed) == (project.board.core().mcpu.startswith("cortex"))
    assert {name for name in allowed if name.startswith("hal_")} == {
        "nordic/nrf52840dk": {"hal_nordic"},
        "st/nucleo_f746zg": {"hal_stm32"},
        "raspberrypi/rpi_pico": {"hal_rpi_pico"},
    }.get(project.board.id, set())


def test_sample_for_twister(project: Project) -> None:
    sample = read(project, "sample.yaml")
    assert set(sample) == {"sample", "common", "tests"}
    assert set(sample["sample"]) == {"name", "description"}
    plain = sample["tests"]["aboard.tiny"]
    assert (plain["build_only"], plain["integration_platforms"]) == (True, [project.board.zephyr])
    if not project.board.is_host:
        assert 6 < sample["common"]["min_ram"] < 24
        assert 20 < sample["common"]["min_flash"] < 40
    on_renode = sample["tests"].get("aboard.tiny.renode")
    assert (on_renode is not None) == (project.board.emulator.renode is not None)
    if on_renode is not None:
        assert on_renode["harness"] == "robot"
        assert (project.path / on_renode["harness_config"]["robot_testsuite"]).is_file()


def test_the_readme_has_the_four_commands_in_lines_that_fit(project: Project) -> None:
    text = (project.path / "README.md").read_text(encoding="utf-8")
    build = f"west build -b {project.board.zephyr}"
    assert f"\n    west init -l .\n    west update\n    {build}\n    west flash\n" in text
    assert max(map(len, text.splitlines())) <= 130


def test_overlays_are_only_where_a_board_needs_one(project: Project) -> None:
    expected = {
        "ti/lm3s6965evb": {"boards/qemu_cortex_m3.conf": "12500000"},
        "arm/mps3_an547": {"boards/mps3_an547.conf": "32000000"},
    }.get(project.board.id, {})
    found = {path: text for path, text in texts(project).items() if path.startswith("boards/")}
    assert {path: re.findall(r"PER_SEC=(\d+)\n", text)[0] for path, text in found.items()} == expected


def own_symbols(project: Project) -> set[str]:
    kconfig = [text for path, text in texts(project).items() if path.endswith("Kconfig")]
    return {name for text in kconfig for name in re.findall(r"^(?:menu)?config (ABOARD\w*)$", text, re.MULTILINE)}


def zephyr_symbols() -> set[str]:
    return set((DATA / "symbols.txt").read_text(encoding="utf-8").splitlines()[1:])


def test_every_symbol_is_zephyrs_or_ours(project: Project) -> None:
    known = own_symbols(project) | zephyr_symbols()
    for path, text in texts(project).items():
        if path.endswith((".conf", ".c", ".h", "CMakeLists.txt")):
            used = set(re.findall(r"\bCONFIG_(\w+)", text))
            assert used <= known, path


def test_kconfig_files_use_what_kconfig_knows(project: Project) -> None:
    known = own_symbols(project) | zephyr_symbols()
    for path, text in texts(project).items():
        if not path.endswith("Kconfig"):
            continue
        opened = re.findall(r"^(if|endif|choice|endchoice)\b", text, re.MULTILINE)
        assert opened.count("if") == opened.count("endif"), path
        assert opened.count("choice") == opened.count("endchoice"), path
        for line in lines_without_help(text):
            word, _, rest = line.strip().partition(" ")
            assert word in KEYWORDS.split(), f"{path}: {line}"
            symbols = set(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", re.sub(r'"[^"]*"', "", rest)))
            assert symbols <= known | {"ABOARD_UART", "ABOARD_COUNTER"}, f"{path}: {line}"


def lines_without_help(text: str) -> list[str]:
    """Lines that Kconfig reads: without comments, and without the text below `help`, which is indented further."""
    found: list[str] = []
    in_help = False
    for line in text.splitlines():
        in_help = in_help and (not line.strip() or line.startswith("\t  "))
        if line.strip() and not line.startswith("#") and not in_help:
            found.append(line)
        in_help = in_help or line.strip() == "help"
    return found


def test_cmake_configures_and_the_model_builds(tmp_path: Path) -> None:
    project = zephyr_project(tmp_path, "host/native", ("small", "large"), stack_bytes="8192")
    moved = project.path.rename(tmp_path / "moved")
    cmake, build = programs.require("cmake", ""), tmp_path / "build"
    stub = f"-DZephyr_DIR={DATA / 'stub'}"
    polling = "-DCONFIG_ABOARD_UART_POLLING=y"
    models = ["-DCONFIG_ABOARD_MODEL_SMALL=y", "-DCONFIG_ABOARD_MODEL_LARGE=y"]
    arguments = ["-S", str(moved), "-B", str(build), "-G", "Ninja", stub, polling, *models]
    for command in ([cmake, *arguments], [cmake, "--build", build, "--target", "model_small", "model_large"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    folder, sources, linked, libraries = (build / "said.txt").read_text(encoding="utf-8").splitlines()
    names = {Path(folder, source).resolve() for source in sources.split(";")}
    assert all(path.is_file() and moved in path.parents for path in names)
    assert {"server.c", "uart_polling.c", "counter.c", "fault.c"} <= {path.name for path in names}
    assert not {"uart_interrupt.c", "uart_async.c", "counter_host.c", "host_clock.c"} & {path.name for path in names}
    assert linked.split(";") == ["aboard_server", "model_small", "model_large"]
    assert libraries.split(";") == ["model_small", "model_large"]
    # The model's optimisation comes after Zephyr's, so that it counts.
    (command,) = re.findall(r"^\S+ .* -c \S+/small\.c$", commands(build), re.MULTILINE)
    assert re.findall(r"-O\w", command)[-1] == next(
        flag for flag in project.info.models and manifest_flags(moved) if flag.startswith("-O")
    )


def commands(build: Path) -> str:
    ninja = programs.require("ninja", "")
    return subprocess.run([ninja, "-C", build, "-t", "commands"], capture_output=True, text=True, check=True).stdout


def manifest_flags(folder: Path) -> tuple[str, ...]:
    return Project.open(folder).models[0].cflags


def test_options_reach_the_configuration(tmp_path: Path) -> None:
    project = zephyr_project(
        tmp_path, "arm/mps2_an385", stack_bytes="8192", receive_bytes="2048", frame_bytes="1024", zephyr="v4.1.0"
    )
    conf = (project.path / "prj.conf").read_text(encoding="utf-8")
    assert "CONFIG_ABOARD_STACK_BYTES=8192\nCONFIG_ABOARD_RECEIVE_BYTES=2048\n" in conf
    assert "static uint8_t frame[1024];" in (project.path / "src/main.c").read_text(encoding="utf-8")
    assert read(project, "west.yml")["manifest"]["projects"][0]["revision"] == "v4.1.0"
    with pytest.raises(ProjectError, match=r"option zephyr has a wrong value, got v2, expected v3\.7\.1 or v4\.0\.0"):
        zephyr_project(tmp_path / "again", "arm/mps2_an385", zephyr="v2")


def test_scripts_for_renode(tmp_path: Path) -> None:
    project = zephyr_project(tmp_path, "nordic/nrf52840dk")
    script = (project.path / "renode/board.resc").read_text(encoding="utf-8")
    given = dict(re.findall(r"^\$(\w+)\?=(\S+)$", script, re.MULTILINE))
    assert given == {"name": '"tiny"', "elf": "$ORIGIN/../build/zephyr/zephyr.elf", "port": "4321"}
    assert set(re.findall(r"\$(\w+)", re.sub(r"^#.*$", "", script, flags=re.MULTILINE))) <= {*given, "ORIGIN", "reset"}
    assert "machine LoadPlatformDescription @platforms/cpus/nrf52840.repl\n" in script
    assert "cpu PerformanceInMips 64\n" in script
    assert "connector Connect sysbus.uart0 rpc\n" in script
    suite = (project.path / "renode/board.robot").read_text(encoding="utf-8")
    assert re.findall(r"^\*\*\* (\w[\w ]*) \*\*\*$", suite, re.MULTILINE) == ["Comments", "Variables", "Test Cases"]
    variables = dict(re.findall(r"^\$\{(\w+)\}\s\s+(.+)$", suite, re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)\}", suite)) == {*variables, "CURDIR"}
    # It waits for the frame that the server sends first.
    (message,) = framing.Decoder(128).feed(bytes.fromhex(variables["READY"]))
    assert message == Header(Type.READY, 0, 0, 0).pack() + bytes((MAJOR, MINOR))


def test_zephyr_names_lead_to_boards() -> None:
    names = {
        "zephyr:mps2/an385": "arm/mps2_an385",
        "zephyr:qemu_cortex_m3": "ti/lm3s6965evb",
        "zephyr:nrf52840dk": "nordic/nrf52840dk",
        "zephyr:nrf52840dk/nrf52840": "nordic/nrf52840dk",
        "zephyr:nucleo_f746zg": "st/nucleo_f746zg",
        "zephyr:nucleo_f746zg/stm32f746xx": "st/nucleo_f746zg",
        "zephyr:mps2/an521/cpu1": "arm/mps2_an521:cpu1",
        "zephyr:nrf5340dk/nrf5340/cpunet": "nordic/nrf5340dk:net",
        "zephyr:native_sim/native/64": "host/native",
    }
    assert {name: boards.load(name).target for name in names} == names


def test_a_board_that_zephyr_has_not_is_refused(tmp_path: Path) -> None:
    board = boards.load("arm/mps2_an385").model_copy(update={"zephyr": None})
    with pytest.raises(ProjectError, match=r"Zephyr's name of arm/mps2_an385 is unknown, .* Say --board zephyr:BOARD"):
        create(tiny_bundle(tmp_path / "b", "cortex-m3"), board, "zephyr", tmp_path / "app")


@pytest.mark.parametrize(("board", "expected"), [("zephyr:x", "zephyr"), ("arm/x", "baremetal")])
def test_a_board_of_zephyr_alone_gets_its_template(board: str, expected: str) -> None:
    assert templates.default(board, is_host=False) == expected
    assert templates.default("host/native", is_host=True) == "native"
