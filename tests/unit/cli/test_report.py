"""`aboard report` without a board: its file, its JSON, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aboard import cli
from aboard.base import resources
from aboard.cli.schema import RESULTS
from aboard.compiler.pipeline import compile_model

TARGET = "c -mcpu=cortex-m4"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.invoke(["report", *words, "--json"]) == 0, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    jsonschema.validate(result, RESULTS["report"].model_json_schema(), cls=jsonschema.Draft202012Validator)
    return result


def test_a_prediction(capsys: pytest.CaptureFixture[str], work: Path) -> None:
    result = call(capsys, "digits", "--target", TARGET)
    manifest = compile_model(resources.models() / "digits.tflite", target=TARGET).manifest
    assert result == {
        "path": "digits.html",
        "name": "digits",
        "model_hash": manifest.model_hash,
        "target": manifest.target,
        "board": None,
        "runner": None,
        "unit": "instructions",
        "measured": False,
        "total": sum(node.estimated_instructions or 0 for node in manifest.nodes),
        "ram_bytes": manifest.ram_bytes,
        "ram_lower_bound_bytes": manifest.ram_lower_bound_bytes,
        "flash_bytes": None,
        "stack_bytes": None,
        "known_as": None,
        "compared_with": [],
        "fits": None,
        "ram_needed_bytes": None,
        "memory": None,
        "estimated_time": None,
    }
    text = (work / "digits.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<pre>aboard report digits --target &#39;c -mcpu=cortex-m4&#39; -o digits.html</pre>" in text


def test_the_command_that_makes_it_again(capsys: pytest.CaptureFixture[str], work: Path) -> None:
    (work / "a.json").write_text("{}")
    words = ["digits", "--target", TARGET, "--opt", "size", "--name", "d", "--anchors", "a.json", "-o", "x.html"]
    first = call(capsys, *words)
    text = (work / "x.html").read_text(encoding="utf-8")
    assert "<pre>aboard report digits" in text
    for word in ("--opt size", "--name d", "--anchors a.json", "-o x.html"):
        assert word in text
    assert (first["name"], first["path"]) == ("d", "x.html")


def test_it_tells_where_the_file_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["report", "digits", "--target", TARGET, "-o", "d.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["report", "d.html"]
    assert any(line.startswith("flash") and "not built (--build)" in line for line in lines)
    assert any(line.startswith("instructions") and line.endswith("predicted") for line in lines)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["digits"], 2, "Missing option '--board' or '--target'"),
        (["digits", "--target", TARGET, "--board", "x"], 2, "--target and --board exclude each other"),
        (["digits", "--target", TARGET, "--profile"], 1, "--target: names no board, got 'c -mcpu=cortex-m4', expected"),
        (["digits", "--target", TARGET, "--build"], 1, "--target: names no board"),
        (["digits", "--target", TARGET, "-o", "no/x.html"], 1, "no/x.html: no such folder, got no. Make it first"),
        (["digits", "--target", TARGET, "--anchors", "no.json"], 1, "no.json: cannot be read, got No such file or dir"),
        (["nothing.tflite", "--target", TARGET], 1, "nothing.tflite: no such file, expected a .tflite file"),
        (["bundle", "--target", TARGET], 1, "bundle: a folder, expected a model file. Name the .tflite file"),
        (["digits", "--board", "arm/mps2_an386", "--profile", "--input", "x.png"], 1, "x.png"),
    ],
)
def test_what_is_refused(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    (work / "bundle").mkdir()
    assert cli.invoke(["report", *words]) == code
    assert message in capsys.readouterr().err
    assert not list(work.rglob("*.html"))
