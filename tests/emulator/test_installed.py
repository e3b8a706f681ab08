"""The wheel without the checkout: a whole installation, one for devices only, and a machine without compilers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
#: What docs/how-to/installation.md names for a machine that builds and talks but does not compile models.
DEVICE_PACKAGES = ("click", "cobs", "jinja2", "numpy", "pydantic", "pyelftools", "pyserial", "rich")


def call(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # The environments are made for these tests, so Python may keep there what it compiles of dozens of packages.
    of_the_tests = ("PYTHONPATH", "VIRTUAL_ENV", "CMAKE_C_COMPILER_LAUNCHER", "PYTHONDONTWRITEBYTECODE")
    clean = {key: value for key, value in os.environ.items() if key not in of_the_tests}
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def done(command: list[str | Path], folder: Path, **environment: str) -> str:
    finished = call(command, folder, **environment)
    assert finished.returncode == 0, f"{command}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


class Installation:
    """A virtual environment with the wheel, and a folder far from the checkout to work in."""

    def __init__(self, folder: Path, *requirements: str | Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.bin = folder / "venv" / "bin"
        venv.create(folder / "venv", with_pip=False)
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "install", "-q", "--no-compile"]
        for requirement in requirements:
            done([*pip, *str(requirement).split()], self.work)

    def aboard(self, *words: str | Path, **environment: str) -> Any:
        """Runs a command with --json and returns its object."""
        return json.loads(done([self.bin / "aboard", *words, "--json"], self.work, **environment))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done([sys.executable, "-m", "build", "--wheel", "--outdir", folder, CHECKOUT], folder)
    (built,) = folder.glob("aboard-*.whl")
    return built


@pytest.fixture(scope="session")
def whole(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("whole"), f"{wheel}[portable]")


def test_the_wheel_holds_what_the_checkout_has(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for name in (
        "aboard/_data/boards/arm/mps2_an386.toml",
        "aboard/_data/firmware/include/aboard/model.h",
        "aboard/_data/project_templates/baremetal/template.toml",
        "aboard/_data/benchmarks.json",
        "aboard/models/digits.tflite",
        "aboard/reports/known.json",
        "aboard/reports/templates/report.css",
        "aboard/reports/templates/report.html.j2",
        "aboard/models/digits_test.npz",
        "aboard/py.typed",
    ):
        assert name in names
    assert {name for name in names if "__pycache__" in name} == set()


@pytest.fixture(scope="session")
def deployed(whole: Installation) -> Any:
    """What the usual command says."""
    return whole.aboard("deploy", "digits", "--board", "arm/mps2_an386", "-o", "first")


def test_deploy_from_any_directory(whole: Installation, deployed: Any) -> None:
    result = deployed
    assert result["image"].startswith(str(whole.work))
    (values,) = result["outputs"].values()
    assert len(values[0]) == 10
    assert result["instructions"] > 50_000


def test_a_report_from_any_directory(whole: Installation) -> None:
    result = whole.aboard("report", "digits", "--target", "c -mcpu=cortex-m4", "-o", "digits.html")
    text = (whole.work / result["path"]).read_text(encoding="utf-8")
    assert (text.startswith("<!DOCTYPE html>"), text.endswith("</html>\n")) == (True, True)


def test_deploy_without_cross_compiler_and_qemu(whole: Installation, deployed: Any, tmp_path: Path) -> None:
    nothing = tmp_path / "empty"
    nothing.mkdir()
    # What zig has once compiled of its own libraries it need not compile again.
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    environment = {"PATH": str(nothing), "HOME": str(tmp_path), "ZIG_GLOBAL_CACHE_DIR": f"{caches}/zig"}
    doctor = whole.aboard("doctor", **environment)
    here = {tool["name"] for tool in doctor["tools"] if tool["found"]}
    assert here & {"arm-none-eabi-gcc", "gcc", "clang", "qemu-system-arm"} == set()
    result = whole.aboard("deploy", "digits", "--board", "arm/mps2_an386", "-o", "portable", **environment)
    assert result["toolchain"]["name"] == "zig"
    assert result["runner"] == "unicorn"
    assert result["outputs"] == deployed["outputs"]


def test_a_device_only_installation_builds_and_runs_but_does_not_compile(
    whole: Installation, wheel: Path, tmp_path: Path
) -> None:
    further = ("tomli",) if sys.version_info < (3, 11) else ()
    device = Installation(tmp_path / "device", f"--no-deps {wheel}", " ".join([*DEVICE_PACKAGES, *further]))
    whole.aboard("compile", "digits", "--board", "arm/mps2_an386", "-o", "moved")
    shutil.move(whole.work / "moved", device.work / "bundle")
    path = os.pathsep.join([os.environ["PATH"], str(whole.bin)])
    device.aboard("create", "bundle", "--board", "arm/mps2_an386", "-o", "project")
    built = device.aboard("build", "project", PATH=path)
    ran = device.aboard("run", "project", "--input", "random:5", PATH=path)
    assert ran["image"] == built["image"]
    (values,) = ran["outputs"].values()
    assert len(values[0]) == 10
    refused = call([device.bin / "aboard", "compile", "digits", "--board", "arm/mps2_an386"], device.work)
    assert refused.returncode == 1
    assert "this installation cannot compile models, the package" in refused.stderr
    assert not (device.work / "build").exists()
