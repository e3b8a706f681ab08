"""The pytest plugin, as the suites of others use it: in a pytest of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import aboard.compiler.pipeline

# Loaded before the pytest in this process, which forgets what is loaded while it runs.
import aboard.project.build
import aboard.testing.workshop
from aboard import runners
from aboard.api import Project, Session
from aboard.base import resources
from aboard.ops import registry

# All ops are registered once in a process, so they are loaded before too.
registry.names()

pytest_plugins = ["pytester"]

HEAD = """\
import numpy as np
import pytest
import aboard
from aboard.base import resources

with np.load(resources.models() / "digits_test.npz") as archive:
    DIGITS = dict(archive)
"""
NOTHING = "def test_it(aboard_device):\n    pass\n"
WITH_DIGITS = f'@pytest.mark.aboard_model("digits")\n{NOTHING}'


class Suite:
    """A folder with tests of a user's."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def write(self, name: str, text: str) -> None:
        """Writes a file of tests."""
        (self.pytester.path / name).write_text(f"{HEAD}\n{text}", encoding="utf-8")

    def run(self, *arguments: str, apart: bool = False) -> tuple[dict[str, int], str]:
        """Returns how many tests passed, failed and so on, and all that pytest said.

        Args:
            arguments: Of pytest.
            apart: True for a process of its own, in which warnings can only be those of the suite.
        """
        run = self.pytester.runpytest_subprocess if apart else self.pytester.runpytest_inprocess
        result = run("-p", "no:cacheprovider", "-rA", *arguments)
        return result.parseoutcomes(), result.stdout.str()


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)


def test_pytest_finds_the_plugin_by_its_entry_point():
    found = {entry.name: entry.value for entry in entry_points(group="pytest11")}
    assert found["aboard"] == "aboard.testing.plugin"


def test_loading_the_plugin_loads_next_to_nothing():
    code = "import aboard.testing.plugin, sys; print(*(name for name in sys.modules if name.startswith('aboard')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = {"aboard", "aboard.errors", "aboard.testing", "aboard.testing.plugin"}
    wanted |= {"aboard.base", "aboard.base.fault_record", "aboard.base.printable"}
    assert set(done.stdout.split()) == wanted


def test_a_model_runs_on_an_emulated_board(suite):
    suite.write(
        "test_digits.py",
        """
@pytest.mark.aboard_model("digits")
def test_digits(aboard_device, aboard_board, aboard_project):
    assert aboard_board.id == "arm/mps2_an386"
    assert aboard_project.models[0].core == "cortex-m4"
    for x, label in zip(DIGITS["x"][:5], DIGITS["y"], strict=False):
        assert aboard_device.run(x).argmax() == label

@pytest.mark.aboard_model("digits")
def test_cost(aboard_device):
    assert 50_000 < aboard_device.infer(DIGITS["x"][0]).instructions < 1_000_000
""",
    )
    for runner in ("qemu", "unicorn"):
        counts, said = suite.run("--aboard-board", "arm/mps2_an386", "--aboard-runner", runner)
        assert counts == {"passed": 2}
        assert f"aboard: arm/mps2_an386 ({runner})" in said


def test_the_choice_may_stand_in_pyproject_and_several_boards_and_models_multiply(suite):
    suite.write(
        "test_both.py",
        """
pytestmark = pytest.mark.aboard_model("digits", "digits_f32")

def test_ram(aboard_project, aboard_board):
    (model,) = aboard_project.models
    assert aboard_project.board == aboard_board
    assert model.ram_bytes < 6000

def test_without_a_model():
    pass
""",
    )
    (suite.pytester.path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = ["--strict-config", "--strict-markers"]\nfilterwarnings = ["error"]\n'
        'aboard_board = ["host/native", "arm/mps2_an386"]\n'
    )
    counts, said = suite.run(apart=True)
    assert counts == {"passed": 5}
    assert "aboard: host/native, arm/mps2_an386" in said
    for name in ("host/native-digits", "host/native-digits_f32", "arm/mps2_an386-digits", "arm/mps2_an386-digits_f32"):
        assert f"PASSED test_both.py::test_ram[{name}]" in said
    counts, _ = suite.run("--aboard-board", "host/native", "-k", "without", apart=True)
    assert counts == {"passed": 1, "deselected": 2}


def test_fixtures_are_overridden_and_a_project_is_built_once(suite):
    test = """
def test_taps(aboard_device, aboard_project):
    with open("places", "a") as file:
        print(aboard_project.path, file=file)
    assert len(aboard_device.trace(DIGITS["x"][0])) == len(aboard_project.models[0].nodes)
"""
    suite.write("test_first.py", test)
    suite.write("test_second.py", test)
    suite.write(
        "conftest.py",
        """
@pytest.fixture(scope="session")
def aboard_model(aboard_board):
    return aboard.compile(resources.models() / "digits.tflite", target=f"{aboard_board.id} -opt=size", name="small")

@pytest.fixture(scope="session")
def aboard_options():
    return {"trace": "on"}
""",
    )
    counts, _ = suite.run("--aboard-board", "host/native")
    assert counts == {"passed": 2}
    first, second = (suite.pytester.path / "places").read_text().splitlines()
    assert first == second
    assert first.endswith("0-small")


def test_models_are_looked_for_beside_the_test_and_bundles_are_taken_as_they_are(suite):
    folder = suite.pytester.path / "tests"
    folder.mkdir()
    aboard.compile(resources.models() / "digits.tflite", board="host/native").save(folder / "bundle")
    (folder.parent / "mine.tflite").write_bytes((resources.models() / "digits.tflite").read_bytes())
    suite.write(
        "tests/test_models.py",
        """
@pytest.mark.aboard_model("bundle", "mine.tflite")
def test_name(aboard_device, request):
    assert aboard_device.models[0].name == {"bundle": "digits", "mine": "mine"}[request.node.callspec.id]
    assert aboard_device.run(DIGITS["x"][1]).argmax() == DIGITS["y"][1]
""",
    )
    (folder.parent / "pytest.ini").write_text("[pytest]\naboard_board = host/native\naboard_runner = native\n")
    counts, _ = suite.run()
    assert counts == {"passed": 2}


def test_what_the_firmware_logs_is_logged(suite):
    suite.write(
        "test_log.py",
        """
@pytest.fixture(scope="module")
def aboard_project(aboard_project):
    main = aboard_project.path / "src" / "main.c"
    text = main.read_text()
    idle = "aboard_port_idle();\\n        }"
    assert idle in text
    log = 'aboard_server_log(&server, "hello from the board");'
    main.write_text(text.replace(idle, idle + " else {\\n            " + log + "\\n        }"))
    aboard_project.build()
    return aboard_project

@pytest.mark.aboard_model("digits")
def test_log(aboard_device):
    aboard_device.run(DIGITS["x"][0])
    aboard_device.listen(0.1)
    assert False
""",
    )
    counts, said = suite.run("--aboard-board", "host/native", "--log-level", "INFO")
    assert counts == {"failed": 1}
    assert re.search(r"INFO +aboard\.device:\S+ hello from the board", said)


BOARD = ("--aboard-board", "host/native")


@pytest.mark.parametrize(
    ("test", "arguments", "message"),
    [
        (NOTHING, BOARD, "no model is given, expected a marker or a fixture. Put @pytest.mark.aboard_model("),
        (
            WITH_DIGITS,
            (),
            "which board, got none, expected one that `aboard boards` lists. Say --aboard-board arm/mps2",
        ),
        (
            WITH_DIGITS,
            ("--aboard-board", "arm/mps2_an38"),
            "board arm/mps2_an38: unknown. Did you mean arm/mps2_an386",
        ),
        (
            WITH_DIGITS.replace("digits", "digts"),
            BOARD,
            "digts: no such file, expected a .tflite file, a bundle's folder, or one of the shipped models digits",
        ),
        (WITH_DIGITS, (*BOARD, "--aboard-runner", "qemu"), "runner qemu: cannot be host/native"),
        (
            WITH_DIGITS,
            (*BOARD, "--aboard-runner", "native", "--aboard-device", "0683"),
            "runner native: does not reach attached boards, got --device",
        ),
    ],
)
def test_what_is_missing_is_an_error_that_says_what_to_do(suite, test, arguments, message):
    suite.write("test_it.py", test)
    counts, said = suite.run(*arguments)
    # No failure of the test, and no skip.
    assert counts == {"errors": 1}
    assert f"aboard: {message}" in said
    assert "Traceback" not in said
    assert "During handling" not in said


def test_a_board_on_the_desk_is_flashed_because_it_cannot_have_the_image(tmp_path: Path, monkeypatch):
    asked: dict[str, object] = {}
    project = aboard.create(
        aboard.compile(resources.models() / "digits.tflite", board="host/native"), "host/native", path=tmp_path / "p"
    )

    def choose(*words: object, **options: object) -> str:
        asked.update(options, words=words)
        return "the runner"

    def opened(project: Project, runner: str, **options: object) -> tuple[object, ...]:
        return (project, runner, options)

    monkeypatch.setattr(runners, "choose", choose)
    monkeypatch.setattr(Session, "open", opened)
    got = aboard.testing.workshop.boot(project, "jlink", "0683", on_log=print)
    assert got == (project, "the runner", {"on_log": print})
    assert asked == {"words": (project.board, "jlink"), "devices": [], "device": "0683", "port": None, "flash": True}
