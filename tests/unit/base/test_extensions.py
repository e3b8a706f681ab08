"""Packages that extend aboard and fail: each is named, and no fault of theirs is called a bug of aboard."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard.base import resources
from support import warm_start

TARGET = """
from aboard.target import Kind, Plugin, register, attach

def wrong(*arguments):
    raise ZeroDivisionError("of the vendor")

def start():
    register(Kind("vendor-npu", "An NPU", "accelerator", (), subgraph_only=True{keyword}))
{attached}

PLUGIN = Plugin(interface=1, register=start)
"""
RUNNER = """
from aboard.runners import Runner

def wrong():
    raise ZeroDivisionError("of the vendor")

class Lab(Runner):
    name = "lab"
    order = 90
    interface = 1
    automatic = False
    supports = classmethod(lambda cls, board: {supports})
    missing = classmethod(lambda cls, board: {missing})

    def start(self, project):
        {start}

    def stop(self):
        pass

    def alive(self):
        return True

    def end_reason(self):
        return ""
"""
FLASHER = """
from aboard.flashers import Capabilities, Flasher, Settings

class Acme(Flasher):
    name = "acme"
    order = 1
    interface = 1
    program = "acme"
    purpose = "flashes"
    how_to_get = "ask Acme"
    capabilities = Capabilities("elf", "none", verifies=False, debugs=False)
    settings = Settings

    def supports(self, board, template=None):
        raise ZeroDivisionError("of the vendor")

    def command(self, job, program):
        return []
"""
RUN = ["run", "project", "--runner", "lab"]
PARTITION = ["partition", "digits", "-t", "c -mcpu=cortex-m4 + vendor-npu"]

Aboard = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def aboard(tmp_path: Path) -> Aboard:
    """Runs the command line with a package as good as installed."""

    def run(group: str, entry: str, text: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "vendor_package.py").write_text(text)
        info = tmp_path / "vendor_package-1.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-package\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [*warm_start.program(), *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


def blamed(done: subprocess.CompletedProcess[str], entry: str) -> None:
    assert done.returncode == 1, done.stderr
    found = re.fullmatch(
        r"error: vendor-package 1\.2: the package failed, got ZeroDivisionError: of the vendor, in "
        rf"\S+/vendor_package\.py:\d+ \(entry point {entry}\)\. Report this to the authors of the package; "
        r"ABOARD_TRACEBACK=1 shows the traceback\n",
        done.stderr,
    )
    assert found, done.stderr


FAULTS = {
    "complete": (", complete=wrong", ""),
    "refuses_host": (", refuses_host=wrong", ""),
    "patterns": ("", '    attach("vendor-npu", "patterns", wrong)'),
    "supports": ("", '    attach("vendor-npu", "patterns", lambda t: ())\n    attach("vendor-npu", "supports", wrong)'),
    "passes": ("", '    attach("vendor-npu", "passes", wrong)'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kind_that_fails_is_named(aboard: Aboard, fault: str) -> None:
    keyword, attached = FAULTS[fault]
    text = TARGET.format(keyword=keyword, attached=attached)
    done = aboard("aboard.targets", "vendor = vendor_package:PLUGIN", text, *PARTITION)
    blamed(done, "vendor of aboard.targets")


@pytest.mark.parametrize("leave", ["import sys; sys.exit(3)", "raise RuntimeError('no licence')"])
def test_a_package_that_ends_the_program_is_left_out_and_named(aboard: Aboard, leave: str) -> None:
    done = aboard("aboard.targets", "vendor = vendor_package:PLUGIN", leave, *PARTITION)
    assert done.returncode == 1
    assert "unknown kind or hardware vendor-npu" in done.stderr
    assert "vendor-package 1.2 could not be loaded and may bring it: " in done.stderr
    assert ("SystemExit: 3" if "exit" in leave else "RuntimeError: no licence") in done.stderr
    assert aboard("aboard.targets", "vendor = vendor_package:PLUGIN", leave, "targets").returncode == 0


@pytest.mark.parametrize("method", ["supports", "missing", "start"])
def test_a_runner_that_fails_is_named(aboard: Aboard, tmp_path: Path, method: str) -> None:
    entry = "lab = vendor_package:Lab"
    fine = RUNNER.format(supports="None", missing="None", start="return None")
    made = aboard("aboard.runners", entry, fine, "create", "digits", "-b", "host/native", "-o", "project")
    assert made.returncode == 0, made.stderr
    text = RUNNER.format(**{"supports": "None", "missing": "None", "start": "return None", method: "wrong()"})
    blamed(aboard("aboard.runners", entry, text, *RUN), "lab of aboard.runners")


def test_a_runner_that_cannot_be_loaded_is_named(aboard: Aboard) -> None:
    entry = "lab = vendor_package:Lab"
    fine = RUNNER.format(supports="None", missing="None", start="return None")
    assert (
        aboard("aboard.runners", entry, fine, "create", "digits", "-b", "host/native", "-o", "project").returncode == 0
    )
    done = aboard("aboard.runners", entry, "import nowhere_at_all", *RUN)
    assert done.returncode == 1
    assert done.stderr == (
        "error: runner lab of vendor-package 1.2: vendor_package:Lab cannot be imported, got ModuleNotFoundError: No "
        "module named 'nowhere_at_all'. Repair or remove the package\n"
    )


def test_a_flasher_that_fails_is_named(aboard: Aboard) -> None:
    entry = "acme = vendor_package:Acme"
    made = aboard("aboard.flashers", entry, "", "create", "digits", "-b", "arm/mps2_an386", "-o", "project")
    assert made.returncode == 0, made.stderr
    blamed(aboard("aboard.flashers", entry, FLASHER, "flash", "project"), "acme of aboard.flashers")


def test_the_traceback_is_there_where_it_is_asked_for(aboard: Aboard) -> None:
    text = TARGET.format(keyword=", complete=wrong", attached="")
    entry = "vendor = vendor_package:PLUGIN"
    done = aboard("aboard.targets", entry, text, *PARTITION, "--json", ABOARD_TRACEBACK="1")
    assert "Traceback (most recent call last)" in done.stderr
    assert "ZeroDivisionError: of the vendor" in done.stderr
    error = json.loads(done.stdout)["error"]
    assert (error["kind"], error["exit_code"]) == ("PluginError", 1)


def test_python_gets_the_error_with_its_cause(aboard: Aboard, tmp_path: Path) -> None:
    text = TARGET.format(keyword="", attached='    attach("vendor-npu", "passes", wrong)')
    aboard("aboard.targets", "vendor = vendor_package:PLUGIN", text, "--version")
    code = (
        "import aboard\n"
        "try:\n"
        "    aboard.compile(open(0, 'rb').read(), target='c -mcpu=cortex-m4 + vendor-npu', name='m')\n"
        "except aboard.PluginError as error:\n"
        "    print(type(error.__cause__).__name__, str(error)[:43])\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=(resources.models() / "digits.tflite").read_bytes(),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == "ZeroDivisionError vendor-package 1.2: the package failed, got\n", done.stderr
