"""Projects: complete or not there at all, the same bytes every time, refused with reasons."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import aboard
from aboard import boards
from aboard.api import Project, create
from aboard.base import manifest, programs
from aboard.errors import BoardError, CapacityError, ProjectError, ToolError
from aboard.project import capacity, templates
from support import markdown
from support.bundles import tiny_bundle, tiny_manifest

M4 = "arm/mps2_an386"


def everything(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tiny_bundle(tmp_path / "bundle", "cortex-m4")


@pytest.fixture
def project(bundle: Path, tmp_path: Path) -> Project:
    return create(bundle, M4, path=tmp_path / "project")


def test_a_project_is_complete(project):
    files = set(everything(project.path))
    assert {
        "CMakeLists.txt",
        "README.md",
        "linker.ld",
        "project.json",
        "src/main.c",
        "board/aboard_board.h",
        "board/aboard_build.h",
        "cmake/toolchain-gcc.cmake",
        "cmake/toolchain-zig.cmake",
        "models/tiny/manifest.json",
        "models/tiny/src/tiny.c",
        "firmware/include/aboard/port.h",
        "firmware/rpc/server.c",
        "firmware/ports/cortex_m/startup.c",
        "firmware/ports/counter/systick.c",
        "firmware/ports/uart/cmsdk.c",
    } <= files
    # Drivers of other boards stay out.
    assert not {path for path in files if "pl011" in path or "riscv" in path or "posix" in path}


def test_what_is_read_back_is_what_was_written(project):
    again = Project.open(project.path)
    assert again.info == project.info
    assert again.board == boards.load(M4)
    assert again.models == (tiny_manifest("cortex-m4"),)
    assert again.info.options == templates.load("baremetal").parse_options({})
    assert again.image == project.path / "build" / "firmware.elf"


def test_the_same_input_gives_the_same_bytes(bundle, tmp_path):
    first = create(bundle, M4, path=tmp_path / "first")
    second = create(bundle, M4, path=tmp_path / "second")
    assert everything(first.path) == everything(second.path)


def test_the_build_id_follows_the_sources(bundle, tmp_path):
    plain = create(bundle, M4, path=tmp_path / "plain")
    traced = create(bundle, M4, path=tmp_path / "trace", options={"trace": "on"})
    assert re.fullmatch("[0-9a-f]{16}", plain.build_id)
    assert plain.build_id != traced.build_id
    assert f'"{plain.build_id}"' in (plain.path / "board/aboard_build.h").read_text()


@pytest.mark.parametrize(
    "board",
    ["arm/mps2_an386", "bbc/microbit", "raspberrypi/rpi_pico", "riscv/qemu_virt32", "st/nucleo_h743zi", "host/native"],
)
def test_generated_text_is_clean(tmp_path, board):
    core = boards.load(board).core().mcpu
    project = create(
        tiny_bundle(tmp_path / "bundle", core), board, path=tmp_path / "p", options={"run_op": "on", "trace": "on"}
    )
    clang_format = programs.require("clang-format", "pip install clang-format")
    style = f"--style=file:{markdown.CHECKOUT / '.clang-format'}"
    for path, content in everything(project.path).items():
        text = content.decode()
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
        assert text.endswith("\n"), path
        assert str(tmp_path) not in text, path
        if path.startswith(("src/", "board/")):
            formatted = subprocess.run(
                [clang_format, style, project.path / path], capture_output=True, text=True, check=True
            )
            assert formatted.stdout == text, path


def test_it_builds_elsewhere_with_plain_cmake(project, tmp_path):
    moved = tmp_path / "other" / "place"
    moved.parent.mkdir()
    project.path.rename(moved)
    environment = {"PATH": os.defpath + os.pathsep + str(programs.require("arm-none-eabi-gcc", "").parent)}
    cmake = programs.require("cmake", "")
    for arguments in (["-S", ".", "-B", "build"], ["--build", "build"]):
        done = subprocess.run(
            [cmake, *arguments], cwd=moved, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    sizes = aboard.Project.open(moved).build().sizes
    assert sizes.stack_reserved == 4096
    assert 3000 < sizes.image_flash_bytes < 8000
    assert 0 < sizes.models["tiny"] < 450


def test_several_models_share_the_arena(tmp_path):
    small = tiny_bundle(tmp_path / "a", "cortex-m4", "small", ram_bytes=128)
    large = tiny_bundle(tmp_path / "b", "cortex-m4", "large", ram_bytes=5000)
    project = create([small, large], M4, path=tmp_path / "project")
    assert [model.name for model in project.models] == ["small", "large"]
    main = (project.path / "src/main.c").read_text()
    assert "arena[5008]" in main
    assert main.index("&small_model") < main.index("&large_model")
    assert set(project.build().sizes.models) == {"small", "large"}


def test_options_reach_the_sources(bundle, tmp_path):
    options = {"profile": "off", "trace": "on", "stack_bytes": 8192, "receive_bytes": "2048", "baud": "9600"}
    project = create(bundle, M4, path=tmp_path / "p", options=options)
    assert "ABOARD_HOOKS=1 ABOARD_TRACE=1 ABOARD_RUN_OP=0" in (project.path / "CMakeLists.txt").read_text()
    assert ". += 8192;" in (project.path / "linker.ld").read_text()
    header = (project.path / "board/aboard_board.h").read_text()
    assert "#define ABOARD_RX_RING_BYTES 2048u\n" in header
    assert "#define ABOARD_UART_BAUD 9600u\n" in header
    main = (project.path / "src/main.c").read_text()
    assert ".features = ABOARD_FEATURE_TRACE," in main
    assert "node_ticks" not in main


def test_the_readme_has_the_whole_command_for_qemu_in_lines_that_fit(bundle, tmp_path):
    text = (create(bundle, M4, path=tmp_path / "p").path / "README.md").read_text()
    (command,) = re.findall(r"^    (qemu-system-arm (?:.*\\\n)*.*)$", text, re.MULTILINE)
    words = command.replace("\\\n", " ").split()
    assert words[:3] == ["qemu-system-arm", "-machine", "mps2-an386"]
    assert words[-2:] == ["-kernel", "build/firmware.elf"]
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("file", ["src/main.c", "src/sensor.c"])
def test_a_project_that_was_worked_on_is_not_replaced(bundle, tmp_path, file):
    mine = create(bundle, M4, path=tmp_path / "p").path / file
    mine.write_text("mine")
    with pytest.raises(ProjectError, match=rf"p: holds 1 file .* \({file}\), .* a project that nobody changed"):
        create(bundle, M4, path=tmp_path / "p")
    assert mine.read_text() == "mine"
    create(bundle, M4, path=tmp_path / "p", force=True)
    assert (mine.read_text() == "mine") == (file == "src/sensor.c")


def test_a_project_is_replaced_and_nothing_else_is(bundle, tmp_path):
    old = create(bundle, M4, path=tmp_path / "p")
    (old.path / "build").mkdir()
    (old.path / "build" / "left.o").write_text("old")
    with pytest.raises(ProjectError, match=r"holds 1 file that aboard did not write \(build/left\.o\)"):
        create(bundle, M4, path=tmp_path / "p")
    (old.path / "build" / "CMakeCache.txt").write_text("of CMake")
    new = create(bundle, M4, path=tmp_path / "p", options={"trace": "on"})
    assert new.info.options["trace"] is True
    assert not (new.path / "build").exists()

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(ProjectError, match=r"mine: holds 1 file that aboard did not write \(thesis\.txt\)"):
        create(bundle, M4, path=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"

    (tmp_path / "empty").mkdir()
    assert create(bundle, M4, path=tmp_path / "empty").path == tmp_path / "empty"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"board": "arm/mps2_an38"}, BoardError, "arm/mps2_an385"),
        ({"template": "baremetl"}, ProjectError, "Did you mean baremetal"),
        ({"template": "native"}, ProjectError, "template native: is not for the board, got arm/mps2_an386.*baremetal"),
        ({"options": {"stak_bytes": 1}}, ProjectError, "Did you mean stack_bytes"),
        (
            {"board": "arm/mps2_an385"},
            ProjectError,
            "another core, got cortex-m4, expected cortex-m3 of arm/mps2_an385",
        ),
        ({"bundles": []}, ProjectError, "no bundle is given"),
        ({"bundles": "nowhere"}, ProjectError, r"nowhere/manifest\.json: cannot be read"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(bundle, tmp_path, change, error, message):
    arguments = {"bundles": bundle, "board": M4, "path": tmp_path / "project", **change}
    before = everything(tmp_path)
    with pytest.raises(error, match=message):
        create(**arguments)
    assert everything(tmp_path) == before
    assert not (tmp_path / "project").exists()


def test_two_models_of_one_name_are_refused(bundle, tmp_path):
    with pytest.raises(ProjectError, match="two models have the same name, got tiny twice"):
        create([bundle, bundle], M4, path=tmp_path / "p")


def test_a_board_without_a_driver_is_refused(bundle, tmp_path):
    board = boards.load(M4)
    uart = board.uarts["uart0"].model_copy(update={"driver": "cmsdkk"})
    with pytest.raises(ProjectError, match=r"no driver for its uart, got cmsdkk, .*Did you mean cmsdk"):
        create(bundle, board.model_copy(update={"uarts": {"uart0": uart}}), path=tmp_path / "p")
    polled = board.uarts["uart0"].model_copy(update={"irq": None})
    with pytest.raises(ProjectError, match=r"arm/mps2_an386: its serial port has no interrupt, got no irq"):
        create(bundle, board.model_copy(update={"uarts": {"uart0": polled}}), path=tmp_path / "p")
    virt = boards.load("riscv/qemu_virt32")
    alone = virt.model_copy(update={"cores": (virt.core().model_copy(update={"interrupts": None}),)})
    with pytest.raises(ProjectError, match=r"riscv/qemu_virt32: the interrupt controller of its core is unknown, got"):
        create(tiny_bundle(tmp_path / "rv", "rv32imac"), alone, path=tmp_path / "p")
    pico = boards.load("raspberrypi/rpi_pico")
    booted = pico.model_copy(update={"boot": pico.boot.model_copy(update={"driver": "rp2041"})})
    with pytest.raises(ProjectError, match=r"no driver for its boot, got rp2041, .*ports/boot\. Did you mean rp2040"):
        create(tiny_bundle(tmp_path / "m0", "cortex-m0plus"), booted, path=tmp_path / "p")
    with pytest.raises(ProjectError, match=r"arm/mps2_an386: has no port yet"):
        create(bundle, board.model_copy(update={"rpc": None}), path=tmp_path / "p")


def test_models_that_do_not_fit_are_refused_with_numbers(tmp_path):
    bundle = tiny_bundle(tmp_path / "b", "cortex-m0", ram_bytes=55296, weights_bytes=300000)
    with pytest.raises(CapacityError) as caught:
        create(bundle, "bbc/microbit", path=tmp_path / "p")
    text = str(caught.value)
    assert text.startswith("bbc/microbit: tiny does not fit. flash: got 262144 bytes, expected at least 304096")
    assert "ram: got 16384 bytes, expected at least 61192 (arena 55296, " in text
    assert "Try a smaller model, a larger board (" in text
    assert not (tmp_path / "p").exists()


def test_what_to_give_up_is_said():
    model = tiny_manifest("cortex-m0", ram_bytes=10000)
    consuming = model.model_copy(
        update={"input_mode": "consumed", "inputs": (model.inputs[0].model_copy(update={"bytes": 2000}),)}
    )
    options = templates.load("baremetal").parse_options({})
    with pytest.raises(CapacityError, match="Try -O input_copy=off, a smaller model"):
        capacity.check([consuming], options, boards.load("bbc/microbit"))
    assert capacity.check([consuming], {**options, "input_copy": False}, boards.load("bbc/microbit")).input_copy == 0


def test_memory_is_that_of_the_largest_model():
    one, two = tiny_manifest("cortex-m4", ram_bytes=200), tiny_manifest("cortex-m4", ram_bytes=133)
    wide = one.nodes[0].model_copy(update={"workspace_bytes": 500})
    options = templates.load("baremetal").parse_options({})
    assert capacity.plan([one, two], options).arena == 208
    operators = capacity.plan([one.model_copy(update={"nodes": (wide,)}), two], {**options, "run_op": True})
    assert operators.arena == 512
    assert operators.input_copy == 0
    assert operators.nodes == 1


def test_an_image_that_overflows_is_refused_with_numbers(bundle, tmp_path):
    board = boards.load(M4)
    memory = tuple(m.model_copy(update={"size_bytes": 4096 if m.load else m.size_bytes}) for m in board.memory)
    project = create(bundle, board.model_copy(update={"memory": memory}), path=tmp_path / "p")
    with pytest.raises(
        CapacityError, match=r"the image does not fit\. flash: got 4096 bytes in \w+, expected at least [5-9]\d\d\d\."
    ):
        project.build()


def test_the_first_error_of_the_compiler_is_shown(project):
    (project.path / "src/main.c").write_text("int main(void) { return oops; }\n")
    with pytest.raises(
        ToolError, match=r"the build failed, got .*main\.c:1:\d+: error: .*oops.*Read the whole log: .*aboard\.log"
    ):
        project.build()
    assert "oops" in (project.path / "build" / "aboard.log").read_text()


def test_a_second_build_does_nothing_and_another_compiler_starts_anew(project):
    first = project.build()
    before = first.image.stat().st_mtime_ns
    assert project.build().image.stat().st_mtime_ns == before
    zig = project.build("zig")
    assert zig.toolchain.name == "zig"
    assert zig.image.stat().st_mtime_ns != before
    assert zig.sizes.stack_reserved == 4096


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"not a project, as it has no project\.json\. Make one with `aboard create`"),
        ("{", r"project\.json: file: "),
        (json.dumps({"format": 9}), r"project\.json: format: .*Make the project again"),
    ],
)
def test_a_damaged_project_is_named(project, content, message):
    record = project.path / "project.json"
    record.unlink()
    if content is not None:
        record.write_text(content)
    with pytest.raises(ProjectError, match=message):
        Project.open(project.path)


def test_a_folder_that_cannot_be_written_is_named(bundle, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProjectError, match=r"cannot be written, got (Not a directory|File exists)"):
        create(bundle, M4, path=tmp_path / "file" / "project")


def test_modules_are_saved_into_the_project(tmp_path):
    class Fake:
        manifest = manifest.read(tiny_bundle(tmp_path / "first", "cortex-m4"))

        def save(self, folder: str | Path) -> Path:
            return Path(shutil.copytree(tiny_bundle(tmp_path / "made", "cortex-m4"), folder))

        def with_hooks(self) -> Fake:
            return self

    assert create(Fake(), M4, path=tmp_path / "p").models[0].name == "tiny"
