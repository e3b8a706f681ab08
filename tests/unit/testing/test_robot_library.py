"""Keywords for Robot Framework: names that Robot derives, sessions, and what they say where outputs differ."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from robot.running import testlibraries

import aboard
from aboard.api import Project
from aboard.errors import InputError
from aboard.testing.robot_library import Aboard
from support.bundles import tiny_bundle

OUTPUTS = {"y": np.array([[1, 2, 3]], np.int8)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("robot")
    bundles = [tiny_bundle(folder / name, "cortex-m4", name) for name in ("one", "two")]
    return aboard.create(bundles, "arm/mps2_an386", path=folder / "app")


def golden(folder: Path, **arrays: np.ndarray) -> str:
    path = folder / "golden.npz"
    np.savez(path, **arrays)
    return str(path)


def test_keywords_are_those_that_suites_use(project: Project) -> None:
    library = testlibraries.TestLibrary.from_name("aboard.testing.robot_library.Aboard", args=[str(project.path)])
    assert {keyword.name for keyword in library.keywords} == {
        *("Aboard Boot", "Aboard Connect", "Aboard Disconnect", "Aboard Free Port", "Aboard Run Model"),
        "Outputs Should Match",
    }


def test_a_run_needs_a_session_and_a_model(project: Project) -> None:
    library = Aboard(str(project.path))
    with pytest.raises(
        InputError, match=r"Aboard Run Model: no session is open\. Call Aboard Boot or Aboard Connect first"
    ):
        library.aboard_run_model("random:0")
    library._session = SimpleNamespace(close=lambda: None)  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"model onne: not a model of the project. Did you mean one\?"):
        library.aboard_run_model("random:0", "onne")
    library._end_test(None, None)
    assert library._session is None


def test_equal_outputs_pass(project: Project, tmp_path: Path) -> None:
    Aboard(str(project.path)).outputs_should_match(OUTPUTS, golden(tmp_path, **OUTPUTS))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"z": OUTPUTS["y"]}, r"other outputs, got y of the device, expected z\. Record"),
        ({"y": OUTPUTS["y"].ravel()}, r"y: another shape or type, got int8\[1, 3\], expected int8\[3\]\."),
        ({"y": OUTPUTS["y"].astype(np.uint8)}, r"y: another shape or type, got int8\[1, 3\], expected uint8\[1, 3\]\."),
        (
            {"y": np.array([[1, 0, 0]], np.int8)},
            r"y: 2 of 3 elements differ, got 2 at \[0, 1\], expected 0\. `aboard v",
        ),
    ],
)
def test_other_outputs_fail(arrays: dict[str, np.ndarray], message: str, project: Project, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=message):
        Aboard(str(project.path)).outputs_should_match(OUTPUTS, golden(tmp_path, **arrays))


def test_a_tolerance_is_of_the_difference(project: Project, tmp_path: Path) -> None:
    library = Aboard(str(project.path))
    high = {"y": np.array([[127, -128]], np.int8)}
    path = golden(tmp_path, y=np.array([[126, -127]], np.int8))
    library.outputs_should_match(high, path, tolerance=1)
    with pytest.raises(AssertionError, match=r"2 of 2 elements differ"):
        library.outputs_should_match(high, path, tolerance=0.5)
    far = golden(tmp_path, y=np.array([[-128, 127]], np.int8))
    with pytest.raises(AssertionError, match=r"2 of 2 elements differ, got 127 at \[0, 0\], expected -128"):
        library.outputs_should_match(high, far, tolerance=2)
