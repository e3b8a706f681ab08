"""Plug-ins: found by entry points; a broken one is named and breaks nothing."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aboard import cli
from aboard.base import extensions
from aboard.device import doctor
from aboard.errors import TargetError
from aboard.target import Target, kinds, plugins

GOOD = """
from aboard.target import Kind, Need, Plugin, register

def probe():
    return [Need("vendor-cc", "compiles for it", False, "ask the vendor")]

def start():
    register(Kind("vendor-npu", "An NPU", "accelerator", (), subgraph_only=True, probe=probe))

PLUGIN = Plugin(interface=1, register=start)
"""
HALFWAY = GOOD.replace("vendor-npu", "half").replace("\nPLUGIN", "    raise ValueError('no licence')\n\nPLUGIN")

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package with an entry point where Python finds it; plug-ins are loaded anew by `plugins.restored`."""
    plugins.load()  # those of this machine, before there are others
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def add(name: str, text: str, attribute: str = "PLUGIN") -> None:
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {name}:{attribute}\n")
        importlib.invalidate_caches()

    yield add
    for module in set(sys.modules) - before:
        if getattr(sys.modules[module], "__file__", "") and str(tmp_path) in str(sys.modules[module].__file__):
            del sys.modules[module]


def status(name: str) -> plugins.PluginStatus:
    return next(found for found in plugins.load() if found.name == name)


def test_a_package_brings_a_kind_and_takes_it_away(install: Install) -> None:
    install("vendor", GOOD)
    with plugins.restored(reload=True):
        assert status("vendor") == plugins.PluginStatus("vendor", "vendor 1.2", ("vendor-npu",))
        assert "vendor-npu" in kinds()
        assert Target("c -mcpu=cortex-m4 + vendor-npu").devices[0].kind.name == "vendor-npu"
        needs = {check.name: check for check in doctor.inspect() if check.kind == "device"}
        assert (needs["vendor-cc"].found, needs["vendor-cc"].how_to_get) == (False, "ask the vendor")
    assert "vendor-npu" not in kinds()
    with pytest.raises(TargetError, match="unknown kind or hardware vendor-npu"):
        Target("c -mcpu=cortex-m4 + vendor-npu")


BROKEN = [
    ("missing", "import nowhere_to_be_found", r"ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
    ("crash", "raise RuntimeError('bad day')", r"RuntimeError: bad day"),
    (
        "wrong",
        "PLUGIN = 3",
        r"plug-in wrong: wrong:PLUGIN is of the wrong type, got int, expected aboard\.target\.Plugin",
    ),
    (
        "future",
        GOOD.replace("interface=1", "interface=2"),
        r"plug-in future: was written for another version of the interface, got 2, expected 1\. Install a version",
    ),
    ("half", HALFWAY, r"ValueError: no licence"),
    (
        "taken",
        GOOD.replace("vendor-npu", "cmsis-nn"),
        r"kind cmsis-nn: is registered twice, expected a name of its own",
    ),
    (
        "shadow",
        GOOD.replace("vendor-npu", "nucleo-f7"),
        r"kind nucleo-f7: is taken by a board, expected a name of its own\. Rename the kind",
    ),
    (
        "alias",
        GOOD.replace("vendor-npu", "cortex-m4-cmsis-nn"),
        r"kind cortex-m4-cmsis-nn: is taken by the alias of .*, expected a name of its own\. Rename the kind",
    ),
]


@pytest.mark.parametrize(("name", "text", "problem"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_a_broken_plug_in_is_named_and_breaks_nothing(
    name: str, text: str, problem: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(name, text)
    install("vendor", GOOD)
    with plugins.restored(reload=True):
        assert kinds() == ["c", "cmsis-nn", "composite", "vendor-npu"]
        with pytest.raises(AssertionError, match=problem):
            raise AssertionError(status(name).problem)
        assert cli.invoke(["targets"]) == 0
        assert name in capsys.readouterr().out.split("Plug-ins that could not be loaded")[1]
        assert cli.invoke(["targets", "--json"]) == 0
        listed = {found["name"]: found for found in json.loads(capsys.readouterr().out)["plugins"]}
        assert (listed[name]["source"], listed[name]["kinds"]) == (f"{name} 1.2", [])
        checks = {check.name: check for check in doctor.inspect() if check.kind == "device"}
        assert (checks[name].found, checks[name].problem) == (False, status(name).problem)


def test_a_disabled_plug_in_is_left_out(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("vendor", GOOD)
    install("other", GOOD.replace("vendor-npu", "other-npu"))
    monkeypatch.setenv(extensions.DISABLED, f"{os.environ[extensions.DISABLED]}, vendor")
    with plugins.restored(reload=True):
        assert kinds() == ["c", "cmsis-nn", "composite", "other-npu"]
        assert "vendor" not in {found.name for found in plugins.load()}


def test_a_probe_that_fails_is_said_of_its_kind(install: Install) -> None:
    install("vendor", GOOD.replace("return [Need", "raise OSError('no disk')\n    return [Need"))
    with plugins.restored(reload=True):
        checks = {check.name: check for check in doctor.inspect() if check.kind == "device"}
        assert checks["vendor-npu"].problem == "its probe failed: no disk"
