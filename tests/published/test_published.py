"""The script that tries published models: it finds them, tells right from wrong from refused, and writes its page."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from aboard.compiler.host_runtime import HostModel
from published import examine, page, quantised, run, sources
from published.sources import Published
from support.tflite_builder import ModelBuilder

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "host" / "aboard" / "models" / "digits.tflite"


def _relu(custom: bool = False) -> bytes:
    builder = ModelBuilder()
    builder.tensor("x", (1, 4), np.int8, scale=0.5, zero_point=0)
    builder.tensor("y", (1, 4), np.int8, scale=0.5, zero_point=0)
    builder.op("CUSTOM" if custom else "RELU", ["x"], ["y"], custom="UnknownToAll" if custom else None)
    return builder.build(["x"], ["y"])


def _published(data: bytes, **more: object) -> Published:
    return Published("owner/name", "0" * 40, "m.tflite", data, **more)  # type: ignore[arg-type]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout `some+models` with a model, its goldens, a copy of it, and the model as an array in C."""
    folder = tmp_path / "some+models"
    folder.mkdir()
    data = DIGITS.read_bytes()
    (folder / "digits.tflite").write_bytes(data)
    (folder / "copy.tflite").write_bytes(data)
    (folder / "relu.tflite").write_bytes(_relu())
    (folder / "relu_input0_int8.csv").write_text("-3,-1,0,5")
    (folder / "relu_golden_int8.csv").write_text("0,0,0,5")
    (folder / "no.tflite").write_bytes(b"version https://git-lfs")
    listed = ", ".join(f"0x{byte:02x}" for byte in _relu() + b"\0")
    (folder / "model.cc").write_text(f"alignas(8) const unsigned char g_model[] = {{\n{listed}}};\nint g_len = 3;\n")
    words = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], ["add", "."], [*words, "commit", "-qm", "m"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def test_models_are_found_in_files_and_in_c(checkout: Path) -> None:
    found = {each.path: each for each in sources.models(checkout)}
    assert sorted(found) == ["copy.tflite", "digits.tflite", "model.cc#g_model", "relu.tflite"]
    assert {each.repository for each in found.values()} == {"some/models"}
    assert len(found["relu.tflite"].commit) == 40
    assert found["model.cc#g_model"].data == _relu() + b"\0"
    assert (found["relu.tflite"].inputs, found["relu.tflite"].golden) == (("-3,-1,0,5",), "0,0,0,5")


def test_a_sample_has_no_copies_and_every_model_with_a_golden(checkout: Path) -> None:
    assert [each.path for each in run.collect([checkout.parent], 25)] == [
        "relu.tflite",
        "model.cc#g_model",
        "copy.tflite",
    ]
    assert [each.path for each in run.collect([checkout], 1)] == ["relu.tflite", "copy.tflite"]


def test_a_right_model_is_equal() -> None:
    assert examine.judge(_published(DIGITS.read_bytes())) == examine.Verdict("equal", "tflite-micro")


@pytest.mark.parametrize(("golden", "told"), [("0,0,0,5", "equal"), ("0,0,0,4", "reference differs too")])
def test_goldens_are_compared(golden: str, told: str) -> None:
    verdict = examine.judge(_published(_relu(), inputs=("-3,-1,0,5",), golden=golden))
    assert (verdict.outcome, verdict.golden) == ("equal", told)


def test_a_wrong_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    right = HostModel.run_named

    def wrong(self: HostModel, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: value ^ np.int8(1) for name, value in right(self, feed).items()}

    monkeypatch.setattr(HostModel, "run_named", wrong)
    verdict = examine.judge(_published(_relu(), inputs=("-3,-1,0,5",), golden="0,0,0,5"))
    assert (verdict.outcome, verdict.golden) == ("differs", "differs")
    assert verdict.why.startswith("step 0, output y: 4 of 4 differ")


def test_a_refused_model_is_told_with_its_reason() -> None:
    verdict = examine.judge(_published(_relu(custom=True)))
    assert (verdict.outcome, verdict.reference) == ("refused", "")
    assert "UnknownToAll" in verdict.why


def test_a_refused_model_at_which_tflite_micro_crashes_stays_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "_tflm_runs", lambda _: os.abort())
    verdict = examine.judge(_published(_relu(custom=True)))
    assert (verdict.outcome, verdict.reference) == ("refused", "")
    assert "UnknownToAll" in verdict.why


def test_a_crash_ends_only_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "load", lambda *_, **__: 1 // 0)
    verdict = examine.judge(_published(_relu()))
    assert verdict.outcome == "failed"
    assert "ZeroDivisionError" in verdict.why


def test_floats_may_differ_by_the_tolerance_only() -> None:
    wanted = [{"y": np.array([1.0, 100.0], np.float32)}]
    assert examine.difference(wanted, [{"y": np.array([1.009, 100.0], np.float32)}]) == ""
    assert examine.difference(wanted, [{"y": np.array([1.02, 100.0], np.float32)}]).startswith(
        "step 0, output y: 1 of 2"
    )
    assert "expected 2 float32" in examine.difference(wanted, [{"y": np.array([1, 100], np.int8)}])


def test_the_page_is_that_of_the_record() -> None:
    record = json.loads(page.RECORD.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.text(record)
    for model in record["models"]:
        assert len(model["sha256"]) == 64
        assert len(model["commit"]) == 40


def test_the_page_names_what_is_not_equal() -> None:
    row = {"repository": "a/b", "commit": "0" * 40, "path": "m.tflite", "golden": "", "sha256": "0" * 64}
    rows = [
        row | {"outcome": "equal", "reference": "tflite-micro", "why": ""},
        row | {"outcome": "refused", "reference": "tflite-micro", "why": "m: a | b", "path": "n.tflite"},
    ]
    text = page.text({"date": "2026-01-01", "steps": 8, "most": 25, "tolerance": 1e-4, "models": rows})
    assert "2 models of 1 publishers:" in text
    assert "| a/b | `0000000000` | 2 | 1 |" in text
    assert "| a/b: `n.tflite` | refused, and `tflite-micro` runs it | m: a \\| b |" in text


def test_the_page_of_quantised_models_is_that_of_its_record():
    record = json.loads(quantised.RECORD.read_text(encoding="utf-8"))
    assert quantised.PAGE.read_text(encoding="utf-8") == quantised.text(record)
    with_data = [row for row in record["models"] if "samples" in row]
    assert [row["model"] for row in with_data] == ["ic_f32", "vww_f32", "kws_hybrid", "kws_ref_model"]
    for row in with_data:
        assert row["aboard"] >= row["float"] - 0.003
        assert row["aboard"] >= row["onnxruntime"] or quantised.chance(row["only"]) > 0.05
        assert row["aboard_db"] > row["onnxruntime_db"] + 3
    for row in record["models"]:
        assert all(ours <= official for ours, official in row["costs"])


@pytest.mark.parametrize(("only", "expected"), [((5, 5), 1.0), ((0, 5), 0.0625), ((8, 2), 0.109375), ((0, 0), 1.0)])
def test_the_chance_that_two_models_are_equally_right(only: tuple[int, int], expected: float) -> None:
    assert quantised.chance(only) == pytest.approx(expected)
