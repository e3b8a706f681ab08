"""`aboard partition`, `aboard targets why`, and what `aboard compile` says of devices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from aboard import cli
from aboard.cli.schema import RESULTS
from support import fake_device

TARGET = "c -runtime=host + fake -model=v2 + cmsis-nn"


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    with fake_device.fake_device():
        yield


def call(capsys: pytest.CaptureFixture[str], *words: str, command: str) -> Any:
    assert cli.invoke([*words, "--json"]) == 0, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    jsonschema.validate(result, RESULTS[command].model_json_schema(), cls=jsonschema.Draft202012Validator)
    return result


def test_partition_says_who_gets_what(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "digits.svg"
    words = ("partition", "digits", "--target", TARGET, "--svg", str(picture))
    result = call(capsys, *words, command="partition")
    assert (result["devices"], result["host"], result["prices"]) == (["fake", "cmsis-nn"], "c", None)
    by_op = {node["op"]: node for node in result["nodes"]}
    assert (by_op["fully_connected"]["device"], by_op["fully_connected"]["pattern"]) == ("fake", "product")
    has_it = {"device": "cmsis-nn", "reason": "fully_connected_s8: fake has it"}
    assert by_op["fully_connected"]["refused"] == [has_it]
    assert by_op["softmax"]["device"] == "cmsis-nn"
    assert by_op["softmax"]["refused"] == [{"device": "fake", "reason": "no pattern has softmax"}]
    first = next(node for node in result["nodes"] if node["op"] == "conv2d")
    assert first["refused"][0]["reason"] == "window, got 3x3, expected 1x1 over all channels"
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sum("conv2d" in str(text) for text in texts) == sum("conv2d" in node["op"] for node in result["nodes"])
    assert texts[-3:] == ["c", "fake", "cmsis-nn"]


def test_partition_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["partition", "digits", "--target", TARGET]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["#", "op", "name", "device", "region", "pattern", "refused", "by"]
    assert any("fake: no pattern has softmax" in line for line in lines)
    assert any(line.startswith("fake ") and "region" in line for line in lines)


def test_a_picture_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["partition", "digits", "--target", TARGET, "--svg", str(tmp_path / "no" / "x.svg")]
    assert cli.invoke(words) == 1
    assert "x.svg: no such folder, got" in capsys.readouterr().err


def test_compile_says_who_got_what(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = "c -runtime=host + fake"
    result = call(capsys, "compile", "digits", "--target", target, command="compile")
    assert {node["device"] for node in result["placed"]} == {"c", "fake"}
    assert any(op["implementation"] == "fake: product" for op in result["ops"])
    host = ("compile", "digits", "--target", "c -runtime=host")
    assert call(capsys, *host, "-o", "host", command="compile")["placed"] is None
    assert cli.invoke(["compile", "digits", "--target", target]) == 0
    out = capsys.readouterr().out
    assert "refused by" in out
    assert "window, got 3x3" in out


def test_what_cannot_be_compiled_can_be_partitioned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CMSIS_NN_PATH", "ZEPHYR_BASE"):
        monkeypatch.delenv(variable, raising=False)
    assert cli.invoke(["compile", "digits", "--target", "cortex-m4-cmsis-nn"]) == 1
    error = capsys.readouterr().err
    assert "the sources of CMSIS-NN are not there" in error
    assert "git clone" in error
    assert call(capsys, "partition", "digits", "--target", "cortex-m4-cmsis-nn", command="partition")["nodes"]


def test_why_gives_every_candidate_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("targets", "why", "digits", "--target", "c -mcpu=rv32imac")
    result = call(capsys, *words, command="targets why")
    assert result["target"].startswith(
        "c -arithmetic=tflite -input=consumed -input-layout=file -io=file -mcpu=rv32imac"
    )
    for node in result["nodes"]:
        chosen = [candidate for candidate in node["candidates"] if candidate["chosen"]]
        assert [candidate["name"] for candidate in chosen] == [node["implementation"]]
        assert all(candidate["reason"] for candidate in node["candidates"])
    conv = next(node for node in result["nodes"] if node["op"] == "conv2d")
    reasons = {candidate["name"]: candidate["reason"] for candidate in conv["candidates"]}
    assert reasons["portable_s8"] in ("the first that can", "the only one that can")
    assert reasons["portable_f32"] == "is for float32"
    assert cli.invoke([*words]) == 0
    assert "->  portable_s8" in capsys.readouterr().out


def test_targets_lists_devices_aliases_and_composites(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "targets", command="targets")
    kinds = {kind["name"]: kind for kind in result["kinds"]}
    assert (kinds["fake"]["device_type"], kinds["fake"]["subgraph_only"]) == ("accelerator", True)
    assert kinds["fake"]["columns"] == ["codegen", "patterns", "runtime"]
    assert result["aliases"]["cortex-m4-cmsis-nn"] == "c -mcpu=cortex-m4 + cmsis-nn"
    where = {"name": "cmsis-nn", "group": "aboard.targets", "source": "aboard"}
    assert {**where, "kinds": ["cmsis-nn"], "problem": None} in result["plugins"]
    shown = call(capsys, "targets", "show", TARGET, command="targets show")
    assert shown["devices"] == ["fake -model=v2", "cmsis-nn"]
    assert shown["key"].startswith("composite -device='fake -model=v2' -device=cmsis-nn -host='c -mcpu=")
    assert shown["attributes"] == {"partition": "order"}
