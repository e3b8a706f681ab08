"""Whole models on an emulated Cortex-M with the accelerator beside it, bit for bit as the host alone."""

from __future__ import annotations

import functools
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import aboard
from aboard import cli
from aboard.api import Project
from aboard.base import resources
from aboard.errors import DeviceFault
from support import cmsis_nn_tree, fake_device, models
from support.examples import either, part
from support.models import available

BOARD = "arm/mps2_an386"
DIGITS = resources.models() / "digits.tflite"
CASES = [(name, version) for name in available(either(["kws", "vww"], ["kws"])) for version in ("v1", "v2")]


@functools.cache
def case(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns an input of a model and what the host alone makes of it."""
    module = aboard.compile(Path(str(models.path(name))), target="c -runtime=host")
    feed = np.random.default_rng(7).integers(-128, 128, module.manifest.inputs[0].shape).astype(np.int8)
    return feed, np.asarray(module.run(feed))


def built(module: aboard.Module, folder: Path, board: str = BOARD) -> Project:
    project = aboard.create(module, board=board, path=folder / "project")
    project.build()
    return project


@pytest.mark.parametrize(("name", "version"), CASES)
def test_models_are_exact_and_the_profile_shows_who_computed(name: str, version: str, tmp_path: Path) -> None:
    module = aboard.compile(Path(str(models.path(name))), target=f"{BOARD} + npu-demo -model={version}")
    feed, expected = case(name)
    with built(module, tmp_path).session() as session:
        profile = session.profile(feed)
        (got,) = profile.run.outputs.values()
    np.testing.assert_array_equal(got, expected)
    nodes = [(entry.node, entry.duration.instructions) for entry in profile.nodes]
    mine = {node.implementation.split(": ")[1] for node, _ in nodes if node.device == "npu-demo"}
    assert mine == ({"pointwise", "product"} if version == "v1" else {"convolution", "depthwise", "product"})
    assert "npu-demo: product" in profile.table()
    # A layer takes the device's time, and the driver's: v1 has 4 products a cycle, v2 has 16.
    per_cycle = 4 if version == "v1" else 16
    large = [
        (node.macs, count)
        for node, count in nodes
        if count and node.device and "depthwise" not in node.implementation and node.macs > 100_000
    ]
    assert large
    assert all(macs / per_cycle < count < 2 * macs / per_cycle + 2_000 for macs, count in large)


def test_versions_share_the_driver_byte_by_byte(tmp_path: Path) -> None:
    texts = []
    for version in ("v1", "v2"):
        folder = aboard.compile(DIGITS, target=f"{BOARD} + npu-demo -model={version}").save(tmp_path / version)
        files = sorted((folder / "src/devices/npu_demo").rglob("*"))
        texts.append({path.name: path.read_bytes() for path in files})
    assert len(texts[0]) == 4
    assert texts[0] == texts[1]


def test_a_cached_core(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="arm/mps2_an500 + npu-demo -model=v2 -cached=true")
    feed, expected = case("digits")
    with built(module, tmp_path, "arm/mps2_an500").session() as session:
        np.testing.assert_array_equal(session.run(feed), expected)
    sources = {path.name: path.read_text() for path in (tmp_path / "project/models/digits/src").glob("*npu*.c")}
    assert sources
    assert all("npu_demo_run(0x50000000u, true, " in text for text in sources.values())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("put(npu, CTRL, CTRL_ACTIVE);", "(void)0;", "BASE0: is written, got 0x2[0-9a-f]{7} while not ACTIVE"),
        (
            "address(bases[i]));",
            "address(bases[i]) + 1u);",
            "BASE0: address is misaligned, got 0x2[0-9a-f]{7}, expected",
        ),
        (
            "put(npu, LIST, address(job->words));",
            "put(npu, LIST, 0x60000000u);",
            "LIST: memory at 0x60000000: a device",
        ),
    ],
)
def test_a_driver_that_is_wrong_is_a_fault_of_the_session(old: str, new: str, message: str, tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target=f"{BOARD} + npu-demo -model=v2")
    feed, _ = case("digits")
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    (driver,) = project.path.rglob("npu_demo.c")
    text = driver.read_text()
    assert old in text
    checks = "if ((get(npu, STATUS) & (STATUS_ACTIVE | STATUS_BUSY)) != STATUS_ACTIVE) {"
    text = text.replace(old, new).replace(checks, "if (npu->registers == 0u) {")
    driver.write_text(
        text.replace("return (get(npu, STATUS) & STATUS_ACTIVE) != 0u ? ABOARD_OK", "return true ? ABOARD_OK")
    )
    project.build()
    with project.session() as session:
        with pytest.raises(DeviceFault, match=rf"unicorn {BOARD}: npu-demo v2: .*{message}"):
            session.run(feed)
        with pytest.raises(DeviceFault, match=message):
            session.run(feed)


def test_every_point_of_the_tuning_space_is_exact(tmp_path: Path) -> None:
    """All in one image, which is built once."""
    from aboard.tuning.choice import Given

    space = {"buffers": (2, 1), "tile_rows": (0, 4), "order": ("any", "weights", "rows")}
    target = f"{BOARD} + npu-demo -model=v2 -scratchpad=4096"
    modules = []
    for number, values in enumerate(part(itertools.product(*space.values()))):
        point = dict(zip(space, values, strict=True))
        modules.append(aboard.compile(DIGITS, target=target, name=f"p{number}", tuning=Given({"npu-demo": point})))
        assert next(node.tuning for node in modules[-1].manifest.nodes if node.device) == point
    feed, expected = case("digits")
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    counts = set()
    with project.session() as session:
        for module in modules:
            run = session.infer(feed, module.name)
            np.testing.assert_array_equal(next(iter(run.outputs.values())), expected)
            counts.add(run.duration.instructions)
    assert len(modules) == either(12, 6)
    assert len(counts) > 1


def test_the_best_point_is_recorded_and_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, records = f"{BOARD} + npu-demo -model=v2 -scratchpad=4096", tmp_path / "records.json"
    words = ["tune", str(DIGITS), "--target", target, "--tuning", str(records), "--points", "2", "--samples", "0"]
    words += ["--only", "npu-demo"]
    assert cli.invoke([*words, "--json"]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    assert found["ran_on"] == f"{BOARD} (unicorn)"
    assert all(trial["exact"] for trial in found["trials"])
    stored = json.loads(records.read_text())["records"]
    keys = {(record["soc"], record["core"], record["kind"], record["opt"]) for record in stored}
    assert keys == {("arm/mps2_an386", "cortex-m4", aboard.Target(target).devices[0].key, "balanced")}
    module = aboard.compile(DIGITS, target=target, tuning=records)
    tuned = [node for node in module.manifest.nodes if node.device]
    assert {node.tuning_origin for node in tuned} == {"record"}
    assert len(tuned) == len(found["best"])


def test_three_at_once() -> None:
    digits = aboard.Target(f"{BOARD} + npu-demo + cmsis-nn")
    placed = {placement.op: placement.device for placement in _placements(digits)}
    assert placed["fully_connected"] == "npu-demo"
    assert {"npu-demo", "cmsis-nn", "c"} >= set(placed.values())
    assert "cmsis-nn" in placed.values()


def _placements(target: aboard.Target) -> list[SimpleNamespace]:
    from aboard.compiler.pipeline import partition_model

    decided = partition_model(DIGITS, target=target)
    return [SimpleNamespace(op=placement.node.op, device=placement.device) for placement in decided.placements]


def exact(target: str, name: str, board: str, folder: Path) -> set[str | None]:
    """Builds and runs a model, which must give what the host alone does; returns which devices computed nodes."""
    module = aboard.compile(DIGITS if name == "digits" else Path(str(models.path(name))), target=target)
    feed, expected = case(name)
    with built(module, folder, board).session(runner="unicorn") as session:
        np.testing.assert_array_equal(session.run(feed), expected)
    return {node.device for node in module.manifest.nodes}


def test_accelerator_library_and_host_compute_together(tmp_path: Path) -> None:
    with fake_device.fake_device():
        target = f"{BOARD} + npu-demo -model=v2 -claim-ops=conv2d -claim-nodes=0..1 + fake -model=v2"
        assert exact(target, "digits", BOARD, tmp_path) == {"npu-demo", "fake", None}


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
@pytest.mark.parametrize("name", available(["kws"]))
def test_accelerator_cmsis_nn_and_host_compute_together(name: str, tree: Path, tmp_path: Path) -> None:
    target = f"{BOARD} + npu-demo -model=v1 + cmsis-nn -cmsis-nn={tree} -claim-ops=depthwise_conv2d"
    assert exact(target, name, BOARD, tmp_path) == {"npu-demo", "cmsis-nn", None}
