"""The pytest plugin: `def test_kws(aboard_device): assert aboard_device.run(x).argmax() == 3`.

pytest loads it wherever aboard is installed, so nothing but pytest is imported before a test asks for a board. Each
fixture can be overridden: `aboard_project` builds `aboard_model` for `aboard_board`, and `aboard_device` runs the
project. A missing tool is an error of the test, never a skip: a suite that tested nothing must not be green.
docs/how-to/testing_firmware.md is the manual.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from aboard.api import Project
    from aboard.boards.board import Board
    from aboard.device.session import Session
    from aboard.testing.workshop import Model, Workshop

#: Marker that names the model. If it names several, each test runs once with each.
MARKER = "aboard_model"

_BOARD = "aboard_board"
_RUNNER = "aboard_runner"
_LOG = logging.getLogger("aboard.device")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the command-line options and the equivalent keys for pyproject.toml."""
    group = parser.getgroup("aboard", "models on boards")
    group.addoption(
        "--aboard-board",
        metavar="B",
        action="append",
        default=[],
        help="Board on which tests run their models (`aboard boards`); may be repeated.",
    )
    group.addoption(
        "--aboard-runner",
        metavar="NAME",
        help="Emulator that runs the image, or tool that flashes the board. "
        "Default: the first emulator that supports the board.",
    )
    group.addoption(
        "--aboard-device",
        metavar="SERIAL",
        help="Serial number or port of the board, if several are attached.",
    )
    group.addoption(
        "--aboard-farm",
        metavar="ADDRESS",
        help="Run on boards of a farm, whose scheduler is at this address (`aboard farm`).",
    )
    parser.addini(_BOARD, "Boards, unless --aboard-board names some.", type="args", default=[])
    parser.addini(_RUNNER, "Runner, unless --aboard-runner names one.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers", f"{MARKER}(model, ...): the model for aboard_device: a .tflite file, a bundle, or a shipped model."
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Returns the boards and the runner that tests use, if they were chosen."""
    boards = _boards(config)
    runner = _runner(config)
    return f"aboard: {', '.join(boards)}{f' ({runner})' if runner else ''}" if boards else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrises a test with each model of its marker and each chosen board."""
    boards = _boards(metafunc.config)
    if _BOARD in metafunc.fixturenames and len(boards) > 1:
        metafunc.parametrize(_BOARD, boards, indirect=True)
    marker = metafunc.definition.get_closest_marker(MARKER)
    if MARKER in metafunc.fixturenames and marker is not None:
        names = [Path(str(model)).stem for model in marker.args]
        metafunc.parametrize(MARKER, marker.args, indirect=True, ids=names)


@pytest.fixture(scope="session")
def aboard_board(request: pytest.FixtureRequest) -> Board:
    """The board: `--aboard-board`, else `aboard_board` of the pytest section of pyproject.toml."""
    from aboard import boards

    named = _boards(request.config)
    name = getattr(request, "param", None) or (named[0] if named else None)
    if name is None:
        pytest.fail(
            "aboard: which board, got none, expected one that `aboard boards` lists. Say --aboard-board "
            'arm/mps2_an386, or put aboard_board = ["arm/mps2_an386"] into [tool.pytest.ini_options] of '
            "pyproject.toml, or override the fixture aboard_board",
            pytrace=False,
        )
    with _plainly():
        return boards.load(name)


@pytest.fixture(scope="session")
def aboard_runner(request: pytest.FixtureRequest) -> str | None:
    """Name of the runner: `--aboard-runner`, else the key `aboard_runner`; None for the board's first."""
    return _runner(request.config)


@pytest.fixture(scope="module")
def aboard_model(request: pytest.FixtureRequest) -> Model:
    """The model that the marker `aboard_model` names, relative to the test's file, else to pytest's root folder."""
    named: str | Path | None = getattr(request, "param", None)
    if named is None:
        pytest.fail(
            "aboard: no model is given, expected a marker or a fixture. Put "
            '@pytest.mark.aboard_model("model.tflite") above the test, or pytestmark = '
            'pytest.mark.aboard_model("model.tflite") into the file, or override the fixture aboard_model',
            pytrace=False,
        )
    places = [folder / named for folder in (request.path.parent, request.config.rootpath)]
    return next((place for place in places if place.exists()), str(named))


@pytest.fixture(scope="module")
def aboard_options() -> Mapping[str, str]:
    """Options of the project template, such as `{"trace": "on"}`. Override the fixture to set options."""
    return {}


@pytest.fixture(scope="session")
def aboard_workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Compiles and builds each model once for each board."""
    from aboard.testing.workshop import Workshop

    return Workshop(tmp_path_factory.mktemp("aboard"))


@pytest.fixture(scope="module")
def aboard_project(
    aboard_workshop: Workshop, aboard_model: Model, aboard_board: Board, aboard_options: Mapping[str, str]
) -> Project:
    """The built project with the model for the board."""
    with _plainly():
        return aboard_workshop.project(aboard_model, aboard_board, aboard_options)


@pytest.fixture(scope="module")
def aboard_device(
    request: pytest.FixtureRequest, aboard_project: Project, aboard_runner: str | None
) -> Iterator[Session]:
    """The running device with the model on it. Logs of its firmware go to the logger `aboard.device`."""
    from aboard.testing import workshop

    with _plainly():
        option = request.config.getoption
        session = workshop.boot(
            aboard_project, aboard_runner, option("--aboard-device"), on_log=_LOG.info, farm=option("--aboard-farm")
        )
    with session:
        yield session


def _boards(config: pytest.Config) -> list[str]:
    named: list[str] = config.getoption("--aboard-board") or config.getini(_BOARD)
    return list(dict.fromkeys(named))


def _runner(config: pytest.Config) -> str | None:
    named: Any = config.getoption("--aboard-runner") or config.getini(_RUNNER)
    return str(named) if named else None


@contextmanager
def _plainly() -> Iterator[None]:
    """Shows an error of aboard as its message, without a traceback."""
    from aboard.errors import AboardError

    try:
        yield
    except AboardError as error:
        raise pytest.fail.Exception(f"aboard: {error}", pytrace=False) from None
