"""Cascades of kernels for Helium on an emulated Cortex-M55: stripes of any height, in rolling buffers that wrap.

An image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.boards import cpu as cpus
from aboard.errors import CapacityError
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.select import strategy
from aboard.schedule import aims
from support import models, oracle, stripe_models
from support.channel_models import ChannelModel
from support.examples import either
from support.image_models import global_average
from support.preferred import preferred

ROOT = Path(__file__).resolve().parents[2]
BOARD = "arm/mps3_an547"

#: Windows of depthwise layers: each form of packed pixels, and sixteen channels at once.
WINDOWS = [(3, 3), (2, 3), (4, 4), (3, 1), (1, 5), (5, 5), (7, 3)]

#: Channels, and columns of the image: groups of four pixels are full, or end in the next row.
CHANNELS, COLUMNS = (1, 4, 6, 17, 33), (4, 5, 6, 7, 9)


def chain(seed: int, window: tuple[int, int]) -> bytes:
    """Returns a model of convolutions, a depthwise layer and an average, which are best computed in stripes."""
    rng = np.random.default_rng([seed, 19])
    model = ChannelModel(seed, (1, int(rng.integers(17, 26)), int(rng.choice(COLUMNS)), int(rng.choice([1, 3, 16]))))
    model.conv(int(rng.choice(CHANNELS)), (int(rng.integers(1, 6)), 3), int(rng.integers(1, 3)))
    model.depthwise(1, window, int(rng.integers(1, 3)) if min(model.shape[1:3]) > 4 else 1)
    model.conv(int(rng.choice(CHANNELS)), (1, 1))
    model.depthwise(1, (3, 3))
    model.conv(4, (1, 1))
    global_average(model)
    return model.build()


def compiled(data: bytes, name: str) -> aboard.Module:
    """Returns a model with the least RAM."""
    try:
        return aboard.compile(data, target=f"{BOARD} -ram-max=16", name=name)
    except CapacityError as error:
        return aboard.compile(data, target=f"{BOARD} -ram-max={error.least_bytes}", name=name)


@pytest.mark.parametrize("seed", either(range(8), range(1)))
def test_stripes_of_helium_compute_what_whole_layers_do(seed: int, tmp_path: Path) -> None:
    data = [chain(100 * seed + number, window) for number, window in enumerate(WINDOWS)]
    with strategy.forced(preferred("arm_mve_s8")):
        modules = [aboard.compile(each, target=f"{BOARD} -opt=size", name=f"s{i}") for i, each in enumerate(data)]
        least = data[:: either(1, 2)]
        modules += [compiled(each, f"m{i}") for i, each in enumerate(least)]
    striped = {n.op for module in modules for n in module.manifest.nodes if n.cascade is not None}
    assert striped == {"conv2d", "depthwise_conv2d", "average_pool2d"}
    nodes = list(itertools.chain.from_iterable(module.manifest.nodes for module in modules))
    assert {node.implementation for node in nodes if node.op in striped} == {"arm_mve_s8"}
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    rng = np.random.default_rng(seed)
    with project.session() as device:
        for module, each in zip(modules, [*data, *least], strict=True):
            x = rng.integers(-128, 128, module.manifest.inputs[0].shape, np.int8)
            (wanted,) = oracle.tflm(each, x)
            np.testing.assert_array_equal(device.run(x, model=module.name), wanted, err_msg=module.name)


#: Rows, columns, channels and windows of images whose depthwise layers pack columns in stripes.
IMAGES = [
    ((25, 5), 64, (3, 3)),
    ((21, 6), 32, (3, 3)),
    ((30, 3), 48, (3, 3)),
    ((27, 4), 48, (2, 3)),
    ((33, 1), 64, (3, 1)),
    ((25, 2), 64, (3, 3)),
]


def in_less_scratch(explained: strategy.Explanation) -> Implementation | None:
    """Chooses the forms of kernels with the least scratch."""
    able = [c.implementation for c in explained.candidates if not c.refused]
    found = next((each for each in able if each.name == "arm_mve_s8"), None)
    return found and (found.in_less_scratch(explained.node) or found)


@pytest.mark.parametrize(("size", "channels"), [((20, 14), 16), ((23, 9), 32), ((18, 17), 12)])
def test_stripes_that_pack_four_channels(
    size: tuple[int, int], channels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aims, "MOST_INSTRUCTIONS", 2.0)
    data = stripe_models.chain(channels, size, channels)
    with strategy.forced(in_less_scratch):
        module = aboard.compile(data, target=f"{BOARD} -opt=size", name="s")
    calls = [step.call for step in module.schedule().program.steps if isinstance(step.call, KernelCall)]
    packed = [call.params for call in calls if call.function == "aboard_depthwise_packed_mve"]
    assert [(each["stripes"], each["words"]) for each in packed] == [(1, 4)] * 3
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    x = np.random.default_rng(channels).integers(-128, 128, module.manifest.inputs[0].shape, np.int8)
    with project.session() as device:
        np.testing.assert_array_equal(device.run(x), oracle.tflm(data, x)[0])


@pytest.mark.parametrize("toolchain", ["arm-none-eabi-gcc", "zig"])
def test_stripes_that_pack_columns_and_overwrite_their_operands(
    toolchain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some layers fill no groups of results.
    monkeypatch.setattr(aims, "MOST_INSTRUCTIONS", 2.0)
    data = [stripe_models.chain(number, *image) for number, image in enumerate(IMAGES)]
    with strategy.forced(in_less_scratch):
        modules = [aboard.compile(each, target=f"{BOARD} -opt=size", name=f"s{i}") for i, each in enumerate(data)]
    steps = [step for module in modules for step in module.schedule().program.steps]
    functions = [step.call.function for step in steps if isinstance(step.call, KernelCall)]
    assert functions.count("aboard_depthwise_stripes_mve") > 2 * len(IMAGES)
    assert functions.count("aboard_conv2d_four_pixels_mve_staged") >= len(IMAGES)
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build(toolchain=toolchain)
    rng = np.random.default_rng(11)
    with project.session() as device:
        for module, each in zip(modules, data, strict=True):
            x = rng.integers(-128, 128, module.manifest.inputs[0].shape, np.int8)
            (wanted,) = oracle.tflm(each, x)
            np.testing.assert_array_equal(device.run(x, model=module.name), wanted, err_msg=module.name)


@pytest.mark.parametrize("level", ["-Og", "-O1", "-Os", "-O3"])
def test_parameters_with_tables_as_arguments_are_literals_at_every_level(level: str, tmp_path: Path) -> None:
    target = "c -mcpu=cortex-m55 -opt=size"
    module = aboard.compile(stripe_models.chain(0, *IMAGES[0]), target=target, name="model")
    folder = module.save(tmp_path / "bundle")
    flags = [*cpus.find("cortex-m55").flags("gcc"), level, "-std=c99", "-I", str(folder / "include")]
    source, to = folder / "src" / "model.c", tmp_path / "model.o"
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", str(source), "-o", str(to)], check=True)


@pytest.mark.parametrize("name", models.available(["kws"]))
def test_equal_layers_have_tables_of_rows_as_literals(name: str, tmp_path: Path) -> None:
    # Their code is assembly, whose operands must be literals.
    data = models.read(name)
    module = aboard.compile(data, target=f"c -hardware={BOARD} -ram-max=4400", name="kws")
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    x = np.random.default_rng(5).integers(-128, 128, module.manifest.inputs[0].shape, np.int8)
    with project.session() as device:
        np.testing.assert_array_equal(device.run(x), oracle.tflm(data, x)[0])


PAGE = (ROOT / "docs/explanation/performance.md").read_text(encoding="utf-8")

#: Of a model in the page: RAM by default, and with `-opt=size`; least `-ram-max`.
ROWS = re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| \+ \d+ % \| ([\d,]+) \|$", PAGE, re.MULTILINE)


def test_the_page_has_five_models() -> None:
    assert sorted(row[0] for row in ROWS) == ["ic", "kws", "person", "sww", "vww"]


#: Models that every run compares; `make test-full` has all.
COMPARED = either({row[0] for row in ROWS}, {"ic", "kws", "sww"})


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] in models.available(COMPARED)], ids=lambda row: row[0])
def test_size_lowers_the_ram_as_the_page_says(row: tuple[str, str, str, str]) -> None:
    """By default no layer is computed in stripes on Cortex-M55."""
    data = models.read(row[0])
    default, size = (aboard.compile(data, target=f"{BOARD} {opt}", name=row[0]).manifest for opt in ("", "-opt=size"))
    assert all(node.cascade is None for node in default.nodes)
    assert [f"{size:,}" for size in (default.ram_bytes, size.ram_bytes)] == [*row[1:3]]
    assert f"{compiled(data, row[0]).manifest.ram_bytes:,}" == row[3]


#: Of a model in the page: RAM by default on Cortex-M4, with `-opt=size` on Cortex-M55, and there within 5 % of M4's,
#: and the instructions of that, as a factor of those by default.
AGAINST_M4 = re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \| [^|]+ \|$", PAGE, re.MULTILINE)


def test_the_page_has_four_models_beside_cortex_m4() -> None:
    assert [row[0] for row in AGAINST_M4] == ["digits", "kws", "sww", "keras_tcn"]


@pytest.mark.parametrize(
    "row",
    [row for row in AGAINST_M4 if row[0] in ("digits", *models.available([each[0] for each in AGAINST_M4]))],
    ids=lambda row: row[0],
)
def test_ram_beside_cortex_m4_is_as_the_page_says(row: tuple[str, str, str, str, str]) -> None:
    name, m4, size, within, factor = row
    data = models.read(name)

    def needs(board: str, options: str) -> tuple[int, int, int]:
        """Returns the bytes of the arena, those of states, and the predicted instructions."""
        module = aboard.compile(data, target=f"{board} {options}", name="model")
        ram, taken = module.manifest.ram_bytes, module.schedule()
        return ram, taken.layout.ram - ram, taken.instructions

    assert f"{needs('arm/mps2_an386', '')[0]:,}" == m4
    found, state, _ = needs(BOARD, "-opt=size")
    assert f"{found:,}" == size
    limited = f"-opt=size -ram-max={int(1.05 * int(m4.replace(',', ''))) + state}"
    low, _, instructions = needs(BOARD, limited)
    assert (f"{low:,}", f"{instructions / needs(BOARD, '')[2]:.2f}") == (within, factor)


@pytest.mark.parametrize("name", models.available(["svdf", "lstm"]))
def test_recurrent_models_need_hardly_more_ram_than_on_cortex_m4(name: str) -> None:
    data = models.read(name)
    helium, m4 = (
        aboard.compile(data, target=board, name=name).manifest.ram_bytes for board in (BOARD, "arm/mps2_an386")
    )
    assert helium <= 1.05 * m4
