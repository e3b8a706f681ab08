"""Cycles that the compiler of a device estimates, in the manifest, tables, pages and JSON."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard import cli
from aboard.base import resources
from aboard.base.manifest_records import NodeRecord
from aboard.compiler.pipeline import Module, compile_model
from aboard.device.timing import Duration, NodeTime, Profile, RunResult
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.reports import compiled, explained, layers
from aboard.target import Target
from support import fake_device
from support.device import device

DIGITS = resources.models() / "digits.tflite"
#: Cycles for a multiply-accumulate of the device; one product of `digits` gets no estimate.
FACTOR = 0.75
#: Multiply-accumulates of the fully connected layer.
DENSE = 3840


def estimating(target: Target, region: ClaimedRegion) -> DeviceCode:
    code = fake_device.codegen(target, region)
    elements = sum(node.input(1).type.elements for node in region.graph.nodes if node.op == "fully_connected")
    return dataclasses.replace(code, cycles=FACTOR * elements or None)


@pytest.fixture(autouse=True)
def slow() -> Iterator[None]:
    columns = {"codegen": estimating, "runtime": fake_device.runtime}
    with device(fake_device.patterns(), name="slow", **columns):
        yield


@functools.cache
def module(target: str = "c -mcpu=cortex-m4 + slow") -> Module:
    return compile_model(DIGITS, target=target)


def estimated(made: Module) -> tuple[NodeRecord, int]:
    (node,) = (node for node in made.manifest.nodes if node.device_cycles is not None)
    assert node.device_cycles is not None
    return node, node.device_cycles


def test_the_manifest_has_the_estimate_of_each_region() -> None:
    nodes = module().manifest.nodes
    regions = [node.device_cycles for node in nodes if node.device == "slow"]
    assert regions == [None, round(FACTOR * DENSE)]
    assert all(node.device_cycles is None for node in nodes if node.device is None)


def test_the_table_of_operators_and_the_totals() -> None:
    made = module()
    _, cycles = estimated(made)
    text = compiled.summary(made.manifest)
    assert re.search(rf"^device cycles +{cycles:,} by the devices' own estimates, not measured$", text, re.MULTILINE)
    assert re.search(rf"- +{cycles:,} ", compiled.operators(made.manifest))


def test_without_an_estimate_no_table_has_the_column() -> None:
    made = module("c -mcpu=cortex-m4")
    assert "device cycles" not in compiled.summary(made.manifest)
    assert "own estimate" not in explained.summary(made, made.trade(), 80)


@pytest.mark.parametrize("width", [80, 140])
def test_the_explanation_has_it_beside_the_region(width: int) -> None:
    made = module()
    _, cycles = estimated(made)
    text = " ".join(explained.by_layer(layers.of(made), width).split())
    assert text.count("own estimate") == 1
    assert f"{cycles:,} device cycles by" in text


def test_the_profile_has_it_beside_the_measured_time() -> None:
    made = module()
    _, cycles = estimated(made)
    ticks = Duration(100, 1_000_000, None, True)
    times = tuple(NodeTime(index, node, ticks) for index, node in enumerate(made.manifest.nodes))
    text = Profile("digits", times, RunResult({}, ticks, 0)).table()
    assert "Device cycles are estimates of the devices' own compilers, not measured." in text
    assert re.search(rf" {cycles:,}$", text, re.MULTILINE)


def test_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, cycles = estimated(module())
    target = "c -mcpu=cortex-m4 + slow"
    words = ["compile", str(DIGITS), "--target", target, "--explain", "--json", "-o", str(tmp_path / "b")]
    assert cli.invoke(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [op["device_cycles"] for op in found["ops"]].count(cycles) == 1
    assert [layer["device_cycles"] for layer in found["explain"]["layers"]] == [
        op["device_cycles"] for op in found["ops"]
    ]
    assert cli.invoke(["report", str(DIGITS), "--target", target, "-o", str(tmp_path / "r.html")]) == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count(f"<small>{cycles:,} device cycles by its own estimate</small>") == 1
