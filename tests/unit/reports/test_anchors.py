"""Other systems' figures: where they are found, which models are known, and files that are none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from aboard.base import resources
from aboard.base.manifest import Manifest
from aboard.compiler.pipeline import compile_model
from aboard.errors import InputError
from aboard.reports import anchors
from aboard.reports.anchors import Comparison, System
from support import models

DIGITS = resources.models() / "digits.tflite"
KWS = "aeea436800704fce17b17292e4412630ad856e9d777c044c64ef748a880bd0ae"
FIGURES = {"insns": 7_000_000, "flash_total": 100_000, "arena_used": 22_000, "stack_invoke": 800, "more": "ignored"}


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ABOARD_ANCHORS", raising=False)
    monkeypatch.setattr(resources, "anchors", lambda: tmp_path / "none.json")


def known(core: str = "cortex-m4", model_hash: str = KWS) -> Manifest:
    """Returns a manifest that says it is of a known file."""
    manifest = compile_model(DIGITS, target="c -mcpu=cortex-m4").manifest
    return manifest.model_copy(update={"model_hash": model_hash, "core": core})


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "anchors.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", models.available(models.INT8))
def test_the_hashes_are_those_of_the_models(name: str) -> None:
    assert anchors.known_as(hashlib.sha256(models.read(name)).hexdigest()) == name


def test_a_model_that_is_not_known_stands_alone() -> None:
    assert anchors.known_as("0" * 64) is None
    assert anchors.compare(compile_model(DIGITS, target="c -mcpu=cortex-m4").manifest) is None


def test_a_file_of_figures(tmp_path: Path) -> None:
    content = {
        "tflm_cmsis_nn": {"kws": {"m4": FIGURES}},
        "microtvm_cmsis_nn": {"kws": {"m4": {"insns": 8, "ram_total": 9}}, "ic": {"m4": {"insns": 1}}},
        "layers": {"kws": {"m4": [{"op": "CONV_2D", "insns": 100}, {"insns": 20}, {"insns": 3}]}},
        "macs": {"kws": 1},
    }
    path = written(tmp_path, content)
    found = anchors.compare(known(), path)
    assert found == Comparison(
        model="kws",
        core="m4",
        source="anchors.json",
        systems=(
            System("TFLM with CMSIS-NN", 7_000_000, 100_000, 22_000, 800),
            System("microTVM with CMSIS-NN", 8, None, 9, None),
        ),
        layers_of="TFLM with CMSIS-NN",
        layers=(100, 20, 3),
    )
    assert anchors.compare(known("cortex-m3"), path) is None
    assert anchors.compare(known("cortex-m33+nodsp"), path) is None


def test_layers_stand_beside_what_they_are_made_of() -> None:
    found = Comparison("kws", "m4", "", (), "", (100, 20, 3))
    assert found.of_sources([(0, 1), (2,), (2,), (), (7,)]) == [120, 3, None, None, None]


def test_what_was_recorded_serves_without_a_file() -> None:
    found = anchors.compare(known())
    assert found is not None
    assert found.source == "recorded with this version"
    recorded = json.loads(resources.benchmarks().read_text(encoding="utf-8"))["anchors"]
    assert found.systems[0].instructions == recorded["tflm_cmsis_nn"]["kws"]["m4"]["insns"]
    assert found.systems[0].ram == recorded["tflm_cmsis_nn"]["kws"]["m4"]["arena_used"]
    assert list(found.layers) == [layer["insns"] for layer in recorded["layers"]["kws"]["m4"]]


def test_where_figures_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside").mkdir()
    places = {}
    for count, place in enumerate(("beside", "named", "given"), 1):
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps({"tflm_cmsis_nn": {"kws": {"m4": {"insns": count}}}}))
        places[place] = path

    def first(file: Path | None = None) -> int | None:
        found = anchors.compare(known(), file)
        assert found is not None
        return found.systems[0].instructions

    monkeypatch.setattr(resources, "anchors", lambda: places["beside"])
    assert first() == 1
    monkeypatch.setenv("ABOARD_ANCHORS", str(places["named"]))
    assert first() == 2
    assert first(places["given"]) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"anchors\.json: not JSON, got Expecting .*, expected figures of other systems\. Name another file"),
        ([1], r"anchors\.json: not an object, got list, expected systems by name\. Name another file with --anchors"),
        (
            {"tflm_cmsis_nn": {"kws": {"m4": {"insns": "many"}}}},
            r"anchors\.json: tflm_cmsis_nn\.insns, got 'many', expected counts: Input should be a valid integer",
        ),
        (
            {"tflm_cmsis_nn": {"kws": {"m4": {"insns": -1}}}},
            r"anchors\.json: tflm_cmsis_nn\.insns, got -1, expected counts: Input should be greater than or equal to 0",
        ),
        (
            {"tflm_cmsis_nn": {"kws": {"m4": {}}}, "layers": {"kws": {"m4": [{"op": "x"}]}}},
            r"anchors\.json: layers\.0\.insns, got .*, expected counts: Field required",
        ),
        (
            {"tflm_cmsis_nn": {"kws": {"m4": {}}}, "layers": {"kws": {"m4": 7}}},
            r"anchors\.json: layers, got 7, expected counts: Input should be a valid list",
        ),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        anchors.compare(known(), written(tmp_path, content))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.json: cannot be read, got No such file or directory, expected figures"):
        anchors.compare(known(), tmp_path / "no.json")
    # It is looked at for models, too, of which nothing is known: whoever names a file wants it read.
    with pytest.raises(InputError, match="cannot be read"):
        anchors.compare(known(model_hash="0" * 64), tmp_path / "no.json")
